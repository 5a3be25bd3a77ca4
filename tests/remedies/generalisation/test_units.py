"""Numbers without rounding."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remedies import Misfit
from remedies.generalisation.units import Number, Numbers, Scale, as_decimal, number_in

_NUMBERS = st.integers(-(10**30), 10**30) | st.decimals(
    min_value=-(10**12), max_value=10**12, allow_nan=False, allow_infinity=False
)


@given(st.lists(_NUMBERS, min_size=1))
def test_numbers_are_units_and_back(numbers: list[Number]) -> None:
    """No digit is lost, however long a number is."""
    scale = Scale.of(*numbers)
    assert [Decimal(scale.text(scale.units(number))) for number in numbers] == [
        as_decimal(number) for number in numbers
    ]


def test_a_float_is_what_is_written() -> None:
    """A tenth is a tenth: three of them are exactly three of its units."""
    scale = Scale.of(0.1, 0.3)
    assert (scale.digits, scale.units(0.3), scale.units(0.1)) == (1, 3, 1)


@pytest.mark.parametrize(
    ("digits", "low", "high", "text"),
    [
        (0, 25, 30, "25-29"),
        (0, -5, 0, "-5--1"),
        (0, 25, 26, "25"),
        (0, None, 20, "<20"),
        (0, 80, None, ">=80"),
        (1, 25, 50, "[2.5, 5["),
        (2, 1000, None, ">=10"),
        (1, -5, 5, "[-0.5, 0.5["),
    ],
)
def test_an_interval_is_written_in_one_way(digits: int, low: int | None, high: int | None, text: str) -> None:
    """Whole numbers by the first and the last, others by their bounds."""
    assert Scale(digits).interval(low, high) == text


def test_values_ascend_as_numbers() -> None:
    """Whatever their texts are; one fraction among values or bounds makes the unit finer."""
    numbers = Numbers.read(["10", 9, None, "1e1", -1.0, 9], 0.5)
    assert numbers.texts == ("-1", "9", "10", "1e1")
    assert (numbers.units.tolist(), numbers.scale) == ([-10, 90, 100, 100], Scale(1))


@pytest.mark.parametrize("bound", [10**30, -(10**30)])
def test_numbers_beyond_64_bits_are_exact(bound: int) -> None:
    """A bound or a value that is too large for a machine word makes Python's own numbers of all."""
    assert Numbers.read([1, 2], bound).units.tolist() == [1, 2]
    assert Numbers.read([bound, 1]).units.tolist() == sorted([bound, 1])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["1", "many", "2"], "1 of 3 values are not finite numbers"),
        ([float("inf"), "\N{ARABIC-INDIC DIGIT THREE}", "1_0", "1e9999"], "4 of 4 values"),
        ([None, float("nan")], "there is no value to generalise"),
    ],
)
def test_what_is_no_number_is_counted(values: list[object], message: str) -> None:
    """And never shown."""
    with pytest.raises(Misfit, match=message) as caught:
        Numbers.read(values)
    assert "many" not in str(caught.value)


@pytest.mark.parametrize("bound", [float("nan"), float("inf"), Decimal("Infinity")])
def test_a_bound_is_finite(bound: Number) -> None:
    """An interval does not begin at infinity."""
    with pytest.raises(Misfit, match="no finite number"):
        as_decimal(bound)


def test_codes_are_numbers_too() -> None:
    """A text of digits is a number, zeros in front or not; one with a letter is none."""
    assert (number_in("007"), number_in("-.5"), number_in("7a")) == (Decimal(7), Decimal("-0.5"), None)
