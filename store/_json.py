"""Write what checks put into `observed` and into messages as canonical text, and read it back as it was.

Canonical: sorted keys, no spaces, so that equal values have equal text. JSON knows no times, decimals or infinities;
those stand as an object with one key that begins with `$`. An object whose own keys begin with `$` is
written as pairs, `{"$map": [[key, value], ...]}`.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from numbers import Integral, Real
from typing import Any, Final

from store._errors import RowRefused, StoreCorrupt

_MICROSECOND: Final = timedelta(microseconds=1)

_READERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "$time": datetime.fromisoformat,
    "$date": date.fromisoformat,
    "$duration_us": lambda us: timedelta(microseconds=us),
    "$decimal": Decimal,
    "$number": float,
    "$map": dict,
}


def to_text(value: object) -> str:
    """Return canonical JSON text. Keys that are numbers become text, tuples become lists.

    Raises:
        RowRefused: a value that has no place here, such as bytes or a naive time.
    """
    try:
        text = _WRITER.encode(value)
    except (TypeError, ValueError):  # infinities, odd keys
        text = _WRITER.encode(_plain(value))
    if '"$' in text:
        text = _WRITER.encode(_plain(value))
    return text if text.isascii() or is_unicode(text) else _ASCII_WRITER.encode(_plain(value))


def is_unicode(text: str) -> bool:
    """Check whether text has whole characters only; mangled file names have half ones, which no database takes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def from_text(text: str) -> Any:
    """Return the value that `to_text` wrote; tuples come back as lists.

    Raises:
        StoreCorrupt: `to_text` never wrote this.
    """
    try:
        return _READER.decode(text)
    except (ValueError, TypeError, ArithmeticError):
        raise StoreCorrupt("a row of the store holds JSON that cannot be read; 'tablewatch doctor' says more") from None


def _plain(value: object) -> object:  # noqa: PLR0911 - one line for each kind of value
    match value:
        case None | bool() | str():
            return value
        case Mapping():
            return _plain_mapping(value)
        case timedelta():
            return {"$duration_us": value // _MICROSECOND}
        case datetime() if value.tzinfo is not None:
            return {"$time": value.astimezone(UTC).isoformat()}
        case date() if not isinstance(value, datetime):
            return {"$date": value.isoformat()}
        case Decimal():
            return {"$decimal": str(value)}
        case Integral():
            return int(value)
        case Real():
            number = float(value)
            return number if math.isfinite(number) else {"$number": str(number)}
        case Sequence() if not isinstance(value, bytes | bytearray | memoryview):
            return [_plain(item) for item in value]
    raise RowRefused(
        f"a value of type {type(value).__name__} cannot be stored; give text, numbers, aware times, lists or mappings"
    )


def _plain_mapping(value: Mapping[Any, Any]) -> object:
    plain = {_key(key): _plain(item) for key, item in value.items()}
    return {"$map": sorted(plain.items())} if any(key.startswith("$") for key in plain) else plain


def _key(key: object) -> str:
    if isinstance(key, str):
        return key
    if key is None or isinstance(key, bool | int | float):
        return json.dumps(key)
    raise RowRefused(f"a mapping with a key of type {type(key).__name__} cannot be stored; give text")


def _revive(results: dict[str, Any]) -> Any:
    if len(results) == 1:
        ((key, value),) = results.items()
        if key in _READERS:
            return _READERS[key](value)
    return results


_READER: Final = json.JSONDecoder(object_hook=_revive)  # made once: making one takes as long as reading an event
_WRITER: Final = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=_plain
)
_ASCII_WRITER: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
