"""The text by which a hierarchy knows a value."""

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks.risk import Hierarchy
from remedies import Misfit
from remedies.generalisation import path_of_null, text_of, texts_of
from remedies.generalisation.spelling import distinct_texts

_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.decimals(allow_nan=False, allow_infinity=False)
    | st.dates()
    | st.datetimes()
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (17, "17"),
        (-3, "-3"),
        (np.int8(17), "17"),
        (17.0, "17"),
        (-0.0, "0"),
        (np.float32(17), "17"),
        (2.5, "2.5"),
        (1e300, "1e+300"),
        (float("inf"), "inf"),
        (Decimal("17.00"), "17"),
        (Decimal("0.10"), "0.1"),
        (Decimal("1E+3"), "1000"),
        (Decimal("-0.0"), "0"),
        (True, "true"),
        (np.False_, "false"),
        ("17.0", "17.0"),
        ("", ""),
        (" a", " a"),
        (np.str_("a"), "a"),
        (date(2024, 5, 17), "2024-05-17"),
        (datetime(2024, 5, 17), "2024-05-17"),  # noqa: DTZ001 - a column without a zone
        (pd.Timestamp("2024-05-17 10:30"), "2024-05-17T10:30:00"),
        (pd.Timestamp("2024-05-17") + pd.Timedelta(1, "ns"), "2024-05-17T00:00:00.000000001"),
        (datetime(2024, 5, 17, tzinfo=UTC), "2024-05-17T00:00:00+00:00"),
        (np.datetime64("2024-05-17"), "2024-05-17"),
        (pa.scalar(17), "17"),
        (pa.scalar(None, pa.int64()), None),
        (None, None),
        (float("nan"), None),
        (Decimal("NaN"), None),
        (pd.NA, None),
        (pd.NaT, None),
        (np.datetime64("NaT"), None),
    ],
)
def test_one_value_has_one_text(value: object, text: str | None) -> None:
    """Whatever type a reader gave it; what is missing has none."""
    assert text_of(value) == text


@given(st.integers(1 - 2**53, 2**53 - 1))
def test_a_whole_number_is_the_same_in_every_type(number: int) -> None:
    """Floats that stand for whole numbers, since a value is missing, fit a file of these."""
    assert {text_of(kind(number)) for kind in (int, float, Decimal, np.int64, np.float64)} == {str(number)}


@given(st.lists(_SCALARS, max_size=8))
def test_a_column_is_spelled_like_its_values(values: list[object]) -> None:
    """Once for each distinct value, however many there are and however mixed they are."""
    try:
        column = pd.Series(values * 2, dtype=object)
    except OverflowError:
        return
    assert texts_of(column) == [text_of(value) for value in values] * 2
    assert set(distinct_texts(column)) == set(texts_of(values)) - {None}


@pytest.mark.parametrize(
    ("column", "texts"),
    [
        (pd.Series([17, None, 3], dtype="Int64"), ["17", None, "3"]),
        (pd.Series([17, None, 3]), ["17", None, "3"]),
        (pd.Series([17, None], dtype="int64[pyarrow]"), ["17", None]),
        (pd.Series(["b", None, "a"]), ["b", None, "a"]),
        (pd.Series(["b", None, "b"], dtype="category"), ["b", None, "b"]),
        (pd.Series([True, None], dtype="boolean"), ["true", None]),
        (pd.to_datetime(pd.Series(["2024-05-17", None])), ["2024-05-17", None]),
        (pd.Series([1, True, "1", 1.5], dtype=object), ["1", "true", "1", "1.5"]),
        (pd.Series([], dtype=object), []),
    ],
    ids=lambda found: str(getattr(found, "dtype", "")),
)
def test_columns_of_any_type_are_read(column: pd.Series, texts: list[str | None]) -> None:
    """Numbers, texts, categories, booleans, times, and a mixture."""
    assert texts_of(column) == texts


@pytest.mark.parametrize("kind", [object, pd.ArrowDtype(pa.list_(pa.string()))], ids=str)
def test_collections_are_refused(kind: Any) -> None:
    """A list is no single value; what it holds is not shown."""
    with pytest.raises(Misfit, match="expected numbers, texts, dates, times or booleans") as caught:
        texts_of(pd.Series([["secret"], ["b"]], name="tags", dtype=kind))
    assert "secret" not in str(caught.value)


def test_null_joins_the_root_or_follows_its_own_line() -> None:
    """It stays NULL below the root and for good where there is none; a line with an empty value is its own."""
    steps = (("17", "18"), ("15-19", "15-19"), ("*", "*"), ("*", "*"))
    assert path_of_null(Hierarchy(steps)) == (None, None, "*", "*")
    assert path_of_null(Hierarchy(steps[:1])) == (None,)
    assert path_of_null(Hierarchy((("a", "b"), ("A", "B")))) == (None, None)
    assert path_of_null(Hierarchy((("a", ""), ("A", "unknown"), ("*", "*")))) == (None, "unknown", "*")
