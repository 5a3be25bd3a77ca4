"""Of a large store the incidents with new events are compared with their events, and all of them now and then."""

import pytest
from sqlalchemy import text

from incidents import Assigned, Incident
from store import Discrepancy, EventComparison, Store, _rebuild
from tests.store.made import AT, HOUR, opened

PROBLEM = "it is not what its events amount to"


@pytest.fixture(autouse=True)
def _large(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store with ten events is large, has seen a time, and none of the events compared before is read again."""
    with store.writing() as tx:
        tx.schedule.keep_time(AT)
    monkeypatch.setattr(_rebuild, "_FEW", 10)
    monkeypatch.setattr(_rebuild, "_AGAIN", 0)


def _open(store: Store, number: int) -> Incident:
    with store.writing() as tx:
        return tx.incidents.open(opened(f"check-{number}"), recorded_at=AT, actor="tablewatch")


def _compare(store: Store, hours: int, *, everything: bool = False) -> EventComparison:
    now = AT + hours * HOUR
    counted: list[int] = []
    done = store.compare_incidents(store.plan_comparison(now, everything=everything), now, advance=counted.append)
    if not done.wrong:
        assert sum(counted) == done.incidents
    return done


def _lie(store: Store, incident: Incident) -> None:
    """Change what is stored of an incident without an event."""
    with store.writing() as tx:
        tx._connection.execute(text("UPDATE incident SET assignee = 'x' WHERE id = :id"), {"id": incident.id})


def test_only_incidents_with_new_events_are_compared(store: Store) -> None:
    """A second comparison reads those that changed; a discrepancy elsewhere waits for one of everything."""
    incidents = [_open(store, number) for number in range(12)]
    assert _compare(store, 0) == EventComparison(12, 12)
    assert _compare(store, 1) == EventComparison(12, 0, since=AT, all_at=AT)
    with store.writing() as tx:
        tx.incidents.append(incidents[4], [Assigned("mia")], recorded_at=AT, actor="mia")
    assert _compare(store, 2) == EventComparison(13, 1, since=AT + HOUR, all_at=AT)
    _lie(store, incidents[0])
    assert _compare(store, 3).wrong == ()
    assert _compare(store, 4, everything=True).wrong == (Discrepancy(incidents[0].id, PROBLEM),)


def test_a_discrepancy_is_named_until_it_is_gone(store: Store) -> None:
    """A comparison that found one is not where the next begins."""
    incidents = [_open(store, number) for number in range(12)]
    _compare(store, 0)
    with store.writing() as tx:
        tx.incidents.append(incidents[4], [Assigned("mia")], recorded_at=AT, actor="mia")
    _lie(store, incidents[4])
    for hours in (1, 2):
        assert _compare(store, hours).wrong == (Discrepancy(incidents[4].id, PROBLEM),)


@pytest.mark.parametrize("hours", [30 * 24, -1], ids=["30 days later", "the clock was set back"])
def test_all_are_compared_again(store: Store, hours: int) -> None:
    """After thirty days, and when the clock says a time before the last comparison."""
    incident = next(iter([_open(store, number) for number in range(12)]))
    _compare(store, 0)
    assert not _compare(store, 1).is_whole
    _lie(store, incident)
    assert _compare(store, hours).wrong == (Discrepancy(incident.id, PROBLEM),)


def test_a_small_store_is_compared_whole(store: Store) -> None:
    """Ten events take no time."""
    incident = next(iter([_open(store, number) for number in range(10)]))
    _compare(store, 0)
    _lie(store, incident)
    assert _compare(store, 1).wrong == (Discrepancy(incident.id, PROBLEM),)


def test_a_comparison_is_no_time_that_the_store_has_seen(store: Store) -> None:
    """A clock that is far ahead while `doctor` runs does not count as set back afterwards."""
    for number in range(12):
        _open(store, number)
    _compare(store, 10_000)
    with store.writing() as tx:
        assert tx.schedule.keep_time(AT + HOUR) == 0
