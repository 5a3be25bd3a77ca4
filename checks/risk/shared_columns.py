"""Bring the columns that two frames share to numbers that can be compared.

Each function takes a column of one frame and one of the other, and gives `Values`: their values one after the other,
and which of them are known. NULL and NaN are not known.
"""

# pandas is only named in annotations, so that the checks, which judge by numbers alone, need none
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from checks.classes.arrays import np, npt

if TYPE_CHECKING:
    import pandas as pd

Shared: TypeAlias = "Sequence[str] | Mapping[str, str]"

SLACK: Final = 1e-9
"""By how much a tolerance between fractions is widened, as a share of it: 0.8 is within 0.1 of 0.7."""
MICROSECOND: Final = timedelta(microseconds=1)
FAR: Final = 2**61
"""Whole numbers up to here, and tolerances, add up within 64 bits."""
_OFFSET: Final = r"[Tt ][0-9:.]+ ?(?:[Zz]|[+-][0-9]{2}(?::?[0-9]{2})?)$"
_DTYPES: Final[Mapping[str, str]] = {"i": "integer", "u": "integer", "f": "floating", "b": "boolean", "M": "datetime64"}
_KINDS: Final[Mapping[str, str]] = {
    "integer": "number",
    "floating": "number",
    "decimal": "number",
    "mixed-integer-float": "number",
    "string": "text",
    "boolean": "truth",
    "date": "time",
    "datetime": "time",
    "datetime64": "time",
    "empty": "",
}


class Values(NamedTuple):
    """Values of both frames, one after the other: `numbers` of shape (rows + other rows,), `known` alike."""

    numbers: npt.NDArray[Any]
    known: npt.NDArray[np.bool_]


def paired(on: Shared, own: pd.DataFrame, other: pd.DataFrame) -> Mapping[str, str]:
    """Return own column -> the other frame's column; a sequence names columns that have one name in both.

    Raises:
        ValueError: no column at all.
        KeyError: a frame has no such column.
    """
    pairs = dict(on) if isinstance(on, Mapping) else {name: name for name in on}
    if not pairs:
        raise ValueError("at least one shared column")
    for name, other_name in pairs.items():
        column_of(own, name)
        column_of(other, other_name)
    return pairs


def column_of(frame: pd.DataFrame, name: str) -> pd.Series[Any]:
    """Return a column of a frame.

    Raises:
        KeyError: the frame has no such column; the nearest one is suggested.
    """
    from sources import did_you_mean

    if name not in frame.columns:
        raise KeyError(f"column '{name}' not found{did_you_mean(name, [str(item) for item in frame.columns])}")
    return frame[name]


def codes(own: pd.Series[Any], other: pd.Series[Any]) -> Values:
    """Number the values, equal ones alike.

    Raises:
        ValueError: the columns are of two kinds (number, text, truth, time), or one holds several.
    """
    import pandas as pd

    if "time" in _kinds(own, other):
        return microseconds(own, other)
    alike = own.dtype == other.dtype or all(column.dtype.kind in "iuf" for column in (own, other))
    both = pd.concat([own, other] if alike else [own.astype(object), other.astype(object)], ignore_index=True)
    result, _ = pd.factorize(both if alike else both.where(both.notna(), None))
    return Values(result.astype(np.int64), result >= 0)


def near(own: pd.Series[Any], other: pd.Series[Any], tolerance: float | timedelta) -> tuple[Values, float]:
    """Return numbers, and how far two that match may be apart: microseconds for a duration.

    Whole numbers are compared exactly, fractions as floating point numbers, with a little slack.

    Raises:
        ValueError: the tolerance is negative or not finite; a number for columns that hold none, a duration for columns
            that hold no times.
    """
    import pandas as pd

    width = tolerance / MICROSECOND if isinstance(tolerance, timedelta) else tolerance
    if not math.isfinite(width) or width < 0:
        raise ValueError(f"column '{own.name}': a tolerance is a finite number or a duration, not below 0")
    if isinstance(tolerance, timedelta):
        return microseconds(own, other), math.floor(width)
    if not _kinds(own, other) <= {"number"}:
        raise ValueError(f"column '{own.name}' holds no numbers; a tolerance that is a number is one between numbers")
    if not width:
        return codes(own, other), 0
    both = pd.concat([own, other], ignore_index=True)
    valid = both.notna().to_numpy()
    filled = both[valid]
    whole = all(column.dtype.kind == "i" for column in (own, other)) and bool(filled.between(-FAR, FAR).all())
    numbers = np.zeros(len(both), dtype=np.int64 if whole else np.float64)
    numbers[valid] = filled.astype(numbers.dtype)
    return Values(numbers, valid & np.isfinite(numbers)), min(math.floor(width), FAR) if whole else width * (1 + SLACK)


def microseconds(own: pd.Series[Any], other: pd.Series[Any]) -> Values:
    """Read times as microseconds since 1970: moments in UTC, wall clocks as they are written, text as ISO 8601.

    Raises:
        ValueError: a value is no time, or some have an offset (or a zone) and some have none.
    """
    import pandas as pd

    parts = [_moments(column) for column in (own, other)]
    if len({aware for _, aware in parts if aware is not None}) > 1:
        text = "one table has timestamps without a time zone, the other with one; convert both to the same form"
        raise ValueError(f"column '{own.name}': {text}")
    both = pd.concat([values for values, _ in parts], ignore_index=True)
    return Values(both.dt.as_unit("us").astype("int64").to_numpy(), both.notna().to_numpy())


def _moments(column: pd.Series[Any]) -> tuple[pd.Series[Any], bool | None]:
    """Return the column in UTC, and whether its values know their zone; None for a column without values."""
    import pandas as pd

    kinds, filled = _kinds(column), column.dropna()
    if not kinds:
        return pd.Series(pd.NaT, index=range(len(column)), dtype="datetime64[us, UTC]"), None
    if kinds == {"text"}:
        offsets = filled.astype(str).str.contains(_OFFSET)
    else:
        offsets = filled.map(lambda item: getattr(item, "tzinfo", None) is not None)
    read = pd.to_datetime(column, format="ISO8601", utc=True, errors="coerce") if kinds <= {"text", "time"} else None
    invalid = len(filled) if read is None else int(filled.shape[0] - read.count())
    if read is None or invalid:
        raise ValueError(f"column '{column.name}': {invalid} values are not valid timestamps")
    if offsets.any() != offsets.all():
        raise ValueError(f"column '{column.name}': some values have an offset, the others have none")
    return read, bool(offsets.iloc[0])


def _kinds(*columns: pd.Series[Any]) -> set[str]:
    """Return the kind of the columns' values, as a set of at most one."""
    import pandas as pd

    results = set()
    for column in columns:
        filled = column.dropna()
        inferred = _DTYPES.get(filled.dtype.kind) or pd.api.types.infer_dtype(filled.astype(object), skipna=True)
        inferred = inferred if len(filled) else "empty"
        if inferred not in _KINDS:
            raise ValueError(
                f"column '{column.name}' holds {inferred} values; expected numbers, texts, truth values or times"
            )
        results.add(_KINDS[inferred])
    results.discard("")
    if len(results) > 1:
        raise ValueError(f"column '{columns[0].name}' is of two kinds, {' and '.join(sorted(results))}; expected one")
    return results
