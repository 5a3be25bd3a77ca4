"""What a person declares about a source, and how it is opened: only the engine of its kind is loaded."""

import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import Any, Final
from urllib.parse import quote, unquote, urlsplit

from sources._contract import Source, Unreachable

_IMPORTING: Final = Lock()
"""Two threads that import parts of Ibis at once see modules that are not complete; each source has a thread."""
_MODULES: Final = {
    "sqlite": "sqlite",
    "duckdb": "duckdb_file",
    "postgresql": "postgresql",
    "postgres": "postgresql",
    "mysql": "mysql",
    "mariadb": "mysql",
}
"""The module of a source by the scheme of its URL."""
_DECLARED: Final = ("files", "delta", "iceberg", "spark")
"""Kinds that are declared by a key of their name, which is that of their module."""
_EXTRAS: Final = {
    "psycopg": "postgres",
    "MySQLdb": "mysql",
    "pyspark": "spark",
    "deltalake": "delta",
    "pyiceberg": "iceberg",
}
_DIALECTS: Final = {"sqlite": "sqlite", "duckdb_file": "duckdb", "postgresql": "postgres", "mysql": "mysql"}


@dataclass(frozen=True, slots=True)
class CsvOptions:
    """How CSV files are written, where DuckDB's detection is not enough.

    `types`: DuckDB's type by column name. `header`: whether the first line names the columns; None means that it does.
    `null_values`: texts that stand for NULL, besides the empty one. `quoted_nulls`: whether they do in quotes too.
    `encoding`: of files without a byte order mark, UTF-8 by default. `quote`, `escape`: of cells, `"` and a doubled
    quote by default. `skip_lines`: lines before the header. `date_format`, `timestamp_format`: as for strptime; without
    them only dates that begin with the year are dates. `strict`: whether a row of another length than the first makes
    the file unreadable; else a column `ragged` marks such rows, of which cells that lack are NULL and more are cut.
    """

    types: Mapping[str, str] = field(default_factory=dict)
    delimiter: str | None = None
    header: bool | None = None
    null_values: tuple[str, ...] = ()
    quoted_nulls: bool = True
    encoding: str | None = None
    quote: str | None = None
    escape: str | None = None
    skip_lines: int = 0
    date_format: str | None = None
    timestamp_format: str | None = None
    strict: bool = True


@dataclass(frozen=True, slots=True)
class FileTimes:
    """When a file is there: `name` has the begin of its period, as for strptime; `after`: how long after the begin."""

    name: str
    after: timedelta


@dataclass(frozen=True, slots=True)
class IcebergCatalog:
    """A catalogue of Iceberg tables: its name, its address, and the namespace whose tables need none before their name.

    Without `uri` it is what pyiceberg's own configuration says of the name; with it that is added, such as a token.
    """

    catalog: str = "default"
    uri: str | None = field(default=None, repr=False)
    namespace: str | None = None


@dataclass(frozen=True, slots=True)
class SourceSpec:
    """A source as declared: exactly one of `files`, `delta`, `iceberg`, `url`, `spark`, `external`.

    `files` is a file or glob, `delta` a folder, glob of folders or address of Delta tables, `iceberg` a catalogue,
    `spark` a master or a Connect address; nothing is read from an `external` source.
    `frames`, which no configuration declares, are tables of this process by name: all Arrow data, or all Ibis tables.
    `base` is the folder that relative paths belong to. `table` reads a whole glob as one table of that name.
    `file_times`: its files are one for each period; the table has a column `file_time`, unless it is read blindly.
    `blind`: how a table is read does not depend on what is in it: the cells of CSV are texts, in the dialect that is
    declared or that the header shows; what folders such as `city=Oslo` say are texts too; and a column of SQLite
    without a declared type has none.
    `memory_limit` and `threads` bound DuckDB. Neither `url` nor `spark` is in the repr: they may hold a password.

    Raises:
        ValueError: none or several places are given, or `table` without `files`.
    """

    name: str
    base: Path
    files: str | None = None
    delta: str | None = None
    iceberg: IcebergCatalog | None = None
    url: str | None = field(default=None, repr=False)
    spark: str | None = field(default=None, repr=False)
    external: bool = False
    frames: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)
    table: str | None = None
    csv: CsvOptions = CsvOptions()
    file_times: FileTimes | None = None
    blind: bool = False
    query_timeout: timedelta = timedelta(seconds=60)
    connect_timeout: timedelta = timedelta(seconds=10)
    lock_timeout: timedelta = timedelta(seconds=5)
    memory_limit: str = "2GB"
    threads: int | None = None

    def __post_init__(self) -> None:
        places = (self.files, self.delta, self.iceberg, self.url, self.spark, self.frames)
        if sum(place is not None for place in places) + self.external != 1:
            raise ValueError(f"source '{self.name}' has exactly one of files, delta, iceberg, url, spark, external")
        if self.table is not None and self.files is None:
            raise ValueError(f"source '{self.name}': 'table' goes with 'files' only")


def scheme_of(url: str) -> str:
    """Return what stands before `://`, empty if nothing does; the rest may be anything and is not looked at."""
    match = re.match(r"([A-Za-z][A-Za-z0-9+.-]*)://", url)
    return match[1].lower() if match else ""


def path_in_url(path: str) -> str:
    """Return a path as it stands in a URL; letters that are not ASCII stay readable."""
    return "".join(quote(letter) if letter.isascii() else letter for letter in path)


def file_of(spec: SourceSpec, url: str | None = None) -> Path:
    """Return the existing file of a `sqlite:///` or `duckdb:///` URL; a relative path belongs to the source's base.

    Without `url` it is that of the source.

    Raises:
        Unreachable: it names no file, or a missing one; it is never created.
    """
    parts = urlsplit(url or spec.url or "")
    if parts.netloc or parts.query or parts.fragment or not parts.path.strip("/"):
        marks = "a ? or # of its name as %3F or %23"
        expected = f"{parts.scheme}:///FOLDER/FILE, without host and options, {marks}"
        raise Unreachable(f"source '{spec.name}': its URL has no file path; expected {expected}")
    path = spec.base / unquote(parts.path.removeprefix("/"))
    if not path.is_file():
        text = "is not a file" if path.exists() else "does not exist"
        raise Unreachable(f"source '{spec.name}': '{path}' {text}; expected an existing database file")
    return path.resolve()


@dataclass(slots=True)
class _SharedConnection:
    """The connection of a `one_connection` block: opened when it is first needed, closed with the block."""

    spec: SourceSpec
    closing: ExitStack = field(default_factory=ExitStack)
    source: Source | None = None


_shared: Final[ContextVar[tuple[_SharedConnection, ...]]] = ContextVar("shared connections", default=())


@contextmanager
def one_connection(spec: SourceSpec) -> Iterator[None]:
    """Let every `open_source` of an equal spec, in this block and thread, use one connection.

    What the connection read of the catalogue stays as it was when it was first read; what checks that a table is still
    the same needs a block of its own.
    """
    with ExitStack() as closing:
        token = _shared.set((*_shared.get(), _SharedConnection(spec, closing)))
        try:
            yield
        finally:
            _shared.reset(token)


def open_source(spec: SourceSpec) -> AbstractContextManager[Source]:
    """Return the source that a spec declares; enter it to connect.

    Raises:
        Unreachable: the driver it needs is not installed, or nothing is read from it, or, in a `one_connection` block,
            as `Source.__enter__`.
        TimedOut: in such a block, as `Source.__enter__`.
    """
    shared = next((shared for shared in _shared.get() if shared.spec == spec), None)
    if shared is None:
        return _unconnected(spec)
    if shared.source is None:
        shared.source = shared.closing.enter_context(_unconnected(spec))
    return nullcontext(shared.source)


def _unconnected(spec: SourceSpec) -> Source:
    try:
        with _IMPORTING:
            return _of_its_kind(spec) if spec.frames is None else _of_frames(spec)
    except ImportError as error:
        missing = (error.name or "its driver").split(".")[0]
        extra = f"tablewatch[{_EXTRAS[missing]}]" if missing in _EXTRAS else missing
        text = f"source '{spec.name}' needs {missing}, which cannot be imported; install '{extra}'"
        raise Unreachable(text) from None


def dialect_of(spec: SourceSpec) -> str:
    """Return sqlglot's name of the dialect of a source without loading its engine; `ansi` where only that knows it."""
    if spec.spark is not None:
        return "spark"
    if spec.url is None and not spec.external:
        return "duckdb"
    return _DIALECTS.get(_MODULES.get(_scheme(spec), ""), "ansi")


def _scheme(spec: SourceSpec) -> str:
    return scheme_of(spec.url or "").split("+")[0]


def _of_its_kind(spec: SourceSpec) -> Source:
    if spec.external:
        raise Unreachable(
            f"source '{spec.name}' is external: nothing is read from it; give it a url to read its tables"
        )
    declared = next((kind for kind in _DECLARED if getattr(spec, kind) is not None), None)
    module = declared or _MODULES.get(_scheme(spec), "ibis_url")
    source: Source = import_module(f"sources.{module}").SOURCE(spec)
    return source


def _of_frames(spec: SourceSpec) -> Source:
    tables = import_module("sources.ibis_table")
    if all(map(tables.is_ibis_table, (spec.frames or {}).values())):
        source: Source = tables.IbisTable(spec)
    else:
        source = import_module("sources.frame").FrameSource(spec)
    return source
