"""Write a first configuration for tables that exist: their names, their declared keys, what looks worth watching.

Nothing is guessed into force: only what the engine declares becomes a check, the rest is written as a comment.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os.path import relpath
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import ibis.expr.datatypes as dt

from monitor.config._yaml import resolve
from sources import Source, SourceError, SourceSpec, open_source

_MOST_TABLES: Final = 200
_DATA_FILES: Final = ("*.parquet", "*.csv")
_DATABASES: Final = {".sqlite": "sqlite", ".sqlite3": "sqlite", ".db": "sqlite", ".duckdb": "duckdb"}
_ARRIVAL_NAMES: Final = ("loaded", "ingested", "inserted", "updated", "modified", "created")
_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_./+-]*")

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
class Place:
    """Where the tables of a first configuration lie: the entry under `sources`, and what to set beforehand.

    `entry` holds `files` or `url`, written relative to the configuration's folder; `spec` is the same as it was typed,
    to read the catalogue now. `variable` is the environment variable for the password, when the address had one.
    """

    name: str
    entry: Mapping[str, str]
    spec: SourceSpec
    variable: str | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """A table of the catalogue: its declared key (empty without one), and the column that may say when rows came."""

    name: str
    key: tuple[str, ...] = ()
    arrival: str | None = None


class NoPlace(Exception):
    """Nobody said where the tables are, and none were seen."""


def place_of(source: str | None, folder: Path, working: Path) -> Place:
    """Read what was said of the source; without it, look for data files in the folder.

    Relative paths are what the person typed, relative to the working folder; they are written relative to `folder`.

    Raises:
        NoPlace: nothing was said, and nothing was found.
    """
    if source is None:
        source = _seen(folder)
        working = folder
    if re.match("[A-Za-z][A-Za-z0-9+.-]*:", source):
        return _address(source, folder, working)
    path = working / source
    if path.is_file() and path.suffix in _DATABASES:
        return _address(f"{_DATABASES[path.suffix]}:///{source}", folder, working)
    pattern = source if not path.is_dir() else str(Path(source) / "*.csv")
    if path.is_dir() and any(path.glob("*.parquet")):
        pattern = str(Path(source) / "*.parquet")
    spec = SourceSpec(name="files", base=working, files=pattern)
    return Place("files", {"files": _beside(pattern, folder, working)}, spec)


def read_catalogue(place: Place) -> Sequence[Found]:
    """Give the tables of a source, at most 200, in the order of their names. Reads the catalogue only.

    Raises:
        SourceError: it cannot be reached or read.
    """
    with open_source(place.spec) as source:
        keys = _declared_keys(source)
        return [_look_at(source, name, keys) for name in source.tables()[:_MOST_TABLES]]


def write_yaml(place: Place, tables: Sequence[Found], *, project: str) -> str:
    """Give the text of a first configuration."""
    return "\n".join([*_head(place, project), *(line for table in tables for line in _table(place, table))]) + "\n"


def _head(place: Place, project: str) -> Iterator[str]:
    ((kind, location),) = place.entry.items()
    yield "# yaml-language-server: $schema=.tablewatch/schema.json"
    yield "# Written by `tablewatch init`. Editors with the YAML language server complete and check this file."
    yield "version: 1"
    yield f"project: {_scalar(project)}"
    yield "timezone: UTC                 # every wall clock in this file and in the reports, such as Asia/Tokyo"
    yield ""
    yield "sources:"
    yield f"  {place.name}:"
    secret = f"   # set {place.variable} before you start" if place.variable else ""
    yield f"    {kind}: {_scalar(location, template=place.variable is not None)}{secret}"
    yield "    # timezone: Asia/Tokyo    # of time columns that do not say their zone"
    yield ""
    yield "# owners:                     # who answers for tables; name them in `owner:`"
    yield "#   data-team: {name: Data team, email: data-team@example.org}"
    yield ""
    yield "# cost:                       # what an hour of data downtime costs; name the tier of a table in `tier:`"
    yield "#   currency: USD"
    yield "#   tiers: {gold: {per_hour: 1000}, silver: {per_hour: 100}}"
    yield ""
    yield "tables:"


def _table(place: Place, table: Found) -> Iterator[str]:
    yield f"  - name: {_scalar(table.name)}"
    yield f"    source: {place.name}"
    yield "    # owner: data-team"
    yield "    # schedule: every 15m"
    yield "    checks:"
    yield "      - {type: volume, min: 1}"
    if table.key:
        columns = ", ".join(map(_in_flow, table.key))
        yield f"      - {{type: primary_key, columns: [{columns}], severity: critical}}"
    else:
        yield "      # no key is declared; which columns name a row?"
        yield "      # - {type: primary_key, columns: [...], severity: critical}"
    if table.arrival is not None:
        yield f"      # - {{type: freshness, column: {_in_flow(table.arrival)}, max_age: 26h}}"
    yield ""


def _in_flow(text: str) -> str:
    return text if re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", text) and resolve(text) == text else _quoted(text)


def _scalar(text: str, *, template: bool = False) -> str:
    """Write a text so that it is read back as it is; `template` lets `${...}` be filled in."""
    if not template and _PLAIN.fullmatch(text) and resolve(text) == text:
        return text
    return _quoted(text, template=template)


def _quoted(text: str, *, template: bool = False) -> str:
    return json.dumps(  # a JSON text is a YAML text in double quotes
        text if template else text.replace("$", "$$"), ensure_ascii=False
    )


def _seen(folder: Path) -> str:
    for pattern in _DATA_FILES:
        if any(folder.glob(pattern)):
            return pattern
    found = sorted(path.name for path in folder.iterdir() if path.suffix in _DATABASES) if folder.is_dir() else []
    if found:
        return found[0]
    raise NoPlace


def _address(source: str, folder: Path, working: Path) -> Place:
    parts = urlsplit(source)
    engine = parts.scheme.split("+")[0]
    if engine in {"sqlite", "duckdb"}:
        file = source.partition(":///")[2]
        name = _word(Path(file).stem) or engine
        spec = SourceSpec(name=name, base=working, url=source)
        return Place(name, {"url": f"{engine}:///{_beside(file, folder, working)}"}, spec)
    name = _word(parts.path.strip("/").rpartition("/")[2]) or engine
    spec = SourceSpec(name=name, base=working, url=source)
    if parts.password is None:
        return Place(name, {"url": source}, spec)
    variable = f"{name}_password".upper().replace("-", "_")
    hidden = source.replace(f":{parts.password}@", f":${{{variable}}}@", 1)
    return Place(name, {"url": hidden}, spec, variable)


def _beside(path: str, folder: Path, working: Path) -> str:
    return path if Path(path).is_absolute() else relpath(working / path, folder)


def _word(text: str) -> str:
    return re.sub("[^A-Za-z0-9]+", "-", text).strip("-").lower()


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
    except SourceError:
        return Found(name, keys.get(name, ()))
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
