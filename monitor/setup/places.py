"""Find out where tables lie: from what a person typed, or from the files of a folder."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os.path import relpath
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from sources import SourceSpec

_DATA: Final = (".parquet", ".csv")
_STORE: Final = "tablewatch.db"  # where our own store lies unless told otherwise
_DATABASES: Final = {".sqlite": "sqlite", ".sqlite3": "sqlite", ".db": "sqlite", ".duckdb": "duckdb"}


@dataclass(frozen=True, slots=True)
class Place:
    """One source of a first configuration: its entry under `sources`, and what to set beforehand.

    `entry` holds `files` (with `table` where they are one) or `url`, written relative to the configuration's folder;
    `spec` is the same as it was typed, to read the catalogue now. `variable` is the environment variable for the
    password, when the address had one.
    """

    name: str
    entry: Mapping[str, str]
    spec: SourceSpec
    variable: str | None = None


class NoPlace(Exception):
    """Nobody said where the tables are, and none were seen."""


def places_of(source: str | None, folder: Path, working: Path) -> Sequence[Place]:
    """Read what was said of the source; without it, look for data in the folder and in the folders right below.

    Relative paths are what the person typed, relative to the working folder; they are written relative to `folder`.
    Every source has a name of its own.

    Raises:
        NoPlace: no data was found there, or nothing was said and nothing found.
    """
    if source is None and not folder.is_dir():
        raise NoPlace
    if source is None:
        return _named_apart([*_in_folder(Path(), folder, folder), *_databases(folder)])
    if re.match("[A-Za-z][A-Za-z0-9+.-]*:", source):
        return [_address(source, folder, working)]
    path = working / source
    if path.is_file() and path.suffix in _DATABASES:
        return [_address(f"{_DATABASES[path.suffix]}:///{source}", folder, working)]
    if path.is_dir():
        return _named_apart(_in_folder(Path(source), folder, working))
    return [_files(source, folder, working)]


def _named_apart(places: Sequence[Place]) -> Sequence[Place]:
    """Give sources of one name different ones; two sources cannot share it."""
    if not places:
        raise NoPlace
    taken: dict[str, Place] = {}
    for place in places:
        name, number = place.name, 2
        while name in taken:
            name, number = f"{place.name}-{number}", number + 1
        taken[name] = Place(name, place.entry, place.spec, place.variable)
    return list(taken.values())


def _in_folder(path: Path, folder: Path, working: Path) -> Sequence[Place]:
    """Give the tables of a folder: its files, the folders below that are tables in parts, and their files."""
    if ending := _in_parts(working / path):
        return [_one_table(path, ending, folder, working)]
    below = sorted(one.name for one in (working / path).iterdir() if one.is_dir() and one.name[0] not in "._")
    inner = [_in_inner_folder(path / name, folder, working) for name in below]
    return [*_each_file(path, folder, working), *(place for places in inner for place in places)]


def _in_inner_folder(path: Path, folder: Path, working: Path) -> Iterator[Place]:
    if ending := _in_parts(working / path):
        yield _one_table(path, ending, folder, working)
    else:
        yield from _each_file(path, folder, working)


def _in_parts(path: Path) -> str | None:
    """Give the ending of the files of a folder that is one table: `key=value` folders, or files `part-...`."""
    for ending in _DATA:
        if any(path.glob(f"part-*{ending}")) or any(any(one.rglob(f"*{ending}")) for one in path.glob("*=*")):
            return ending
    return None


def _one_table(path: Path, ending: str, folder: Path, working: Path) -> Place:
    name = (working / path).resolve().name
    return _files(str(path / "**" / f"*{ending}"), folder, working, table=name)


def _each_file(path: Path, folder: Path, working: Path) -> Iterator[Place]:
    for ending in _DATA:
        if any((working / path).glob(f"*{ending}")):
            yield _files(str(path / f"*{ending}"), folder, working)


def _files(pattern: str, folder: Path, working: Path, *, table: str | None = None) -> Place:
    around = next((part for part in reversed(Path(pattern).parts[:-1]) if not set(part) & set("*?[")), "")
    spec = SourceSpec(name=_word(table or around) or "files", base=working, files=pattern, table=table)
    entry = {"files": _beside(pattern, folder, working), **({} if table is None else {"table": table})}
    return Place(spec.name, entry, spec)


def _databases(folder: Path) -> Sequence[Place]:
    found = sorted(path.name for path in folder.iterdir() if path.suffix in _DATABASES and path.name != _STORE)
    return [_address(f"{_DATABASES[Path(name).suffix]}:///{name}", folder, folder) for name in found]


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
