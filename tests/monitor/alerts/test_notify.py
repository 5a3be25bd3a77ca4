"""Everything together, on a real store."""

from datetime import timedelta

import pytest

from checks import Severity
from incidents import Acknowledged, Escalated, Flapped, Merged, Snoozed
from monitor.alerts import notify as module
from monitor.alerts.batch import HOUR
from monitor.alerts.decision_record import RECHECK_AFTER
from monitor.alerts.message import MessageComposer
from monitor.alerts.notify import NotifyResult, notify
from monitor.alerts.reminders import decide_again
from store import Scope, Store
from store._outbox import OutboxWriter
from tests.monitor.alerts.desk import ALL_TO_DESK, MINUTE, MORNING, NIGHT, NIGHTS
from tests.monitor.alerts.made import NOW, at


def test_a_problem_and_its_end(desk_of):
    """A problem is reported once after group_wait, and its end once."""
    desk = desk_of()
    incident = desk.open()
    assert desk.told(NOW + MINUTE) == []
    assert desk.told(NOW + 2 * MINUTE) == [("desk", [1], ["first"])]
    assert desk.told(NOW + 3 * MINUTE) == []
    desk.end(incident, at(1))
    assert desk.told(at(1.5)) == [("desk", [1], ["resolved"])]
    assert desk.told(at(9)) == []
    assert [decision.settled_at is not None for decision in desk.decisions()] == [True, True]


def test_what_passes_within_group_wait_is_not_told(desk_of):
    """What is over before a notification is not notified, and the log says so."""
    desk = desk_of()
    desk.end(desk.open(), NOW + MINUTE)
    assert desk.told(NOW + 2 * MINUTE) == []
    assert desk.last()["why"] == "resolved, and the channel was never notified"


def test_a_table_is_told_in_one_message(desk_of):
    """Incidents of one table share a message, other tables have theirs."""
    desk = desk_of()
    for table, check in (("orders", "a"), ("orders", "b"), ("stray", "a")):
        desk.open(table, check=check)
    assert sorted(desk.told(at(1))) == [("desk", [1, 2], ["first", "first"]), ("desk", [3], ["first"])]


def test_every_channel_knows_for_itself(desk_of):
    """A route that an incident reaches only when it gets worse tells its channel the whole problem then."""
    desk = desk_of("  routes: [{match: {severity: critical}, to: [crew]}, {to: [desk]}]")
    incident = desk.open()
    assert desk.told(at(1)) == [("desk", [1], ["first"])]
    desk.change(incident, Escalated(Severity.CRITICAL), when=at(1))
    assert sorted(desk.told(at(2))) == [("crew", [1], ["first"]), ("desk", [1], ["escalated"])]
    desk.change(incident, Escalated(Severity.ERROR), when=at(3))
    assert desk.told(at(4)) == []
    desk.end(incident, at(5))
    assert sorted(desk.told(at(6))) == [("crew", [1], ["resolved"]), ("desk", [1], ["resolved"])]


def test_nobody_to_tell_is_a_decision_too(desk_of):
    """Where no route leads anywhere, the log says so."""
    desk = desk_of("")
    desk.open("stray")
    assert notify(desk.project, desk.store, at(1)) == NotifyResult(settled=1)
    assert desk.decisions()[0].decision == {
        "why": "no route matches, and the owner has no channel",
        "channels": {},
    }


def test_reminders_until_somebody_cares(desk_of):
    """What lasts is reported again every day, until a user takes care of it."""
    desk = desk_of()
    incident = desk.open()
    assert desk.told(at(1)) == [("desk", [1], ["first"])]
    assert desk.told(at(24.9)) == []
    assert desk.told(at(25)) == [("desk", [1], ["reminder"])]
    desk.change(incident, Acknowledged(at(26)), when=at(26))
    assert desk.told(at(100)) == []


def test_a_daemon_looks_for_reminders_now_and_then(desk_of):
    """Without `remind` a pass tells what changed, and sends no reminder."""
    desk = desk_of()
    desk.open()
    assert desk.told(at(1)) == [("desk", [1], ["first"])]
    desk.open("stray", at(30))
    notify(desk.project, desk.store, at(31), remind=False)
    assert desk.arrive(at(31)) == [("desk", [2], ["first"])]
    assert desk.told(at(31)) == [("desk", [1], ["reminder"])]


def test_flapping_is_told_once_and_then_not_until_it_settled(desk_of):
    """A check that changes its mind a hundred times is reported twice, and once more when it has settled."""
    desk = desk_of()
    incident = desk.open()
    heard = desk.told(at(0.1))
    for turn in range(100):
        when = at(0.2 + turn / 10)
        if turn == 5:
            desk.change(incident, Flapped(flapping=True), when=when)
        if turn % 2:
            desk.back(incident, when)
        else:
            desk.end(incident, when)
        heard += desk.told(when + 5 * MINUTE) if turn >= 5 else []
    desk.change(incident, Flapped(flapping=False), when=at(11))
    heard += desk.told(at(11.1))
    reasons = [reason for _, _, (reason,) in heard]
    assert reasons == ["first", "flapping", "reopened"]


def test_quiet_hours_lose_nothing(desk_of):
    """What happened at night is reported in the morning, also what was over by then, and the log said why it waited."""
    desk = desk_of(NIGHTS)
    lasts, passed = desk.open("orders", NIGHT), desk.open("stray", NIGHT)
    desk.open("board", NIGHT, severity=Severity.CRITICAL)
    assert desk.told(NIGHT + 3 * MINUTE) == [("desk", [3], ["first"])]
    held = desk.decisions()[0]
    assert held.settled_at is None
    record = held.decision["channels"]["desk"]
    assert (record["action"], record["hold"], record["until"]) == ("held", "quiet hours nights", MORNING.isoformat())
    desk.end(passed, NIGHT + timedelta(hours=1))
    for minutes in range(10, 470, 10):
        assert desk.told(NIGHT + minutes * MINUTE) == []
    assert sorted(desk.told(MORNING)) == [("desk", [1], ["first"]), ("desk", [2], ["first"])]
    desk.end(lasts, MORNING)
    assert desk.told(MORNING + timedelta(hours=1)) == [("desk", [1], ["resolved"])]
    assert all(decision.settled_at for decision in desk.decisions())
    record = desk.decisions()[1].decision["channels"]["desk"]
    assert (record["action"], record["hold"], record["delivery"][:4]) == ("told", "quiet hours nights", "msg_")


def test_quiet_hours_may_drop(desk_of):
    """With `drop`, what begins at night is never reported, while the end of what was reported waits for the morning."""
    desk = desk_of(NIGHTS.replace("let_through: [critical]", "afterwards: drop"))
    before = desk.open("stray")
    assert desk.told(at(1)) == [("desk", [1], ["first"])]
    desk.end(before, NIGHT)
    dropped = desk.open("orders", NIGHT)
    assert desk.told(NIGHT + 3 * MINUTE) == []
    assert desk.decisions()[2].decision["channels"]["desk"]["action"] == "dropped"
    assert desk.told(MORNING) == [("desk", [1], ["resolved"])]
    desk.end(dropped, MORNING + MINUTE)
    assert desk.told(MORNING + timedelta(hours=1)) == []


def test_quiet_hours_drop_only_what_began_in_them(desk_of):
    """What began before quiet hours that drop is reported after them, however late it is decided on."""
    desk = desk_of(NIGHTS.replace("let_through: [critical]", "afterwards: drop"))
    desk.silence("orders", until=NIGHT)
    desk.open("orders", at(9))
    desk.open("stray", at(10) - MINUTE)
    assert desk.told(at(10) + MINUTE) == []
    assert desk.told(NIGHT) == []
    assert [decision.decision["channels"]["desk"]["action"] for decision in desk.decisions()] == ["held", "held"]
    assert sorted(desk.told(MORNING)) == [("desk", [1], ["first"]), ("desk", [2], ["first"])]


def test_a_silence_holds_and_ends(desk_of):
    """What lasts beyond a silence is reported when it ends, also when a user ends it early; its end always passes."""
    desk = desk_of()
    known = desk.open()
    assert desk.told(at(1)) == [("desk", [1], ["first"])]
    with desk.store.writing() as tx:
        silence = tx.silences.add(scope=Scope.ALL, name=None, starts_at=at(1), until=at(50), reason="moving", by="sato")
    desk.open("stray", at(2))
    desk.end(known, at(2))
    assert desk.told(at(3)) == [("desk", [1], ["resolved"])]
    assert desk.decisions()[1].decision["channels"]["desk"]["hold"] == f"silence #{silence.id}: moving"
    with desk.store.writing() as tx:
        tx.silences.end(silence.id, at(4))
    assert desk.told(at(4)) == [("desk", [2], ["first"])]
    record = desk.decisions()[1].decision["channels"]["desk"]
    assert (record["action"], record["hold"]) == ("told", f"silence #{silence.id}: moving")


def test_a_snooze_is_kept_quiet(desk_of):
    """No channel is notified of a snoozed incident before the snooze ends, and then of what lasts."""
    desk = desk_of()
    incident = desk.open()
    desk.change(incident, Snoozed(at(3)), when=NOW)
    assert desk.told(at(2)) == []
    assert desk.told(at(3)) == [("desk", [1], ["first"])]


def test_downstream_tables_wait_for_their_root(desk_of):
    """Tables made of a broken one are not reported; when the root is repaired and they still fail, they are."""
    desk = desk_of()
    root, below = desk.open("orders"), desk.open("lines", NOW + MINUTE)
    assert desk.told(NOW + 5 * MINUTE) == [("desk", [1], ["first"])]
    assert desk.decisions()[1].decision["channels"]["desk"]["hold"] == "downstream of #1 on orders"
    desk.end(root, at(1))
    assert desk.told(at(1.1)) == [("desk", [1], ["resolved"])]
    assert desk.told(at(3.9)) == []
    assert desk.told(at(4)) == [("desk", [2], ["first"])]
    desk.end(below, at(5))
    assert desk.told(at(6)) == [("desk", [2], ["resolved"])]


def test_a_storm_is_summed_up_and_loses_nothing(desk_of):
    """Beyond the cap tables share messages; every incident is reported, and no hour has more messages than the cap."""
    desk = desk_of(f"{ALL_TO_DESK}\n  hourly_cap: 12")
    for number in range(60):
        desk.open("orders" if number % 2 else "stray", check=f"c{number}", when=NOW)
    many = [desk.open(f"t{number}", check="x", when=NOW + number * MINUTE) for number in range(90)]
    heard, times = [], []
    for minute in range(2, 200):
        found = desk.told(NOW + minute * MINUTE)
        heard += found
        times += [minute] * len(found)
    assert sorted(number for _, ids, _ in heard for number in ids) == list(range(1, 61 + len(many)))
    assert max(sum(time - 60 < other <= time for other in times) for time in times) <= 12
    assert all(decision.settled_at for decision in desk.decisions())


def test_at_the_cap_the_log_says_so(desk_of):
    """What the cap holds back is in the log, and reported as soon as there is room, even if resolved by then."""
    desk = desk_of(f"{ALL_TO_DESK}\n  hourly_cap: 1")
    desk.open("stray")
    assert desk.told(at(0.1)) == [("desk", [1], ["first"])]
    second = desk.open("orders", at(0.2))
    assert desk.told(at(0.3)) == []
    assert desk.last()["hold"] == "the cap of 1 messages an hour (alerts.hourly_cap)"
    desk.end(second, at(0.4))
    assert desk.told(at(0.5)) == []
    assert desk.told(at(1.1)) == [("desk", [2], ["first"])]


def test_nothing_overtakes_what_is_not_delivered(desk_of):
    """The end of a problem waits until the problem was delivered; if that was given up, so is the end."""
    desk = desk_of()
    incident = desk.open()
    assert desk.told(at(1), arrives=False) is None
    desk.end(incident, at(1))
    notify(desk.project, desk.store, at(2))
    assert desk.last()["held_by"] == "delivery"
    assert desk.arrive(at(2)) == [("desk", [1], ["first"])]
    assert desk.told(at(2) + RECHECK_AFTER) == [("desk", [1], ["resolved"])]


def test_what_was_given_up_was_never_heard(desk_of):
    """A message that was given up does not count: what lasts is reported again, what is over is not."""
    desk = desk_of()
    lasts, passed = desk.open("orders"), desk.open("stray")
    notify(desk.project, desk.store, at(1))
    desk.give_up(at(1))
    desk.end(passed, at(2))
    assert desk.told(at(3)) == []
    desk.change(lasts, Escalated(Severity.CRITICAL), when=at(4))
    assert desk.told(at(5)) == [("desk", [1], ["first"])]


def test_what_was_given_up_is_tried_again_with_the_reminder(desk_of):
    """A problem whose message died is reported as new when it still lasts after `remind_every`."""
    desk = desk_of()
    desk.open()
    notify(desk.project, desk.store, at(1))
    desk.give_up(at(1))
    assert desk.told(at(24)) == []
    assert desk.told(at(25)) == [("desk", [1], ["first"])]


def test_a_look_at_everything_that_waits(desk_of):
    """After the clock went back, or the configuration changed, what waits is decided again at once."""
    desk = desk_of(NIGHTS)
    desk.open(when=NIGHT)
    assert desk.told(NIGHT + 3 * MINUTE) == []
    assert desk.told(at(1)) == []
    assert decide_again(desk.store, at(1)) == 1
    assert desk.told(at(1)) == [("desk", [1], ["first"])]


def test_a_disabled_channel_hears_nothing(desk_of):
    """What a disabled channel does not hear is in the log."""
    desk = desk_of()
    desk.gone("desk")
    desk.open()
    assert desk.told(at(1)) == []
    assert (desk.last()["held_by"], desk.last()["hold"]) == (
        "disabled",
        "the channel is disabled: it answered 410 Gone",
    )


def test_a_merged_incident_is_closed_where_it_was_told(desk_of):
    """A channel that knows of an incident hears that it is the same as another."""
    desk = desk_of()
    first, second = desk.open(check="a"), desk.open(check="b")
    desk.told(at(1))
    desk.change(second, Merged(first.id), when=at(2))
    assert desk.told(at(3)) == [("desk", [second.id], ["resolved"])]


def test_a_route_that_goes_away_leaves_no_problem_open(desk_of):
    """A channel that was notified of a problem is notified of its end, also when routes have changed."""
    desk = desk_of()
    incident = desk.open()
    assert desk.told(at(1)) == [("desk", [1], ["first"])]
    desk.route("  routes: [{to: [crew]}]")
    assert desk.told(at(30)) == [("crew", [1], ["first"])]
    desk.end(incident, at(31))
    assert sorted(desk.told(at(32))) == [("crew", [1], ["resolved"]), ("desk", [1], ["resolved"])]


def test_a_crash_tells_nothing_twice(desk_of, monkeypatch):
    """Whatever breaks while messages are written, nothing of it stays, and the next try tells everything once."""
    desk = desk_of()
    desk.open("orders"), desk.open("stray")
    tell = OutboxWriter.save_notifications

    def breaks(self, rows):
        tell(self, rows)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(OutboxWriter, "save_notifications", breaks)
        with pytest.raises(KeyboardInterrupt):
            notify(desk.project, desk.store, at(1))
    with desk.store.reading() as tx:
        assert tx.deliveries.since(at(-1), 10) == []
    assert sorted(ids for _, ids, _ in desk.told(at(1))) == [[1], [2]]


def test_a_clock_that_went_back_keeps_nothing_waiting(desk_of):
    """A change that was recorded in what is now the future is reported at once."""
    desk = desk_of()
    desk.open(when=at(10))
    assert desk.told(at(0)) == [("desk", [1], ["first"])]


def test_nothing_due_is_nothing_written(desk_of):
    """A pass without news changes nothing."""
    desk = desk_of()
    assert notify(desk.project, desk.store, NOW) == NotifyResult()
    assert NotifyResult(1, 2, 3) == NotifyResult(1) + NotifyResult(0, 2, 3)


def test_what_is_held_back_keeps_the_store_from_others_a_little_at_a_time(desk_of, monkeypatch):
    """Thousands of silenced incidents are decided on without the store's lock, and written down in small steps."""
    desk = desk_of()
    for number in range(7):
        desk.open("stray", check=f"c{number}")
    desk.open("orders")
    desk.silence("stray", until=at(9))
    writing, postpone, steps = Store.writing, OutboxWriter.postpone, []

    def begins(store):
        steps.append(0)
        return writing(store)

    def counts(outbox, ids, until, decision):
        steps[-1] += len(ids)
        return postpone(outbox, ids, until, decision)

    monkeypatch.setattr(module, "WRITE_LIMIT", 3)
    monkeypatch.setattr(Store, "writing", begins)
    monkeypatch.setattr(OutboxWriter, "postpone", counts)
    assert notify(desk.project, desk.store, at(1)) == NotifyResult(messages=1, settled=1, held=7)
    assert sorted(steps) == [0, 1, 3, 3]
    assert all(decision.decision is not None for decision in desk.decisions())


def test_what_somebody_takes_care_of_is_looked_at_without_the_lock(desk_of, monkeypatch):
    """No reminder is due, so nothing is written, however often it is looked at."""
    desk = desk_of()
    incident = desk.open()
    assert desk.told(at(1)) == [("desk", [1], ["first"])]
    desk.change(incident, Acknowledged(at(2)), when=at(2))

    def refuses(_store):
        raise AssertionError

    monkeypatch.setattr(Store, "writing", refuses)
    assert notify(desk.project, desk.store, at(100)) == NotifyResult()


def test_what_changes_while_it_is_decided_on_is_decided_on_next(desk_of, monkeypatch):
    """A change that comes between the look and the writing has news of its own: nothing is settled with it."""
    desk = desk_of()
    incident = desk.end(desk.open(), NOW + MINUTE)
    desk.end(desk.open("stray"), NOW + MINUTE)
    save = module._save_in_parts

    def late(*given):
        desk.back(incident, at(1))
        return save(*given)

    with monkeypatch.context() as patched:
        patched.setattr(module, "WRITE_LIMIT", 1)
        patched.setattr(module, "_save_in_parts", late)
        assert desk.told(at(1)) == []
    assert desk.told(at(2)) == [("desk", [1], ["first"])]


def test_what_is_over_before_it_is_written_is_not_told(desk_of, monkeypatch):
    """What there seemed to be to tell is decided once more, in the transaction that writes the message."""
    desk = desk_of()
    incident = desk.open()
    desk.end(desk.open("stray"), NOW + MINUTE)
    tell = module._notify_all_but_failing

    def late(*given):
        desk.end(incident, at(1))
        return tell(*given)

    with monkeypatch.context() as patched:
        patched.setattr(module, "WRITE_LIMIT", 1)
        patched.setattr(module, "_notify_all_but_failing", late)
        assert desk.told(at(1)) == []
    assert desk.told(at(2)) == []
    assert desk.last()["why"] == "resolved, and the channel was never notified"


def test_an_incident_that_we_stumble_over_keeps_nobody_from_hearing_of_the_others(desk_of, monkeypatch):
    """It is put off alone, with the reason in the log, and reported when it can be."""
    desk = desk_of()
    for number in range(5):
        desk.open(f"t{number}")
    writes = MessageComposer.incidents

    def stumbles(writer, batch, *given, **named):
        if batch.table == "t3":
            raise KeyError("a value")
        return writes(writer, batch, *given, **named)

    with monkeypatch.context() as patched:
        patched.setattr(MessageComposer, "incidents", stumbles)
        assert sorted(ids for _, ids, _ in desk.told(at(1))) == [[1], [2], [3], [5]]
    decision = next(decision.decision for decision in desk.decisions() if decision.incident_id == 4)
    assert decision == {"why": "internal error (KeyError); please report it", "channels": {}}
    assert desk.told(at(1) + MINUTE) == []
    assert desk.told(at(1) + RECHECK_AFTER) == [("desk", [4], ["first"])]


def test_what_is_owed_stays_owed_though_we_stumble(desk_of, monkeypatch):
    """What quiet hours kept back is reported afterwards, even if resolved and the first delivery failed."""
    desk = desk_of(NIGHTS)
    incident = desk.open(when=NIGHT)
    assert desk.told(NIGHT + HOUR) == []
    desk.end(incident, NIGHT + 2 * HOUR)

    def stumbles(*_given, **_named):
        raise KeyError("a value")

    with monkeypatch.context() as patched:
        patched.setattr(MessageComposer, "incidents", stumbles)
        assert notify(desk.project, desk.store, MORNING).failed == 1
    assert desk.told(MORNING + RECHECK_AFTER) == [("desk", [1], ["first"])]
