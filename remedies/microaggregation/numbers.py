"""Read a column of a frame as numbers, and write numbers back in the column's own type.

Whole numbers, times and decimals are read as a distance from the column's smallest value, so that a float64 holds them
exactly wherever the column spans less than 2**53 of its units; written back they are rounded half to even. Floats are
rounded to the decimals that the column itself is written in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from remedies._errors import Misfit

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

Floats: TypeAlias = npt.NDArray[np.float64]
Mask: TypeAlias = npt.NDArray[np.bool_]
Cast: TypeAlias = Callable[[Floats], Floats]
Back: TypeAlias = "Callable[[Floats, Mask], pa.Array]"

OF_WHOLE_FLOATS: Final = 6
"""Floats that are all whole do not say in how many decimals their means are wanted: so many."""
MOST_DECIMALS: Final = 15
"""A column of floats with more decimals than so many is taken for one that was never rounded."""
_FEW: Final = 1_000
_LARGEST: Final = float(np.nextafter(2.0**64, 0.0))
"""The largest float64 that a uint64 can hold."""


@dataclass(frozen=True, slots=True, eq=False)
class NumberColumn:
    """A column as numbers. `values`: float64 (n,), 0 where `missing` (n,); `write` is the way back."""

    values: Floats
    missing: Mask
    cast: Callable[[Floats], Floats]
    """Gives the numbers that the column's type can hold nearest to these."""
    write: Callable[[Floats, Mask], pd.Series[Any]]
    """Makes a column of the same type, name and index of n numbers and the mask of what is missing."""


def read_numbers(column: pd.Series[Any]) -> NumberColumn:
    """Read a column of whole numbers, floats, decimals, dates or times.

    Raises:
        Misfit: the column holds something else, or a number that is infinite.
    """
    import pyarrow as pa

    try:
        array = pa.Array.from_pandas(column)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        raise _no_number(column, "values of several types") from None
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    missing: Mask = np.asarray(array.is_null(nan_is_null=True))
    values, cast, back = _read(column, array, missing)
    return NumberColumn(values, missing, cast, lambda new, mask: _like(column, back(cast(new), mask)))


def decimals(values: npt.NDArray[np.floating[Any]], *, least: int = 0) -> int | None:
    """Return the number of decimals, at least `least`, in which all values are written; None if that is more than 15.

    `values` are of the column's own type: 0.1 has one decimal as a float32 too.
    """
    few = values[:_FEW]
    for places in range(least, MOST_DECIMALS + 1):
        with np.errstate(over="ignore", invalid="ignore"):  # a number too large for its decimals has none
            if all((np.round(some, places) == some).all() for some in (few, values)):
                return places
    return None


def rounded(values: Floats, places: int | None) -> Floats:
    """Round to so many decimals, half to even, and to `OF_WHOLE_FLOATS` for 0; None leaves values as they are."""
    if places is None:
        return values
    with np.errstate(over="ignore", invalid="ignore"):
        amount = np.round(values, places or OF_WHOLE_FLOATS)
    return np.where(np.isfinite(amount), amount, values)  # what is too large to be rounded is whole


def _read(column: pd.Series[Any], array: pa.Array, missing: Mask) -> tuple[Floats, Cast, Back]:
    import pyarrow as pa
    from pyarrow import types

    if types.is_floating(array.type):
        return _floats(column, array, missing)
    if types.is_decimal(array.type):
        return _decimals(column, array, missing)
    if types.is_uint64(array.type):
        return _wholes(array.fill_null(0).to_numpy(), missing, lambda new, mask: pa.array(new, mask=mask))
    if types.is_integer(array.type) or types.is_temporal(array.type):
        whole = _as_int64(array)
        return _wholes(whole, missing, lambda new, mask: _from_int64(new, mask, array.type))
    raise _no_number(column, f"values of type {array.type}")


def _as_int64(array: pa.Array) -> npt.NDArray[np.int64]:
    import pyarrow as pa

    narrow = array.cast(pa.int32()) if array.type in {pa.date32(), pa.time32("s"), pa.time32("ms")} else array
    whole: npt.NDArray[np.int64] = narrow.cast(pa.int64()).fill_null(0).to_numpy()
    return whole


def _from_int64(whole: npt.NDArray[Any], current_mask: Mask, kind: pa.DataType) -> pa.Array:
    import pyarrow as pa

    array = pa.array(whole, mask=current_mask)
    return (array.cast(pa.int32()) if kind in {pa.date32(), pa.time32("s"), pa.time32("ms")} else array).cast(kind)


def _floats(column: pd.Series[Any], array: pa.Array, missing: Mask) -> tuple[Floats, Cast, Back]:
    import pyarrow as pa

    values: Floats = np.where(missing, 0.0, array.cast(pa.float64()).fill_null(0).to_numpy())
    if not np.isfinite(values).all():
        raise _not_finite(column)
    width = array.type.to_pandas_dtype()
    places = decimals(values[~missing].astype(width))

    def cast(new: Floats) -> Floats:
        nearest: Floats = rounded(new, places).astype(width).astype(np.float64) + 0.0  # no negative zero
        return nearest

    return values, cast, lambda new, mask: pa.array(new, mask=mask).cast(array.type)


def _decimals(column: pd.Series[Any], array: pa.Array, missing: Mask) -> tuple[Floats, Cast, Back]:
    import pyarrow as pa

    digits = array.type.scale
    units = [0 if value is None else int(value.scaleb(digits)) for value in array.to_pylist()]
    if max(map(abs, units), default=0) >= 2**63:
        raise Misfit(f"column '{column.name}' holds decimals of more than 18 digits; cast it to a float first")

    def back(whole: npt.NDArray[Any], mask: Mask) -> pa.Array:
        entries = {unit: Decimal(int(unit)).scaleb(-digits) for unit in np.unique(whole)}
        return pa.array([None if blank else entries[unit] for unit, blank in zip(whole, mask, strict=True)], array.type)

    return _wholes(np.array(units, dtype=np.int64), missing, back)


def _wholes(
    array: npt.NDArray[Any], missing: Mask, back: Callable[[npt.NDArray[Any], Mask], pa.Array]
) -> tuple[Floats, Cast, Back]:
    """Return distances from the smallest, and the way back. The unsigned difference cannot overflow."""
    kind = array.dtype
    smallest = array[~missing].min() if not missing.all() else kind.type(0)
    start = smallest.view(np.uint64) & ~np.uint64(1)  # even, so that half to even is the same here and there
    distance = np.where(missing, np.uint64(0), array.view(np.uint64) - start)
    farthest = distance.max(initial=0)

    def write(new: Floats, mask: Mask) -> pa.Array:
        whole = np.minimum(np.clip(new, 0.0, _LARGEST).astype(np.uint64), farthest)
        return back((whole + start).view(kind), mask)

    return distance.astype(np.float64), np.rint, write


def _like(column: pd.Series[Any], cells: pa.Array) -> pd.Series[Any]:
    """Return cells as a column like the one that was read."""
    import pandas as pd

    whole = pd.Series(pd.arrays.ArrowExtensionArray(cells), index=column.index, name=column.name)
    if column.dtype != object:
        return whole.astype(column.dtype)
    plain = whole.astype(object)
    return plain.where(plain.notna(), None)


def _not_finite(column: pd.Series[Any]) -> Misfit:
    return Misfit(f"column '{column.name}' holds infinite values; expected finite numbers: filter or cap them first")


def _no_number(column: pd.Series[Any], text: str) -> Misfit:
    expected = "expected numbers, dates or times: name it in 'nominal' or 'ordinal' too, or leave it out"
    return Misfit(f"column '{column.name}' holds {text}; {expected}")
