"""Tables of CSV and Parquet files, read by DuckDB where they lie.

Each file is a view named after its stem, or all of them are one table. A view is made when its table is first asked
for, so that a pass over one table of a large folder touches one file.
"""

import glob
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from os.path import realpath
from pathlib import Path
from typing import Any, Final

import duckdb
import ibis.expr.types as ir
from ibis.backends.duckdb import Backend
from sqlglot.errors import SqlglotError

from sources._contract import QueryFailed, Source, SourceError, TableNotFound, Unreachable
from sources._csv_dialect import Dialect, together_by_name
from sources._duckdb import DuckdbSource
from sources._engine import Entry
from sources._names import did_you_mean
from sources._spec import SourceSpec

_CSV: Final = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
_PARQUET: Final = (".parquet",)


class Files(DuckdbSource):
    """Files that match a glob."""

    def __init__(self, spec: SourceSpec) -> None:
        super().__init__(spec)
        self._files: Mapping[str, Sequence[Path]] = {}
        self._views: dict[str, ir.Table] = {}

    def _open(self, closing: ExitStack) -> Backend:
        self._files, self._views = _by_table(self._spec), {}
        paths = [realpath(path) for files in self._files.values() for path in files]
        # DuckDB takes each path for a pattern: special ones are quoted below, and the quoted text is what it checks.
        allowed = {*paths, *map(glob.escape, paths)}
        try:
            return self._connect(closing, paths=sorted(allowed))
        except duckdb.Error as error:
            text = "DuckDB cannot be started with these settings; see memory_limit and threads"
            raise Unreachable(self._says(text, error)) from None

    def _execute(self, sql: str) -> duckdb.DuckDBPyConnection:
        try:
            return super()._execute(sql)
        except duckdb.CatalogException:  # it may name tables of this source that nobody has asked for yet
            if len(self._views) == len(self._files):
                raise
            for entry in self._list():
                with suppress(QueryFailed, duckdb.IOException):  # told when that table itself is asked for
                    self._describe(entry)
            return super()._execute(sql)

    def _say(self, error: duckdb.Error) -> SourceError:
        # Never Unreachable: one file that fails says nothing about the tables of the others.
        gone = [path for files in self._files.values() for path in files if not path.is_file()]
        if gone and isinstance(error, (duckdb.PermissionException, duckdb.IOException)):
            return TableNotFound(self._says(f"'{gone[0].name}' was there when the pass began and is gone now", error))
        said = super()._say(error)
        return QueryFailed(str(said)) if isinstance(said, Unreachable) else said

    def _list(self) -> Iterable[Entry]:
        return (Entry("", "", name, bare=True) for name in self._files)

    def _describe(self, entry: Entry) -> ir.Table:
        if entry.table not in self._views:
            try:
                self._views[entry.table] = self._view(entry.table)
            except (duckdb.DataError, duckdb.ProgrammingError, SqlglotError) as error:
                files = self._files[entry.table]
                seen = f"'{files[0].name}'" if len(files) == 1 else f"'{entry.table}' ({len(files)} files)"
                text = f"{seen} cannot be read: incomplete, of another format, or the csv options do not fit"
                raise QueryFailed(self._says(text, error)) from None
        return self._views[entry.table]

    def _view(self, name: str) -> ir.Table:
        files = [realpath(path) for path in self._files[name]]
        paths = [glob.escape(path) for path in files]
        together: dict[str, Any] = {"union_by_name": True} if self._spec.table is not None else {}
        in_folders = self._spec.table is not None and all("=" in str(path.parent) for path in self._files[name])
        hive: dict[str, Any] = {"hive_partitioning": in_folders}
        if self._spec.blind:  # names of folders are values: one that is no number would make texts of all the others
            hive["hive_types_autocast"] = False
        if _kind(files[0]) == _PARQUET:
            return self._backend.read_parquet(paths, table_name=name, **hive, **together)
        options = {**self._csv_options(), **hive, **together}
        if self._spec.blind:
            return self._blind(name, options)
        types = dict(self._spec.csv.types)
        if types:
            types = self._fitting(types, self._backend.read_csv(paths, table_name=name, **options).columns)
        return self._backend.read_csv(paths, table_name=name, types=types or None, **options)

    def _csv_options(self) -> dict[str, Any]:
        csv = self._spec.csv
        options: dict[str, Any] = {"header": csv.header is not False}
        if csv.delimiter is not None:
            options["delim"] = csv.delimiter
        if csv.null_values:
            options["nullstr"] = ["", *csv.null_values]
        if not csv.quoted_nulls:
            options["allow_quoted_nulls"] = False
        return options

    def _blind(self, name: str, options: Mapping[str, Any]) -> ir.Table:
        """Read cells as texts, in a dialect that is found in no row: of each header there is one statement."""
        kept = {key: value for key, value in options.items() if key not in {"header", "delim", "union_by_name"}}
        alike: dict[Dialect, list[str]] = {}
        for path in self._files[name]:
            alike.setdefault(Dialect.of(path, self._spec.csv), []).append(glob.escape(realpath(path)))
        if len(alike) == 1:
            ((dialect, paths),) = alike.items()
            return self._backend.read_csv(paths, table_name=name, **kept, **dialect.options)
        parts = [
            self._backend.read_csv(paths, table_name=f"{name}\x1f{place}", **kept, **dialect.options)
            for place, (dialect, paths) in enumerate(alike.items())
        ]
        return together_by_name(parts)

    def _fitting(self, types: Mapping[str, str], columns: Sequence[str]) -> dict[str, str]:
        """Keep the types of columns that this file has; the others belong to the source's other files."""
        for column in types:
            if column not in columns and len(self._files) == 1:
                hint = did_you_mean(column, columns)
                raise QueryFailed(f"source '{self.name}': csv.types names column '{column}', which no file has{hint}")
        return {column: kind for column, kind in types.items() if column in columns}


def _by_table(spec: SourceSpec) -> Mapping[str, Sequence[Path]]:
    found = _find(spec)
    if not found:
        known = ", ".join((*_CSV, *_PARQUET))
        raise Unreachable(f"source '{spec.name}': no file matches '{spec.files}'; expected files ending in {known}")
    if spec.table is not None:
        if len({_kind(path.name) for path in found}) > 1:
            raise Unreachable(f"source '{spec.name}': table '{spec.table}' mixes CSV and Parquet; expected one of them")
        return {spec.table: found}
    tables: dict[str, Path] = {}
    seen: dict[str, Path] = {}  # DuckDB's names know no case
    for path in found:
        stem = _stem(path.name)
        if (other := seen.setdefault(stem.casefold(), path)) != path:
            text = f"'{other}' and '{path}' would both be table '{stem}'"
            raise Unreachable(f"source '{spec.name}': {text}; narrow the glob, or give 'table' to read them as one")
        tables[stem] = path
    return {name: (path,) for name, path in tables.items()}


def _find(spec: SourceSpec) -> Sequence[Path]:
    pattern = spec.files or ""
    exact = spec.base / pattern
    if exact.is_file():
        return [exact] if _kind(exact.name) else []
    matches = glob.iglob(pattern, root_dir=spec.base, recursive=True)  # noqa: PTH207 - pathlib's matches hidden files
    return sorted(
        spec.base / match
        for match in matches
        if _kind(match) and not _beside_data(match, pattern) and (spec.base / match).is_file()
    )


def _beside_data(match: str, pattern: str) -> bool:
    """Tell what table formats and Spark keep beside the data: `_delta_log/`, `_temporary/`."""
    named = set(map(_unescape, Path(pattern).parts))
    return any(part.startswith("_") for part in set(Path(match).parts[:-1]) - named)


def _unescape(part: str) -> str:
    """Take `glob.escape` back."""
    return re.sub(r"\[([*?[])\]", r"\1", part)


def _kind(name: str) -> Sequence[str]:
    return next((kind for kind in (_CSV, _PARQUET) if name.lower().endswith(tuple(kind))), ())


def _stem(name: str) -> str:
    ending = max((end for end in (*_CSV, *_PARQUET) if name.lower().endswith(end)), key=len)
    return name[: -len(ending)]


SOURCE: Final[type[Source]] = Files
