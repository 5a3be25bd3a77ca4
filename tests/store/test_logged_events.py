"""Logged events: facts that are never changed, in the order of time, until retention takes them."""

from datetime import timedelta

import pytest
from sqlalchemy import text

from store import LoggedEvent, LoggedEventKind, NotRecorded, Store, StoreError
from tests.store.made import AT, HOUR

YEAR = timedelta(days=365)


def _event(note: str = "v2", *, hours: float = 0, table: str | None = None, source: str | None = None) -> LoggedEvent:
    return LoggedEvent(LoggedEventKind.DEPLOY, AT + hours * HOUR, table, source, note, "mia", AT)


def test_events_are_read_by_when_they_happened(store: Store) -> None:
    """Events of a half-open time are returned, newest first, however they were recorded."""
    with store.writing() as tx:
        late, _ = tx.logged_events.add(_event("late", hours=2, table="crm.customers"))
        early, _ = tx.logged_events.add(_event("early", source="crm"))
    with store.reading() as tx:
        assert tx.logged_events.between(None, None, most=9) == [late, early]
        assert tx.logged_events.between(AT, AT + 2 * HOUR, most=9) == [early]
        assert tx.logged_events.between(AT + HOUR / 2, None, most=9) == [late]
        assert tx.logged_events.between(None, None, most=1) == [late]


def test_the_same_event_is_logged_once(store: Store) -> None:
    """A pipeline that sends its deployment again adds nothing; another note or table is another event."""
    with store.writing() as tx:
        first, is_new = tx.logged_events.add(_event())
        assert is_new
        assert tx.logged_events.add(_event()) == (first, False)
        assert tx.logged_events.add(_event(table="t"))[1]
        assert tx.logged_events.add(_event("v3"))[1]


def test_a_removed_event_stays_on_record(store: Store) -> None:
    """What was logged by mistake is no longer returned, and cannot be removed twice; its rows stay, and its number."""
    with store.writing() as tx:
        event, _ = tx.logged_events.add(_event())
        assert tx.logged_events.remove(event.id, actor="noa", recorded_at=AT + HOUR) == event
        assert tx.logged_events.between(None, None, most=9) == []
        for number in (event.id, event.id + 1, 99):
            with pytest.raises(NotRecorded, match=f"event {number}"):
                tx.logged_events.remove(number, actor="noa", recorded_at=AT)
        again, is_new = tx.logged_events.add(_event())
        assert (is_new, again.id) == (True, event.id + 2)
        rows = tx._connection.execute(text("SELECT kind, actor, removes FROM logged_event ORDER BY id")).all()
    logged = ("deploy", "mia", None)
    assert [tuple(row) for row in rows] == [logged, ("removal", "noa", event.id), logged]


def test_events_are_never_changed(store: Store) -> None:
    """The database refuses to change an event."""
    with store.writing() as tx:
        tx.logged_events.add(_event())
    with pytest.raises(StoreError), store.writing() as tx:
        tx._connection.execute(text("UPDATE logged_event SET note = 'other'"))


def test_old_events_go_with_old_incidents(store: Store) -> None:
    """Retention takes events when it takes incidents of their age, and their removals after them."""
    with store.writing() as tx:
        event, _ = tx.logged_events.add(_event())
        tx.logged_events.remove(event.id, actor="noa", recorded_at=AT)
        newer, _ = tx.logged_events.add(_event(hours=24 * 300))
    assert store.prune(keep_measurements=YEAR, keep_incidents=YEAR, now=AT + YEAR / 2).logged_events == 0
    assert store.prune(keep_measurements=YEAR, keep_incidents=YEAR, now=AT + 1.5 * YEAR).logged_events == 2
    with store.reading() as tx:
        assert tx.logged_events.between(None, None, most=9) == [newer]
