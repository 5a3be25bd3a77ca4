"""Intervals of a share hold as often as they promise, whatever the table looks like."""

import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks.sampling.verdict import blocks_interval, rows_interval
from tests.tiers import examples

MOST_ROWS = 100
DRAWS = 1_000


def _chance_of_a_miss(rows: int, bad: int, sampled: int, alpha: float) -> Fraction:
    """Return the exact probability that the interval of a simple random sample does not hold the true share."""
    missed = Fraction(0)
    for drawn in range(max(0, sampled - (rows - bad)), min(bad, sampled) + 1):
        low, high = _rows_interval(drawn, sampled, alpha)
        if not low <= bad / rows <= high:
            missed += Fraction(comb(bad, drawn) * comb(rows - bad, sampled - drawn), comb(rows, sampled))
    return missed


_rows_interval = cache(rows_interval)


@pytest.mark.parametrize("alpha", [0.001, 0.05, 0.3])
def test_rows_hold_exactly_in_every_small_table(alpha: float) -> None:
    """By enumeration of all samples of all tables of up to 24 rows, a miss is no likelier than promised."""
    worst = max(
        _chance_of_a_miss(rows, bad, sampled, alpha)
        for rows in range(1, 25)
        for bad in range(rows + 1)
        for sampled in range(1, rows + 1)
    )
    assert worst <= alpha


def test_one_bad_row_is_no_evidence_of_more_than_the_table_may_hold() -> None:
    """The limit of Clopper and Pearson would miss one bad row among 995 in more than 2.5 % of the samples of 25."""
    low, _ = rows_interval(1, 25, 0.05)
    clopper_pearson = 1 - (1 - 0.025) ** (1 / 25)
    assert Fraction(25, 995) > Fraction(25, 1000)
    assert low < 1 / 995 + 1e-12
    assert clopper_pearson > 1 / 995


@settings(max_examples=examples(200))
@given(st.integers(1, 10_000), st.data())
def test_rows_are_symmetric_and_hold_the_estimate(rows: int, data: st.DataObject) -> None:
    """The share of good rows has the mirrored interval; more confidence never makes it narrower."""
    bad = data.draw(st.integers(0, rows))
    low, high = rows_interval(bad, rows, 0.01)
    mirrored = rows_interval(rows - bad, rows, 0.01)
    assert 0 <= low <= bad / rows <= high <= 1
    assert (1 - mirrored[1], 1 - mirrored[0]) == pytest.approx((low, high), abs=1e-12)
    wider = rows_interval(bad, rows, 0.001)
    assert wider[0] <= low
    assert high <= wider[1]


def _clustered(random_: random.Random, blocks: int, share: float) -> list[tuple[int, int]]:
    """Return blocks of which a share holds nothing but bad rows: a failed load, a day without values."""
    sizes = [random_.randint(40, MOST_ROWS) for _ in range(blocks)]
    return [(size, size if random_.random() < share else 0) for size in sizes]


def _mixed(random_: random.Random, blocks: int, share: float) -> list[tuple[int, int]]:
    """Return blocks whose share of bad rows varies from block to block."""
    sizes = [random_.randint(1, MOST_ROWS) for _ in range(blocks)]
    return [(size, round(size * min(1.0, random_.expovariate(1 / share)))) for size in sizes]


def _one_row_blocks(random_: random.Random, blocks: int, share: float) -> list[tuple[int, int]]:
    """Return small good blocks and a few full bad ones: the rows of a block say how bad it is."""
    return [(MOST_ROWS, MOST_ROWS) if random_.random() < share / 20 else (5, 0) for _ in range(blocks)]


def _misses(table: Sequence[tuple[int, int]], sampled: int, alpha: float, seed: int) -> Iterator[tuple[bool, bool]]:
    """Yield, for each of `DRAWS` samples of blocks, whether our interval and the binomial one miss."""
    random_ = random.Random(seed)
    share = sum(bad for _, bad in table) / sum(size for size, _ in table)
    for _ in range(DRAWS):
        drawn = random_.sample(table, sampled)
        groups = [(size, bad, count) for (size, bad), count in Counter(drawn).items()]
        low, high = blocks_interval(groups, MOST_ROWS, alpha)
        rows, bad = sum(size for size, _ in drawn), sum(bad for _, bad in drawn)
        binomial = rows_interval(bad, rows, alpha)
        yield not low <= share <= high, not binomial[0] <= share <= binomial[1]


@pytest.mark.combinations
@pytest.mark.parametrize("make", [_clustered, _mixed, _one_row_blocks])
@pytest.mark.parametrize(("share", "sampled"), [(0.01, 50), (0.1, 50), (0.1, 200), (0.4, 200)])
def test_blocks_hold_in_clustered_tables(make, share: float, sampled: int) -> None:
    """In 1,000 samples (seed 7) of blocks of clustered tables (seed 5), misses are no more frequent than promised."""
    table = make(random.Random(5), 400, share)
    misses = [ours for ours, _ in _misses(table, sampled, 0.05, seed=7)]
    assert sum(misses) <= 0.05 * DRAWS


def test_a_binomial_interval_does_not_hold_for_blocks() -> None:
    """Where blocks are good or bad as a whole, the interval for rows misses in more than half of the samples."""
    table = _clustered(random.Random(5), 400, 0.1)
    ours, binomial = zip(*_misses(table, 50, 0.05, seed=7), strict=True)
    assert sum(binomial) > 0.5 * DRAWS
    assert sum(ours) <= 0.05 * DRAWS


@settings(max_examples=examples(200))
@given(st.lists(st.tuples(st.integers(1, 20), st.integers(0, 20), st.integers(1, 50)), min_size=1, max_size=8))
def test_blocks_are_symmetric_and_hold_the_estimate(drawn: list[tuple[int, int, int]]) -> None:
    """The estimate is always within; good and bad rows change places with the ends of the interval."""
    blocks = [(size, min(size, bad), count) for size, bad, count in drawn]
    rows, bad = (sum(block[at] * block[2] for block in blocks) for at in (0, 1))
    low, high = blocks_interval(blocks, 20, 0.01)
    mirrored = blocks_interval([(size, size - bad, count) for size, bad, count in blocks], 20, 0.01)
    assert 0 <= low <= bad / rows <= high <= 1
    assert (1 - mirrored[1], 1 - mirrored[0]) == pytest.approx((low, high), abs=1e-9)


def _expected_evidence(table: Sequence[tuple[int, int]], sampled: int, bet: float, share: float) -> float:
    """Return the mean over all samples of blocks of what a bet grows to, by the elementary symmetric polynomial."""
    growth = [1 - bet * (bad - share * size) / ((1 - share) * MOST_ROWS) for size, bad in table]
    sums = [1.0] + [0.0] * sampled
    for factor in growth:
        for at in range(sampled, 0, -1):
            sums[at] += factor * sums[at - 1]
    return sums[sampled] / comb(len(table), sampled)


@settings(max_examples=examples(200))
@given(st.data())
def test_bets_against_the_true_share_do_not_grow(data: st.DataObject) -> None:
    """Computed exactly over all samples: the evidence against the true share has an expectation of at most 1."""
    sizes = data.draw(st.lists(st.integers(1, MOST_ROWS), min_size=2, max_size=12))
    table = [(size, data.draw(st.integers(0, size))) for size in sizes]
    share = sum(bad for _, bad in table) / sum(sizes)
    sampled = data.draw(st.integers(1, len(table)))
    bet = data.draw(st.floats(0, 1))
    if share < 1:
        assert _expected_evidence(table, sampled, bet, share) <= 1 + 1e-9
    assert math.isfinite(share)
