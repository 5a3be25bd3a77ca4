"""The text by which a hierarchy knows a value.

One value has one text, whatever type a reader gave its column: a column of whole numbers that is read as floats because
a value is missing still fits a file that says `17`. t-closeness takes `str` of texts, whole numbers and dates: for
these the two agree.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from checks.classes.arrays import np, npt
from remedies._errors import Misfit

if TYPE_CHECKING:
    import pandas as pd

    from checks.risk import Hierarchy

_Speller: TypeAlias = Callable[[object], str | None]

_NOTHING: Final = frozenset({"NoneType", "NAType", "NaTType"})
"""What stands for a missing value, by name: pandas need not be there to know it."""
_EXACT: Final = 2.0**53
_EXPECTED: Final = "expected numbers, texts, dates, times or booleans"


def text_of(value: object) -> str | None:
    """Return the text of a scalar of Python, numpy, pandas or pyarrow; None of NULL, NaN, NaT and NA.

    Whole numbers as digits, floats that are whole too (`17`), other floats by `repr` of their float64; decimals without
    an exponent and without zeros at the end; `true`, `false`; days as ISO dates, and so times at midnight without a
    zone; other times in ISO form. Texts are what they are, `""` included; whatever else there is, by `str`.

    Raises:
        Misfit: it is a list or another collection.
    """
    kind: Any = type(value)
    return _speller(kind)(value)


def texts_of(values: Iterable[object]) -> list[str | None]:
    """Return the text of each value; of a pandas column each distinct value is spelled once, however many rows have it.

    Raises:
        Misfit: a column holds values that cannot be compared, such as lists.
    """
    if not hasattr(values, "factorize"):
        return [text_of(value) for value in values]
    codes, distinct = _factorized(cast("pd.Series[Any]", values))
    spelled = np.array([*map(text_of, distinct), None], dtype=object)
    names: list[str | None] = spelled[codes].tolist()  # the code of NULL is -1, the last
    return names


def distinct_texts(values: Iterable[object]) -> tuple[str, ...]:
    """Return the texts of values, a pandas column or any others: each once, in order of appearance, without NULL.

    Raises:
        Misfit: as `texts_of`.
    """
    distinct = _factorized(cast("pd.Series[Any]", values))[1] if hasattr(values, "factorize") else values
    return tuple(text for text in dict.fromkeys(map(text_of, distinct)) if text is not None)


def path_of_null(hierarchy: Hierarchy) -> tuple[str | None, ...]:
    """Return what NULL becomes at each level; None where it stays NULL.

    A hierarchy that knows the empty text has a line for NULL: its ancestors. In all others NULL stays NULL up to below
    the root, where everything becomes the last level's one label; it stays NULL for good where there is no root.
    """
    leaves = hierarchy.levels[0]
    if "" in leaves:
        place = leaves.index("")
        return (None, *(level[place] for level in hierarchy.levels[1:]))
    root = hierarchy.levels[-1][0]
    first = len(hierarchy.levels)
    while first > 1 and set(hierarchy.levels[first - 1]) == {root}:
        first -= 1
    return tuple(None if level < first else root for level in range(len(hierarchy.levels)))


def _factorized(column: pd.Series[Any]) -> tuple[npt.NDArray[np.int64], Iterable[object]]:
    import pandas as pd

    try:
        if column.dtype == object and pd.api.types.infer_dtype(column, skipna=True).startswith("mixed"):
            # 1 and True are equal, and have two texts, some of which no type of pandas but `object` can hold
            column = pd.Series(list(map(text_of, column)), dtype=object, name=column.name)
        codes, distinct = pd.factorize(column)
    except (TypeError, NotImplementedError):
        raise incomparable(column.name) from None
    return np.asarray(codes, dtype=np.int64), scalars_of(distinct, column.name)


def incomparable(column: object) -> Misfit:
    """Return the error of a column of lists, or of other collections."""
    return Misfit(f"column '{column}' holds values that cannot be compared; {_EXPECTED}")


def scalars_of(distinct: Iterable[object], column: object) -> list[object]:
    """Return the values of a column as Python has them.

    Raises:
        Misfit: it cannot have them: engines know days without end.
    """
    try:
        return list(distinct)
    except (OverflowError, ValueError):
        raise Misfit(
            f"column '{column}' holds days or times out of range, such as infinite ones; {_EXPECTED}"
        ) from None


@cache
def _speller(kind: type) -> _Speller:
    """Return what spells the values of a type."""
    if kind is str:
        return lambda value: cast("str", value)
    if kind.__name__ in _NOTHING:
        return lambda _: None
    if issubclass(kind, (list, tuple, dict, set, frozenset, np.ndarray)):
        raise Misfit(f"values of type {kind.__name__} have no text; {_EXPECTED}")
    if hasattr(kind, "as_py"):  # a scalar of pyarrow
        return lambda value: text_of(cast("Any", value).as_py())
    return next((spell for base, spell in _spellers().items() if issubclass(kind, base)), str)


def _truth(value: object) -> str:
    return "true" if value else "false"


def _whole(value: object) -> str:
    return str(int(cast("int", value)))


def _float(value: object) -> str | None:
    number = float(cast("float", value))
    if math.isnan(number):
        return None
    if number.is_integer() and abs(number) < _EXACT:
        return str(int(number))
    return repr(number)


def _decimal(value: object) -> str | None:
    number = cast("Decimal", value)
    if number.is_nan():
        return None
    plain = format(number, "f")
    short = plain.rstrip("0").rstrip(".") if "." in plain else plain
    return "0" if short == "-0" else short


def _moment(value: object) -> str | None:
    moment = cast("datetime", value)
    midnight = moment.tzinfo is None and moment.time() == time.min and not getattr(moment, "nanosecond", 0)
    return moment.date().isoformat() if midnight else moment.isoformat()


def _numpy_moment(value: object) -> str | None:
    import pandas as pd

    return text_of(pd.Timestamp(cast("np.datetime64", value)))


@cache
def _spellers() -> Mapping[type | tuple[type, ...], _Speller]:
    return {
        str: lambda value: str.__str__(cast("str", value)),
        (bool, np.bool_): _truth,
        np.timedelta64: str,  # numpy's lengths of time are whole numbers to Python
        (int, np.integer): _whole,
        (float, np.floating): _float,
        Decimal: _decimal,
        datetime: _moment,
        date: lambda value: cast("date", value).isoformat(),
        np.datetime64: _numpy_moment,
    }
