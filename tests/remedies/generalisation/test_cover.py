"""What intervals leave out, and what they cover twice."""

from hypothesis import given
from hypothesis import strategies as st

from remedies.generalisation.units import Ends, gaps_and_overlaps, holds

_INTERVALS = st.lists(
    st.tuples(st.integers(-20, 20), st.integers(1, 10)).map(lambda pair: (pair[0], pair[0] + pair[1])),
    min_size=1,
    max_size=6,
)


def test_open_ends_reach_everywhere() -> None:
    """Nothing is left out beyond an interval without an end, and everything there is covered."""
    assert gaps_and_overlaps([(None, 26), (30, 51), (50, None)]) == (((26, 30),), ((50, 51),))
    assert gaps_and_overlaps([(None, None), (3, 4)]) == ((), ((3, 4),))
    assert gaps_and_overlaps([(5, None), (None, 5)]) == ((), ())
    assert gaps_and_overlaps([]) == ((), ())


@given(_INTERVALS)
def test_every_number_is_counted(intervals: list[Ends]) -> None:
    """Between the lowest and the highest bound a number is in a gap, in one interval, or in an overlap."""
    gaps, overlaps = gaps_and_overlaps(intervals)
    low = min(interval[0] for interval in intervals if interval[0] is not None)
    high = max(interval[1] for interval in intervals if interval[1] is not None)
    for number in range(low, high):
        covered = sum(holds(interval, number) for interval in intervals)
        assert any(holds(gap, number) for gap in gaps) == (covered == 0)
        assert any(holds(overlap, number) for overlap in overlaps) == (covered > 1)
