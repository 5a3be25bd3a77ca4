"""Decisions and exports of releases are facts: added, read in order, never changed or removed."""

import pytest
from sqlalchemy import text

from store import ReleaseEvent, ReleaseEventKind, Store, StoreError
from tests.store.made import AT, HOUR

FACTS = [
    ReleaseEvent("extract", ReleaseEventKind.HELD, "desk", "wait", {}, AT),
    ReleaseEvent("other", ReleaseEventKind.APPROVED, "m.mori", "", {"remedy": "suppress"}, AT + HOUR),
    ReleaseEvent("extract", ReleaseEventKind.EXPORTED, "desk", "", {"rows": 40, "columns": ["年", "b"]}, AT + 2 * HOUR),
]


@pytest.fixture
def written(store: Store) -> Store:
    """Return a store with three facts about two releases."""
    with store.writing() as tx:
        numbers = [tx.release_events.add(one) for one in FACTS]
    assert numbers == sorted(set(numbers))
    return store


def test_facts_are_read_as_they_were_written(written: Store) -> None:
    """The oldest first, of one release or of all, of one kind or of all."""
    with written.reading() as tx:
        assert [
            (
                release_event.release,
                release_event.kind,
                release_event.actor,
                release_event.note,
                release_event.recorded_at,
            )
            for release_event in tx.release_events.matching()
        ] == [(one.release, one.kind, one.actor, one.note, one.recorded_at) for one in FACTS]
        assert [release_event.body for release_event in tx.release_events.matching("extract")] == [
            {},
            {"rows": 40, "columns": ["年", "b"]},
        ]
        assert [
            release_event.release for release_event in tx.release_events.matching(kind=ReleaseEventKind.APPROVED)
        ] == ["other"]
        assert not tx.release_events.matching("extract", ReleaseEventKind.APPROVED)
        assert not tx.release_events.matching("nobody")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE release_event SET actor = 'somebody else'",
        "DELETE FROM release_event",
        "UPDATE release_event SET id = id + 10",
    ],
)
def test_no_fact_is_changed_or_removed(written: Store, statement: str) -> None:
    """The database itself refuses every client."""
    with pytest.raises(StoreError), written.writing() as tx:
        tx._connection.execute(text(statement))
    with written.reading() as tx:
        assert [release_event.actor for release_event in tx.release_events.matching()] == ["desk", "m.mori", "desk"]
