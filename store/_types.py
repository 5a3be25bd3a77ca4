"""The few column types of the store: each takes and gives core values and is the same fact on SQLite and PostgreSQL.

STRICT tables accept INTEGER, REAL, TEXT and BLOB only, and still turn 1.5 into '1.5' silently: so every type looks at
what it is given and refuses what it cannot keep exactly.
"""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any, Final

from sqlalchemy import BigInteger, Dialect, Integer, LargeBinary, Text, TypeDecorator

from incidents import from_us, to_us
from store._errors import RowRefused
from store._json import from_text, is_unicode, to_text

_LARGEST: Final = 2**63 - 1

WHOLE: Final = BigInteger().with_variant(Integer(), "sqlite")
"""64 bits on both databases: SQLite's INTEGER holds them, and only INTEGER PRIMARY KEY numbers rows by itself."""


class Line(TypeDecorator[str]):
    """Text that both databases can hold: no NUL, no half characters."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:  # noqa: ARG002 - SQLAlchemy's signature
        """Refuse what is no text."""
        if value is None:
            return None
        if not isinstance(value, str):
            raise RowRefused(f"a text column was given a {type(value).__name__}")
        if "\0" in value or not (value.isascii() or is_unicode(value)):
            raise RowRefused("a text column was given characters that no database stores (NUL or half a character)")
        return value


class Whole(TypeDecorator[int]):
    """A whole number of 64 bits."""

    impl = WHOLE
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> int | None:  # noqa: ARG002 - SQLAlchemy's signature
        """Refuse what does not fit."""
        if value is not None and (
            isinstance(value, bool) or not isinstance(value, int) or not -_LARGEST - 1 <= value <= _LARGEST
        ):
            raise RowRefused("a whole number column was given something else, or more than 64 bits")
        return value


class UtcTime(TypeDecorator[datetime]):
    """An aware time, kept as integer microseconds since 1970 UTC: sortable, exact, the same on both databases."""

    impl = WHOLE
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> int | None:  # noqa: ARG002 - SQLAlchemy's signature
        """Refuse a time that does not say where it was read."""
        if value is None:
            return None
        if not isinstance(value, datetime) or value.utcoffset() is None:
            raise RowRefused("a time column was given a time without a zone; expected an aware time")
        return to_us(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:  # noqa: ARG002 - SQLAlchemy's signature
        """Return it in UTC."""
        return None if value is None else from_us(value)


class Flag(TypeDecorator[bool]):
    """True or false, kept as 1 or 0."""

    impl = WHOLE
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> int | None:  # noqa: ARG002 - SQLAlchemy's signature
        """Refuse what is neither."""
        if value is not None and not isinstance(value, bool):
            raise RowRefused("a flag was given something that is neither true nor false")
        return None if value is None else int(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> bool | None:  # noqa: ARG002 - SQLAlchemy's signature
        """Return it as a bool."""
        return None if value is None else bool(value)


class Word(TypeDecorator[StrEnum]):
    """A word of a closed set, kept as it is written."""

    impl = Text
    cache_ok = True

    def __init__(self, words: type[StrEnum]) -> None:
        super().__init__()
        self.words = words

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:  # noqa: ARG002 - SQLAlchemy's signature
        """Refuse a word that is not in the set."""
        if value is None:
            return None
        try:
            return self.words(value).value
        except ValueError:
            text = ", ".join(self.words)
            raise RowRefused(f"a word of {self.words.__name__} was expected: {text}") from None

    def process_result_value(self, value: Any, dialect: Dialect) -> StrEnum | None:  # noqa: ARG002 - SQLAlchemy's signature
        """Return it as a word of the set."""
        return None if value is None else self.words(value)


class MoneyText(TypeDecorator[Decimal]):
    """An amount, kept as text with all its digits: SQLite has no exact decimal."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:  # noqa: ARG002 - SQLAlchemy's signature
        """Refuse floats, and amounts that are no number."""
        if value is None:
            return None
        if not isinstance(value, Decimal) or not value.is_finite():
            raise RowRefused("a money column was given something that is no finite decimal")
        return f"{value:f}"

    def process_result_value(self, value: Any, dialect: Dialect) -> Decimal | None:  # noqa: ARG002 - SQLAlchemy's signature
        """Return it with the digits it was written with."""
        return None if value is None else Decimal(value)


class Blob(TypeDecorator[bytes]):
    """Bytes as they are."""

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> bytes | None:  # noqa: ARG002 - SQLAlchemy's signature
        """Refuse what is not bytes."""
        if value is not None and not isinstance(value, bytes):
            raise RowRefused(f"a column of bytes was given a {type(value).__name__}")
        return value


class Json(TypeDecorator[Mapping[str, Any]]):
    """A mapping, kept as canonical JSON text."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:  # noqa: ARG002 - SQLAlchemy's signature
        """Refuse what has no place in JSON."""
        return None if value is None else to_text(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:  # noqa: ARG002 - SQLAlchemy's signature
        """Return it as it was written."""
        return None if value is None else from_text(value)
