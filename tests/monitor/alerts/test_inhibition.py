"""A problem upstream that no channel is notified of does not silence the tables that are made of its table."""

import pytest

from incidents import Snoozed
from monitor.alerts.decision_record import RECHECK_AFTER
from monitor.alerts.notify import notify
from store import History
from tests.monitor.alerts.desk import MINUTE, MORNING, NIGHT
from tests.monitor.alerts.made import NOW, at
from tests.store.made import opened

APART = "  routes: [{match: {table: orders}, to: [desk]}, {match: {table: lines}, to: [crew]}]"
NIGHTLY = """
  routes: [{match: {table: orders}, to: [desk], quiet_hours: nights}, {match: {table: lines}, to: [crew]}]
  quiet_hours: {nights: {start: "22:00", end: "07:00", afterwards: AFTERWARDS}}
"""
FIRST = ("crew", [2], ["first"])


def pair(desk, when=NOW):
    """Open an incident on `orders`, and one on `lines`, which is made of it."""
    return desk.open("orders", when), desk.open("lines", when + MINUTE)


def test_a_silenced_root_mutes_nothing_until_it_is_heard(desk_of):
    """The table downstream is notified; once the silence ends, the root is, and no channel gets it twice."""
    desk = desk_of(APART)
    pair(desk)
    silence = desk.silence("orders", until=at(9))
    assert desk.told(at(1)) == [FIRST]
    with desk.store.writing() as tx:
        tx.silences.end(silence.id, at(2))
    assert desk.told(at(2)) == [("desk", [1], ["first"])]
    assert desk.told(at(3)) == []


def test_a_snoozed_root_mutes_nothing_unless_it_was_told(desk_of):
    """A root that was notified before it was snoozed mutes on; one that never was does not."""
    desk = desk_of(APART)
    root = desk.open("orders")
    desk.change(root, Snoozed(at(9)), when=NOW)
    desk.open("lines", NOW + MINUTE)
    assert desk.told(at(1)) == [FIRST]
    assert desk.told(at(9)) == [("desk", [1], ["first"])]
    desk.change(root, Snoozed(at(20)), when=at(10))
    desk.open("lines", at(10), check="other")
    assert desk.told(at(11)) == []


def test_a_root_under_maintenance_mutes_nothing(desk_of):
    """Planned work on the root's table holds back the root only."""
    work = '{tables: [orders], start: "2026-11-20T11:00", end: "2026-11-20T20:00", reason: new disks}'
    desk = desk_of(f"{APART}\nmaintenance: [{work}]")
    pair(desk)
    assert desk.told(at(1)) == [FIRST]
    assert desk.told(at(8)) == [("desk", [1], ["first"])]


def test_a_root_that_is_routed_to_nobody_mutes_nothing(desk_of):
    """When a route leads to the root later, it is reported, and what was reported downstream is not reported again."""
    desk = desk_of(
        "  routes: [{match: {table: lines}, to: [crew]}]", owner=("domain: sales\n    tier", "owner: mute\n    tier")
    )
    pair(desk)
    assert desk.told(at(1)) == [FIRST]
    desk.route(APART)
    assert desk.told(at(2)) == [("desk", [1], ["first"])]
    desk.open("lines", at(3), check="other")
    assert desk.told(at(4)) == []


def test_a_root_that_only_a_disabled_channel_hears_mutes_nothing(desk_of):
    """Neither a root decided on while its channel was gone, nor one whose message waits for it, is heard."""
    desk = desk_of(APART)
    desk.gone("desk")
    pair(desk)
    assert desk.told(at(1)) == [FIRST]
    desk.enable("desk", at(2))
    notify(desk.project, desk.store, at(2))
    desk.gone("desk")
    desk.open("lines", at(3), check="other")
    notify(desk.project, desk.store, at(4))
    assert desk.arrive(at(4))[-1] == ("crew", [3], ["first"])


def test_a_root_whose_message_was_given_up_mutes_nothing(desk_of):
    """While the message may still arrive it mutes; when it was given up, the table downstream is reported."""
    desk = desk_of(APART)
    pair(desk)
    notify(desk.project, desk.store, at(1))
    assert desk.decisions()[1].decision["channels"]["crew"]["held_by"] == "downstream"
    desk.give_up(at(1))
    assert desk.told(at(1) + RECHECK_AFTER) == [FIRST]


def test_a_reminder_that_was_given_up_leaves_the_root_heard(desk_of):
    """Who was notified of a problem knows of it, also when a later message about it was lost."""
    desk = desk_of(APART)
    desk.open("orders")
    assert desk.told(at(1)) == [("desk", [1], ["first"])]
    notify(desk.project, desk.store, at(26))
    desk.give_up(at(26))
    desk.open("lines", at(27))
    assert desk.told(at(28)) == []


def test_an_imported_root_mutes_nothing(desk_of):
    """An imported incident is not notified, so it mutes nothing."""
    desk = desk_of(APART)
    with desk.store.writing() as tx:
        tx.incidents.add_histories([History([opened("old", table="orders")], NOW, "import")])
    desk.open("lines", NOW + MINUTE)
    assert desk.told(at(1)) == [FIRST]


@pytest.mark.parametrize(("afterwards", "told"), [("catch-up", []), ("drop", [FIRST])])
def test_quiet_hours_keep_a_root_that_is_told_afterwards(desk_of, afterwards, told):
    """A root that is reported in the morning mutes at night; one that quiet hours dropped does not, from then on."""
    desk = desk_of(NIGHTLY.replace("AFTERWARDS", afterwards))
    pair(desk, NIGHT)
    assert desk.told(NIGHT + 3 * MINUTE) == []
    assert desk.told(NIGHT + 3 * MINUTE + RECHECK_AFTER) == told
    assert desk.told(MORNING) == ([] if told else [("desk", [1], ["first"])])


def test_a_root_that_comes_back_unheard_does_not_mute(desk_of):
    """A notification of an earlier episode does not stand for a new one."""
    desk = desk_of(APART)
    root = desk.open("orders")
    assert desk.told(at(1)) == [("desk", [1], ["first"])]
    desk.end(root, at(2))
    assert desk.told(at(3)) == [("desk", [1], ["resolved"])]
    desk.silence("orders", until=at(90))
    desk.back(root, at(30))
    desk.open("lines", at(30))
    assert desk.told(at(31)) == [FIRST]
