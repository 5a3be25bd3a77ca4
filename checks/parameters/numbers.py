"""Read numbers and limits exactly as they are written, and write them exactly: in JSON, in messages, in configurations.

A number that a person wrote is an `int` or a `Decimal`, never a float: 99999999999999.99 is not 99999999999999.98. A
floating point number, from an engine or from Python, is its shortest decimal: 0.1 is a tenth.
"""

import math
import re
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, Final, Self, TypeAlias

from annotated_types import Ge
from pydantic import BeforeValidator, PlainSerializer
from pydantic import WithJsonSchema as JsonSchema

_WHOLE: Final = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_WRITTEN: Final = re.compile(r"[-+]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]{1,3})?")
_LONGEST: Final = 100
_LARGEST: Final = Fraction(1.7976931348623157e308)
_DIGITS_OF_A_DOUBLE: Final = 15
"""Every decimal of so many digits survives the way through a double."""
_DIGITS_TOLD: Final = 6
_MOST_DIGITS_TOLD: Final = 40
_LONG_WHOLE: Final = 10**38
"""From here on, a whole number is written with an exponent."""
_SAFE_WHOLE: Final = 2**53
"""Up to here, every JSON parser reads the same whole number."""

NOT_A_NUMBER: Final = "a number in decimal digits such as 1000, -2.5 or 1e3"


class WrittenNumber(float):
    """A fraction as a configuration holds it: a float, and `text`, the digits that were typed."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> Self:
        """Read a text that `float` reads."""
        number = super().__new__(cls, text)
        number.text = text
        return number

    def __str__(self) -> str:
        """Return the digits that were typed: pydantic makes a Decimal of them."""
        return self.text

    def __reduce__(self) -> tuple[type[Self], tuple[str]]:
        """Keep the digits when it goes to another process."""
        return type(self), (self.text,)


def looks_like_number(text: str) -> bool:
    """Check whether a text is a number in decimal digits, with a fraction or an exponent or without."""
    return len(text) <= _LONGEST and _WRITTEN.fullmatch(text) is not None


def parse_written(text: str) -> float:
    """Return a number of a JSON file as it is written; as a plain float where its digits or its exponent are absurd."""
    return WrittenNumber(text) if looks_like_number(text) else float(text)


def parse_number(value: object) -> int | Decimal:
    """Return a number exactly: a text such as `99.99` or `1e3`, an int, a Decimal, or a float as its shortest decimal.

    Raises:
        ValueError: it is none, not finite, has more than 100 characters, or is beyond 1.8e308.
    """
    number: int | Decimal | None = None
    if isinstance(value, WrittenNumber):
        value = value.text
    if isinstance(value, str) and looks_like_number(value):
        number = int(value) if _WHOLE.fullmatch(value) else Decimal(value)
    elif isinstance(value, bool):
        raise ValueError(f"{NOT_A_NUMBER}, not true or false")
    elif isinstance(value, float) and math.isfinite(value):
        number = Decimal(repr(value))
    elif isinstance(value, int) or (isinstance(value, Decimal) and value.is_finite()):
        number = value
    if number is None:
        raise ValueError(NOT_A_NUMBER)
    if abs(Fraction(number)) > _LARGEST:
        raise ValueError(f"{NOT_A_NUMBER}, not beyond 1.8e308")
    return int(number) if number == 0 else number  # zero has no sign


def decimal(number: float | Decimal | Fraction) -> Fraction:
    """Return a finite number as the decimal that a person reads, exactly: of a float, the shortest one."""
    if isinstance(number, WrittenNumber):
        return Fraction(number.text)
    return Fraction(repr(number)) if isinstance(number, float) else Fraction(number)


def exact(value: object) -> Fraction | None:
    """Return a number as a driver or the store gives it, exactly; None for NULL, NaN, infinity, and what is none."""
    match value:
        case str() if looks_like_number(value):
            return Fraction(value)
        case int():
            return Fraction(value)
        case float() if math.isfinite(value):
            return decimal(value)
        case Decimal() if value.is_finite():
            return decimal(value)
    return None


def plain(value: Fraction | Decimal | float | None) -> int | float | str | None:
    """Return a number for JSON: as a number where a reader of doubles gets the same one, else as text with all digits.

    A fraction that no decimal ends, such as a third, is its nearest double.
    """
    if value is None or (type(value) is int and abs(value) <= _SAFE_WHOLE):
        return value
    return _plain(decimal(value))


def _plain(value: Fraction) -> int | float | str:
    text = digits_of(value)
    if text is None:
        return float(value)
    nearest = float(value) if abs(value) <= _LARGEST else math.inf
    if not math.isfinite(nearest) or Fraction(repr(nearest)) != value:
        return text
    return value.numerator if value.denominator == 1 and abs(value) < _LONG_WHOLE else nearest


def as_json(value: Any) -> Any:
    """Return lists and mappings with every written number as `plain` writes it."""
    if isinstance(value, dict):
        return {key: as_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [as_json(item) for item in value]
    return plain(value) if isinstance(value, WrittenNumber) else value


def digits_of(value: Fraction) -> str | None:
    """Return a number in decimal digits, without an exponent; None where no decimal ends it."""
    rest, places = value.denominator, 0
    for prime in (2, 5):
        power = 0
        while rest % prime == 0:
            rest, power = rest // prime, power + 1
        places = max(places, power)
    if rest != 1:
        return None
    units = abs(value.numerator) * 10**places // value.denominator
    text = str(units).rjust(places + 1, "0")
    sign = "-" if value < 0 else ""
    return f"{sign}{text[:-places]}.{text[-places:]}" if places else f"{sign}{text}"


def display_number(value: Fraction | Decimal | float, *beside: Any, rounded: bool = False) -> int | str:
    """Return a number for a message: with all its digits, or with as many as set it apart from those `beside` it.

    `rounded`: it was computed in floating point or by a division, so that digits behind the sixth say little.
    """
    value = decimal(value)
    text = digits_of(value)
    if text is not None and (not rounded or len(text.strip("-").replace(".", "").strip("0")) <= _DIGITS_OF_A_DOUBLE):
        return _as_json_number(value)
    others = [decimal(other) for other in beside if other is not None]
    for digits in range(_DIGITS_TOLD, _MOST_DIGITS_TOLD):
        amount = _rounded(value, digits)
        if all((amount > other) == (value > other) and (amount < other) == (value < other) for other in others):
            return _as_json_number(amount)
    return _as_json_number(_rounded(value, _MOST_DIGITS_TOLD))


def _as_json_number(value: Fraction) -> int | str:
    if value.denominator == 1 and abs(value) <= _SAFE_WHOLE:
        return value.numerator
    text = digits_of(value) or str(float(value))
    return text if len(text) <= _LONGEST else str(float(value))


def grouped(text: str) -> Decimal | None:
    """Return what a number in a message says, to be written in the reader's language; None where it stays as it is."""
    return Decimal(text) if looks_like_number(text) and "e" not in text.lower() else None


def _rounded(value: Fraction, digits: int) -> Fraction:
    """Round to significant digits."""
    if not value:
        return value
    size = len(str(abs(value.numerator))) - len(str(value.denominator))
    if abs(value) < Fraction(10) ** size:
        size -= 1
    scale = Fraction(10) ** (digits - 1 - size)  # the last digit that counts becomes that of a whole number
    return round(value * scale) / scale


Number: TypeAlias = Annotated[
    int | Decimal,
    BeforeValidator(parse_number),
    PlainSerializer(plain, when_used="json"),
    JsonSchema(
        {
            "anyOf": [{"type": "number"}, {"type": "string", "pattern": r"^[-+]?[0-9]*\.?[0-9]*([eE][-+]?[0-9]+)?$"}],
            "description": "An exact number, quoted or unquoted.",
        }
    ),
]


def _parse_count(value: object) -> int:
    number = parse_number(value)
    if number != int(number):
        raise ValueError("a whole number")
    return int(number)


Count: TypeAlias = Annotated[int, BeforeValidator(_parse_count), Ge(0), PlainSerializer(plain, when_used="json")]


_DAY_LENGTH: Final = len("2026-01-31")


def parse_limit(value: object) -> int | Decimal | date | datetime:
    """Return an exact number, a date, or a time with or without a zone; each may be text.

    Raises:
        ValueError: it is none of these.
    """
    if isinstance(value, str) and not looks_like_number(value):
        value = _parse_time(value)
    if isinstance(value, date):
        return value
    try:
        return parse_number(value)
    except ValueError as error:
        raise ValueError(f"{error}, a date such as 2026-01-31 or a time such as 2026-01-31T09:00:00Z") from None


def _to_json(limit: Any) -> Any:
    return limit if isinstance(limit, date) else plain(limit)


def _parse_time(text: str) -> date | datetime | None:
    try:
        return date.fromisoformat(text) if len(text) == _DAY_LENGTH else datetime.fromisoformat(text)
    except ValueError:
        return None


Limit: TypeAlias = Annotated[
    int | Decimal | date | datetime,
    BeforeValidator(parse_limit),
    PlainSerializer(_to_json, when_used="json"),
    JsonSchema(
        {
            "anyOf": [
                {"type": "number"},
                {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ].*)?$|^[-+]?[0-9.]+([eE][-+]?[0-9]+)?$"},
            ],
            "description": "A number (exact), a date (its first instant) or a time.",
            "examples": [0, 99.5, "2026-01-31", "2026-01-31T09:00:00Z"],
        }
    ),
]


def is_time(limit: object) -> bool:
    """Check whether a limit is a date or a time."""
    return isinstance(limit, date)


def in_order(low: Any, high: Any) -> None:
    """Refuse limits of two kinds, and limits that leave nothing between them. None is no limit.

    Raises:
        ValueError: a number and a time, a time with a zone and one without, or the smaller above the larger.
    """
    if low is None or high is None:
        return
    if is_time(low) != is_time(high) or _is_aware(low) != _is_aware(high):
        raise ValueError(
            "'min' and 'max' must be of the same kind: numbers, or times both with or both without a time zone"
        )
    if _as_datetime(low) > _as_datetime(high) if is_time(low) else low > high:
        raise ValueError("'min' is larger than 'max'")


def _is_aware(limit: object) -> bool:
    return isinstance(limit, datetime) and limit.tzinfo is not None


def _as_datetime(limit: date) -> datetime:
    if isinstance(limit, datetime):
        return limit
    return datetime(limit.year, limit.month, limit.day)  # noqa: DTZ001 - compared with other limits without a zone only
