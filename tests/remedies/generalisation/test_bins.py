"""Numbers in listed intervals."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remedies import Misfit
from remedies.generalisation import FaultKind, bins
from remedies.generalisation._intervals import Listed, bin_faults
from tests.remedies.generalisation.hierarchy_laws import assert_sound


def test_intervals_with_and_without_names() -> None:
    """In any order; one without an end takes all that is beyond."""
    levels: list[Listed] = [[(30, None), (None, 18), (18, 30)], {"minor": (None, 18), "adult": (18, None)}]
    made = bins([40, 17, 18, None], levels=levels)
    assert list(zip(*made.levels, strict=True)) == [
        ("17", "<18", "minor", "*"),
        ("18", "18-29", "adult", "*"),
        ("40", ">=30", "adult", "*"),
    ]


@given(
    values=st.lists(st.integers(-99, 99) | st.floats(-99, 99), min_size=1),
    cuts=st.sets(st.integers(-99, 99)),
    data=st.data(),
)
def test_every_value_is_in_one_interval(values: list[float], cuts: set[int], data: st.DataObject) -> None:
    """And the intervals of a level join those of the level below."""
    fewer = data.draw(st.sets(st.sampled_from(sorted(cuts)))) if cuts else cuts
    made = bins(values, levels=[_between(cuts), {f"bin {low}": (low, high) for low, high in _between(fewer)}])
    assert_sound(made, values, seen=frozenset({FaultKind.GAP}))


def _between(cuts: set[int]) -> list[tuple[int | None, int | None]]:
    return list(zip([None, *sorted(cuts)], [*sorted(cuts), None], strict=True))


def test_all_faults_are_named_at_once() -> None:
    """The bins that leave 26 to 29 uncovered and cover 50 twice are flagged for both."""
    found = bin_faults([[(None, 26), (30, 51), (50, None)]])
    assert [(fault.kind, fault.level, fault.what, fault.fatal) for fault in found] == [
        (FaultKind.GAP, 1, "26-29", True),
        (FaultKind.OVERLAP, 1, "50", True),
    ]
    with pytest.raises(Misfit, match="level 1 has a gap at 26-29; level 1 covers 50 twice"):
        bins([1], levels=[[(None, 26), (30, 51), (50, None)]])


@pytest.mark.parametrize(
    ("levels", "kind", "message"),
    [
        ([], FaultKind.EMPTY, "a level without an interval"),
        ([[(0, 5)], []], FaultKind.EMPTY, "a level without an interval"),
        ([[(5, 5)]], FaultKind.EMPTY, "level 1 has an interval from 5 to 5; nothing is in it"),
        ([[(0, 2.5), (3, 5)]], FaultKind.GAP, r"level 1 has a gap at \[2.5, 3\["),
        ([[(0, 5), (5, 9)], [(0, 4), (4, 9)]], FaultKind.SPLIT, "level 2 splits what level 1 has together: '0-3'"),
        ([[(0, 5), (5, 9)], [(0, 20)]], FaultKind.SPLIT, "'0-19' begins or ends inside of it"),
        ([{"a": (0, 5), "": (5, 9)}], FaultKind.EMPTY, "level 1 has an interval without a name"),
    ],
)
def test_lists_that_are_no_hierarchy_are_refused(levels: list[Listed], kind: FaultKind, message: str) -> None:
    """The interval and the level are named."""
    assert kind in {fault.kind for fault in bin_faults(levels)}
    with pytest.raises(Misfit, match=message):
        bins([1], levels=levels)


def test_values_outside_are_counted() -> None:
    """A table would lose them, so it is refused."""
    with pytest.raises(
        Misfit, match="3 of 5 values are in no interval of level 1; make the first or the last one wider"
    ):
        bins([-1, 0, 5, 10, 11], levels=[[(0, 5), (5, 10)]])
