"""Top and bottom coding."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remedies import Misfit
from remedies.generalisation import FaultKind, coding
from tests.remedies.generalisation.hierarchy_laws import assert_sound


def test_the_largest_and_the_smallest_are_joined() -> None:
    """`top` itself is among the largest, `bottom` itself is not among the smallest."""
    made = coding([5, 20, 79.5, 80, 100, None], top=80, bottom=20)
    assert list(zip(*made.levels, strict=True)) == [
        ("5", "<20", "*"),
        ("20", "20", "*"),
        ("79.5", "79.5", "*"),
        ("80", ">=80", "*"),
        ("100", ">=80", "*"),
    ]
    assert coding([1, 2], top=2, root=None).levels[1:] == (("1", ">=2"),)
    assert coding([1, 2], bottom=2, root="all").levels[1:] == (("<2", "2"), ("all", "all"))


@pytest.mark.parametrize("largest", [20, 23, 24])
def test_numbers_of_29_digits_are_exact(largest: int) -> None:
    """One more than a number is not rounded to the 28 digits of the usual context, and no fault is reported."""
    thousand = 10385918742867831203228024000
    values = [0, thousand + largest]
    made = coding(values, bottom=1, top=thousand + 823)
    assert made.levels[1] == ("<1", str(thousand + largest))
    assert_sound(made, values, seen=frozenset({FaultKind.GAP}))
    made = coding(values, bottom=1, top=thousand + 10)
    assert made.levels[1] == ("<1", f">={thousand + 10}")
    assert_sound(made, values, seen=frozenset({FaultKind.GAP}))


@given(st.lists(st.integers() | st.floats(allow_nan=False, allow_infinity=False), min_size=1), st.integers(), st.data())
def test_coding_changes_no_value_between_the_bounds(values: list[float], bottom: int, data: st.DataObject) -> None:
    """All others keep their text, and each end is one label at most."""
    top = data.draw(st.integers(min_value=bottom))
    made = coding(values, bottom=bottom, top=top)
    assert_sound(made, values, seen=frozenset({FaultKind.GAP}))
    pairs = list(zip(*made.levels[:2], strict=True))
    assert all((value == label) == (bottom <= Decimal(value) < top) for value, label in pairs if len(value) < 15)
    assert len({label for value, label in pairs if label != value}) <= 2


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "coding needs 'top' or 'bottom'"),
        ({"top": 20, "bottom": 80}, "'bottom' 80 is above 'top' 20"),
        ({"top": "a"}, "no finite number"),
    ],
)
def test_bounds_are_needed_and_in_order(given: dict[str, Any], message: str) -> None:
    """What was given is named."""
    with pytest.raises(Misfit, match=message):
        coding([1, 2], **given)
