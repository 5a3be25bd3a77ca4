"""What every function of this sub-package asks of its input. No message contains a value of the table."""

import math
import operator
from typing import Any, SupportsIndex

import numpy as np
import numpy.typing as npt

from remedies._compiled import compiled
from remedies._errors import Misfit


def table(X: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return a table of numbers as (n, d) float64.

    Args:
        X: (n, d), or (n,) for one column: an array, nested lists, a pandas frame or series; booleans, integers or
            floats, finite.

    Raises:
        Misfit: not numeric, not one- or two-dimensional, without records, or with missing or infinite values (the
            message names the first such column, counted from 0 where it has no name, and how many).
    """
    values = _of_frame(X)
    if values is None:
        values = _of_array(X)
    columns = values.reshape(-1, 1) if values.ndim == 1 else values
    if columns.shape[0] == 0:
        raise Misfit("the table has no records")
    numbers = np.ascontiguousarray(columns, np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        total = numbers.sum()
    if not np.isfinite(total):  # else every number is; the sum of finite ones may overflow
        _see_finite(X, numbers)
    return numbers


def _see_finite(X: npt.ArrayLike, numbers: npt.NDArray[np.float64]) -> None:
    """Check that all numbers are finite.

    Raises:
        Misfit: some are not.
    """
    bad = ~np.isfinite(numbers)
    if bad.any():
        column = int(np.flatnonzero(bad.any(axis=0))[0])
        raise Misfit(
            f"column {_name(X, column)} has {int(bad[:, column].sum())} missing or infinite values; "
            "fill them, drop the records, or group records by what is missing first"
        )


def _of_array(X: npt.ArrayLike) -> npt.NDArray[Any]:
    try:
        array = np.asarray(X)
    except ValueError as ragged:
        raise Misfit("the table is not rectangular; give an array of shape (n, d)") from ragged
    if array.dtype.kind not in "biuf":
        raise Misfit(f"the table has dtype {array.dtype}; microaggregation needs integers or floats")
    if array.ndim not in {1, 2}:
        raise Misfit(f"the table has {array.ndim} dimensions; expected (n, d), or (n,) for one column")
    return array


def _of_frame(X: Any) -> npt.NDArray[np.float64] | None:
    """Read a pandas frame or series column by column type: as one array, integers beside booleans are objects."""
    if not (hasattr(X, "dtypes") and hasattr(X, "to_numpy")):
        return None
    types = list(X.dtypes) if X.ndim == 2 else [X.dtypes]
    for column, kind in enumerate(types):
        if kind.kind not in "biuf":
            raise Misfit(f"column {_name(X, column)} has type {kind}; microaggregation needs integers or floats")
    return np.asarray(X.to_numpy(dtype=np.float64, na_value=np.nan))


def _name(X: Any, column: int) -> str:
    """Return the name of a column of a frame, or its number."""
    names = getattr(X, "columns", None)
    return str(column) if names is None else repr(str(names[column]))


def whole(number: SupportsIndex, *, name: str) -> int:
    """Return a whole number.

    Raises:
        Misfit: it is not a whole number.
    """
    if isinstance(number, bool | np.bool_):
        raise Misfit(f"{name} is a truth value; expected a whole number")
    try:
        return operator.index(number)
    except TypeError as other:
        raise Misfit(f"{name} is a {type(number).__name__}; expected a whole number") from other


def finite(number: object, *, name: str) -> float:
    """Return a finite number.

    Raises:
        Misfit: it is not a number, or not finite.
    """
    if isinstance(number, bool | np.bool_) or not isinstance(number, int | float | np.integer | np.floating):
        raise Misfit(f"{name} is a {type(number).__name__}; expected a number")
    if not math.isfinite(number):
        raise Misfit(f"{name} is not finite")
    return float(number)


def group_size(k: SupportsIndex, *, records: int) -> int:
    """Return the smallest allowed group size.

    Raises:
        Misfit: k is not a whole number of at least 2, or there are fewer than k records.
    """
    size = whole(k, name="k")
    if size < 2:
        raise Misfit(f"k is {size}; a group needs at least 2 records")
    if records < size:
        raise Misfit(f"the table has {records} records; groups of k = {size} need at least {size}")
    return size


def order(path: npt.ArrayLike, *, records: int) -> npt.NDArray[np.int64]:
    """Return a path: an order that visits every record once.

    Raises:
        Misfit: it is not a permutation of 0..n-1.
    """
    values = _indices(path, name="path", records=records)
    if not np.array_equal(np.bincount(values, minlength=records), np.ones(records, np.int64)):
        raise Misfit(f"the path does not visit each of the {records} records once")
    return values


def groups_of(labels: npt.ArrayLike, *, records: int) -> npt.NDArray[np.int64]:
    """Return labels: one whole number per record; equal numbers are one group.

    Raises:
        Misfit: not one whole number per record.
    """
    array = np.asarray(labels)
    if array.shape != (records,):
        raise Misfit(f"the labels have shape {array.shape}; expected one per record: ({records},)")
    if array.dtype.kind not in "biu":
        raise Misfit(f"the labels have dtype {array.dtype}; expected whole numbers")
    return array.astype(np.int64)


def _indices(array_like: npt.ArrayLike, *, name: str, records: int) -> npt.NDArray[np.int64]:
    indices = np.asarray(array_like)
    if indices.shape != (records,):
        raise Misfit(f"the {name} has shape {indices.shape}; expected one index per record: ({records},)")
    if indices.dtype.kind not in "iu":
        raise Misfit(f"the {name} has dtype {indices.dtype}; expected whole numbers")
    if int(indices.min()) < 0 or int(indices.max()) >= records:
        raise Misfit(f"the {name} has indices outside 0..{records - 1}")
    return np.ascontiguousarray(indices, np.int64)


@compiled
def _by_first_appearance(codes: npt.NDArray[np.int64], groups: int) -> npt.NDArray[np.int64]:
    names = np.full(groups, -1, np.int64)
    labels = np.empty(codes.size, np.int64)
    following = 0
    for i in range(codes.size):
        if names[codes[i]] < 0:
            names[codes[i]] = following
            following += 1
        labels[i] = names[codes[i]]
    return labels


def canonical(labels: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Number groups 0..g-1 by their first record.

    Args:
        labels: (n,) integers of any kind; equal integers are one group.

    Returns:
        (n,) int64; two partitions into the same groups give the same array. O(n) when the labels lie in 0..2n,
        O(n log n) otherwise.
    """
    codes = np.asarray(labels, np.int64)
    if codes.size == 0:
        return codes.copy()
    if codes.min() < 0 or codes.max() > 2 * codes.size:
        codes = np.unique(codes, return_inverse=True)[1].astype(np.int64)
    return _by_first_appearance(np.ascontiguousarray(codes), int(codes.max()) + 1)
