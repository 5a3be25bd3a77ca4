"""Transitions are written with the change itself, decided once, and notified once."""

from dataclasses import replace
from datetime import timedelta

import pytest

from checks import Severity
from incidents import (
    Acknowledged,
    Assigned,
    Change,
    Commented,
    Corrected,
    Escalated,
    Flapped,
    Incident,
    Merged,
    Reopened,
    Resolution,
    Resolved,
    RootNamed,
    Snoozed,
)
from store import (
    Changed,
    History,
    LastingIncident,
    LastNotification,
    Store,
    StoreConflict,
    StoreError,
    Transition,
    WriteTransaction,
)
from tests.store.made import AT, HOUR, episode, opened

LATER = AT + 99 * HOUR
CLOSED = Resolved(AT + HOUR, Resolution.FIXED)


def _open(tx: WriteTransaction, name: str = "not-null") -> Incident:
    return tx.incidents.open(opened(name), recorded_at=AT, actor="tablewatch")


def _append(tx: WriteTransaction, incident: Incident, *changes: Change) -> Incident:
    return tx.incidents.append(incident, changes, recorded_at=AT + HOUR, actor="mia")


def _changes(tx: WriteTransaction) -> list[Changed]:
    return [transition.change for transition in tx.outbox.due(LATER, 99)]


def test_what_opens_an_incident_is_to_be_heard_of(store: Store) -> None:
    """Opening an incident writes its transition, too."""
    with store.writing() as tx:
        incident = _open(tx)
    with store.reading() as tx:
        (transition,) = tx.outbox.due(AT, 9)
    assert transition == Transition(transition.id, incident.id, Changed.OPENED, AT, "crm.customers")


@pytest.mark.parametrize(
    ("changes", "heard"),
    [
        ([Escalated(Severity.CRITICAL)], [Changed.ESCALATED]),
        ([CLOSED], [Changed.RESOLVED]),
        ([CLOSED, Reopened(episode(AT + 5 * HOUR))], [Changed.RESOLVED, Changed.REOPENED]),
        ([Flapped(True), Flapped(False)], [Changed.FLAPPING, Changed.SETTLED]),  # noqa: FBT003 - an event's only field
        ([Merged(7)], [Changed.MERGED]),
        ([CLOSED, Resolved(AT + 2 * HOUR, Resolution.EXPECTED)], [Changed.RESOLVED]),
        ([Acknowledged(AT), Assigned("mia"), Snoozed(LATER), Commented("."), RootNamed(7), Corrected(0)], []),
    ],
    ids=["escalated", "resolved", "reopened", "flapping", "merged", "ending corrected", "nobody's news"],
)
def test_only_news_is_to_be_heard_of(store: Store, changes: list[Change], heard: list[Changed]) -> None:
    """Of what happens to an incident, what changes for those outside is written down, in its order; no more."""
    with store.writing() as tx:
        _append(tx, _open(tx), *changes)
        assert _changes(tx) == [Changed.OPENED, *heard]


def test_an_import_is_never_heard_of(store: Store) -> None:
    """Histories that come from elsewhere, and what is added to them, are kept in silence unless announced."""
    with store.writing() as tx:
        (imported,) = tx.incidents.add_histories([History([opened("old"), CLOSED], AT, "import")])
        tx.incidents.append(
            imported, [Reopened(episode(AT + 5 * HOUR))], recorded_at=AT, actor="import", announce=False
        )
        assert _changes(tx) == []
        tx.incidents.add_histories([History([opened("told"), Escalated(Severity.INFO)], AT, "mia")], announce=True)
        assert _changes(tx) == [Changed.OPENED, Changed.ESCALATED]


def test_a_change_that_is_taken_back_is_not_heard_of(store: Store) -> None:
    """Change and news are one transaction: neither is there without the other."""
    with pytest.raises(StoreConflict), store.writing() as tx:  # noqa: PT012 - the first change has to be there
        incident = _open(tx)
        _append(tx, replace(incident, assignee="somebody else"), CLOSED)
    with store.reading() as tx:
        assert tx.outbox.due(LATER, 9) == []


def test_a_decision_ends_the_waiting_once(store: Store) -> None:
    """Of two who decide on the same news, one settles it; the log tells what was decided."""
    with store.writing() as tx:
        _open(tx, "a")
        _open(tx, "b")
        first, second = tx.outbox.due(AT, 9)
        assert tx.outbox.settle([first.id], AT + HOUR, {"ops": "first"}) == {first.id}
        assert tx.outbox.settle([first.id, second.id], LATER, {"ops": "again"}) == {second.id}
        assert tx.outbox.due(LATER, 9) == tx.outbox.waiting(9) == []
        result = {decision.id: (decision.decision, decision.settled_at) for decision in tx.outbox.decided_since(AT, 9)}
        assert tx.outbox.decided_since(AT + HOUR, 9) == []
    assert result == {first.id: ({"ops": "first"}, AT + HOUR), second.id: ({"ops": "again"}, LATER)}


def test_what_is_postponed_waits_until_then(store: Store) -> None:
    """News that is put off comes back at its time, after what was never put off, with the decision so far."""
    with store.writing() as tx:
        for name in "abc":
            _open(tx, name)
        first, second, third = tx.outbox.due(AT, 9)
        assert tx.outbox.postpone([first.id], AT + 2 * HOUR, {"ops": "quiet hours"}) == {first.id}
        assert tx.outbox.postpone([second.id], AT + HOUR) == {second.id}
        assert [transition.id for transition in tx.outbox.due(AT, 9)] == [third.id]
        assert [transition.id for transition in tx.outbox.due(AT + HOUR, 9)] == [third.id, second.id]
        again = tx.outbox.due(AT + 2 * HOUR, 9)
        assert [one.id for one in again] == [third.id, second.id, first.id]
        assert (again[2].decision, again[2].not_before) == ({"ops": "quiet hours"}, AT + 2 * HOUR)
        assert [waiting_transition.id for waiting_transition in tx.outbox.waiting(9)] == [
            third.id,
            second.id,
            first.id,
        ]
        assert [decision.id for decision in tx.outbox.decided_since(AT, 9)] == [first.id]
        tx.outbox.settle([first.id], AT, {})
        assert tx.outbox.postpone([first.id], LATER) == set()


def test_what_was_settled_can_be_decided_on_once_more(store: Store) -> None:
    """Settled news that is woken waits again, with its decision; what waits anyhow stays as it was put off."""
    with store.writing() as tx:
        _open(tx, "a")
        _open(tx, "b")
        first, second = tx.outbox.due(AT, 9)
        tx.outbox.settle([first.id], AT, {"ops": "nobody"})
        tx.outbox.postpone([second.id], LATER)
        assert tx.outbox.requeue([first.id, second.id, 999], AT + HOUR) == 1
        assert tx.outbox.requeue([first.id], AT + HOUR) == 0
        assert tx.outbox.due(AT, 9) == []
        (again,) = tx.outbox.due(AT + HOUR, 9)
        assert again == replace(first, decision={"ops": "nobody"}, not_before=AT + HOUR)
        assert [waiting_transition.id for waiting_transition in tx.outbox.waiting(9)] == [first.id, second.id]


def test_the_newest_news_of_many_incidents(store: Store) -> None:
    """Of each incident the newest transition is given, settled or not; what was imported has none."""
    with store.writing() as tx:
        first, second = _open(tx, "a"), _open(tx, "b")
        _append(tx, second, Escalated(Severity.CRITICAL))
        (imported,) = tx.incidents.add_histories([History([opened("old")], AT, "import")])
        settled = next(transition for transition in tx.outbox.due(AT, 9) if transition.incident_id == first.id)
        tx.outbox.settle([settled.id], AT, {})
        many = tx.outbox.latest([first.id, second.id, imported.id, *range(1000, 1300)])
        assert {number: (one.change, one.settled_at) for number, one in many.items()} == {
            first.id: (Changed.OPENED, AT),
            second.id: (Changed.ESCALATED, None),
        }
        assert tx.outbox.latest([]) == {}


def test_what_lasts_is_given_with_what_routes_ask_for(store: Store) -> None:
    """Of each incident that is not resolved, also of an imported one, table, severity, kind and episode are given."""
    with store.writing() as tx:
        lasting, over = _open(tx, "a"), _open(tx, "b")
        _append(tx, over, CLOSED)
        (imported,) = tx.incidents.add_histories([History([opened("old")], AT, "import")])
        assert tx.outbox.open_incidents() == [
            LastingIncident(one.id, one.table, one.severity, one.kind, 1, one.last.detected_at, None, flapping=False)
            for one in (lasting, imported)
        ]


def test_news_is_decided_on_in_order_and_in_portions(store: Store) -> None:
    """As much as was asked for is given, oldest first, also from hundreds."""
    with store.writing() as tx:
        for number in range(250):
            _open(tx, f"c{number}")
        ids = [transition.id for transition in tx.outbox.due(AT, 999)]
        assert (len(ids), ids) == (250, sorted(ids))
        assert [transition.id for transition in tx.outbox.due(AT, 7)] == ids[:7]
        assert tx.outbox.settle(ids, AT, {}) == set(ids)


def _told(incident: Incident, channel: str = "ops", *, reason: str = "first") -> LastNotification:
    return LastNotification(incident.id, channel, reason, Severity.ERROR, 1, AT, "msg_1")


def test_a_channel_was_told_one_thing_last(store: Store) -> None:
    """Of an incident and a channel only the last notification is kept; reminders ask for incidents that last."""
    with store.writing() as tx:
        lasting, over = _open(tx, "a"), _open(tx, "b")
        _append(tx, over, CLOSED)
        tx.outbox.save_notifications([_told(lasting), _told(lasting, "mail"), _told(over)])
        tx.outbox.save_notifications([_told(lasting, reason="reminder")])
        tx.outbox.save_notifications([])
        assert tx.outbox.last_notifications([lasting.id]) == [_told(lasting, "mail"), _told(lasting, reason="reminder")]
        assert tx.outbox.last_notifications([lasting.id, over.id])[2:] == [_told(over)]
        assert tx.outbox.last_notifications_of_open() == tx.outbox.last_notifications([lasting.id])
        assert tx.outbox.last_notifications([]) == []
    with pytest.raises(StoreError), store.writing() as tx:
        tx.outbox.save_notifications([LastNotification(999, "ops", "first", Severity.ERROR, 1, AT, "msg_1")])


def test_news_and_what_was_told_leave_with_their_incident(store: Store) -> None:
    """Retention removes undecided transitions only together with its incident."""
    year = timedelta(days=365)
    with store.writing() as tx:
        incident = _append(tx, _open(tx), CLOSED)
        tx.outbox.save_notifications([_told(incident)])
    assert store.prune(keep_measurements=year / 4, keep_incidents=year, now=AT + year / 2).transitions == 0
    assert store.prune(keep_measurements=year / 4, keep_incidents=year, now=AT + 2 * year).incidents == 1
    with store.reading() as tx:
        assert (tx.outbox.waiting(9), tx.outbox.last_notifications([incident.id])) == ([], [])
