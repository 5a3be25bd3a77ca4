"""Which files of a glob are which table; and, of one file for each period, when it was there, by its name."""

import glob
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os.path import realpath
from pathlib import Path
from time import strptime
from typing import Final

from sources._contract import Unreachable
from sources._names import quote_name, quote_text
from sources._spec import FileTimes, SourceSpec, is_file

FILE_TIME: Final = "file_time"
"""The column that says when the file of a row was there."""
FILE_OF_ROW: Final = "\x1ffile"
_ENDING: Final = r"(?i)[.](csv|tsv|parquet)([.]gz)?$"


def check_periods(source: str, stems: Iterable[str], times: FileTimes) -> None:
    """Check that each file says its period in its name.

    Raises:
        Unreachable: one does not.
    """
    for stem in stems:
        try:
            strptime(stem, times.name)
        except ValueError:
            text = f"the name of file '{stem}' does not have the form '{times.name}' of file_times; narrow the glob"
            raise Unreachable(f"source '{source}': {text}") from None


def with_file_times(view: str, rows: str, times: FileTimes) -> str:
    """Return the statement that makes a view of rows, which have the path of their file, with the time of the file."""
    name = f"regexp_replace(parse_filename({quote_name(FILE_OF_ROW)}), {quote_text(_ENDING)}, '')"
    begin = f"CAST(strptime({name}, {quote_text(times.name)}) AS TIMESTAMP)"
    time = f"{begin} + to_microseconds({round(times.after.total_seconds() * 1_000_000)})"
    columns = f"* EXCLUDE ({quote_name(FILE_OF_ROW)}), {time} AS {quote_name(FILE_TIME)}"
    return f"CREATE OR REPLACE TEMPORARY VIEW {quote_name(view)} AS FROM {quote_name(rows)} SELECT {columns}"


_CSV: Final = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
PARQUET: Final = (".parquet",)
_UNREAD: Final[Mapping[tuple[str, ...], str]] = {
    (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods", ".numbers"): "export each sheet as CSV",
    (".jsonl", ".ndjson", ".json", ".geojson", ".jsonl.gz", ".ndjson.gz", ".json.gz"): "write it as Parquet or CSV",
    (".pq", ".parq", ".parquet.gz", ".orc", ".avro", ".arrow", ".feather"): "write it as .parquet",
    (".sas7bdat", ".xpt", ".dta", ".sav", ".rds", ".rdata", ".pkl", ".h5", ".mdb", ".accdb"): "export it as CSV",
    (".psv", ".tab", ".dat", ".txt"): "if it is a table, name it .csv",
    (".zip", ".7z", ".bz2", ".xz", ".zst", ".tar", ".tgz", ".gz"): "if it holds tables, unpack it",
    (".db3", ".s3db", ".sl3", ".ddb"): "if it is a database, add it by --source sqlite:///FILE or duckdb:///FILE",
}
"""Endings of files that may hold data and are not read, and what makes tables of them."""
DELTA_LOG: Final = "_delta_log"


def remedy_of(name: str) -> str | None:
    """Return what makes a table of a file that is not read; None for a file that is, or that holds no data."""
    name = name.lower()
    if name.endswith((*_CSV, *PARQUET)):
        return None
    return next((remedy for endings, remedy in _UNREAD.items() if name.endswith(endings)), None)


def files_by_table(spec: SourceSpec) -> Mapping[str, Sequence[Path]]:
    """Return the files of each table.

    Raises:
        Unreachable: there are none, or two tables would have one name, or one has files of two formats.
    """
    results = find_files(spec)
    if not results:
        raise Unreachable(f"source '{spec.name}': {why_no_file(spec)}")
    if spec.table is not None:
        if spec.file_times is not None:  # a link has the name of the file that it leads to, too
            names = {name for path in results for name in (path.name, Path(realpath(path)).name)}
            check_periods(spec.name, sorted(map(stem_of, names)), spec.file_times)
        if len({endings_of(path.name) for path in results}) > 1:
            raise Unreachable(f"source '{spec.name}': table '{spec.table}' mixes CSV and Parquet; use only one of them")
        return {spec.table: results}
    tables: dict[str, Path] = {}
    paths: dict[str, Path] = {}  # DuckDB's names know no case
    for path in results:
        stem = stem_of(path.name)
        if (other := paths.setdefault(stem.casefold(), path)) != path:
            text = f"'{other}' and '{path}' would both be table '{stem}'"
            raise Unreachable(f"source '{spec.name}': {text}; narrow the glob, or give 'table' to read them as one")
        tables[stem] = path
    return {name: (path,) for name, path in tables.items()}


def find_files(spec: SourceSpec) -> Sequence[Path]:
    """Return the files that a glob finds, in the order of their names."""
    pattern = spec.files or ""
    exact = spec.base / pattern
    if is_file(exact):
        return [exact] if endings_of(exact.name) else []
    return sorted(
        spec.base / match
        for match in _matches(spec.base, pattern)
        if endings_of(match) and not _beside_data(match, pattern) and (spec.base / match).is_file()
    )


def why_no_file(spec: SourceSpec) -> str:
    """Return that a glob finds no file, or a file that is not read and what makes a table of it."""
    expected = f"expected files ending in {', '.join((*_CSV, *PARQUET))}"
    for match in sorted(_matches(spec.base, spec.files or "")):
        if (remedy := remedy_of(match)) is not None and (spec.base / match).is_file():
            return f"'{match}' cannot be read; {expected}; {remedy}"
    return f"no file matches '{spec.files}'; {expected}"


def delta_tables(base: Path, place: str) -> Sequence[Path]:
    """Return the folders that a glob finds and that are Delta tables, by the names of the folders."""
    return [base / match for match in sorted(_matches(base, place)) if (base / match / DELTA_LOG).is_dir()]


def _matches(base: Path, pattern: str) -> Iterator[str]:
    return glob.iglob(pattern, root_dir=base, recursive=True)  # noqa: PTH207 - pathlib's matches hidden files


def _beside_data(match: str, pattern: str) -> bool:
    """Return what table formats and Spark keep beside the data: `_delta_log/`, `_temporary/`."""
    named = set(map(_unescape, Path(pattern).parts))
    return any(part.startswith("_") for part in set(Path(match).parts[:-1]) - named)


def _unescape(part: str) -> str:
    """Undo `glob.escape`."""
    return re.sub(r"\[([*?[])\]", r"\1", part)


def endings_of(name: str) -> Sequence[str]:
    """Return the endings of the format that a file's name tells; none for other formats."""
    return next((kind for kind in (_CSV, PARQUET) if name.lower().endswith(tuple(kind))), ())


def stem_of(name: str) -> str:
    """Return a file's name without its ending, of one or two parts."""
    ending = max((end for end in (*_CSV, *PARQUET) if name.lower().endswith(end)), key=len)
    return name[: -len(ending)]


def table_files(spec: SourceSpec, relation: str) -> Sequence[Path]:
    """Return the files that a table is read from, without reading them; none where none is found."""
    results = find_files(spec)
    if spec.table is not None:
        return results
    return [path for path in results if stem_of(path.name).casefold() == relation.casefold()]
