"""`code`: numbers beyond a bound become the bound, in the column's type or as a label."""

from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from remedies import Misfit, Refused
from remedies.code import Code

AGES = pd.Series([3, 20, 79, 80, 101], name="age")


def test_numbers_stay_numbers() -> None:
    """By default a bound stands for all that lies beyond it, and the column keeps its type."""
    treatment = Code(top={"age": Decimal(80)}, bottom={"age": Decimal(20)}).apply(AGES.to_frame())
    pd.testing.assert_series_equal(treatment.frame["age"], pd.Series([20, 20, 79, 80, 80], name="age"))
    assert treatment.bill.cells_changed == {"age": 2}
    assert treatment.bill.guarantee.reached == {"age": {"beyond": 0}}
    assert treatment.bill.guarantee.proof == 'SELECT count(*) FILTER ("age" > 80 OR "age" < 20) FROM output'


def test_labels_say_what_they_stand_for() -> None:
    """As a label, the bound itself is coded too: it cannot be distinguished from what is above."""
    treatment = Code.model_validate({"top": {"age": 80}, "bottom": {"age": 20}, "as": "label"}).apply(AGES.to_frame())
    assert treatment.frame["age"].tolist() == ["<20", "20", "79", ">=80", ">=80"]
    assert treatment.bill.cells_changed == {"age": 3}
    assert treatment.bill.guarantee.proof == 'SELECT count(*) FILTER ("age" >= 80 OR "age" < 20) FROM output'


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1.5, 99.0, np.nan]),
        pd.array([1, 99, None], dtype="Int64"),
        pd.array([1, 99, None], dtype="int64[pyarrow]"),
        pd.array([1.5, 99, None], dtype="double[pyarrow]"),
        pd.Series([Decimal("1.5"), Decimal(99), None], dtype=object),
    ],
)
def test_every_type_of_number_is_kept(column: Any) -> None:
    """The bound is written in the column's type, and NULL stays NULL."""
    frame = pd.DataFrame({"a": column})
    treated = Code(top={"a": Decimal(50)}).apply(frame).frame
    assert treated.dtypes.tolist() == frame.dtypes.tolist()
    assert [None if pd.isna(value) else float(value) for value in treated["a"]] == [float(frame["a"][0]), 50.0, None]


@pytest.mark.parametrize(
    ("kind", "bound"),
    [
        ("int8", "200"),
        ("int8[pyarrow]", "200"),
        ("float32", "50.1"),
        ("float[pyarrow]", "50.1"),
        (pd.ArrowDtype(pa.decimal128(5, 2)), "50.125"),
        (pd.ArrowDtype(pa.decimal128(5, 2)), "100000"),
    ],
)
def test_a_bound_that_a_type_cannot_hold_is_reported(kind: Any, bound: str) -> None:
    """What nearly is the bound may lie beyond it."""
    frame = pd.DataFrame({"a": pd.Series([Decimal(1), Decimal(99)]).astype(kind)})
    with pytest.raises(Misfit, match="column 'a' has a type that cannot hold its bound"):
        Code(bottom={"a": Decimal(bound)}).apply(frame)


@pytest.mark.parametrize("form", ["number", "label"])
def test_null_stays_null(form: str) -> None:
    """Even where all others become one value, what is missing stays missing."""
    frame = pd.DataFrame({"a": pd.array([None, 1, 2], dtype="Int64")})
    treatment = Code.model_validate({"top": {"a": 1}, "as": form}).apply(frame)
    assert treatment.frame["a"].isna().tolist() == [True, False, False]
    assert treatment.bill.cells_changed == {"a": 1 if form == "number" else 2}


@pytest.mark.parametrize("form", ["number", "label"])
def test_numbers_beyond_a_bound_are_refused(form: str) -> None:
    """The proof counts in the output; what it finds there is not given out."""
    with pytest.raises(Refused, match="column 'a' of the output has 2 numbers beyond its bounds"):
        Code.model_validate({"top": {"a": 1}, "as": form}).guarantee({"a": 2})


def test_a_bound_that_changes_nothing_says_so() -> None:
    """A table without extremes is given back as it was."""
    treatment = Code(top={"age": Decimal(200)}).apply(AGES.to_frame())
    pd.testing.assert_series_equal(treatment.frame["age"], AGES)
    assert (treatment.bill.rows_changed, treatment.bill.information_lost) == (0, {"age": 0.0})


@pytest.mark.parametrize(
    ("table", "words", "said"),
    [
        ({"a": [1, 2]}, {"top": {"a": 1.5}}, "column 'a' holds whole numbers, and its bound 1.5 is none"),
        ({"a": ["x", "secret"]}, {"top": {"a": 1}}, "column 'a': "),
        ({"a": [None, None]}, {"top": {"a": 1}}, "column 'a' holds no value; expected numbers"),
        ({"a": []}, {"top": {"a": 1}}, "the table has no rows"),
        ({"ab": [1]}, {"top": {"a": 1}}, "column 'a' not found"),
    ],
)
def test_columns_that_do_not_fit_are_reported(table: dict[str, Any], words: dict[str, Any], said: str) -> None:
    """Every message names the column and shows no value."""
    with pytest.raises(Misfit) as caught:
        Code.model_validate(words).apply(pd.DataFrame(table))
    assert str(caught.value).startswith(said)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({}, "no bound is given; expected 'top' or 'bottom', or both"),
        ({"top": {"a": 1}, "bottom": {"a": 2}}, "'bottom' 2 of a is not below 'top' 1"),
        ({"top": {"a": "nan"}}, "finite"),
        ({"top": {"a": 1}, "as": "text"}, "'number' or 'label'"),
    ],
)
def test_parameters_that_do_not_fit_are_reported(words: dict[str, Any], message: str) -> None:
    """Every message says what was expected."""
    with pytest.raises(ValidationError, match=message):
        Code.model_validate(words)


@given(
    numbers=st.lists(st.one_of(st.none(), st.integers(-50, 50)), min_size=1, max_size=30),
    low=st.integers(-60, 0),
    high=st.integers(1, 60),
)
def test_numbers_are_clipped(numbers: list[int | None], low: int, high: int) -> None:
    """As numbers, coding is what numpy calls clipping."""
    frame = pd.DataFrame({"a": pd.array(numbers, dtype="Int64")})
    if frame["a"].isna().all():
        return
    made = Code(top={"a": Decimal(high)}, bottom={"a": Decimal(low)}).apply(frame)
    pd.testing.assert_series_equal(made.frame["a"], frame["a"].clip(low, high))
    assert made.bill.rows_changed == int((made.frame["a"] != frame["a"]).fillna(value=False).sum())
