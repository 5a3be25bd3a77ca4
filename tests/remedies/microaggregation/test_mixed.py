"""Records of mixed kinds are grouped, and every record of a group is given out alike."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remedies.microaggregation import information_loss, mdav
from remedies.microaggregation.attributes import ColumnKind, cost, nominal, numeric, ordinal
from remedies.microaggregation.mixed import group_records
from remedies.microaggregation.standardisation import Coordinates


def by_first_axis(k: int) -> Any:
    """Return a partition that needs no search: neighbours on the first axis."""

    def partition(axes: np.ndarray, _: int) -> Any:
        order = np.argsort(axes[:, 0], kind="stable") if axes.shape[1] else np.arange(len(axes))
        labels = np.empty(len(axes), dtype=np.int64)
        labels[order] = np.minimum(np.arange(len(axes)) // k, len(axes) // k - 1)
        return SimpleNamespace(labels=labels)

    return partition


_CELLS = st.tuples(
    st.one_of(st.none(), st.integers(-5, 5)),
    st.sampled_from(["low", "mid", "high"]),
    st.one_of(st.none(), st.sampled_from("abc")),
)


@given(st.lists(_CELLS, min_size=4, max_size=40), st.integers(2, 4))
def test_every_combination_given_out_has_k_records(rows: list[tuple[Any, ...]], k: int) -> None:
    """Whatever is missing: codes and gaps together are alike for k records, and within each group."""
    frame = pd.DataFrame(rows, columns=["n", "o", "c"]).astype({"n": "Int64", "c": "string"})
    attributes = [numeric(frame["n"]), ordinal(frame["o"], ["low", "mid", "high"]), nominal(frame["c"])]
    grouped = group_records(attributes, k=k, weights={}, partition=by_first_axis(k))
    out = pd.DataFrame(
        {
            attribute.name: attribute.write(grouped.codes[:, i], grouped.missing[:, i])
            for i, attribute in enumerate(attributes)
        }
    )
    assert out.dtypes.tolist() == frame.dtypes.tolist()
    assert out.groupby(["n", "o", "c"], dropna=False).size().min() >= k
    assert out.groupby(grouped.labels)[["n", "o", "c"]].nunique(dropna=False).max().max() == 1
    known = cost(attributes, grouped.codes, grouped.missing)
    assert known.rows_changed == int(
        (out.fillna({"n": 99, "c": "-"}) != frame.fillna({"n": 99, "c": "-"})).any(axis=1).sum()
    )


def test_weights_scale_squared_distances() -> None:
    """A weight of 4 doubles a column's coordinates."""
    seen = []

    def partition(axes: np.ndarray, _: int) -> Any:
        seen.append(axes)
        return SimpleNamespace(labels=np.zeros(len(axes), dtype=np.int64))

    column = numeric(pd.Series([1.0, 3.0], name="n"))
    for weights in ({}, {"n": 4.0}):
        group_records([column], k=2, weights=weights, partition=partition)
    assert (seen[1] == 2 * seen[0]).all()


def test_blocks_are_grouped_one_by_one() -> None:
    """Records with and without an age are partitioned apart, each with the axes that they have."""
    seen = []

    def partition(axes: np.ndarray, number: int) -> Any:
        seen.append((number, axes.shape))
        return SimpleNamespace(labels=np.zeros(len(axes), dtype=np.int64))

    frame = pd.DataFrame({"age": [30.0, 40.0, 50.0, np.nan, np.nan], "size": [1.0, 2.0, 3.0, 4.0, 5.0]})
    grouped = group_records([numeric(frame["age"]), numeric(frame["size"])], k=2, weights={}, partition=partition)
    assert seen == [(0, (3, 2)), (1, (2, 1))]
    assert grouped.labels.tolist() == [0, 0, 0, 1, 1]


def test_losses_of_a_kind_are_those_of_all_its_cells() -> None:
    """Together, numeric columns lose 100 SSE / SST of their z-scores; a constant column adds nothing."""
    frame = pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.0], "b": [0.0, 5.0, 5.0, 10.0], "c": [7.0] * 4})
    attributes = [numeric(frame[name]) for name in frame]
    grouped = group_records(attributes, k=2, weights={}, partition=by_first_axis(2))
    found = cost(attributes, grouped.codes, grouped.missing)
    scores = ((frame - frame.mean()) / frame.std(ddof=0))[["a", "b"]].to_numpy()
    middle = np.stack([scores[grouped.labels == label].mean(axis=0) for label in grouped.labels])
    expected = 100 * ((scores - middle) ** 2).sum() / (scores**2).sum()
    assert found.by_kind == {ColumnKind.NUMERIC: pytest.approx(expected)}


@pytest.mark.parametrize("axes", [0, 1, 3])
def test_coordinates_are_left_as_they_are_meant(axes: int) -> None:
    """What standardises its input leaves coordinates alone, but for their centre."""
    values = np.random.default_rng(1).normal(size=(20, axes)) * 10.0 ** np.arange(axes)
    labels = mdav(Coordinates(values), 3)
    assert np.bincount(labels).min() >= 3
    middle = np.stack([values[labels == label].mean(axis=0) for label in labels])
    total = ((values - values.mean(axis=0)) ** 2).sum()
    lost = 100 * ((values - middle) ** 2).sum() / total if axes else 0.0
    assert information_loss(Coordinates(values), labels) == pytest.approx(lost)
    assert np.array_equal(np.asarray(Coordinates(values), dtype=np.float32), values.astype(np.float32))
