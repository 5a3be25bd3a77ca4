"""Runs, measurements, and what is known of a check between two runs."""

from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal

import pytest
from sqlalchemy.exc import SQLAlchemyError

from checks import Message, Status, UnknownReason
from store import Result, RowRefused, Store, StoreConflict, StoreError
from tests.store.made import AT, HOUR, measure, result, run, watch


def test_a_result_comes_back_as_it_was(store: Store) -> None:
    """What a check found is given back with its types: numbers, times, durations, decimals, infinities."""
    one = run()
    told = {
        "age": timedelta(hours=2),
        "at": AT,
        "amount": Decimal("1.50"),
        "ratio": 0.5,
        "columns": ["a", "b"],
        "none": None,
    }
    found = replace(
        result(one, observed={"nulls": {"email": 12, "$odd": 1}, "ratio": float("inf"), "名前": "列"}),
        message=Message("{age:duration} at {at:time}", told),
    )
    with store.writing() as tx:
        tx.results.add_runs([one], [found])
    with store.reading() as tx:
        assert tx.results.latest() == {found.check_id: found}


def test_a_long_text_is_kept(store: Store) -> None:
    """A text that no index could hold comes back in the words that it has, without its places."""
    long = Message("{rows:count} rows " + "and more " * 1000, {"rows": 3})
    with store.writing() as tx:
        tx.results.add_runs([run()], [replace(result(run()), message=long)])
    with store.reading() as tx:
        (found,) = tx.results.latest().values()
    assert str(found.message) == str(long)
    assert found.message.text == "{text}"


def test_the_newest_result_of_each_check_is_given(store: Store) -> None:
    """Of several measurements of a check the newest is given, for all checks or for those asked for."""
    runs = [run(number, at=AT + number * HOUR, table=table) for table in ("a", "b") for number in range(3)]
    with store.writing() as tx:
        tx.results.add_runs(runs, [result(run, name) for run in runs for name in ("x", "y")])
    with store.reading() as tx:
        newest = tx.results.latest()
        assert set(newest) == {"a.x", "a.y", "b.x", "b.y"}
        assert {found.measured_at for found in newest.values()} == {AT + 2 * HOUR}
        assert tx.results.latest(["a.x", "unheard.of"]) == {"a.x": newest["a.x"]}


def test_thousands_of_checks_are_asked_for_at_once(store: Store) -> None:
    """More checks than the maximum is parameters are no difficulty."""
    one = run()
    names = [f"check-{number}" for number in range(3000)]
    with store.writing() as tx:
        tx.results.add_runs([one], [result(one, name) for name in names])
        tx.results.save_watches([watch(f"{one.table}.{name}") for name in names])
    with store.reading() as tx:
        ids = [f"{one.table}.{name}" for name in names]
        assert len(tx.results.latest(ids)) == len(tx.results.latest()) == len(tx.results.watches(ids)) == 3000
        assert len(tx.incidents.latest(ids)) == 0


def test_a_result_needs_its_run(store: Store) -> None:
    """A result of a run that was not given with it is refused, and nothing of the call is kept."""
    with pytest.raises(StoreError, match="came without their runs"), store.writing() as tx:
        tx.results.add_runs([run(0)], [result(run(1))])
    with store.reading() as tx:
        assert tx.counts().runs == 0


def test_a_run_is_remembered_once(store: Store) -> None:
    """The same run given again is refused."""
    with store.writing() as tx:
        tx.results.add_runs([run()], [result(run())])
    with pytest.raises(StoreConflict), store.writing() as tx:
        tx.results.add_runs([run()], [])
    with store.reading() as tx:
        assert tx.counts().runs == 1


def test_a_reason_goes_with_unknown_only(store: Store) -> None:
    """The database itself refuses an unknown result without a reason."""
    one = run()
    with pytest.raises(StoreError), store.writing() as tx:
        tx.results.add_runs([one], [replace(result(one), status=Status.UNKNOWN)])
    with store.writing() as tx:
        tx.results.add_runs([one], [result(one, status=Status.UNKNOWN, reason=UnknownReason.NO_DATA)])
    with store.reading() as tx:
        assert tx.results.latest()["crm.customers.not-null"].reason is UnknownReason.NO_DATA


@pytest.mark.parametrize(
    "odd",
    [
        {"started_at": datetime(2026, 11, 20)},  # noqa: DTZ001 - a naive time is what is refused
        {"id": "half \ud800"},
        {"table": "nul \0"},
        {"table": 7},
    ],
    ids=["naive time", "half a character", "NUL", "no text"],
)
def test_what_cannot_be_kept_exactly_is_refused(store: Store, odd: dict[str, object]) -> None:
    """Naive times and text that no database holds are refused, and nothing is written."""
    with pytest.raises(RowRefused), store.writing() as tx:
        tx.results.add_runs([replace(run(), **odd)], [])
    with store.reading() as tx:
        assert tx.counts().runs == 0


@pytest.mark.parametrize("odd", [b"bytes", object(), AT.replace(tzinfo=None), {("a", "b"): 1}])
def test_what_has_no_place_in_observed_is_refused(store: Store, odd: object) -> None:
    """Bytes, objects and naive times are no numbers and names; the message says the type and not the value."""
    one = run()
    with pytest.raises(RowRefused, match="of type"), store.writing() as tx:
        tx.results.add_runs([one], [result(one, observed={"x": odd})])


def test_watches_come_back_as_they_were(store: Store) -> None:
    """What is known of a check replaces what was known before."""
    first = watch("a.x", recent="PPF", last_pass_ended_at=AT, failing_since=AT + HOUR, fail_streak=1)
    second = watch("b.y", last_status="unknown(timeout)", passing_since=AT, pass_streak=3, flapping=True)
    with store.writing() as tx:
        tx.results.save_watches([first, second])
        tx.results.save_watches([replace(first, fail_streak=2)])
        tx.results.save_watches([])
    with store.reading() as tx:
        assert tx.results.watches(["a.x", "c.z"]) == {"a.x": replace(first, fail_streak=2)}
        assert set(tx.results.watches()) == {"a.x", "b.y"}


def test_nothing_of_a_block_that_raises_is_kept(store: Store) -> None:
    """A block is one transaction: all of it or nothing."""

    def stumble() -> None:
        with store.writing() as tx:
            tx.results.save_watches([watch()])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        stumble()
    with store.reading() as tx:
        assert tx.results.watches() == {}


def test_a_failure_that_is_passed_over_is_not_a_commit(store: Store) -> None:
    """Catching a failed statement inside the block does not save the rest of the block."""

    def write_carelessly() -> None:
        with store.writing() as tx:
            tx.results.save_watches([watch()])
            with suppress(SQLAlchemyError):
                tx.results.add_runs([run(), run()], [])

    with pytest.raises(StoreError, match="failed earlier in this transaction"):
        write_carelessly()
    with store.writing() as tx:
        assert tx.results.watches() == {}


def test_readers_see_one_state(store: Store) -> None:
    """A reader sees the store as it was when it first looked, whatever is written meanwhile."""
    with store.reading() as tx:
        assert tx.results.watches() == {}
        with store.writing() as writing:
            writing.results.save_watches([watch()])
        assert tx.results.watches() == {}
    with store.reading() as tx:
        assert len(tx.results.watches()) == 1


def test_results_of_one_run_are_unique_by_check(store: Store) -> None:
    """One check cannot be measured twice in one run."""
    one = run()
    with pytest.raises(StoreConflict), store.writing() as tx:
        tx.results.add_runs([one], [result(one), result(one)])


def test_results_of_a_time_are_counted_by_status(store: Store) -> None:
    """What checks found in the runs of a time is counted by status; what begins at its end is not in it."""
    measure(store, *((AT + number * HOUR, status) for number, status in enumerate([*Status, Status.PASS])))
    with store.reading() as tx:
        assert tx.results.count_by_status(AT, AT + 4 * HOUR) == dict.fromkeys(Status, 1)
        assert tx.results.count_by_status(AT + HOUR, AT + 9 * HOUR)[Status.PASS] == 1
        assert tx.results.count_by_status(AT + 9 * HOUR, AT + 10 * HOUR) == {}
        table = run().table
        assert tx.results.count_by_status(AT, AT + 4 * HOUR, ["other", table]) == dict.fromkeys(Status, 1)
        assert tx.results.count_by_status(AT, AT + 4 * HOUR, ["other"]) == {}


def test_whether_anything_was_seen(store: Store) -> None:
    """A time in which every result is unknown, or in which nothing ran, is one in which nothing was seen."""
    measure(store, *((AT + number * HOUR, status) for number, status in enumerate([Status.UNKNOWN, Status.WARN])))
    with store.reading() as tx:
        seen = [tx.results.any_evaluated(AT + number * HOUR, AT + (number + 1) * HOUR) for number in range(3)]
        assert tx.results.any_evaluated(AT, AT + 9 * HOUR)
        assert tx.results.any_evaluated(AT, AT + 9 * HOUR, [run().table])
        assert not tx.results.any_evaluated(AT, AT + 9 * HOUR, ["other"])
    assert seen == [False, True, False]


def test_counts_count(store: Store) -> None:
    """The counts are those of what was written."""
    measure(store, (AT, Status.PASS), (AT + HOUR, Status.FAIL))
    with store.reading() as tx:
        counts = tx.counts()
    assert (counts.runs, counts.measurements, counts.checks, counts.incidents) == (2, 2, 0, 0)


def test_result_is_a_value() -> None:
    """A result is frozen: what was measured does not change in the hands of a caller."""
    with pytest.raises(AttributeError):
        result(run()).status = Status.FAIL  # type: ignore[misc] - that it cannot be set is the point
    assert isinstance(result(run()), Result)
