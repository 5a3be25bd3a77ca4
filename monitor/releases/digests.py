"""Fingerprint the columns of a table that are to leave, so that an approval is of the content that was reviewed.

The engine that holds the rows hashes them, so that a change of any is seen without reading one. By the same marks the
earlier exports of a table are found (`SameTable`): an export remembers those of its table's files or its database
(`sources.table_identity`), and of its content. So it is found again when the source is written in other words, when the
table is renamed in the configuration or its file is moved, and when a copy with equal content is exported. Exports of
earlier versions have no marks and are found by name alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from checks import Json
from monitor.config import Release
from monitor.config.project import Project
from monitor.releases.columns import ReleaseColumns
from monitor.releases.plan import RemedyKind, TreatmentPlan
from monitor.releases.treatment.table_reader import reading
from monitor.terminal.problem import ExitCode, Problem, Stop
from sources import engine_function, is_same_table
from sources.expressions import dt, ibis, ir
from store import NameChange, ReleaseEvent, ReleaseEventKind, current_name

if TYPE_CHECKING:
    from store import ReadTransaction

MARKS = "table_identity"
"""The key under which an export keeps the marks of its table."""


@dataclass(frozen=True, slots=True)
class SameTable:
    """All that a table is called in the configuration, its own name first, and the marks by which it is known.

    `changes`: the renames of tables, the oldest first.
    """

    names: Sequence[str]
    marks: frozenset[str]
    changes: Sequence[NameChange] = ()

    @classmethod
    def of(cls, case: ReleaseColumns, tx: ReadTransaction, *, content: str | None = None) -> SameTable:
        """Identify the table of a release.

        Args:
            case: the release.
            tx: the store, whose exports name the tables that are looked at beside those of releases and budgets.
            content: the mark of the table's content, where it was read.
        """
        project, table = case.project, case.release.table
        exported = {
            str(event.body.get("table")) for event in tx.release_events.matching(kind=ReleaseEventKind.EXPORTED)
        }
        names = names_of(project, table, among=exported)
        marks = project.table_identity(table) | ({content} if content is not None else set())
        return cls(names, frozenset(marks), tx.ledger.name_changes())

    def is_of(self, event: ReleaseEvent) -> bool:
        """Return whether an export is of this table."""
        marks = event.body.get(MARKS)
        by_mark = isinstance(marks, list) and is_same_table(self.marks, map(str, marks))
        table = str(event.body.get("table"))
        return by_mark or not {table, current_name(table, self.changes)}.isdisjoint(self.names)

    def sisters(self, case: ReleaseColumns) -> Sequence[Release]:
        """Return the other configured releases of this table, exported or not."""
        releases = case.project.config.releases.items()
        return [release for name, release in releases if name != case.name and release.table in self.names]

    def exports(self, tx: ReadTransaction) -> Sequence[ReleaseEvent]:
        """Return every export of this table, by whichever release, the oldest first."""
        return [
            release_event
            for release_event in tx.release_events.matching(kind=ReleaseEventKind.EXPORTED)
            if self.is_of(release_event)
        ]


def names_of(project: Project, table: str, *, among: set[str] | frozenset[str] = frozenset()) -> Sequence[str]:
    """Return the names under which a table is configured, its own first, of those that releases and budgets name.

    `among`: other names to look at. Two names are of the same table where their identities share a mark: a view counts
    where its engine says which tables are behind it.
    """
    config = project.config
    wanted = {release.table for release in config.releases.values()} | set(config.budgets) | among
    return [table, *project.same_tables(table, wanted)]


def content_mark(content: str, *, key: bytes) -> str:
    """Return the mark of a table's content, keyed: it says nothing to who has the store and not the key."""
    return blake2b(content.encode(), key=key, digest_size=12, person=b"table content").hexdigest()


def declared_digest(case: ReleaseColumns, plan: TreatmentPlan) -> str:
    """Return it; an approval is of this too, since not all of it stands in the release.

    A remedy is completed by the product, by the files of hierarchies and, where noise is drawn, by the table's budget.

    Raises:
        Stop: a file cannot be read.
    """
    model: Any = plan.remedy or plan.statistic
    budget = None if plan.kind is RemedyKind.TABLE else case.project.config.budgets.get(case.release.table)
    parts = {
        "columns": plan.columns,
        "words": None if model is None else _with_files(model.model_dump(mode="json", serialize_as_any=True)),
        "budget": None if budget is None else budget.model_dump(mode="json", exclude={"total", "statistics"}),
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def _with_files(value: Json) -> Json:
    """Put the contents of files in the place of their names."""
    if isinstance(value, Mapping):
        values = {name: _with_files(item) for name, item in value.items()}
        return (
            {**values, "path": _contents(value["path"])} if value.get("type") == "file" and "path" in value else values
        )
    return [_with_files(item) for item in value] if isinstance(value, list | tuple) else value


def _contents(path: Json) -> str:
    try:
        return hashlib.sha256(Path(str(path)).read_bytes()).hexdigest()
    except OSError as error:
        message = f"{path} cannot be read ({type(error).__name__}); expected a hierarchy file"
        raise Stop(ExitCode.USAGE, Problem("remedy.hierarchy", message)) from None


COLUMN_GONE: Final = "release.column_gone"


@dataclass(frozen=True, slots=True)
class TableDigest:
    """The state of a table. `fingerprint`: keyed for one release, what an approval is of.

    `content`: the same under the project's key, by which a copy of the table is known; None of a table without rows,
    since all of these are alike. `rows`: how many it has.
    """

    fingerprint: str
    content: str | None
    rows: int


def state_of(case: ReleaseColumns, columns: Sequence[str]) -> TableDigest:
    """Compute a keyed fingerprint of some columns of a table: their names and types, and the rows in any order.

    The engine hashes and adds up; nothing but two sums and a count comes. The same table has another fingerprint after
    an engine was upgraded that hashes otherwise: then it has to be approved again.

    Raises:
        Stop: a column is not there, the table cannot be read, or this engine has no hash.
    """
    with reading(case.place) as (source, table):
        gone = [name for name in columns if name not in table.columns]
        if gone:
            message = f"'{case.place.name}' has no column {', '.join(gone)}, which the release classifies"
            raise Stop(ExitCode.USAGE, Problem(COLUMN_GONE, message, hint="correct the release's 'columns'"))
        hashed = row_hash([table[name] for name in columns], source.dialect)
        if hashed is None:
            message = (
                f"{source.dialect} has no row hash supported by Tablewatch, so an approval cannot be bound to "
                "the content of a table"
            )
            raise Stop(ExitCode.NOT_EVALUATED, Problem("release.no_hash", message, hint="export the table to Parquet"))
        rows = table.select(hashed=hashed)
        low, high = hash_sums(rows["hashed"], source.dialect)
        (sums,) = source.fetch(source.compile(rows.aggregate(rows=rows.count(), low=low, high=high)))
        types = [[name, str(table.schema()[name])] for name in columns]
    content = json.dumps([types, *(int(sums[name] or 0) for name in ("rows", "low", "high"))])
    key = case.secret(b"state")
    fingerprint = blake2b(content.encode(), key=key, digest_size=16, person=b"release state").hexdigest()
    mark = content_mark(content, key=case.key) if sums["rows"] else None
    return TableDigest(fingerprint, mark, int(sums["rows"]))


_SQLITE_HASH: Final = "tablewatch_hash"
_HALF: Final = 0xFFFF_FFFF
_POSITIVE: Final = 0x7FFF_FFFF_FFFF_FFFF


def row_hash(columns: Sequence[ir.Column], dialect: str) -> ir.IntegerColumn | None:
    """Hash each row's cells to 60 bits at least; None where it is not known how.

    Equal rows have equal hashes, for as long as the engine is not upgraded.
    """
    if dialect == "duckdb":
        hashed = engine_function("hash", [column.type() for column in columns], dt.uint64)(*columns)
        return (hashed >> 1).cast("int64")
    if dialect == "sqlite":
        return engine_function(_SQLITE_HASH, [column.type() for column in columns], dt.int64)(*columns)
    if dialect == "postgres":
        return reduce(_chained, columns, ibis.literal(0, "int64"))
    if dialect == "mysql":
        return _md5_of(columns)
    if dialect == "spark":
        return engine_function("xxhash64", [column.type() for column in columns], dt.int64)(*columns) & _POSITIVE
    return None


def hash_sums(hashed: ir.IntegerColumn, dialect: str) -> tuple[ir.Value, ir.Value]:
    """Add up hashes in two halves, neither of which overflows below 2^31 rows: the same sums for the same rows."""
    low, high = hashed & _HALF, (hashed >> 32) & _HALF
    return _whole(low.sum(), dialect), _whole(high.sum(), dialect)


def _whole(total: ir.IntegerScalar, dialect: str) -> ir.Value:
    """Take a sum as 8 bytes; Ibis takes it for such, where these engines have a wider type for it."""
    wide = total.cast("decimal(38, 0)") if dialect in {"duckdb", "postgres"} else total
    return wide.cast("int64")


def _chained(seed: ir.IntegerValue, column: ir.Column) -> ir.IntegerColumn:
    chain = engine_function("hashtextextended", [dt.string, dt.int64], dt.int64)
    return column.isnull().ifelse(chain(ibis.literal("NULL"), seed ^ 1), chain(column.cast("string"), seed))


def _md5_of(columns: Sequence[ir.Column]) -> ir.IntegerColumn:
    """Hash by MD5, the only hash that MySQL and MariaDB share: each cell first, so that no two rows read alike."""
    md5, convert = (engine_function(*of) for of in (("md5", [dt.string], dt.string), ("conv", _CONVERTS, dt.string)))
    cells = []
    for column in columns:
        text = engine_function("hex", [column.type()], dt.string)(column) if column.type().is_binary() else column
        cells.append(column.isnull().ifelse(ibis.literal("NULL"), md5(text.cast("string"))))
    whole = reduce(lambda text, cell: text + cell, cells)
    return convert(md5(whole).substr(0, _HEX_DIGITS), 16, 10).cast("int64")


_CONVERTS: Final = (dt.string, dt.int8, dt.int8)
_HEX_DIGITS: Final = 15
"""Of 60 bits: a digit more would not fit a whole number with a sign."""
