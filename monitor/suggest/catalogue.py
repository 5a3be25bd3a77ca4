"""Read a source's catalogue: names, declared keys, and declared references."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any, Final

from checks import Outcome
from monitor.scan.results import run_guarded
from sources import Source, SourceError, SourceSpec, TableNotFound, open_source

_KEYS: Final[Mapping[str, str]] = {
    "sqlite": (
        "SELECT t.name AS tab, c.name AS col FROM pragma_table_list() AS t, pragma_table_info(t.name) AS c "
        "WHERE t.schema = 'main' AND t.type = 'table' AND c.pk > 0 ORDER BY t.name, c.pk"
    ),
    "duckdb": (
        "SELECT if(schema_name = current_schema(), '', schema_name || '.') || table_name AS tab, "
        "unnest(constraint_column_names) AS col FROM duckdb_constraints() "
        "WHERE database_name = current_database() AND constraint_type = 'PRIMARY KEY'"
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


_REFERENCES: Final[Mapping[str, str]] = {
    "sqlite": (
        'SELECT t.name AS tab, f.id AS number, f."from" AS col, f."table" AS other, f."to" AS target '
        "FROM pragma_table_list() AS t, pragma_foreign_key_list(t.name) AS f "
        "WHERE t.schema = 'main' AND t.type = 'table' ORDER BY t.name, f.id, f.seq"
    ),
    "duckdb": (  # a table refers to tables of its own schema only
        "SELECT place || table_name AS tab, constraint_index AS number, unnest(constraint_column_names) AS col, "
        "place || referenced_table AS other, unnest(referenced_column_names) AS target FROM ("
        "SELECT *, if(schema_name = current_schema(), '', schema_name || '.') AS place FROM duckdb_constraints() "
        "WHERE database_name = current_database() AND constraint_type = 'FOREIGN KEY')"
    ),
    "mysql": (
        "SELECT IF(table_schema = DATABASE(), table_name, CONCAT(table_schema, '.', table_name)) AS tab, "
        "constraint_name AS number, column_name AS col, IF(referenced_table_schema = DATABASE(), "
        "referenced_table_name, CONCAT(referenced_table_schema, '.', referenced_table_name)) AS other, "
        "referenced_column_name AS target FROM information_schema.key_column_usage "
        "WHERE referenced_table_name IS NOT NULL ORDER BY table_schema, table_name, constraint_name, ordinal_position"
    ),
    "postgres": (
        "SELECT CASE WHEN pg_catalog.pg_table_is_visible(c.oid) THEN c.relname::text "
        "ELSE n.nspname || '.' || c.relname END AS tab, k.oid::text AS number, a.attname AS col, "
        "CASE WHEN pg_catalog.pg_table_is_visible(r.oid) THEN r.relname::text "
        "ELSE m.nspname || '.' || r.relname END AS other, b.attname AS target "
        "FROM pg_catalog.pg_constraint k "
        "JOIN pg_catalog.pg_class c ON c.oid = k.conrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
        "JOIN pg_catalog.pg_class r ON r.oid = k.confrelid JOIN pg_catalog.pg_namespace m ON m.oid = r.relnamespace "
        "CROSS JOIN LATERAL unnest(k.conkey, k.confkey) WITH ORDINALITY AS u(own, target, place) "
        "JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = u.own "
        "JOIN pg_catalog.pg_attribute b ON b.attrelid = r.oid AND b.attnum = u.target "
        "WHERE k.contype = 'f' ORDER BY n.nspname, c.relname, k.oid, u.place"
    ),
}


_READABLE: Final[Mapping[str, str]] = {
    "postgres": (
        "SELECT CASE WHEN pg_catalog.pg_table_is_visible(c.oid) THEN c.relname::text "
        "ELSE n.nspname || '.' || c.relname END AS tab, n.nspname AS place, a.attname AS col "
        "FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
        "LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped "
        "WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND pg_catalog.has_schema_privilege(n.oid, 'USAGE') "
        "AND coalesce(pg_catalog.has_column_privilege(c.oid, a.attnum, 'SELECT'), "
        "pg_catalog.has_table_privilege(c.oid, 'SELECT'))"
    ),
}
"""The columns that the account may read, where the catalogue shows what it may not; NULL for a table without one."""
_COLUMNS: Final[Mapping[str, str]] = {
    **_READABLE,
    "sqlite": (
        "SELECT t.name AS tab, 'main' AS place, c.name AS col FROM pragma_table_list() AS t, "
        "pragma_table_xinfo(t.name) AS c WHERE t.schema = 'main' AND c.hidden <> 1"
    ),
    "duckdb": (
        "SELECT if(schema_name = current_schema(), '', schema_name || '.') || table_name AS tab, schema_name AS place, "
        "column_name AS col FROM duckdb_columns() WHERE database_name = current_database() AND NOT internal"
    ),
    "mysql": (
        "SELECT IF(table_schema = DATABASE(), table_name, CONCAT(table_schema, '.', table_name)) AS tab, "
        "table_schema AS place, column_name AS col FROM information_schema.columns"
    ),
}
"""The columns of all tables that may be read, and the schema of each, by one statement."""


@dataclass(frozen=True, slots=True)
class DeclaredReference:
    """A foreign key that the catalogue declares: the columns, and the table and columns that they refer to."""

    columns: tuple[str, ...]
    table: str
    targets: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TableEntry:
    """A table of the catalogue: its declared key (empty without one), and its columns that may be read, None for all.

    `problem` says why its columns cannot be read. `references`: its declared foreign keys.
    """

    name: str
    key: tuple[str, ...] = ()
    columns: frozenset[str] | None = None
    problem: str | None = None
    references: tuple[DeclaredReference, ...] = ()


def read_catalogue(spec: SourceSpec, *, only: Collection[str] | None = None) -> Sequence[TableEntry]:
    """Return the tables of a source in the order of their names, or of `only` some those that are there.

    Only the catalogue is read. Tables that the account may not read come with the reason.

    Raises:
        SourceError: it cannot be reached or read.
    """
    with open_source(spec) as source:
        keys, readable = _declared_keys(source), _readable(source)
        references = _declared_references(source, keys)
        names = source.tables() if only is None else [name for name in sorted(only) if _is_there(source, name)]
        allowed = [name for name in names if readable is None or name in readable]
        refused = [name for name in names if readable is not None and name not in readable]
        right = "expected the right to SELECT, and to use the schema"
        return [
            *(
                _look_at(source, TableEntry(name, keys.get(name, ()), references=references.get(name, ())), readable)
                for name in allowed
            ),
            *(
                TableEntry(name, problem=f"source '{spec.name}': the user may not read table '{name}'; {right}")
                for name in refused
            ),
        ]


@dataclass(frozen=True, slots=True)
class CatalogueTable:
    """A table of a catalogue: its schema, and its columns; None where one look at the catalogue does not say them.

    `may_read`: whether the account may.
    """

    schema: str | None = None
    columns: tuple[str, ...] | None = None
    may_read: bool = True


def list_tables(spec: SourceSpec, wants: Callable[[str, str | None], bool]) -> Mapping[str, CatalogueTable]:
    """Return the tables of a source in the order of their names.

    A database is asked for the names, and once for all columns. Of tables without a catalogue, such as files, the
    columns of those are read that `wants` chooses by name and schema.

    Raises:
        SourceError: it cannot be reached or read.
    """
    with open_source(spec) as source:
        names, rows = source.tables(), _constraints(source, _COLUMNS)
        columns: dict[str, list[str]] = {}
        schemas: dict[str, str] = {}
        for row in rows:
            schemas[row["tab"]] = row["place"]
            columns.setdefault(row["tab"], []).extend([] if row["col"] is None else [row["col"]])
        refuses = bool(rows) and source.dialect in _READABLE
        return {
            name: CatalogueTable(schemas.get(name), tuple(columns[name]))
            if name in columns
            else CatalogueTable(None, _read_columns(source, spec, name, wants), may_read=not refuses)
            for name in names
        }


def _read_columns(
    source: Source, spec: SourceSpec, name: str, wants: Callable[[str, str | None], bool]
) -> tuple[str, ...] | None:
    if spec.url is not None or not wants(name, None):
        return None
    columns = run_guarded(lambda: source.table(name).columns, passes_on=(KeyboardInterrupt,))
    return None if isinstance(columns, Outcome) else tuple(columns)


def has_name(table: str) -> bool:
    """Check whether the name of a table shows at all; one that does not cannot be configured."""
    return bool("".join(filter(str.isprintable, table)).strip())


def _is_there(source: Source, name: str) -> bool:
    try:
        source.table(name)
    except TableNotFound:
        return False
    except SourceError:  # reported beside the table
        return True
    return True


def _declared_keys(source: Source) -> Mapping[str, tuple[str, ...]]:
    keys: dict[str, tuple[str, ...]] = {}
    for row in _constraints(source, _KEYS):
        keys[row["tab"]] = (*keys.get(row["tab"], ()), row["col"])
    return keys


def _constraints(source: Source, questions: Mapping[str, str]) -> Sequence[Mapping[str, Any]]:
    try:
        return source.fetch(questions[source.dialect]) if source.dialect in questions else ()
    except SourceError:
        return ()  # an engine that hides its constraints declares none


def _declared_references(
    source: Source, keys: Mapping[str, tuple[str, ...]]
) -> Mapping[str, tuple[DeclaredReference, ...]]:
    """Return the declared foreign keys by table; one that names no columns refers to the key of its table."""
    parts: dict[tuple[str, Any], list[Mapping[str, Any]]] = {}
    for row in _constraints(source, _REFERENCES):
        parts.setdefault((row["tab"], row["number"]), []).append(row)
    references: dict[str, tuple[DeclaredReference, ...]] = {}
    for (table, _), rows in parts.items():
        columns, other = tuple(row["col"] for row in rows), rows[0]["other"]
        targets = keys.get(other, ()) if rows[0]["target"] is None else tuple(row["target"] for row in rows)
        if len(targets) == len(columns):
            references[table] = (*references.get(table, ()), DeclaredReference(columns, other, targets))
    return references


def _readable(source: Source) -> Mapping[str, AbstractSet[str]] | None:
    """Return the columns that may be read by table; None where the engine shows only what may be read."""
    question = _READABLE.get(source.dialect)
    if question is None:
        return None
    columns: dict[str, set[str]] = {}
    for row in source.fetch(question):
        columns.setdefault(row["tab"], set()).update({row["col"]} - {None})
    return columns


def _look_at(source: Source, entry: TableEntry, readable: Mapping[str, AbstractSet[str]] | None) -> TableEntry:
    """Return an entry with the columns that may be read, and of its keys those that may be."""
    if not has_name(entry.name):
        return TableEntry(entry.name, problem=f"source '{source.name}': a table without a name cannot be configured")
    columns = run_guarded(lambda: source.table(entry.name).schema(), passes_on=(KeyboardInterrupt,))
    if isinstance(columns, Outcome):
        problem = str(columns.message)
        return TableEntry(entry.name, problem=problem if entry.name in problem else f"{entry.name}: {problem}")
    visible = frozenset(column for column in columns if readable is None or column in readable[entry.name])
    return replace(
        entry,
        key=entry.key if visible.issuperset(entry.key) else (),
        columns=None if readable is None else visible,
        references=tuple(item for item in entry.references if visible.issuperset(item.columns)),
    )
