"""Read a source's catalogue: names, declared keys, and the column that may say when rows came."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from sources import Source, SourceError, SourceSpec, open_source
from sources.expressions import dt

_MOST_TABLES: Final = 200
_ARRIVAL_NAMES: Final = ("loaded", "ingested", "inserted", "updated", "modified", "created")
_OTHER_TIMES: Final = re.compile("birth|born|dob|hire|expir|due|valid|until|deadline|end", re.IGNORECASE)
"""Names of times that are not those at which something happened and was recorded."""

_KEYS: Final[Mapping[str, str]] = {
    "sqlite": (
        "SELECT t.name AS tab, c.name AS col FROM pragma_table_list() AS t, pragma_table_info(t.name) AS c "
        "WHERE t.schema = 'main' AND t.type = 'table' AND c.pk > 0 ORDER BY t.name, c.pk"
    ),
    "duckdb": (
        "SELECT table_name AS tab, unnest(constraint_column_names) AS col FROM duckdb_constraints() "
        "WHERE constraint_type = 'PRIMARY KEY'"
    ),
    "mysql": (
        "SELECT IF(table_schema = DATABASE(), table_name, CONCAT(table_schema, '.', table_name)) AS tab, "
        "column_name AS col FROM information_schema.statistics "
        "WHERE index_name = 'PRIMARY' ORDER BY table_schema, table_name, seq_in_index"
    ),
    # not information_schema: it hides the constraints of tables on which the role may do nothing but SELECT
    "postgres": (
        "SELECT CASE WHEN pg_catalog.pg_table_is_visible(c.oid) THEN c.relname::text "
        "ELSE n.nspname || '.' || c.relname END AS tab, a.attname AS col "
        "FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
        "JOIN pg_catalog.pg_constraint k ON k.conrelid = c.oid AND k.contype = 'p' "
        "JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (k.conkey) "
        "ORDER BY n.nspname, c.relname, array_position(k.conkey, a.attnum)"
    ),
}


_READABLE: Final[Mapping[str, str]] = {
    "postgres": (
        "SELECT CASE WHEN pg_catalog.pg_table_is_visible(c.oid) THEN c.relname::text "
        "ELSE n.nspname || '.' || c.relname END AS tab, a.attname AS col "
        "FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
        "JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped "
        "WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND pg_catalog.has_schema_privilege(n.oid, 'USAGE') "
        "AND pg_catalog.has_column_privilege(c.oid, a.attnum, 'SELECT')"
    ),
}
"""The columns that the account may read, where the catalogue shows what it may not."""


@dataclass(frozen=True, slots=True)
class TableEntry:
    """A table of the catalogue: its declared key (empty without one), and its columns that may be read, None for all.

    `problem` says why its columns cannot be read.
    """

    name: str
    key: tuple[str, ...] = ()
    columns: frozenset[str] | None = None
    problem: str | None = None


def read_catalogue(spec: SourceSpec, *, only: Collection[str] | None = None) -> Sequence[TableEntry]:
    """Return the tables of a source, at most 200 that can be read, in the order of their names, or `only` some.

    Only the catalogue is read. Tables that the account may not read come with the reason.

    Raises:
        SourceError: it cannot be reached or read.
    """
    with open_source(spec) as source:
        keys, readable = _declared_keys(source), _readable(source)
        names = [name for name in source.tables() if only is None or name in only]
        allowed = [name for name in names if readable is None or name in readable][:_MOST_TABLES]
        refused = [name for name in names if readable is not None and name not in readable]
        right = "expected the right to SELECT, and to use the schema"
        return [
            *(_look_at(source, name, keys, None if readable is None else readable[name]) for name in allowed),
            *(
                TableEntry(name, problem=f"source '{spec.name}': the user may not read table '{name}'; {right}")
                for name in refused
            ),
        ]


def _declared_keys(source: Source) -> Mapping[str, tuple[str, ...]]:
    question = _KEYS.get(source.dialect)
    if question is None:
        return {}
    try:
        rows = source.fetch(question)
    except SourceError:
        return {}  # an engine that hides its constraints declares none
    keys: dict[str, tuple[str, ...]] = {}
    for row in rows:
        keys[row["tab"]] = (*keys.get(row["tab"], ()), row["col"])
    return keys


def _readable(source: Source) -> Mapping[str, AbstractSet[str]] | None:
    """Return the columns that may be read by table; None where the engine shows only what may be read."""
    question = _READABLE.get(source.dialect)
    if question is None:
        return None
    columns: dict[str, set[str]] = {}
    for row in source.fetch(question):
        columns.setdefault(row["tab"], set()).add(row["col"])
    return columns


def _look_at(
    source: Source, name: str, keys: Mapping[str, tuple[str, ...]], readable: AbstractSet[str] | None
) -> TableEntry:
    try:
        columns = source.table(name).schema()
    except SourceError as error:
        return TableEntry(name, problem=str(error))
    visible = [column for column in columns if readable is None or column in readable]
    key = keys.get(name, ())
    return TableEntry(name, key if set(key) <= set(visible) else (), None if readable is None else frozenset(visible))


def is_arrival_name(column: str) -> bool:
    """Check whether a column is called as those that tell when a row came."""
    return any(word in column.lower() for word in _ARRIVAL_NAMES)


def arrival_column(columns: Mapping[str, dt.DataType]) -> str | None:
    """Choose the column that most probably tells when a row came: by its name first, else the first time there is."""
    times = [name for name, kind in columns.items() if kind.is_timestamp() and not _OTHER_TIMES.search(name)]
    named = [
        name for word in _ARRIVAL_NAMES for name in columns if word in name.lower() and _may_be_time(columns[name])
    ]
    return next(iter([*(name for name in named if name in times), *named, *times]), None)


def _may_be_time(kind: dt.DataType) -> bool:
    return bool(kind.is_timestamp() or kind.is_date() or kind.is_string())
