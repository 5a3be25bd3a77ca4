"""The default microaggregation finds small groups' optima, keeps its promises, and replays."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks._donors import donors
from remedies._errors import Misfit
from remedies.microaggregation import (
    Microaggregation,
    information_loss,
    lower_bound,
    mdav,
    mhm,
    microaggregate,
    npn_path,
)
from tests.remedies.microaggregation.tables import COMPANIES, cloud, grid, grids
from tests.remedies.microaggregation.textbook import labels, partitions
from tests.tiers import examples

METHODS = ("best", "npn", "fdh", "mdav", "vmdav")


def _holds(table, k: int, found: Microaggregation) -> None:
    """What is true of every result."""
    sizes = np.bincount(found.labels)
    assert found.labels.shape == (len(table),)
    assert found.labels.dtype == np.int64
    assert sizes.min() >= k
    assert sizes.max() <= 2 * k - 1
    assert np.array_equal(sizes, found.group_sizes)
    assert found.information_loss == pytest.approx(information_loss(table, found.labels), abs=1e-9)
    assert found.lower_bound is None or found.lower_bound <= found.information_loss + 1e-9
    assert list(dict.fromkeys(found.labels.tolist())) == list(range(len(sizes)))


def test_best_finds_the_optimum_of_the_published_example():
    """On the 11 companies it finds what a search of all partitions proves to be optimal."""
    found = microaggregate(COMPANIES, 3)
    _holds(COMPANIES, 3, found)
    assert found.information_loss == pytest.approx(34.0218, abs=5e-5)


@settings(max_examples=examples(40))
@given(grids(most=9), st.integers(2, 4))
def test_best_finds_the_optimum_of_small_tables(table, k):
    """Of tables with up to 9 records it finds a grouping that no other one beats."""
    if len(table) < k:
        return
    found = microaggregate(table, k, threads=1)
    _holds(table, k, found)
    optimum = min(information_loss(table, labels(groups)) for groups in partitions(range(len(table)), k))
    assert found.information_loss == pytest.approx(optimum, rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("k", [2, 3, 7, 60])
@pytest.mark.parametrize("rows", [60, 130, 700])
def test_groups_have_k_to_2k_minus_1_records(rows, k):
    """Sizes stay in k..2k-1, on clouds and on tables with many duplicates."""
    for table in (cloud(rows + k, rows), grid(rows + k, rows)):
        _holds(table, k, microaggregate(table, k, sweeps=3))


@pytest.mark.parametrize("k", [2, 5, 60])
def test_a_large_table_takes_blocks(k):
    """A table beyond the small ones goes through blocks, with the same promises."""
    table = donors(6_000, seed=3)
    found = microaggregate(table, k, sweeps=4)
    _holds(table, k, found)
    assert found.information_loss < information_loss(table, mhm(table, npn_path(table), k))


@pytest.mark.parametrize("rows", [400, 6_000])
def test_no_sweep_makes_it_worse(rows):
    """Each further sweep loses as much or less."""
    table = donors(rows, seed=5)
    losses = [microaggregate(table, 3, sweeps=sweeps).information_loss for sweeps in range(6)]
    assert all(later <= earlier + 1e-9 for earlier, later in itertools.pairwise(losses))


@pytest.mark.parametrize("rows", [400, 9_000])
def test_any_number_of_threads_gives_the_same_labels(rows):
    """Threads share the work, and decide nothing."""
    table = donors(rows, seed=7)
    one, two = (microaggregate(table, 4, sweeps=6, threads=threads) for threads in (1, 2))
    assert np.array_equal(one.labels, two.labels)
    assert one.tried == two.tried


def test_its_sweeps_replay_a_result():
    """The number of sweeps a result names gives its labels again, however many seconds there are."""
    table = donors(500, seed=11)
    ticks = itertools.count()
    first = microaggregate(table, 3, seed=9, budget=8, clock=lambda: float(next(ticks)))
    again = microaggregate(table, 3, seed=9, budget=0, sweeps=first.sweeps)
    assert first.sweeps > 0
    assert again.sweeps == first.sweeps
    assert np.array_equal(first.labels, again.labels)


@pytest.mark.parametrize(("budget", "sweeps"), [(0, 0), (3, 2), (5, 4)])
def test_the_budget_ends_whole_sweeps(budget, sweeps):
    """The clock is looked at between sweeps: here each look is a second later than the one before."""
    ticks = itertools.count()
    found = microaggregate(donors(300), 3, budget=budget, clock=lambda: float(next(ticks)))
    assert found.sweeps == sweeps


def test_it_says_what_was_tried():
    """Each start is listed with its loss; the result is at least as good as all of them."""
    table = donors(600, seed=2)
    found = microaggregate(table, 3, sweeps=2)
    losses = {attempt.method: attempt.information_loss for attempt in found.tried}
    assert losses["mdav"] == pytest.approx(information_loss(table, mdav(table, 3)))
    assert found.information_loss == min(losses.values())


def test_progress_goes_from_nothing_to_all():
    """Progress is a share that never falls."""
    shares: list[float] = []
    microaggregate(donors(300), 3, sweeps=4, progress=shares.append)
    assert shares[0] == 0.0
    assert shares[-1] == 1.0
    assert shares == sorted(shares)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("rows", "k"), [(5, 5), (9, 5), (10, 5), (60, 4)])
def test_each_method_keeps_the_promises(method, rows, k):
    """Whatever the method: n = k, k <= n < 2k (one group), n = 2k, and more."""
    table = cloud(rows, rows)
    found = microaggregate(table, k, method, sweeps=2)
    _holds(table, k, found)
    assert (len(found.group_sizes) == 1) == (rows < 2 * k)


@pytest.mark.parametrize("method", METHODS)
def test_a_table_in_which_nothing_varies_loses_nothing(method):
    """Constant columns count for nothing; if all are constant, the loss is 0."""
    table = np.full((23, 3), 7.5)
    found = microaggregate(table, 4, method)
    _holds(table, 4, found)
    assert found.information_loss == 0.0


def test_duplicates_cost_nothing_where_that_is_possible():
    """Five distinct records, twenty times each: no loss at k = 7."""
    table = np.repeat(np.arange(10).reshape(5, 2) ** 2, 20, axis=0)
    found = microaggregate(table, 7)
    _holds(table, 7, found)
    assert found.information_loss == pytest.approx(0.0, abs=1e-9)


def test_the_lower_bound_is_left_out_of_large_tables():
    """Up to 20,000 records it is certified; beyond, it is None."""
    assert microaggregate(COMPANIES, 3).lower_bound == lower_bound(COMPANIES, 3)
    assert microaggregate(cloud(1, 20_001)[:, :1], 5, sweeps=0).lower_bound is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 12}, "at least 12"),
        ({"k": 1}, "at least 2"),
        ({"method": "magic"}, "method 'magic' is not known"),
        ({"budget": -1.0}, "budget"),
        ({"budget": float("nan")}, "budget"),
        ({"sweeps": -1}, "sweeps is -1"),
        ({"sweeps": 1.5}, "sweeps is a float"),
        ({"seed": -1}, "seed is -1"),
        ({"threads": 0}, "threads is 0"),
    ],
)
def test_options_that_do_not_fit_are_refused(options, message):
    """A message says what was seen and what was expected."""
    with pytest.raises(Misfit, match=message):
        microaggregate(COMPANIES, **{"k": 3, **options})


# bars for the median of five seeds, 10 s each; here one seed and few sweeps, so that it takes a second
BARS = {"Tarragona": ((3, 14.9), (5, 20.5), (10, 30.7)), "CASCrefmicrodata": ((3, 4.9), (5, 7.7), (10, 12.0))}


@pytest.mark.parametrize("name", BARS)
def test_best_beats_local_search_alone_on_the_reference_sets(reference_data: Path, name):
    """A few dozen sweeps lose less than what local search from one start is known to lose."""
    table = np.loadtxt(reference_data / "microdata" / f"{name}.csv", delimiter=",", skiprows=1)
    for k, bar in BARS[name]:
        found = microaggregate(table, k, sweeps=60)
        _holds(table, k, found)
        assert found.information_loss < bar


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_default_uses_its_sweeps_on_small_tables(reference_data: Path, seed: int) -> None:
    """It leaves the first groups that no neighbour improves, and is as good as two processor seconds make it."""
    table = np.loadtxt(reference_data / "microdata" / "CASCrefmicrodata.csv", delimiter=",", skiprows=1)
    found = microaggregate(table, 3, seed=seed, bound=False)
    assert found.information_loss <= 4.777
    again = microaggregate(table, 3, seed=seed, bound=False, sweeps=found.sweeps)
    assert (again.labels == found.labels).all()


def test_more_sweeps_are_never_worse_while_groups_are_heated() -> None:
    """What comes out is the best that was seen, in whichever sweep."""
    table = donors(300)[:, :6]
    losses = [microaggregate(table, 3, sweeps=sweeps, bound=False).information_loss for sweeps in range(50, 130, 7)]
    assert losses == sorted(losses, reverse=True)


def test_the_bound_is_left_out_where_it_is_not_wanted() -> None:
    """It changes nothing else."""
    table = cloud(3, 60)
    plain, quick = (microaggregate(table, 3, sweeps=2, bound=bound) for bound in (True, False))
    assert plain.lower_bound is not None
    assert quick.lower_bound is None
    assert np.array_equal(plain.labels, quick.labels)
