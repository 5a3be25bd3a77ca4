"""What tables are made of: columns, conditions and indexes under the store's rules.

A column whose SQL name ends in `_us` holds integer microseconds; if it is a moment (since 1970 UTC), its Python name
ends in `_at`, `_since` or `_until` and takes and gives aware times. Every constraint has a name, because SQLite forgets
unnamed ones when a table is rebuilt. `table=True` models do not validate: the column types do, and so do the values
that rows are made from. Each type takes and gives core values and is the same fact on SQLite and PostgreSQL.

STRICT tables accept INTEGER, REAL, TEXT and BLOB only, and still turn 1.5 into '1.5' silently: so every type looks at
what it is given and refuses what it cannot keep exactly.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from importlib import import_module
from inspect import signature
from typing import Any, ClassVar, Final, Generic, TypeVar

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Dialect,
    Index,
    Integer,
    Label,
    LargeBinary,
    MetaData,
    Table,
    Text,
    TypeDecorator,
    text,
)
from sqlmodel import Field, SQLModel

from incidents import from_us, to_us
from store._errors import RowRefused
from store._json import from_text, is_unicode, to_text

_LARGEST: Final = 2**63 - 1
V = TypeVar("V")

WHOLE: Final = BigInteger().with_variant(Integer(), "sqlite")
"""64 bits on both databases: SQLite's INTEGER holds them, and only INTEGER PRIMARY KEY numbers rows by itself."""


class Line(TypeDecorator[str]):
    """Text that both databases can hold: no NUL, no half characters."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
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

    def process_bind_param(self, value: Any, dialect: Dialect) -> int | None:
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

    def process_bind_param(self, value: Any, dialect: Dialect) -> int | None:
        """Refuse a time that does not say where it was read."""
        if value is None:
            return None
        if not isinstance(value, datetime) or value.utcoffset() is None:
            raise RowRefused("a time column was given a time without a zone; expected an aware time")
        return to_us(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        """Return it in UTC."""
        return None if value is None else from_us(value)


class Flag(TypeDecorator[bool]):
    """True or false, kept as 1 or 0."""

    impl = WHOLE
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> int | None:
        """Refuse what is neither."""
        if value is not None and not isinstance(value, bool):
            raise RowRefused("a flag was given something that is neither true nor false")
        return None if value is None else int(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> bool | None:
        """Return it as a bool."""
        return None if value is None else bool(value)


class Word(TypeDecorator[StrEnum]):
    """A word of a closed set, kept as it is written."""

    impl = Text
    cache_ok = True

    def __init__(self, words: type[StrEnum]) -> None:
        super().__init__()
        self.words = words
        self._known: Mapping[str, StrEnum] = {str(word): word for word in words}

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        """Refuse a word that is not in the set."""
        if value is None:
            return None
        try:
            return self.words(value).value
        except ValueError:
            text = ", ".join(self.words)
            raise RowRefused(f"a word of {self.words.__name__} was expected: {text}") from None

    def process_result_value(self, value: Any, dialect: Dialect) -> StrEnum | None:
        """Return it as a word of the set."""
        return None if value is None else self._known.get(value) or self.words(value)


class Blob(TypeDecorator[bytes]):
    """Bytes as they are."""

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> bytes | None:
        """Refuse what is not bytes."""
        if value is not None and not isinstance(value, bytes):
            raise RowRefused(f"a column of bytes was given a {type(value).__name__}")
        return value


class Json(TypeDecorator[Mapping[str, Any]]):
    """A mapping, kept as canonical JSON text."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        """Refuse what has no place in JSON."""
        return None if value is None else to_text(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:
        """Return it as it was written."""
        return None if value is None else from_text(value)


class Seconds(TypeDecorator[float]):
    """A length of time in seconds, kept as integer microseconds."""

    impl = WHOLE
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> int:
        """Round to microseconds."""
        return round(float(value) * 1_000_000)

    def process_result_value(self, value: Any, dialect: Dialect) -> float:
        """Return seconds."""
        return float(value / 1_000_000)


STRICT: Final = {"sqlite_strict": True}
_NAMES: Final = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}


def one_of(column: str, words: Iterable[str]) -> CheckConstraint:
    """Constrain a column to these words.

    Not by IN: for a list of three or more SQLite makes a temporary table for each row that is written, which takes four
    times as long as all the rest of the row.
    """
    return CheckConstraint(" OR ".join(f"{column} = '{word}'" for word in words), name=column)


def flags(*columns: str) -> Iterable[CheckConstraint]:
    """Constrain columns to 0 and 1."""
    return (CheckConstraint(f"{column} IN (0, 1)", name=column) for column in columns)


def only_where(name: str, *columns: str, condition: str, unique: bool = False) -> Index:
    """Index the rows that meet a condition.

    PostgreSQL's option for it stands in no model, only in the SQL that makes the tables: naming it here would load that
    dialect in every process (40 ms).
    """
    return Index(name, *columns, unique=unique, sqlite_where=text(condition))


def key() -> Any:
    """Number rows from 1 on."""
    return Field(default=None, sa_column=Column(WHOLE, primary_key=True))


def line(*, optional: bool = False, key: bool = False) -> Any:
    """Hold text."""
    return Field(default=None, sa_column=Column(Line(), nullable=optional, primary_key=key))


def word(words: type[StrEnum], *, optional: bool = False) -> Any:
    """Hold a word of a closed set."""
    return Field(default=None, sa_column=Column(Word(words), nullable=optional))


def time(column: str, name: str, *, optional: bool = False) -> Any:
    """Hold a moment: `column` in SQL, `name` in Python."""
    return Field(default=None, sa_column=Column(column, UtcTime(), key=name, nullable=optional))


def whole(*, optional: bool = False) -> Any:
    """Hold a whole number."""
    return Field(default=None, sa_column=Column(Whole(), nullable=optional))


def flag(*, added: bool = False) -> Any:
    """Hold true or false; `added`: a migration added it, and rows that were there are false until it fills them."""
    default = text("0") if added else None
    return Field(default=None, sa_column=Column(Flag(), nullable=False, server_default=default))


def blob(*, key: bool = False, optional: bool = False) -> Any:
    """Hold bytes."""
    return Field(default=None, sa_column=Column(Blob(), nullable=optional, primary_key=key))


def json(*, optional: bool = False) -> Any:
    """Hold a mapping."""
    return Field(default=None, sa_column=Column(Json(), nullable=optional))


def seconds(column: str, name: str) -> Any:
    """Hold a length of time: `column` in SQL, `name` in Python."""
    return Field(default=None, sa_column=Column(column, Seconds(), key=name, nullable=False))


class Row(SQLModel):
    """The base of all tables: one catalogue of them, with names for every constraint."""

    model_config = {"defer_build": True}  # a validator is built when it is first used, and none ever is: see above
    metadata: ClassVar[MetaData] = MetaData(naming_convention=_NAMES)
    __table__: ClassVar[Table]


class Mapped(Generic[V]):
    """The rows of a table as values of a dataclass or a named tuple: fields and columns meet by name, here alone.

    A field is kept in the column of its name, or of its name and `_at` or `_name`; `names` has the others. A field
    without a column, such as the episodes of an incident, is left to the caller. The column types convert.
    """

    def __init__(self, row: type[Row], value: Callable[..., V], **names: str) -> None:
        cells = row.__table__.c
        self._value = value
        self._keys = {
            field: key
            for field in signature(value).parameters
            for key in ([names[field]] if field in names else [field, f"{field}_at", f"{field}_name"])
            if key in cells
        }
        self.columns: Sequence[Label[Any]] = [cells[key].label(field) for field, key in self._keys.items()]
        """What to select, before other columns."""

    def value(self, row: Sequence[Any], /, **others: Any) -> V:
        """Return a row that begins with `columns` as a value; `others` are added or take the place of its fields."""
        return self._value(**dict(zip(self._keys, row, strict=False)) | others)

    def values(self, rows: Iterable[Sequence[Any]]) -> list[V]:
        """Return rows as values."""
        return [self.value(row) for row in rows]

    def first(self, rows: Iterable[Sequence[Any]]) -> V | None:
        """Return the first row as a value; None without one."""
        return next((self.value(row) for row in rows), None)

    def cells(self, value: V, /, **others: Any) -> dict[str, Any]:
        """Return the cells of a value, by the Python names of their columns; `others` are added or take their place."""
        return {key: getattr(value, field) for field, key in self._keys.items()} | others


_HOMES_OF_ROWS: Final = (
    "_accounts",
    "_answered_requests",
    "_class_rows",
    "_ledger_repository",
    "_logged_events",
    "_names",
    "_notice_rows",
    "_releases",
    "_rows",
    "_status_addresses",
    "_trusted_time",
    "_work_rows",
)


def map_all_rows() -> MetaData:
    """Return the catalogue of all tables: a transaction maps only the rows that are asked for."""
    for home in _HOMES_OF_ROWS:
        import_module(f"store.{home}")
    return Row.metadata
