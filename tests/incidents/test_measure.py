"""Time inside of intervals, for many moments at once."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from incidents import MaintenanceSpans
from incidents._measure import TimeMeasure

intervals = st.lists(st.tuples(st.integers(-30, 60), st.integers(-5, 20)), max_size=6).map(
    lambda some: [(start, start + length) for start, length in some]
)
moments = np.arange(-40, 90)


def ticks(some):
    """Return the ticks inside of intervals."""
    return {tick for start, end in some for tick in range(start, end)}


@given(intervals)
def test_a_measure_counts_the_time_before_a_moment(some):
    """At every moment it gives how many ticks inside lie before it, and whether it lies inside."""
    measure, inside = TimeMeasure.of(some), ticks(some)
    assert measure(moments).tolist() == [sum(1 for tick in inside if tick < moment) for moment in moments.tolist()]
    assert measure.covers(moments).tolist() == [moment in inside for moment in moments.tolist()]


@given(intervals, intervals)
def test_measures_are_subtracted_as_sets(one, other):
    """What lies in one and not in the other, at every moment."""
    left = TimeMeasure.of(one).minus(TimeMeasure.of(other))
    inside = ticks(one) - ticks(other)
    assert left.covers(moments).tolist() == [moment in inside for moment in moments.tolist()]
    assert left(moments).tolist() == [sum(1 for tick in inside if tick < moment) for moment in moments.tolist()]


def test_no_interval_is_no_time():
    """The empty measure gives nothing anywhere."""
    empty = TimeMeasure.of(())
    assert not empty(moments).any()
    assert not empty.covers(moments).any()


@given(st.dictionaries(st.sampled_from("abcd"), intervals, max_size=3), st.lists(st.integers(0, 2), max_size=20))
def test_maintenance_is_by_table(planned, tables):
    """Each row is measured by its own table's intervals; names that are not watched here are left alone."""
    maintenance = MaintenanceSpans.of(("a", "b", "c"), planned)
    codes = np.array(tables, dtype=np.int64)
    for moment in (-10, 0, 25, 70):
        expected = [sum(1 for tick in ticks(planned.get("abc"[code], ())) if tick < moment) for code in tables]
        assert maintenance(codes, np.full(codes.size, moment)).tolist() == expected
