"""Find the tables that the files of a folder hold."""

import os
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from glob import escape
from itertools import groupby
from pathlib import Path
from typing import Final, NamedTuple

from sources import delta_tables, remedy_of

DATABASES: Final[Mapping[str, str]] = {".sqlite": "sqlite", ".sqlite3": "sqlite", ".db": "sqlite", ".duckdb": "duckdb"}
_MAGIC, _MAGIC_AT = b"DUCK", 8
"""What a file of DuckDB holds after its checksum."""
_DATA: Final = (".parquet", ".csv", ".csv.gz", ".tsv", ".tsv.gz")
_LIBRARIES: Final = frozenset({"node_modules", "site-packages"})


class FolderFiles(NamedTuple):
    """Files that are a source: a glob below the folder, a word to name it by, and the table where they are one.

    `is_delta`: the glob is of folders, which are Delta tables.
    """

    pattern: str
    word: str
    table: str | None = None
    is_delta: bool = False


@dataclass(frozen=True, slots=True)
class Folder:
    """The files and folders of a folder that can be tables.

    Names that begin with `.` or `_`, and libraries, are left out, but not files of data that begin with `_`.
    `parts`: by their ending, the files `part-...` and the `key=value` folders with such files.
    """

    path: Path
    names: Sequence[str]
    parts: Mapping[str, Sequence[str]]

    @classmethod
    def of(cls, path: Path) -> "Folder":
        """Read the names in a folder.

        Raises:
            OSError: it may not be read.
        """
        names = sorted(item.name for item in path.iterdir() if not _is_left_out(item.name))
        parts: dict[str, list[str]] = {}
        for name in names:
            for ending in _endings_in(path / name):
                parts.setdefault(ending, []).append(name)
        parts.pop("", None)
        return cls(path, names, parts)

    @property
    def databases(self) -> Sequence[str]:
        """Return the files with the extension of a database."""
        return [name for name in self.names if is_database(name) and (self.path / name).is_file()]

    @property
    def folders(self) -> Sequence[str]:
        """Return the folders that are not partitions of a table."""
        return [name for name in self.names if "=" not in name and (self.path / name).is_dir()]

    @property
    def unread(self) -> Iterator[str]:
        """Yield what may hold data and is not read, and what makes tables of it, by remedy."""
        files: dict[str, list[str]] = {}
        for name in self.names:
            remedy = None if is_database(name) else remedy_of(name)
            if remedy is not None and (self.path / name).is_file():
                files.setdefault(remedy, []).append(name)
        for remedy, names in files.items():
            others = f" and {len(names) - 1:,} such file{'s' * (len(names) > 2)} more" if len(names) > 1 else ""
            yield f"{names[0]}{others}: not read; {remedy}"

    @property
    def is_table(self) -> bool:
        """Check whether the whole folder is one table: Delta, `key=value` folders, or files `part-...`, of one kind.

        Nothing else may lie beside the folders, such as what a project's own folder holds; no other data beside files.
        """
        if delta_tables(self.path, "."):
            return True
        others = [name for name in self.names if "=" not in name and not name.startswith("part-")]
        if not any("=" in name for name in self.names):
            others = [name for name in others if _ending(name) or (self.path / name).is_dir()]
        return len(self.parts) == 1 and not others

    def sources(self, below: str = "") -> Iterator[FolderFiles]:
        """Yield the sources that the folder's own files are; `below` goes before each pattern, escaped."""
        word = self.path.resolve().name
        if delta_tables(self.path, "."):
            yield FolderFiles(below.rstrip("/") or ".", word, is_delta=True)
            return
        if self.is_table:
            yield from (FolderFiles(f"{below}**/*{ending}", word, table=word) for ending in self.parts)
            return
        for ending in sorted({*map(_ending, self.names), *self.parts} - {""}, key=_order):
            partitions = [name for name in self.parts.get(ending, ()) if "=" in name]
            for key in sorted({name.partition("=")[0] for name in partitions}):
                yield FolderFiles(f"{below}{escape(key)}=*/**/*{ending}", word, table=word)
            yield from self._each_file(ending, below, word)

    def _each_file(self, ending: str, below: str, word: str) -> Iterator[FolderFiles]:
        """Yield all files by one glob; one by one where two names differ in case only, as DuckDB's do not."""
        names = [name for name in self.names if name.endswith(ending) and (self.path / name).is_file()]
        alike = groupby(sorted(map(str.casefold, names)))
        if any(len(list(same)) > 1 for _, same in alike):
            yield from (FolderFiles(f"{below}{escape(name)}", Path(name).stem) for name in names)
        elif names:
            yield FolderFiles(f"{below}*{ending}", word)


def is_database(name: str) -> bool:
    """Check whether a name has the ending of a database."""
    return Path(name).suffix.lower() in DATABASES


def engine_of(path: Path) -> str:
    """Return the engine of a database by what its file begins with, else by its name: DuckDB's are often `.db`."""
    try:
        with path.open("rb") as file:
            head = file.read(_MAGIC_AT + len(_MAGIC))
    except OSError:  # reported when it is opened
        head = b""
    return "duckdb" if head[_MAGIC_AT:] == _MAGIC else DATABASES[path.suffix.lower()]


def _ending(name: str) -> str:
    """Return the ending of a file of data, in its own letters; '' for other names."""
    return next((name[-len(ending) :] for ending in _DATA if name.lower().endswith(ending)), "")


def _order(ending: str) -> tuple[int, str]:
    return _DATA.index(ending.lower()), ending


def _endings_in(part: Path) -> AbstractSet[str]:
    """Return the endings of the files of data of a part of a table: a file `part-...`, or a folder `key=value`."""
    if "=" in part.name:
        return {_ending(item.name) for item in part.rglob("*")}
    return {_ending(part.name)} if part.name.startswith("part-") else set()


_MOST_NAMES: Final = 10_000
"""Files and folders that are looked at to say what lies below a folder: a home folder or a network has millions."""


def count_data(path: Path) -> tuple[int, str | None, bool]:
    """Count the files of data and the databases in and below a folder, and return the path of the first, from it.

    What `Folder` leaves out is not counted. The last value is whether that was all, not the first 10,000 names.
    """
    count, first, names_seen = 0, None, 0
    for place, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if not _is_left_out(name))
        data = sorted(name for name in names if (_ending(name) or is_database(name)) and not _is_left_out(name))
        count += len(data)
        names_seen += len(folders) + len(names)
        if data and first is None:
            first = os.path.relpath(Path(place, data[0]), path)
        if names_seen >= _MOST_NAMES:
            return count, first, False
    return count, first, True


def _is_left_out(name: str) -> bool:
    return name[0] == "." or name in _LIBRARIES or (name[0] == "_" and not _ending(name))
