"""A channel is notified of what lasts although its route came later, or it was not used for a while."""

from datetime import timedelta

import pytest

from checks import Severity
from incidents import Escalated, Snoozed
from monitor.alerts.decision_record import RECHECK_AFTER
from monitor.alerts.notify import NotifyResult, notify
from store import History
from store._outbox import OutboxWriter
from tests.monitor.alerts.desk import ALL_TO_DESK, MINUTE, MORNING, NIGHT, NIGHTS
from tests.monitor.alerts.made import NOW, at
from tests.store.made import opened

BOTH = "  routes: [{to: [desk, crew]}]"
DROPS = NIGHTS.replace("let_through: [critical]", "afterwards: drop")
DROPS_AND_CREW = DROPS.replace("routes: [", "routes: [{to: [crew]}, ")


def settled(desk):
    """Report for each decision whether nothing of it waits."""
    return [decision.settled_at is not None for decision in desk.decisions()]


def test_a_channel_that_is_used_again_hears_what_lasts(desk_of):
    """After `alert enable` a channel is notified at once, and once, of what lasts; of what is over it is not."""
    desk = desk_of(BOTH)
    desk.gone("desk")
    desk.open("orders"), desk.end(desk.open("stray"), at(2))
    assert desk.told(at(1)) == [("crew", [1], ["first"])]
    assert desk.told(at(3)) == []
    desk.enable("desk", at(3.01))
    assert desk.told(at(3.01)) == [("desk", [1], ["first"])]
    assert desk.told(at(4)) == []
    assert settled(desk) == [True, True, True]


def test_a_channel_that_is_used_again_hears_the_end_of_what_it_was_told(desk_of):
    """A problem that a channel knows of and that ended while it was not used is closed there."""
    desk = desk_of()
    incident = desk.open()
    assert desk.told(at(1)) == [("desk", [1], ["first"])]
    desk.gone("desk")
    desk.end(incident, at(2))
    assert desk.told(at(2)) == []
    desk.enable("desk", at(3))
    assert desk.told(at(3)) == [("desk", [1], ["resolved"])]


def test_the_message_that_was_refused_is_not_written_twice(desk_of):
    """What waits for a disabled channel is delivered when it is enabled, and nothing more about it."""
    desk = desk_of()
    desk.open()
    notify(desk.project, desk.store, at(1))
    desk.gone("desk")
    for hours in (2, 3, 40):
        assert notify(desk.project, desk.store, at(hours)) == NotifyResult()
    desk.enable("desk", at(41))
    assert desk.told(at(41)) == [("desk", [1], ["first"])]
    assert desk.told(at(41) + MINUTE) == []
    assert desk.told(at(65)) == [("desk", [1], ["reminder"])]


def test_what_was_settled_while_a_channel_was_not_used_is_told_afterwards(desk_of):
    """A decision that was final, as those of earlier versions were for a disabled channel, is made once more."""
    desk = desk_of(BOTH)
    desk.open()
    with desk.store.writing() as tx:
        tx.outbox.settle(
            [transition.id for transition in tx.outbox.due(at(1), 9)], at(1), {"why": None, "channels": {}}
        )
    desk.gone("desk")
    assert desk.told(at(2)) == [("crew", [1], ["first"])]
    assert desk.told(at(3)) == []
    desk.enable("desk", at(3.01))
    assert desk.told(at(3.01)) == [("desk", [1], ["first"])]


def test_a_route_that_comes_later_tells_what_lasts_once(desk_of):
    """It was not notified; with a route, its channel is notified of what lasts, once, and of its end."""
    desk = desk_of("")
    lasts = desk.open("stray")
    desk.end(desk.open("stray", check="over"), at(0.5))
    assert desk.told(at(1)) == []
    desk.route(ALL_TO_DESK)
    notify(desk.project, desk.store, at(2), remind=False)
    assert desk.arrive(at(2)) == []
    assert desk.told(at(2)) == [("desk", [1], ["first"])]
    for minutes in range(1, 90):
        assert notify(desk.project, desk.store, at(2) + minutes * MINUTE) == NotifyResult()
    desk.end(lasts, at(4))
    assert desk.told(at(5)) == [("desk", [1], ["resolved"])]


def test_a_channel_that_is_added_is_told_and_the_others_are_not(desk_of):
    """The channels that know hear nothing again, and the log keeps their decisions."""
    desk = desk_of()
    desk.open()
    assert desk.told(at(1)) == [("desk", [1], ["first"])]
    before = desk.last()
    desk.route(BOTH)
    assert desk.told(at(2)) == [("crew", [1], ["first"])]
    assert desk.last() == before
    assert desk.last("crew")["action"] == "told"


def test_a_route_that_comes_back_tells_of_a_new_episode(desk_of):
    """A channel that believes that a problem is over hears that it is back once a route leads to it again."""
    desk = desk_of()
    incident = desk.open()
    desk.told(at(1))
    desk.end(incident, at(2))
    assert desk.told(at(2.5)) == [("desk", [1], ["resolved"])]
    desk.route("  routes: [{to: [crew]}]")
    desk.back(incident, at(3))
    assert desk.told(at(4)) == [("crew", [1], ["first"])]
    desk.route(BOTH)
    assert desk.told(at(5)) == [("desk", [1], ["reopened"])]
    assert desk.told(at(6)) == []


def test_what_quiet_hours_dropped_stays_dropped(desk_of):
    """A channel added later hears of it; the one for which it was dropped does not, until there is news."""
    desk = desk_of(DROPS)
    incident = desk.open("orders", NIGHT)
    assert desk.told(NIGHT + 3 * MINUTE) == []
    assert desk.told(MORNING) == []
    desk.route(DROPS_AND_CREW)
    desk.gone("crew")
    for minutes in range(0, 60, 6):
        assert desk.told(MORNING + minutes * MINUTE) == []
    assert (desk.last()["action"], desk.last("crew")["action"]) == ("dropped", "held")
    desk.enable("crew", at(20))
    assert desk.told(at(20)) == [("crew", [1], ["first"])]
    assert desk.told(at(21)) == []
    desk.change(incident, Escalated(Severity.CRITICAL), when=at(22))
    assert sorted(desk.told(at(23))) == [("crew", [1], ["escalated"]), ("desk", [1], ["first"])]


def test_a_route_that_comes_at_night_tells_in_the_morning(desk_of):
    """What began in the day is not dropped because its route came in quiet hours that drop."""
    desk = desk_of("")
    desk.open("stray")
    assert desk.told(at(1)) == []
    desk.route(DROPS)
    assert desk.told(NIGHT) == []
    assert desk.told(MORNING) == [("desk", [1], ["first"])]


def test_what_is_missed_is_held_back_like_anything_else(desk_of):
    """A snooze, a silence and a root upstream hold what is reported later, too."""
    desk = desk_of("  routes: [{match: {kind: disclosure}, to: [desk]}]", domain=("owner: desk}", "owner: mute}"))
    desk.change(desk.open("orders", check="a"), Snoozed(at(8)), when=NOW)
    desk.open("stray"), desk.silence("stray", until=at(9))
    desk.open("orders", check="b"), desk.open("lines", NOW + MINUTE)
    assert desk.told(at(1)) == []
    desk.route(ALL_TO_DESK)
    assert desk.told(at(2)) == [("desk", [3], ["first"])]
    assert [desk.decisions()[one].decision["channels"]["desk"]["held_by"] for one in (0, 1, 3)] == [
        "snooze",
        "silence",
        "downstream",
    ]
    assert desk.told(at(8)) == [("desk", [1], ["first"])]
    assert desk.told(at(9)) == [("desk", [2], ["first"])]


def test_what_was_imported_stays_silent(desk_of):
    """No channel is notified of an imported incident that lasts, whatever routes come."""
    desk = desk_of("")
    with desk.store.writing() as tx:
        tx.incidents.add_histories([History([opened("old")], NOW, "import")])
    assert desk.told(at(1)) == []
    desk.route(ALL_TO_DESK)
    desk.gone("desk")
    desk.enable("desk", at(2))
    assert notify(desk.project, desk.store, at(2)) == NotifyResult()


def test_a_storm_of_what_was_missed_is_summed_up(desk_of):
    """A new route hears of hundreds of problems in as many messages as its cap allows, and of each once."""
    desk = desk_of("  hourly_cap: 4")
    for number in range(40):
        desk.open(f"t{number}")
    assert desk.told(at(1)) == []
    desk.route(f"{ALL_TO_DESK}\n  hourly_cap: 4")
    heard = desk.told(at(2)) + desk.told(at(2)) + desk.told(at(2))
    assert len(heard) <= 4
    assert sorted(number for _, ids, _ in heard for number in ids) == list(range(1, 41))
    assert desk.told(at(3)) == []


def test_what_was_missed_is_found_years_later(desk_of):
    """Retention keeps the newest decision on what lasts, so that a new channel is notified of it."""
    desk = desk_of()
    desk.open()
    assert desk.told(at(1)) == [("desk", [1], ["first"])]
    year = timedelta(days=365)
    desk.store.prune(keep_measurements=year / 4, keep_incidents=3 * year, now=NOW + 5 * year)
    desk.route("  remind_every: 9999d\n" + BOTH)
    assert desk.told(NOW + 5 * year) == [("crew", [1], ["first"])]


@pytest.mark.parametrize("channel", ["desk", "crew"])
def test_a_crash_leaves_what_was_missed_to_the_next_pass(desk_of, monkeypatch, channel):
    """What is woken waits like any other change, so nothing is lost when the decision fails."""
    desk = desk_of("")
    desk.open("stray")
    assert desk.told(at(1)) == []
    desk.route(f"  routes: [{{to: [{channel}]}}]")

    def breaks(_outbox, _rows):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(OutboxWriter, "save_notifications", breaks)
        with pytest.raises(KeyboardInterrupt):
            notify(desk.project, desk.store, at(2))
    assert settled(desk) == [False]
    assert desk.told(at(2) + RECHECK_AFTER) == [(channel, [1], ["first"])]
