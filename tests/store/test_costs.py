"""What runs cost: added up by day, source and table; what no engine tells stays unknown."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from sources import ReadVolume
from store import RunCost, Spending, Store, open_store
from tests.store.made import AT, run

DAY = date(2026, 11, 20)
VOLUMES = st.builds(ReadVolume, st.none() | st.integers(0, 10**12), st.none() | st.integers(0, 10**15))
RUNS = st.lists(
    st.tuples(
        st.sampled_from(["orders", "lines", "people"]),
        st.builds(
            RunCost,
            st.sampled_from(["shop", "crm"]),
            st.sampled_from([DAY, DAY + timedelta(days=1)]),
            st.integers(0, 10**9).map(lambda number: number / 1_000_000),
            VOLUMES,
        ),
    ),
    max_size=12,
)


def _total(costs: Sequence[RunCost]) -> Spending:
    total = Spending()
    for cost in costs:
        total += Spending(1, cost.seconds, cost.volume)
    return replace(total, seconds=round(total.seconds, 6))


def _rounded(spending: Spending) -> Spending:
    return replace(spending, seconds=round(spending.seconds, 6))


class _CrashError(Exception):
    """The process ends before its transaction does."""


@settings(max_examples=12, deadline=None)
@given(st.lists(st.tuples(RUNS, st.booleans(), st.booleans()), max_size=4))
def test_batches_crashes_and_forgetting_leave_the_exact_sums(
    batches: Sequence[tuple[Sequence[tuple[str, RunCost]], bool, bool]],
) -> None:
    """Days cost what runs of batches that were recorded cost, none of one that was not, until they are forgotten."""
    sums: dict[tuple[date, str, str], list[RunCost]] = {}
    forgetting = datetime.combine(DAY + timedelta(days=2), time(), UTC)
    with TemporaryDirectory() as folder, open_store(f"sqlite:///{folder}/store.db") as store:
        for place, (costs, crashes, forgets) in enumerate(batches):
            batch = [
                replace(run(100 * place + number), table=table, cost=cost) for number, (table, cost) in enumerate(costs)
            ]
            with suppress(_CrashError), store.writing() as tx:
                tx.results.add_runs(batch, [])
                if crashes:
                    raise _CrashError
            for table, cost in () if crashes else costs:
                sums.setdefault((cost.day, cost.source, table), []).append(cost)
            if forgets:
                store.prune(keep_measurements=timedelta(0), keep_incidents=timedelta(0), now=forgetting)
                sums = {key: costs for key, costs in sums.items() if key[0] > DAY}
        with store.reading() as tx:
            for day in (DAY, DAY + timedelta(days=1)):
                spent = {key: _rounded(spending) for key, spending in tx.costs.by_table(day, day).items()}
                assert spent == {key[1:]: _total(costs) for key, costs in sums.items() if key[0] == day}


@settings(max_examples=25, deadline=None)
@given(RUNS)
def test_a_day_costs_what_its_runs_cost(runs: Sequence[tuple[str, RunCost]]) -> None:
    """The spending of a source on a day, and that of a table, are the sums over their runs; unknown is never 0."""
    with TemporaryDirectory() as folder, open_store(f"sqlite:///{folder}/store.db") as store:
        with store.writing() as tx:
            batch = [replace(run(number, table=table), cost=cost) for number, (table, cost) in enumerate(runs)]
            tx.results.add_runs(batch, [])
        with store.reading() as tx:
            for source in ("shop", "crm"):
                costs = [cost for _, cost in runs if cost.source == source and cost.day == DAY]
                assert _rounded(tx.costs.of_source(source, DAY)) == _total(costs)
            spent = tx.costs.by_table(DAY, DAY + timedelta(days=1))
            for key, spending in spent.items():
                assert _rounded(spending) == _total([cost for table, cost in runs if (cost.source, table) == key])
            assert spent.keys() == {(cost.source, table) for table, cost in runs}


def test_a_run_is_expected_to_cost_the_mean_of_its_newest_day(store: Store) -> None:
    """Days before it do not count, nor does a table that never ran."""
    costs = [
        RunCost("shop", DAY - timedelta(days=1), 90.0),
        RunCost("shop", DAY, 1.0, ReadVolume(10, None)),
        RunCost("shop", DAY, 2.0, ReadVolume(11, None)),
    ]
    with store.writing() as tx:
        tx.results.add_runs([replace(run(number), cost=cost) for number, cost in enumerate(costs)], [])
    with store.reading() as tx:
        expected = tx.costs.expected(["crm.customers", "unheard.of"])
    assert expected == {"crm.customers": Spending(1, 1.5, ReadVolume(11, None))}


def test_a_run_without_a_cost_has_none(store: Store) -> None:
    """A run of another tool, or one that never reached its source, counts for no day."""
    with store.writing() as tx:
        tx.results.add_runs([run()], [])
    with store.reading() as tx:
        assert tx.costs.of_source("shop", AT.date()) == Spending()
        assert tx.costs.expected(["crm.customers"]) == {}
