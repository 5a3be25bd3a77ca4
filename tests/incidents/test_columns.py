"""Exact sums, orders and unions over columns."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from incidents._measure import counts, dense, order_by, totals, union

wide = st.integers(0, (1 << 62) - 1)
rows = st.lists(st.tuples(st.integers(0, 4), wide), max_size=60)
stretches = st.lists(st.tuples(st.integers(0, 3), st.integers(-30, 30), st.integers(0, 20)), max_size=40)


def columns(values, width):
    """Return rows as columns of whole numbers."""
    return np.array(values, dtype=np.int64).reshape(-1, width).T


@given(rows)
def test_sums_are_exact_beyond_64_bits(values):
    """Sums of whole numbers of up to 62 bits are those of unbounded integers."""
    group, value = columns(values, 2)
    assert totals(value, group, 5) == [sum(v for g, v in values if g == code) for code in range(5)]
    assert counts(group, 5) == [sum(1 for g, _ in values if g == code) for code in range(5)]


@given(rows)
def test_rows_are_ordered_by_group_and_value(values):
    """Also where group and value together do not fit into 64 bits."""
    group, value = columns(values, 2)
    order = order_by(group, value)
    assert list(zip(group[order].tolist(), value[order].tolist(), strict=True)) == sorted(values)


@given(st.lists(st.integers(-5, 5) | st.integers(-(1 << 60), 1 << 60), max_size=50))
def test_keys_are_numbered_densely(keys):
    """Distinct keys in order, and each row's number among them, whether the keys lie close together or far apart."""
    distinct, which = dense(np.array(keys, dtype=np.int64))
    assert distinct.tolist() == sorted(set(keys))
    assert distinct[which].tolist() == keys


@given(stretches, st.sampled_from([1, 1 << 20, 1 << 54]))
def test_unions_are_those_of_sets(values, scale):
    """The union within each group covers the same ticks, in disjoint stretches that do not touch, at any scale."""
    group, start, length = columns(values, 3)
    found = zip(*(part.tolist() for part in union(group, start * scale, (start + length) * scale)), strict=True)
    covered = {}
    for code, begin, end in sorted(found):
        ticks = covered.setdefault(code, set())
        new = set(range(begin // scale, end // scale))
        assert new
        assert not ticks & new
        assert begin // scale - 1 not in ticks
        ticks |= new
    expected = {}
    for code, begin, extent in values:
        if extent:
            expected.setdefault(code, set()).update(range(begin, begin + extent))
    assert covered == expected
