"""Columns are read as numbers, and numbers are written back in the column's own type."""

from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remedies import Misfit
from remedies.microaggregation.numbers import read_numbers

_DAY, _NIGHT = date(2020, 2, 29), date(1950, 2, 3)
_NOON = datetime(2020, 2, 29, 12, 30, 1, 250_000)  # noqa: DTZ001 - columns of naive times exist
COLUMNS = {
    "whole": pd.Series([1, 5, -7]),
    "combined with AND": pd.Series([-128, 127], dtype="int8"),
    "unsigned": pd.Series([2**63, 2**63 + 5], dtype="uint64"),
    "far from nothing": pd.Series([2**62, 2**62 + 1]),
    "float": pd.Series([1.5, np.nan, -2.0]),
    "single": pd.Series([1.1, 2.0], dtype="float32"),
    "nullable whole": pd.Series([1, None, 3], dtype="Int64"),
    "nullable float": pd.Series([1.5, None], dtype="Float64"),
    "times": pd.Series(pd.to_datetime(["2020-01-01 10:00", None, "2021-05-05 23:59"])),
    "zoned": pd.Series(pd.to_datetime(["2020-01-01", None, "2021-05-05"], utc=True)),
    "durations": pd.Series([timedelta(seconds=1), None, timedelta(days=2)], dtype="timedelta64[us]"),
    "dates": pd.Series([_DAY, None, _NIGHT], dtype=object),
    "clock": pd.Series([time(1, 2), time(3, 4)], dtype=object),
    "datetimes": pd.Series([_NOON, None], dtype=object),
    "decimals": pd.Series([Decimal("1.50"), None, Decimal("-3.25")], dtype=object),
    "mixed whole": pd.Series([1, None, 2], dtype=object),
    "arrow date": pd.Series([_DAY, None], dtype=pd.ArrowDtype(pa.date32())),
    "arrow decimal": pd.Series([Decimal("1.50"), None], dtype=pd.ArrowDtype(pa.decimal128(10, 2))),
    "arrow time": pd.Series([_NOON, None], dtype=pd.ArrowDtype(pa.timestamp("us", "UTC"))),
    "arrow whole": pd.Series([1, None], dtype="int32[pyarrow]"),
    "arrow float": pd.Series([1.5, None], dtype="float[pyarrow]"),
    "nothing": pd.Series([None, None], dtype="float64"),
    "no rows": pd.Series([], dtype="int64"),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_reading_and_writing_gives_the_same_column(name: str) -> None:
    """What is read and written back is the column: values, type, index, name, and what is missing."""
    column = COLUMNS[name].rename("c").set_axis(range(7, 7 + len(COLUMNS[name])))
    numbers = read_numbers(column)
    assert numbers.missing.tolist() == column.isna().tolist()
    pd.testing.assert_series_equal(numbers.write(numbers.values, numbers.missing), column)


@pytest.mark.parametrize("name", ["whole", "far from nothing", "dates", "decimals", "zoned", "arrow date"])
def test_rounding_is_half_to_even(name: str) -> None:
    """Numbers between two values of the column's type become the nearer one, or the even one."""
    numbers = read_numbers(COLUMNS[name])
    assert numbers.cast(np.array([0.5, 1.5, 2.4, 2.6])).tolist() == [0.0, 2.0, 2.0, 3.0]


def test_what_is_missing_can_become_more() -> None:
    """Cells can be blanked and filled wherever the type can say that a value is missing."""
    numbers = read_numbers(pd.Series([2, None, 4], dtype="Int64"))
    written = numbers.write(np.array([0.0, 1.0, 2.0]), np.array([True, False, False]))
    pd.testing.assert_series_equal(written, pd.Series([None, 3, 4], dtype="Int64"))


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=8))
def test_whole_numbers_stay_between_the_smallest_and_the_largest(values: list[int]) -> None:
    """However far apart 64-bit numbers are, their mean is written without overflow."""
    column = pd.Series(values, dtype="int64")
    numbers = read_numbers(column)
    mean = np.full(len(values), np.mean(numbers.values))
    written = numbers.write(mean, numbers.missing)
    assert written.between(column.min(), column.max()).all()
    if max(values) - min(values) < 2**50:
        assert int(written.iloc[0]) == round(Fraction(sum(values), len(values)))


@pytest.mark.parametrize(
    ("column", "seen"),
    [
        (pd.Series(["a", "b"]), "string"),
        (pd.Series([True, False]), "bool"),
        (pd.Series([1, "secret"], dtype=object), "values of several types"),
        (pd.Series(["a"], dtype="category"), "dictionary"),
        (pd.Series([1.0, np.inf]), "infinite values"),
        (pd.Series([Decimal(10) ** 19, Decimal(1)]), "more than 18 digits"),
    ],
)
def test_what_is_no_number_is_refused(column: pd.Series, seen: str) -> None:
    """The error names the column and what it holds, never a value."""
    with pytest.raises(Misfit, match=f"column 'c' holds .*{seen}") as caught:
        read_numbers(column.rename("c"))
    assert "secret" not in str(caught.value)
