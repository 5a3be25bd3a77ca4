"""Rows of class counts. Signatures only: no value of a watched table.

A state is one whole set of counts of a subject; at most one per subject is current, others are being made or have been
left. Counts lie packed, many to a row: all signatures, ascending, then their counts. A row holds what was before the
draft that last wrote it, and beside it what that draft adds, so that a change can be written in many short transactions
and hold at once:

    held      the counts before the draft
    pending   what the draft adds to them

What a draft adds to a whole table may lie in a row of its own instead, a run, until the runs are folded into the rows
they belong to: so a change costs what it is large, and not what the table is large.

A draft holds once the state's `version` has come to it, unless it is among the state's `aborted` ones.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Column
from sqlmodel import Field

from checks.classes.counts import Mode
from store._columns import (
    STRICT,
    WHOLE,
    Row,
    Whole,
    blob,
    flag,
    flags,
    json,
    key,
    line,
    one_of,
    only_where,
    time,
    whole,
    word,
)


def _of() -> Column[int]:
    return Column("state", WHOLE, primary_key=True, autoincrement=False)


class ClassStateRow(Row, table=True):
    """A set of class counts: what was asked, how far the look came, which drafts hold."""

    __tablename__ = "class_state"
    __table_args__ = (
        only_where("uq_class_state_current", "subject", condition="is_current = 1", unique=True),
        one_of("mode", Mode),
        *flags("is_current"),
        STRICT,
    )

    id: int = key()
    subject: str = line()
    digest: bytes = blob()
    mode: Mode = word(Mode)
    token: bytes = blob()
    rows: int = whole()
    version: int = whole()
    draft: int = whole()
    aborted: str = line()
    is_current: bool = flag()
    updated_at: datetime = time("updated_us", "updated_at")


class ClosedPartRow(Row, table=True):
    """Totals over the rows of a table that are no longer read: `body` holds counts, sums and times."""

    __tablename__ = "closed_part"
    __table_args__ = (STRICT,)

    name: str = line(key=True)
    version: int = whole()
    digest: bytes = blob()
    looked_at: datetime = time("looked_us", "looked_at")
    body: Mapping[str, Any] = json()


class ClassPartRow(Row, table=True):
    """A part of the counts that can be replaced."""

    __tablename__ = "class_part"
    __table_args__ = ({**STRICT, "sqlite_with_rowid": False},)

    state: int = Field(default=None, sa_column=_of())
    name: bytes = blob(key=True)
    rows: int = whole()


class ClassSizeRow(Row, table=True):
    """The number of classes by size, which checks judge: stored so that the counts need not be counted."""

    __tablename__ = "class_size"
    __table_args__ = ({**STRICT, "sqlite_with_rowid": False},)

    state: int = Field(default=None, sa_column=_of())
    size: int = Field(default=None, sa_column=Column(Whole(), primary_key=True, autoincrement=False))
    classes: int = whole()


class ClassCountRow(Row, table=True):
    """The number of rows of classes in a part; in all parts together where `part` is empty.

    `shard`: there, the first bits of the signatures, or for a run the number of its draft below zero; a part is read
    and replaced as a whole, and is one row.
    """

    __tablename__ = "class_count"
    __table_args__ = (STRICT,)

    state: int = Field(default=None, sa_column=_of())
    part: bytes = blob(key=True)
    shard: int = Field(default=None, sa_column=Column(Whole(), primary_key=True, autoincrement=False))
    held: bytes = blob()
    pending: bytes = blob()
    draft: int = whole()
