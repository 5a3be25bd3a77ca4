"""A route with `unacknowledged_for`: the channels to notify next once an incident is unacknowledged for so long."""

from datetime import timedelta

import pytest

from checks import Kind, Severity
from incidents import Acknowledged, Escalated, Snoozed
from monitor.alerts.message import compose
from monitor.alerts.notify import notify
from monitor.alerts.route import channels_for, operators
from tests.monitor.alerts.desk import MINUTE
from tests.monitor.alerts.made import at

NEXT = """
  routes:
    - {to: [desk]}
    - {match: {severity: error}, to: [crew], unacknowledged_for: 30m}
"""
HALF_HOUR = timedelta(minutes=30)


def test_whom_to_notify_next_is_notified_when_nobody_acknowledged(desk_of):
    """Not before its time, once, and of the end too; who was notified first hears nothing new."""
    desk = desk_of(NEXT)
    incident = desk.open()
    assert desk.told(at(0.1)) == [("desk", [1], ["first"])]
    assert desk.told(at(0) + HALF_HOUR - MINUTE) == []
    assert desk.told(at(0) + HALF_HOUR) == [("crew", [1], ["first"])]
    assert desk.told(at(1)) == []
    desk.end(incident, at(2))
    assert sorted(desk.told(at(2.1))) == [("crew", [1], ["resolved"]), ("desk", [1], ["resolved"])]


def test_what_holds_other_channels_back_does_not_delay_the_next(desk_of):
    """An alert that waits for a digest is decided on again when the wait for an acknowledgement is over."""
    desk = desk_of(f'{NEXT}    - {{to: [audit], digest: {{at: "08:00"}}}}\n')
    desk.open()
    assert desk.told(at(0.1)) == [("desk", [1], ["first"])]
    assert desk.told(at(0) + HALF_HOUR - MINUTE) == []
    assert desk.told(at(0) + HALF_HOUR) == [("crew", [1], ["first"])]


def test_who_acknowledges_in_time_keeps_it_from_the_next(desk_of):
    """Also for ever after; a lesser incident never goes to a route that does not match it."""
    desk = desk_of(NEXT)
    incident = desk.open()
    desk.open("stray", severity=Severity.WARNING)
    assert desk.told(at(0.1)) == [("desk", [1], ["first"]), ("desk", [2], ["first"])]
    desk.change(incident, Acknowledged(at(0.4)), when=at(0.4))
    for hours in (0.5, 1, 5):
        assert desk.told(at(hours)) == []


def test_who_acknowledges_before_it_is_sent_keeps_it_from_the_next(desk_of):
    """Though its time is over: the log says why, and later changes of this episode do not go there either."""
    desk = desk_of(f"{NEXT}    - {{match: {{severity: critical}}, to: [audit], unacknowledged_for: 30m}}")
    incident = desk.open()
    desk.told(at(0.1))
    desk.change(incident, Acknowledged(at(0.5) + MINUTE / 3), when=at(0.5) + MINUTE / 3)
    assert desk.told(at(0.5) + MINUTE / 2) == []
    assert (desk.last("crew")["action"], desk.last("crew")["reason"]) == ("dropped", "first")
    assert desk.last("crew")["why"] == "acknowledged by then, so it is not escalated"
    decided = desk.decisions()
    assert desk.told(at(0.6)) == []
    assert desk.decisions() == decided  # it is not decided on again every minute
    desk.change(incident, Escalated(Severity.CRITICAL), when=at(1))
    assert desk.told(at(1.1)) == [("desk", [1], ["escalated"])]
    desk.end(incident, at(2))
    assert desk.told(at(2.1)) == [("desk", [1], ["resolved"])]
    desk.back(incident, at(3))
    desk.told(at(3.1))
    assert ("crew", [1], ["first"]) in desk.told(at(3.6))


def test_an_acknowledgement_in_quiet_hours_keeps_it_from_the_next(desk_of):
    """What they held back for their end is dropped then, also of an incident that is over by then."""
    desk = desk_of("""
  routes:
    - {to: [desk]}
    - {to: [crew], unacknowledged_for: 30m, quiet_hours: noon}
  quiet_hours: {noon: {start: "12:00", end: "14:00"}}
""")
    first, second, third = desk.open(), desk.open("lines"), desk.open("stray")
    desk.told(at(0.1)), desk.told(at(0.6))
    for incident in (first, second):
        desk.change(incident, Acknowledged(at(1)), when=at(1))
    for incident in (second, third):
        desk.end(incident, at(1.5))
    assert [ids for channel, ids, _ in desk.told(at(2.1)) if channel == "crew"] == [[third.id]]


def test_a_message_says_that_nobody_acknowledged_it(desk_of):
    """For how long, of each incident that is sent for that, in the reader's language; not to others, nor afterwards."""
    desk = desk_of(NEXT)
    first = desk.open()
    desk.open(check="unique")
    desk.told(at(0.1))
    notify(desk.project, desk.store, at(0) + HALF_HOUR)
    with desk.store.reading() as tx:
        messages = [delivery.payload for delivery in tx.deliveries.since(at(0), 10)]
    sent = {payload["channel"]: payload for payload in messages}
    assert [entry["unacknowledged_h"] for entry in sent["desk"]["incidents"]] == [None, None]
    assert [entry["unacknowledged_h"] for entry in sent["crew"]["incidents"]] == [0.5, 0.5]
    mail = compose(sent["crew"])
    assert mail.text.count("30分間未対応") == mail.html.count("30分間未対応") == 2
    assert "未対応" not in compose(sent["desk"]).text
    desk.arrive(at(0) + HALF_HOUR)
    desk.end(first, at(1))
    notify(desk.project, desk.store, at(1.1))
    with desk.store.reading() as tx:
        ends = tx.deliveries.since(at(1), 10)
    assert [entry["unacknowledged_h"] for end in ends for entry in end.payload["incidents"]] == [None, None]


def test_who_acknowledges_too_late_leaves_the_next_informed(desk_of):
    """It hears that the problem is over."""
    desk = desk_of(NEXT)
    incident = desk.open()
    desk.told(at(0.1))
    assert desk.told(at(0.6)) == [("crew", [1], ["first"])]
    desk.change(incident, Acknowledged(at(0.7)), when=at(0.7))
    desk.end(incident, at(2))
    assert ("crew", [1], ["resolved"]) in desk.told(at(2.1))


@pytest.mark.parametrize("send_resolved", ["true", "false"])
def test_each_episode_has_its_own_wait(desk_of, send_resolved):
    """The time begins again with the detection of a new episode, whatever the channel heard of the one before."""
    desk = desk_of(f"{NEXT}  send_resolved: {send_resolved}")
    incident = desk.open()
    desk.told(at(0.1)), desk.told(at(0.6))
    desk.end(incident, at(1))
    desk.told(at(1.1))
    desk.back(incident, at(2))
    assert desk.told(at(2.1)) == [("desk", [1], ["reopened"])]
    assert desk.told(at(2.4)) == []
    assert desk.told(at(2.6)) == [("crew", [1], ["reopened"])]
    assert desk.told(at(3)) == []


def test_a_snooze_holds_the_next_back_too(desk_of):
    """It is silenced until then; then what was due meanwhile is notified."""
    desk = desk_of(NEXT)
    incident = desk.open()
    desk.told(at(0.1))
    desk.change(incident, Snoozed(at(3)), when=at(0.2))
    assert desk.told(at(1)) == []
    assert desk.told(at(3.1)) == [("crew", [1], ["first"])]


def test_the_explanation_says_when_it_applies(desk_of):
    """It is no route for everything: owners and operational messages go where they went without it."""
    config = desk_of("  routes: [{to: [audit], unacknowledged_for: 30m}]").project.config

    def routing(minutes):
        waited = timedelta(minutes=minutes)
        return channels_for("orders", config, severity=Severity.ERROR, kind=Kind.QUALITY, waited=waited)

    assert list(routing(0).channels) == ["desk"]
    assert routing(0).steps[0].why == "the route applies once the incident is unacknowledged for 30 min"
    assert sorted(routing(30).channels) == ["audit", "desk"]
    assert routing(30).steps[0].why == "it matches: not acknowledged for 30 min"
    assert (routing(30).channels["audit"].later, routing(30).channels["desk"].later) == (True, False)
    assert operators(config) == ()
