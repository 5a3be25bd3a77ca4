"""Read the limits people type: numbers, dates and times."""

from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any, Final, TypeAlias

from pydantic import BeforeValidator, PlainSerializer
from pydantic import WithJsonSchema as JsonSchema

from checks.parameters.numbers import looks_like_number, parse_number, plain

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
