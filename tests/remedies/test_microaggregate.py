"""Microaggregation as a remedy: frames in, frames out, of every kind of column."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from pydantic import ValidationError

from checks.risk import class_sizes
from remedies import Misfit, Treatment
from remedies.microaggregate import Microaggregate
from remedies.microaggregation import information_loss, lower_bound, mdav, mhm, npn_path
from tests.remedies.microaggregation.tables import COMPANIES as TABLE
from tests.remedies.people import people
from tests.tiers import examples

COMPANIES = pd.DataFrame(TABLE, columns=["area", "employees"]).astype("int64")


def treat(frame: pd.DataFrame, **parameters: Any) -> Treatment:
    """Apply the remedy."""
    return Microaggregate(**{"k": 3, "sweeps": (3,), **parameters}).apply(frame)


def test_companies_reach_the_optimum() -> None:
    """On the example of DEIM 2015 the default loses what no partition can go below, and says so on the bill."""
    floats = COMPANIES.astype(float)
    bill = treat(floats, columns=("area", "employees"), sweeps=None).bill
    assert bill.figures["information_loss"] == pytest.approx(34.0218, abs=5e-5)
    assert bill.figures["lower_bound"] == pytest.approx(lower_bound(floats.to_numpy(), 3))


@pytest.mark.parametrize(
    ("method", "labels"),
    [("npn", lambda table: mhm(table, npn_path(table), 3)), ("mdav", lambda table: mdav(table, 3))],
)
def test_published_methods_give_what_the_library_gives(method: str, labels: Any) -> None:
    """Plain numbers are grouped exactly as by the public functions."""
    floats = COMPANIES.astype(float)
    treated = treat(floats, columns=("area", "employees"), method=method)
    groups = labels(floats.to_numpy())
    pd.testing.assert_frame_equal(treated.frame, floats.groupby(groups).transform("mean"))
    assert treated.bill.figures["information_loss"] == pytest.approx(information_loss(floats.to_numpy(), groups))


def test_whole_numbers_stay_whole() -> None:
    """The mean of a group of counts is rounded, the same in every record of it, and the loss is that of the output."""
    treated = treat(COMPANIES, columns=("area", "employees"))
    assert treated.frame.dtypes.tolist() == ["int64", "int64"]
    assert class_sizes(treated.frame, ["area", "employees"]).smallest == treated.bill.guarantee.reached["k"] == 3
    errors = (COMPANIES - treated.frame).to_numpy() ** 2
    lost = 100 * errors.sum(axis=0) / ((COMPANIES - COMPANIES.mean()) ** 2).to_numpy().sum(axis=0)
    assert list(treated.bill.information_lost.values()) == pytest.approx(lost.tolist())


@pytest.mark.parametrize("dtype", ["float64", "float32", "float64[pyarrow]"])
def test_floats_keep_the_decimals_of_their_column(dtype: str) -> None:
    """Prices in cents become means in cents: k and the loss are of what is given out, not of the means before."""
    prices = np.random.default_rng(3).integers(100, 99_999, 200) / 100
    frame = pd.DataFrame({"price": pd.Series(prices).astype(dtype), "halves": np.arange(200) // 3 / 2})
    treated = Microaggregate(columns=("price", "halves"), k=3, method="mdav").apply(frame)
    given = treated.frame["price"].to_numpy(dtype=dtype.removesuffix("[pyarrow]"))
    assert (np.round(given, 2) == given).all()
    assert set(np.unique(treated.frame["halves"] * 10 % 1)) == {0.0}
    assert treated.frame.groupby(["price", "halves"]).size().min() >= 3
    before, after = (one["price"].to_numpy(dtype=np.float64) for one in (frame, treated.frame))
    lost = 100 * ((before - after) ** 2).sum() / ((before - before.mean()) ** 2).sum()
    assert treated.bill.information_lost["price"] == pytest.approx(lost, rel=1e-9)


def test_the_same_seed_and_sweeps_replay_a_result() -> None:
    """What a bill says of sweeps gives the same frame again."""
    columns = {"columns": ("age", "income"), "seed": 7}
    first = treat(people(300), **columns, sweeps=None)
    again = treat(people(300), **columns, sweeps=tuple(first.bill.figures["sweeps"]))
    pd.testing.assert_frame_equal(first.frame, again.frame)


@given(st.integers(0, 10_000), st.integers(6, 40), st.integers(2, 5))
@hypothesis_settings(max_examples=examples(15))
def test_k_holds_whatever_the_table(seed: int, n: int, k: int) -> None:
    """Outliers, ties, gaps: every combination of the output belongs to k records."""
    columns = {"columns": ("age", "income", "grade", "city"), "nominal": ("city",), "ordinal": {"grade": ()}}
    treated = treat(people(n, seed=seed), k=k, sweeps=(1,), **columns)
    assert treated.frame.groupby(list(columns["columns"]), dropna=False).size().min() >= k


def test_identical_records_lose_nothing() -> None:
    """Where k records are alike already, they stay as they are."""
    frame = pd.DataFrame(
        {"a": np.repeat([1.0, 2.0, 3.0, 50.0, 100.0], 20), "b": np.repeat([5.0, 1.0, 3.0, 2.0, 4.0], 20)}
    )
    treated = treat(frame, columns=("a", "b"), k=7, sweeps=None)
    assert treated.bill.figures["information_loss"] == 0.0
    pd.testing.assert_frame_equal(treated.frame, frame)


def test_constant_columns_pass_through() -> None:
    """A column of one value has no distance and keeps its value."""
    frame = pd.DataFrame({"a": [7] * 6, "b": [1.0, 2.0, 3.0, 10.0, 11.0, 12.0]})
    treated = treat(frame, columns=("a", "b"), k=3)
    assert treated.frame["a"].tolist() == [7] * 6
    assert treated.bill.information_lost["a"] == 0.0


@pytest.mark.parametrize("n", [3, 4, 5])
def test_fewer_than_two_groups_are_one(n: int) -> None:
    """From k to 2k - 1 records there is one group: its centroid."""
    treated = treat(COMPANIES.iloc[:n].astype(float), columns=("area",))
    assert treated.frame["area"].tolist() == pytest.approx([COMPANIES["area"].iloc[:n].mean()] * n)


def test_budget_is_shared_by_blocks() -> None:
    """With a budget the result holds, too, and says how many sweeps each block got."""
    treated = treat(people(), columns=("age", "income"), sweeps=None, budget="1s")
    assert len(treated.bill.figures["sweeps"]) == 2
    assert treated.bill.guarantee.reached["k"] >= 3


def test_progress_never_falls() -> None:
    """The share of work done is reported, up to 1, over all blocks."""
    reported: list[float] = []
    Microaggregate(columns=("age", "income"), k=3, sweeps=(3,)).apply(people(), progress=reported.append)
    assert reported == sorted(reported)
    assert reported[-1] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"columns": (), "k": 3}, "at least 1 item"),
        ({"columns": ("a", "a"), "k": 3}, "each column once"),
        ({"columns": ("a",), "k": 1}, "greater than or equal to 2"),
        ({"columns": ("a",), "k": 3, "nominal": ("b",)}, "'nominal' names a column that is not in 'columns': b"),
        ({"columns": ("a",), "k": 3, "nominal": ("a",), "ordinal": {"a": ()}}, "ordinal or nominal, not both: a"),
        ({"columns": ("a",), "k": 3, "weights": {"a": 0}}, "greater than 0"),
        ({"columns": ("a",), "k": 3, "method": "pca"}, "'best', 'npn', 'fdh', 'mdav' or 'vmdav'"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(parameters: dict[str, Any], message: str) -> None:
    """Each error says what is expected."""
    with pytest.raises(ValidationError, match=message):
        Microaggregate(**parameters)


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (
            ["secret", "b", "c"],
            "column 'c' holds values of type .*; expected numbers, dates or times: name it in",
        ),
        ([1.0, np.inf, 2.0], "column 'c' holds infinite values"),
    ],
)
def test_columns_that_do_not_fit_are_named(cells: list[Any], message: str) -> None:
    """Text without a kind and infinite numbers are errors that show no value."""
    with pytest.raises(Misfit, match=message) as caught:
        treat(pd.DataFrame({"c": cells}), columns=("c",), k=2)
    assert "secret" not in str(caught.value)


def test_a_column_twice_is_refused() -> None:
    """Two columns of one name cannot be distinguished."""
    frame = pd.DataFrame([[1, 2], [3, 4], [5, 6]], columns=["c", "c"])
    with pytest.raises(Misfit, match="2 columns are named 'c'; rename them"):
        treat(frame, columns=("c",))
