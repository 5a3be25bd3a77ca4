"""An incident whose table is removed from the configuration while its alert is held back is not lost."""

import pytest

from checks import Severity
from incidents import Snoozed
from monitor.scan.recorder import retire
from tests.monitor.alerts.desk import MINUTE, MORNING, NIGHT
from tests.monitor.alerts.made import at, project

SALES = "  routes: [{match: {domain: sales}, to: [desk]}]"
DIGEST = '  routes: [{match: {domain: sales}, to: [desk], digest: {at: "08:00"}}]'
NIGHTS = """
  routes: [{match: {domain: sales}, to: [desk], quiet_hours: nights}]
  quiet_hours: {nights: {start: "22:00", end: "07:00"}}
"""
DROPS = NIGHTS.replace('"07:00"', '"07:00", afterwards: drop')
CAP = f"{SALES}\n  hourly_cap: 1"
OWNER = "  hourly_cap: 1"
BOARD = "  - {name: board, source: files, owner: crew, upstream: [lines], schedule: every 1h}\n"
IN_SALES = "  - {name: board, source: files, domain: sales, schedule: every 1h}\n"
GONE = "no route matches, and the table is not configured"


def desk_with_board(desk_of, alerts, **changes):
    """Return a desk of a configuration in which `board` is a table of the domain `sales`."""
    return desk_of(alerts, board=(BOARD, IN_SALES), **changes)


def remove(desk, alerts, now, **changes):
    """Remove the table `board` from the configuration, and close its incidents as every start does."""
    desk.project = project(desk.project.loaded.files[0].parent, alerts, now=now, board=(BOARD, ""), **changes)
    return retire(desk.project, desk.store)


@pytest.mark.parametrize(
    ("alerts", "opened", "removed", "due"),
    [(DIGEST, at(1), at(2), at(20)), (NIGHTS, NIGHT, NIGHT + 30 * MINUTE, MORNING)],
    ids=["digest", "quiet hours"],
)
def test_what_waits_for_a_time_of_day_is_sent_then(desk_of, alerts, opened, removed, due):
    """A channel that waits for its digest or for the end of its quiet hours gets it then, as already resolved."""
    desk = desk_with_board(desk_of, alerts)
    desk.open("board", opened)
    assert desk.told(opened + 3 * MINUTE) == []
    assert remove(desk, alerts, removed) == 1
    assert desk.told(removed + 10 * MINUTE) == []
    assert desk.told(due) == [("desk", [1], ["first"])]
    assert desk.told(due + 10 * MINUTE) == []


@pytest.mark.parametrize("alerts", [CAP, OWNER], ids=["by a route", "by the owner"])
def test_what_waits_for_room_under_the_cap_is_sent_then(desk_of, alerts):
    """A channel that had all it may get within the hour gets it afterwards, with the reason why it was closed."""
    desk = desk_with_board(desk_of, alerts)
    desk.open("lines", at(1))
    assert desk.told(at(1.1)) == [("desk", [1], ["first"])]
    desk.open("board", at(1.2))
    assert desk.told(at(1.3)) == []
    assert desk.last()["held_by"] == "cap"
    remove(desk, alerts, at(1.4))
    ((channel, ids, reasons),) = [*desk.told(at(1.6)), *desk.told(at(2.3))]
    assert (channel, dict(zip(ids, reasons, strict=True))) == ("desk", {1: "resolved", 2: "first"})
    with desk.store.reading() as tx:
        message = tx.deliveries.newest("desk").payload
    assert "[already resolved] board" in message["text"]


def silence(desk):
    """Silence the table."""
    desk.silence("board", until=at(9))


def snooze(desk):
    """Snooze the incident."""
    with desk.store.reading() as tx:
        (incident,) = tx.incidents.matching()
    desk.change(incident, Snoozed(at(9)), when=at(1))


def fail_upstream(desk):
    """Open an incident on a table upstream."""
    desk.open("orders", at(0.5))


UPSTREAM = IN_SALES.replace("schedule", "upstream: [orders], schedule")
WORK = """
maintenance: [{domains: [sales], start: "2026-11-20T11:00", end: "2026-11-20T21:00", reason: new disks}]
"""


@pytest.mark.parametrize(
    ("held_by", "prepare", "alerts"),
    [
        ("silence", silence, SALES),
        ("snooze", snooze, SALES),
        ("downstream", fail_upstream, SALES),
        ("maintenance", lambda _: None, f"{SALES}{WORK}"),
    ],
)
def test_what_is_silenced_and_closed_is_not_sent_and_the_log_says_why(desk_of, held_by, prepare, alerts):
    """As for any incident that is over when its silence ends: nothing is sent, and the reasons stay in the log."""
    desk = desk_of(alerts, board=(BOARD, UPSTREAM))
    incident = desk.open("board", at(1))
    prepare(desk)
    desk.told(at(1.1))
    decisions = {decision.incident_id: decision for decision in desk.decisions()}
    assert decisions[incident.id].decision["channels"]["desk"]["held_by"] == held_by
    remove(desk, alerts, at(2))
    assert all(incident.id not in ids for _, ids, _ in (*desk.told(at(2.2)), *desk.told(at(12))))
    decisions = [decision for decision in desk.decisions() if decision.incident_id == incident.id]
    assert all(decision.settled_at is not None for decision in decisions)
    opened = decisions[0].decision["channels"]["desk"]
    assert (opened["action"], opened["held_by"]) == ("nothing", held_by)
    assert opened["why"] == "resolved, and the channel was never notified"


def test_what_was_not_decided_on_yet_is_recorded_with_the_reason(desk_of):
    """What is closed within `group_wait` is not sent, and the log says that its table is gone."""
    desk = desk_with_board(desk_of, SALES)
    desk.open("board", at(1))
    remove(desk, SALES, at(1) + MINUTE)
    assert desk.told(at(1) + 4 * MINUTE) == []
    assert {decision.decision["why"] for decision in desk.decisions()} == {GONE}


def test_a_dropped_alert_stays_dropped(desk_of):
    """Quiet hours that drop what begins in them have decided on it for good."""
    desk = desk_with_board(desk_of, DROPS)
    desk.open("board", NIGHT)
    desk.told(NIGHT + 3 * MINUTE)
    remove(desk, DROPS, NIGHT + 30 * MINUTE)
    assert [*desk.told(NIGHT + 40 * MINUTE), *desk.told(MORNING), *desk.told(MORNING + 10 * MINUTE)] == []


def test_another_episode_that_waits_is_sent_too(desk_of):
    """A channel that was notified that a problem is over hears that it came back, and is closed."""
    desk = desk_with_board(desk_of, NIGHTS)
    incident = desk.open("board", at(1))
    assert desk.told(at(1.1)) == [("desk", [1], ["first"])]
    desk.end(incident, at(2))
    assert desk.told(at(2.1)) == [("desk", [1], ["resolved"])]
    desk.back(incident, NIGHT)
    desk.told(NIGHT + 3 * MINUTE)
    remove(desk, NIGHTS, NIGHT + 30 * MINUTE)
    assert [*desk.told(NIGHT + 40 * MINUTE), *desk.told(MORNING)] == [("desk", [1], ["reopened"])]
    with desk.store.reading() as tx:
        message = tx.deliveries.newest("desk").payload
    assert message["title"].startswith("[already resolved] board")
    assert "Cause: the check is no longer configured" in message["text"]


def test_a_route_that_leads_elsewhere_by_now_holds_nothing_back(desk_of):
    """While the table is configured its routes decide: a channel that they no longer lead to gets nothing."""
    desk = desk_with_board(desk_of, DIGEST)
    desk.open("board", at(1))
    desk.told(at(1.1))
    other = DIGEST.replace("sales", "crm").replace("desk", "crew")
    domains = ("domains: {sales: {owner: desk}}", "domains: {sales: {owner: mute}, crm: {owner: crew}}")
    folder = desk.project.loaded.files[0].parent
    desk.project = project(folder, other, now=at(2), board=(BOARD, IN_SALES), domains=domains)
    assert [*desk.told(at(2)), *desk.told(at(20))] == []
    assert desk.last()["why"] == "no longer one of its channels"


def test_an_incident_that_a_person_logged_stays_open_and_is_sent(desk_of):
    """It has no check whose configuration closes it, so it is sent as what it is when the digest is due."""
    desk = desk_with_board(desk_of, DIGEST)
    desk.open("board", at(1), severity=Severity.WARNING)
    desk.told(at(1.1))
    folder = desk.project.loaded.files[0].parent
    desk.project = project(folder, DIGEST, now=at(2), board=(BOARD, ""))
    assert [*desk.told(at(2)), *desk.told(at(20))] == [("desk", [1], ["first"])]
