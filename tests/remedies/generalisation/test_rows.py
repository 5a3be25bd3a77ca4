"""Rows are found again among the combinations of their table, in pieces and whatever their types."""

from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from remedies.generalisation import Recoding
from remedies.generalisation.frequencies import UNKNOWN, Rows, read_counts, read_table
from remedies.generalisation.levels import with_plain

ROWS = st.lists(
    st.tuples(st.integers(-3, 3), st.sampled_from(["", "1", "01", None]), st.sampled_from([0.5, 2.0, None])),
    min_size=1,
    max_size=40,
)


@given(rows=ROWS, size=st.integers(1, 7))
def test_pieces_are_found_as_the_whole(rows: list[tuple[Any, ...]], size: int) -> None:
    """Row by row, what a frame's own numbers say is what is found piece by piece."""
    frame = pd.DataFrame(rows, columns=["a", "b", "c"])
    frequencies, combinations = read_table(frame, with_plain(frame, {}, list(frame)))
    finder = Rows(frequencies)
    found = [finder.find(frame.iloc[start : start + size]) for start in range(0, len(frame), size)]
    assert np.concatenate(found).tolist() == combinations.tolist()


def test_combinations_that_differ_in_secrets_are_one() -> None:
    """A row's combination has its quasi-identifiers, and is suppressed if they are, whatever its sensitive value."""
    counts = pd.DataFrame({"a": [1, 1, 2], "ill": ["x", "y", "x"], "count": [3, 1, 2]})
    frequencies = read_counts(counts, with_plain(counts, {}, ["a"]), sensitive=["ill"])
    found = Rows(frequencies).find(pd.DataFrame({"a": [2, 1]}))
    assert frequencies.codes[found, 0].tolist() == frequencies.codes[[2, 0], 0].tolist()


def test_what_was_never_counted_is_unknown() -> None:
    """A new value, a new combination of old ones, and a NULL where there was none."""
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    finder = Rows(read_table(frame, with_plain(frame, {}, ["a", "b"]))[0])
    rows = pd.DataFrame({"a": pd.array([1, 3, 1, 2], dtype="Int64"), "b": ["x", "x", "y", None]})
    assert finder.find(rows).tolist() == [0, UNKNOWN, UNKNOWN, UNKNOWN]


def test_types_of_an_engine() -> None:
    """Arrow's columns, as engines give them, are recoded in pieces as a frame is."""
    frame = pd.DataFrame(
        {
            "a": pd.array([1, None, 2], dtype="int64[pyarrow]"),
            "b": pd.array([date(2024, 1, 1), None, date(2024, 2, 1)], dtype="date32[day][pyarrow]"),
            "c": pd.Series([Decimal("1.50"), Decimal("2.00"), None], dtype=object).convert_dtypes(
                dtype_backend="pyarrow"
            ),
            "d": pd.array([True, None, False], dtype="bool[pyarrow]"),
        }
    )
    frequencies, combinations = read_table(frame, with_plain(frame, {}, list(frame)))
    finder = Rows(frequencies)
    assert [int(finder.find(frame.iloc[[row]])[0]) for row in range(3)] == combinations.tolist()
    recoding = Recoding.of_node(frequencies, [0, 1, 0, 1])
    pieces = [recoding.apply(frame.iloc[[row]], finder.find(frame.iloc[[row]])) for row in range(3)]
    assert pd.concat(pieces)["b"].tolist() == recoding.apply(frame, combinations)["b"].tolist() == ["*"] * 3
