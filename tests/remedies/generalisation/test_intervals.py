"""Numbers in intervals that become wider from level to level."""

from collections.abc import Sequence
from decimal import Decimal
from itertools import accumulate
from operator import mul
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remedies import Misfit
from remedies.generalisation import FaultKind, breaks, intervals
from remedies.generalisation._faults import read_intervals
from remedies.generalisation.units import Number, holds
from tests.remedies.generalisation.hierarchy_laws import assert_sound

_VALUES = st.lists(
    st.integers(-200, 200) | st.decimals(min_value=-200, max_value=200, places=2), min_size=1, max_size=30
)
_WIDTHS = st.lists(st.integers(2, 4), min_size=1, max_size=3).map(lambda found: list(accumulate(found, mul)))


def _members(hierarchy: Any, level: int) -> dict[str, list[str]]:
    members: dict[str, list[str]] = {}
    for value, label in zip(hierarchy.values, hierarchy.levels[level], strict=True):
        members.setdefault(label, []).append(value)
    return members


def test_ages_become_intervals() -> None:
    """Whole numbers are written by the first and the last one of their interval, as ARX does."""
    made = intervals([39, 17, None, 25.0, 17], widths=[5, 10, 20])
    assert list(zip(*made.levels, strict=True)) == [
        ("17", "15-19", "10-19", "0-19", "*"),
        ("25", "25-29", "20-29", "20-39", "*"),
        ("39", "35-39", "30-39", "20-39", "*"),
    ]


def test_fractions_leave_the_upper_bound_out() -> None:
    """One fraction among the values or the bounds is enough; a tenth is exactly a tenth."""
    made = intervals(["0.3", "0.7", "-0.1"], widths=[0.1, 0.3], origin=0.1, root=None)
    assert list(zip(*made.levels, strict=True)) == [
        ("-0.1", "[-0.1, 0[", "[-0.2, 0.1["),
        ("0.3", "[0.3, 0.4[", "[0.1, 0.4["),
        ("0.7", "[0.7, 0.8[", "[0.7, 1["),
    ]


def test_snapping_joins_what_lies_outside() -> None:
    """Below the first number its interval takes all, above the second one that of the second."""
    made = intervals([1, 16, 20, 89, 90, 120], widths=[5, 10], snap=(15, 90))
    assert made.levels[1:3] == (
        ("<20", "<20", "20-24", "85-89", ">=90", ">=90"),
        ("<20", "<20", "20-29", "80-89", ">=90", ">=90"),
    )


def test_coding_is_a_level_below_the_intervals() -> None:
    """What it joins stays joined above, whatever the widths are."""
    made = intervals([10, 19, 20, 21, 76, 79, 80, 81], widths=[15], codes=(20, 80))
    assert made.levels[1:3] == (
        ("<20", "<20", "20", "21", "76", "79", ">=80", ">=80"),
        ("<30", "<30", "<30", "<30", ">=75", ">=75", ">=75", ">=75"),
    )


def test_breaks_are_where_intervals_begin() -> None:
    """The outermost ones have no end."""
    made = breaks([10, 18, 30, 49, 50, 90], levels=[[18, 30, 50], [30]])
    assert made.levels[1:] == (
        ("<18", "18-29", "30-49", "30-49", ">=50", ">=50"),
        ("<30", "<30", ">=30", ">=30", ">=30", ">=30"),
        ("*",) * 6,
    )
    coded = breaks([10, 18, 30, 49, 50, 90], levels=[[18, 30, 50]], codes=(None, 40))
    assert coded.levels[1:3] == (
        ("10", "18", "30", ">=40", ">=40", ">=40"),
        ("<18", "18-29", ">=30", ">=30", ">=30", ">=30"),
    )


@given(values=_VALUES, widths=_WIDTHS, origin=st.integers(-7, 7), data=st.data())
def test_intervals_nest_and_hold_their_values(
    values: list[Number], widths: list[int], origin: int, data: st.DataObject
) -> None:
    """Each value is in one interval of a level, and in wider ones above; with snapping and coding too."""
    bounds = st.tuples(st.none() | st.integers(-150, -90), st.none() | st.integers(90, 150))
    made = intervals(values, widths=widths, origin=origin, snap=data.draw(bounds), codes=data.draw(bounds))
    assert_sound(made, values, seen=frozenset({FaultKind.GAP}))  # a value beyond a bound may be far from all others
    for level in range(made.height):
        read = read_intervals(_members(made, level))
        for label, members in _members(made, level).items():
            if read is not None:
                numbers = [Decimal(value).scaleb(read.scale.digits) for value in members]
                assert all(holds(read.ends[label], number) for number in numbers)


@given(values=st.lists(st.integers(-(10**20), 10**20), min_size=1), widths=_WIDTHS, origin=st.integers(-(10**19), 7))
def test_whole_numbers_are_where_division_puts_them(values: list[int], widths: list[int], origin: int) -> None:
    """Also those that no machine word holds."""
    made = intervals(values, widths=widths, origin=origin)
    for place, value in enumerate(sorted(set(values))):
        assert made.values[place] == str(value)
        lows = [origin + (value - origin) // width * width for width in widths]
        expected = [f"{low}-{low + width - 1}" for low, width in zip(lows, widths, strict=True)]
        assert [level[place] for level in made.levels[1:-1]] == expected


@given(values=_VALUES, cuts=st.sets(st.integers(-150, 150), min_size=2), data=st.data())
def test_breaks_nest_and_partition(values: list[Number], cuts: set[int], data: st.DataObject) -> None:
    """A value is in the interval that begins at the last break that is not above it."""
    fewer = data.draw(st.sets(st.sampled_from(sorted(cuts)), min_size=1))
    made = breaks(values, levels=[sorted(cuts), sorted(fewer)])
    assert_sound(made, values, seen=frozenset({FaultKind.GAP}))
    for level, known in ((1, cuts), (2, fewer)):
        begins = {}
        for value, label in zip(made.values, made.levels[level], strict=True):
            begin = max((cut for cut in known if cut <= Decimal(value)), default=None)
            assert begins.setdefault(label, begin) == begin
        assert len(set(begins.values())) == len(begins)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"widths": [5, 12]}, "width 12 is no multiple of 5, the one before it"),
        ({"widths": [10, 5]}, "width 5 is no multiple of 10"),
        ({"widths": [5, 5]}, "width 5 is no multiple of 5"),
        ({"widths": [0.1, 0.25]}, "width 0.25 is no multiple of 0.1"),
        ({"widths": []}, "at least one width"),
        ({"widths": [0]}, "a width of 0; expected widths above 0"),
        ({"widths": [5], "snap": (90, 15)}, "'snap' from 90 to 15; expected the smaller number first"),
        ({"widths": [5], "codes": (80, 20)}, "'bottom' 80 is above 'top' 20"),
        ({"widths": [5, 100], "codes": (20, 80)}, "no cut of width 100; leave this width out"),
        ({"widths": [5], "root": ""}, "the root needs a name"),
    ],
)
def test_intervals_that_do_not_nest_are_refused(given: dict[str, Any], message: str) -> None:
    """The two widths or bounds are named."""
    with pytest.raises(Misfit, match=message):
        intervals([1, 2], **given)


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ([], "at least one level"),
        ([[20], []], "at least one level"),
        ([[30, 20]], "the breaks of level 1 are not ascending"),
        ([[20, 40], [30]], "level 2 splits an interval of level 1: 30 is no break there"),
    ],
)
def test_breaks_that_do_not_nest_are_refused(levels: Sequence[Sequence[Number]], message: str) -> None:
    """The level and the break are named."""
    with pytest.raises(Misfit, match=message):
        breaks([1, 2], levels=levels)
    with pytest.raises(Misfit, match="level 1 has no break from 'bottom' to 'top'"):
        breaks([1, 2], levels=[[50]], codes=(60, 70))
