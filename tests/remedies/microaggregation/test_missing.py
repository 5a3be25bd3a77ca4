"""Records are grouped with those that miss the same columns."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from remedies.microaggregation.mixed import blocks, fill

_MASKS = st.integers(1, 4).flatmap(lambda d: st.integers(2, 30).flatmap(lambda n: arrays(np.bool_, (n, d))))


@given(_MASKS, st.integers(2, 6))
def test_blocks_split_the_records_into_parts_of_k_or_more(missing: np.ndarray, k: int) -> None:
    """Every record is in one block, every block has k records, and one that misses what its block misses."""
    k = min(k, len(missing))
    found = list(blocks(missing, k))
    assert sorted(np.concatenate([block.rows for block in found])) == list(range(len(missing)))
    for block in found:
        assert len(block.rows) >= k
        assert (missing[block.rows] == block.missing).all(axis=1).any()


@given(_MASKS)
def test_frequent_patterns_are_blocks_of_their_own(missing: np.ndarray) -> None:
    """If every pattern has k records, nothing is blanked and nothing is filled."""
    doubled = np.concatenate([missing, missing])
    for block in blocks(doubled, 2):
        assert (doubled[block.rows] == block.missing).all()


def test_a_rare_pattern_joins_where_least_is_lost() -> None:
    """Filling a cell is preferred to blanking one: the record without an age joins the complete ones."""
    complete, neither = [[False, False]] * 3, [[True, True]] * 5
    missing = np.array([*complete, *neither, [True, False]])
    assert [(block.rows.tolist(), block.missing.tolist()) for block in blocks(missing, 3)] == [
        ([0, 1, 2, 8], [False, False]),
        ([3, 4, 5, 6, 7], [True, True]),
    ]


def test_without_a_frequent_pattern_the_commonest_takes_all() -> None:
    """Where no pattern has k records there is one block."""
    missing = np.array([[False, False], [True, False], [False, True], [False, False]])
    (block,) = blocks(missing, 3)
    assert (block.rows.tolist(), block.missing.tolist()) == ([0, 1, 2, 3], [False, False])


def test_a_missing_cell_is_filled_by_the_nearest_record() -> None:
    """Near in the columns that the record has; what it lacks plays no part."""
    codes = np.array([[0.0, 7.0], [10.0, 8.0], [9.0, 999.0]])
    missing = np.array([[False, False], [False, False], [False, True]])
    filled = fill(codes, missing, codes, np.array([0, 1]))
    assert filled.tolist() == [[0.0, 7.0], [10.0, 8.0], [9.0, 8.0]]


def test_filling_asks_a_sample_of_many_records() -> None:
    """With ten thousand complete records the cells are filled all the same, by one of them."""
    codes = np.random.default_rng(1).normal(size=(10_000, 2))
    missing = np.zeros_like(codes, dtype=bool)
    missing[5, 1] = True
    filled = fill(codes, missing, codes, np.array([0, 1]))
    assert filled[5, 1] in codes[:, 1]
    assert abs(codes[codes[:, 1] == filled[5, 1], 0][0] - codes[5, 0]) < 0.01
