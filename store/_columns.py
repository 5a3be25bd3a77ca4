"""What tables are made of: columns, conditions and indexes under the store's rules.

A column whose SQL name ends in `_us` holds integer microseconds; if it is a moment (since 1970 UTC), its Python name
ends in `_at`, `_since` or `_until` and takes and gives aware times. Every constraint has a name, because SQLite forgets
unnamed ones when a table is rebuilt. `table=True` models do not validate: the column types do (`store._types`), and so
do the values that rows are made from.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from functools import cache
from typing import Any, ClassVar, Final

from sqlalchemy import CheckConstraint, Column, Index, Label, MetaData, Table, text
from sqlmodel import Field, SQLModel

from store._types import WHOLE, Blob, Flag, Json, Line, UtcTime, Whole, Word

STRICT: Final = {"sqlite_strict": True}
_NAMES: Final = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}


def one_of(column: str, words: Iterable[str]) -> CheckConstraint:
    """Let a column hold these words only.

    Not by IN: for a list of three or more SQLite makes a temporary table for each row that is written, which takes four
    times as long as all the rest of the row.
    """
    return CheckConstraint(" OR ".join(f"{column} = '{word}'" for word in words), name=column)


def flags(*columns: str) -> Iterable[CheckConstraint]:
    """Let columns hold 0 and 1 only."""
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


def flag() -> Any:
    """Hold true or false."""
    return Field(default=None, sa_column=Column(Flag(), nullable=False))


def blob(*, key: bool = False) -> Any:
    """Hold bytes."""
    return Field(default=None, sa_column=Column(Blob(), nullable=False, primary_key=key))


def json(*, optional: bool = False) -> Any:
    """Hold a mapping."""
    return Field(default=None, sa_column=Column(Json(), nullable=optional))


class Row(SQLModel):
    """What all tables share: one catalogue of them, with names for every constraint."""

    model_config = {"defer_build": True}  # a validator is built when it is first used, and none ever is: see above
    metadata: ClassVar[MetaData] = MetaData(naming_convention=_NAMES)
    __table__: ClassVar[Table]


@cache
def columns_of(row: type[Row]) -> Sequence[Label[Any]]:
    """Return all columns of a table under their Python names, to select."""
    return [column.label(column.key) for column in row.__table__.c]
