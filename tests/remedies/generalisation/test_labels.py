"""Labels that look like intervals."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remedies.generalisation._faults import read_intervals
from remedies.generalisation.units import Ends, Scale


@pytest.mark.parametrize(
    ("label", "ends"),
    [
        ("25-29", (25, 30)),
        ("-5--1", (-5, 0)),
        ("25 - 29", (25, 30)),
        ("[25-29]", (25, 30)),
        ("[25, 30[", (25, 30)),
        ("[25,30)", (25, 30)),
        ("25", (25, 26)),
        ("-25", (None, 26)),
        ("[-25]", (None, 26)),
        ("50-", (50, None)),
        ("50+", (50, None)),
        ("<20", (None, 20)),
        ("<= 19", (None, 20)),
        (">=80", (80, None)),
        (">79", (80, None)),
    ],
)
def test_known_forms(label: str, ends: Ends) -> None:
    """Whole numbers with both ends in them, bounds with the upper one left out, and one end alone."""
    read = read_intervals({label: ["1", "2"], "1000-2000": ["1500"]})
    assert read is not None
    assert read.ends[label] == ends


@pytest.mark.parametrize(
    "labels",
    [
        {"0-4": ["1"]},
        {"0-4": ["1"], "young": ["2"]},
        {"0-4": ["1"], "4-0": ["2"]},
        {"0-4": ["1"], "]4, 5[": ["2"]},
        {"0-4": ["1"], ">1.5": ["2"]},
        {"0-4": ["1"], "2.5": ["2"]},
        {"1": ["11", "12"], "2": ["21"]},
        {"2020-2024": ["2024-05-17"], "2025-2029": ["2025-05-17"]},
    ],
)
def test_what_is_not_taken_for_intervals(labels: dict[str, list[str]]) -> None:
    """A single label, a name among them, bounds in the wrong order, codes of groups, and values that are no numbers."""
    assert read_intervals(labels) is None


def test_a_number_below_zero_is_no_open_end_where_it_stands_alone() -> None:
    """What stands under it decides."""
    read = read_intervals({"-25": ["-25"], "0-4": ["1"]})
    assert read is not None
    assert read.ends["-25"] == (-25, -24)


@given(st.lists(st.tuples(st.integers(-99, 99), st.integers(1, 9)), min_size=2, unique=True), st.integers(0, 2))
def test_what_is_written_is_read(pairs: list[tuple[int, int]], digits: int) -> None:
    """Every label of the builders has the bounds it was made of."""
    scale = Scale(digits)
    made = {scale.interval(low, low + width): (low, low + width) for low, width in pairs}
    read = read_intervals({label: [scale.text(low)] for label, (low, _) in made.items()})
    if read is not None:
        factor = 10 ** (digits - read.scale.digits)
        assert {label: (low * factor, high * factor) for label, (low, high) in read.ends.items() if low and high} == {
            label: ends for label, ends in made.items() if all(ends)
        }
