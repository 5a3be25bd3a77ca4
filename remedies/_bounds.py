"""Bounds as values of a column, exactly or not at all."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from remedies._errors import Misfit
from remedies.generalisation import text_of
from remedies.generalisation.units import number_in

if TYPE_CHECKING:
    import pandas as pd


def is_number(column: pd.Series[Any]) -> bool:
    """Check whether a column has a type of numbers."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    return is_numeric_dtype(column.dtype) and not is_bool_dtype(column.dtype)


def in_type(column: pd.Series[Any], bound: Decimal) -> object:
    """Return a bound as a value of a column.

    Raises:
        Misfit: the column holds whole numbers, and the bound is none, or its type cannot hold the bound exactly.
    """
    import pandas as pd
    import pyarrow as pa

    value = _of_kind(column, bound)
    try:
        held = text_of(pd.Series([value], dtype=column.dtype).iloc[0])
    except (pa.ArrowException, ArithmeticError, TypeError, ValueError):
        held = None
    if number_in(held or "") != bound:
        hint = "name one that it can hold, or ask for labels"
        raise Misfit(f"column '{column.name}' has a type that cannot hold its bound {bound}; {hint}")
    return value


def _of_kind(column: pd.Series[Any], bound: Decimal) -> object:
    """Return a bound as Python writes a value of a column.

    Raises:
        Misfit: the column holds whole numbers, and the bound is none.
    """
    from pandas.api.types import infer_dtype, is_float_dtype, is_integer_dtype

    if is_integer_dtype(column.dtype) or infer_dtype(column, skipna=True) == "integer":
        if bound != int(bound):
            raise Misfit(f"column '{column.name}' holds whole numbers, and its bound {bound} is none; name a whole one")
        return int(bound)
    if is_float_dtype(column.dtype):
        return float(bound)
    kind = infer_dtype(column, skipna=True)
    return {"string": str(bound), "floating": float(bound)}.get(kind, bound)
