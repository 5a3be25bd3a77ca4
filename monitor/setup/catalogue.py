"""Read a source's catalogue: names, declared keys, and the column that may say when rows came."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import ibis.expr.datatypes as dt

from sources import Source, SourceError, SourceSpec, open_source

_MOST_TABLES: Final = 200
_ARRIVAL_NAMES: Final = ("loaded", "ingested", "inserted", "updated", "modified", "created")

_KEYS: Final[Mapping[str, str]] = {
    "sqlite": (
        "SELECT t.name AS tab, c.name AS col FROM pragma_table_list() AS t, pragma_table_info(t.name) AS c "
        "WHERE t.schema = 'main' AND t.type = 'table' AND c.pk > 0 ORDER BY t.name, c.pk"
    ),
    "duckdb": (
        "SELECT table_name AS tab, unnest(constraint_column_names) AS col FROM duckdb_constraints() "
        "WHERE constraint_type = 'PRIMARY KEY'"
    ),
    "postgres": (
        "SELECT CASE WHEN k.table_schema = current_schema() THEN k.table_name "
        "ELSE k.table_schema || '.' || k.table_name END AS tab, k.column_name AS col "
        "FROM information_schema.table_constraints AS c JOIN information_schema.key_column_usage AS k "
        "USING (constraint_schema, constraint_name, table_name) "
        "WHERE c.constraint_type = 'PRIMARY KEY' ORDER BY k.table_schema, k.table_name, k.ordinal_position"
    ),
}


@dataclass(frozen=True, slots=True)
class Found:
    """A table of the catalogue: its declared key (empty without one), and the column that may say when rows came.

    `problem` says why its columns cannot be read.
    """

    name: str
    key: tuple[str, ...] = ()
    arrival: str | None = None
    problem: str | None = None


def read_catalogue(spec: SourceSpec) -> Sequence[Found]:
    """Give the tables of a source, at most 200, in the order of their names. Reads the catalogue only.

    Raises:
        SourceError: it cannot be reached or read.
    """
    with open_source(spec) as source:
        keys = _declared_keys(source)
        return [_look_at(source, name, keys) for name in source.tables()[:_MOST_TABLES]]


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


def _look_at(source: Source, name: str, keys: Mapping[str, tuple[str, ...]]) -> Found:
    try:
        columns = source.table(name).schema()
    except SourceError as error:
        return Found(name, problem=str(error))
    return Found(name, keys.get(name, ()), _arrival(dict(columns.items())))


def _arrival(columns: Mapping[str, dt.DataType]) -> str | None:
    """Choose the column that most probably tells when a row came: by its name first, else the only time there is."""
    times = [name for name, kind in columns.items() if kind.is_timestamp()]
    named = [
        name for word in _ARRIVAL_NAMES for name in columns if word in name.lower() and _may_be_time(columns[name])
    ]
    return next(iter([*(name for name in named if name in times), *named, *times]), None)


def _may_be_time(kind: dt.DataType) -> bool:
    return bool(kind.is_timestamp() or kind.is_date() or kind.is_string())
