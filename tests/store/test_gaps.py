"""Unobserved time."""

from datetime import timedelta

from incidents import Gap
from store import Store
from tests.store.made import AT, HOUR


def _gap(start: float, end: float, *, reason: str = "timeout", check: str = "a.x") -> Gap:
    return Gap(check, "a", AT + start * HOUR, AT + end * HOUR, reason)


def _all(store: Store) -> list[Gap]:
    with store.reading() as tx:
        return tx.results.gaps(AT - timedelta(days=999), AT + timedelta(days=999))


def test_gaps_that_touch_become_one(store: Store) -> None:
    """Run after run, one gap of a check grows; another reason, another check or a pause begins a new one."""
    for gap in (_gap(0, 1), _gap(1, 2), _gap(2, 3, reason="not-run"), _gap(3, 4), _gap(5, 6), _gap(6, 7, check="a.y")):
        with store.writing() as tx:
            tx.results.add_gaps([gap])
    assert _all(store) == [_gap(0, 2), _gap(2, 3, reason="not-run"), _gap(3, 4), _gap(5, 6), _gap(6, 7, check="a.y")]


def test_gaps_of_one_call_touch_too(store: Store) -> None:
    """Gaps that are given together join each other and what was there, in whatever order they come."""
    with store.writing() as tx:
        tx.results.add_gaps([])
        tx.results.add_gaps([_gap(0, 1), _gap(0, 1, check="a.y")])
        tx.results.add_gaps([_gap(2, 3), _gap(1, 2), _gap(1, 4, check="a.y", reason="not-run")])
    assert _all(store) == [_gap(0, 3), _gap(0, 1, check="a.y"), _gap(1, 4, check="a.y", reason="not-run")]


def test_the_same_gap_again_changes_nothing(store: Store) -> None:
    """A gap inside the newest one is that one."""
    with store.writing() as tx:
        tx.results.add_gaps([_gap(0, 3)])
        tx.results.add_gaps([_gap(0, 3), _gap(1, 2)])
    assert _all(store) == [_gap(0, 3)]


def test_gaps_that_touch_a_window_are_given_whole(store: Store) -> None:
    """A window gets the gaps that lie in it, in part or wholly, as they are; its ends are half open."""
    with store.writing() as tx:
        tx.results.add_gaps([_gap(0, 1), _gap(2, 4), _gap(5, 6)])
    with store.reading() as tx:
        assert tx.results.gaps(AT + HOUR, AT + 5 * HOUR) == [_gap(2, 4)]
        assert tx.results.gaps(AT + 3 * HOUR, AT + 6 * HOUR) == [_gap(2, 4), _gap(5, 6)]


def test_thousands_of_gaps_grow_at_once(store: Store) -> None:
    """An unreachable source makes every one of its checks' gaps longer, in one call."""
    with store.writing() as tx:
        for hour in range(3):
            tx.results.add_gaps([_gap(hour, hour + 1, check=f"t{number}.x") for number in range(1500)])
    with store.reading() as tx:
        assert tx.counts().gaps == 1500
