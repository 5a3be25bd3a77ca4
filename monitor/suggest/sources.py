"""Find out where tables lie: from what a person typed, or from the files of a folder."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from glob import escape
from os.path import relpath
from pathlib import Path
from shlex import quote
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from monitor.suggest.folder import Folder, FolderFiles, count_data, engine_of, is_database
from sources import IcebergCatalog, SourceSpec, delta_tables, is_file, path_in_url

_CATALOGUE: Final = "iceberg+"
"""What stands before the address of a catalogue of Iceberg tables."""
_ADD: Final = "add it by --source"
_STORE: Final = "tablewatch.db"  # the default path of our own store


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """One source of a first configuration: its entry under `sources`, and what to set beforehand.

    `entry` holds `files` (with `table` where they are one), `delta`, `url`, or as `iceberg` the address of a catalogue,
    written relative to the configuration's folder;
    `spec` is the same as it was typed, to read the catalogue now. `variable` is the environment variable for the
    password, when the address had one.
    """

    name: str
    entry: Mapping[str, str]
    spec: SourceSpec
    variable: str | None = None


class SourceNotFound(Exception):
    """No source was given, and no tables were found."""


@dataclass(frozen=True, slots=True)
class SourceLocations:
    """The sources of a first configuration, by unique names; what cannot be read and why; what was not searched."""

    locations: tuple[SourceLocation, ...]
    left_out: tuple[str, ...] = ()
    not_searched: tuple[str, ...] = ()


def source_locations(source: str | None, folder: Path, working: Path) -> SourceLocations:
    """Read what was said of the source; without it, look for data in the folder and in the folders right below.

    Relative paths are what the person typed, relative to the working folder; they are written relative to `folder`.
    What is found by looking is not opened yet.

    Raises:
        NoPlace: no data was found there, or nothing was said and nothing found.
    """
    if source is None and not folder.is_dir():
        raise SourceNotFound
    if source is None:
        return _in_folder(Path(), folder, folder, databases=True)
    if re.match("[A-Za-z][A-Za-z0-9+.-]*:", source):
        return SourceLocations((_address(source, folder, working),))
    path = working / source
    if is_file(path) and is_database(path.name):
        return SourceLocations((_database(source, folder, working),))
    with suppress(OSError):  # a name that no file system takes, such as of 256 letters, is no folder
        if path.is_dir():
            return _in_folder(Path(source), folder, working, databases=False)
    is_delta = bool(delta_tables(working, source))
    return SourceLocations((_files(FolderFiles(source, _around(source), is_delta=is_delta), folder, working),))


def named_apart(places: Sequence[SourceLocation], *, taken: Collection[str] = ()) -> tuple[SourceLocation, ...]:
    """Return sources of one name, or of one that is taken, different ones; two sources cannot share it."""
    source_locations: dict[str, SourceLocation] = {}
    for place in places:
        name, number = place.name, 2
        while name in source_locations or name in taken:
            name, number = f"{place.name}-{number}", number + 1
        source_locations[name] = SourceLocation(name, place.entry, place.spec, place.variable)
    return tuple(source_locations.values())


def _in_folder(path: Path, folder: Path, working: Path, *, databases: bool) -> SourceLocations:
    """Return the tables of a folder and of the folders right below."""
    results, lakes, left_out, not_searched = [], [], [], []
    for below in _looked_into(working / path):
        place = path if below is None else path / below
        try:
            contents = Folder.of(working / place)
            sources = list(contents.sources("" if place == Path() else f"{escape(str(place))}/"))
        except OSError as error:
            left_out.append(f"{place}: it may not be read ({error.strerror})")
            continue
        not_searched += [str(place / item) for item in contents.unread]
        lakes += [source for source in sources if source.is_delta]
        results += [_files(source, folder, working) for source in sources if not source.is_delta]
        found = [str(place / name) for name in contents.databases if name != _STORE]
        if databases and below is None:
            results += [_database(name, folder, working) for name in found]
        else:
            not_searched += [f"{name}: a database in a folder; {_ADD} {quote(name)}" for name in found]
        if below is not None and not contents.is_table:
            not_searched += _further_down(contents, place)
    results += [_files(source, folder, working) for source in _together(lakes)]
    if not results and not left_out and not not_searched:
        raise SourceNotFound
    return SourceLocations(named_apart(results), tuple(left_out), tuple(not_searched))


def _further_down(contents: Folder, place: Path) -> Iterator[str]:
    """Yield the folders below one that is not looked into further, where they hold files of data."""
    for name in contents.folders:
        count, example, is_whole = count_data(contents.path / name)
        if example is not None:
            files = f"{count:,} file{'s' * (count > 1)} of data, such as {Path(name, example)}"
            files = files if is_whole else f"at least {files}"
            yield f"{place / name}: {files}, below the folders that are searched; {_ADD} {quote(str(place / name))}"
        elif not is_whole:
            yield f"{place / name}: too many files to search them all; {_ADD} and a glob if there is data"


def _together(lakes: Sequence[FolderFiles]) -> Sequence[FolderFiles]:
    """Return the Delta tables of one folder as one source."""
    if len(lakes) < 2:
        return lakes
    around = Path(lakes[0].pattern).parent
    return [FolderFiles(str(around / "*"), around.name or "delta", is_delta=True)]


def _looked_into(path: Path) -> Iterator[str | None]:
    """Yield the folder itself as None, and the folders below it unless it is one table."""
    yield None
    with suppress(OSError):  # reported for the folder itself
        contents = Folder.of(path)
        yield from () if contents.is_table else contents.folders


def _around(pattern: str) -> str:
    return next((part for part in reversed(Path(pattern).parts[:-1]) if not set(part) & set("*?[")), "")


def _files(files: FolderFiles, folder: Path, working: Path) -> SourceLocation:
    name, pattern = _word(files.word) or "files", files.pattern
    if not Path(pattern).is_absolute():
        pattern = relpath(Path(escape(str(working))) / pattern, escape(str(folder)))
    if files.is_delta:
        return SourceLocation(name, {"delta": pattern}, SourceSpec(name=name, base=working, delta=files.pattern))
    entry = {"files": pattern, **({} if files.table is None else {"table": files.table})}
    return SourceLocation(name, entry, SourceSpec(name=name, base=working, files=files.pattern, table=files.table))


def _database(path: str, folder: Path, working: Path) -> SourceLocation:
    engine = engine_of(working / path)
    return _address(f"{engine}:///{path_in_url(path)}", folder, working)


def _address(source: str, folder: Path, working: Path) -> SourceLocation:
    url = source.removeprefix(_CATALOGUE)
    parts, key = urlsplit(url), "url" if url == source else "iceberg"
    engine = parts.scheme.split("+")[0]
    if engine in {"sqlite", "duckdb"}:
        file = unquote(url.partition(":///")[2])
        name = _word(Path(file).stem) or engine
        beside = file if Path(file).is_absolute() else relpath(working / file, folder)
        return _addressed(name, url, f"{engine}:///{path_in_url(beside)}", working, key=key)
    name = _word(parts.path.strip("/").rpartition("/")[2]) or engine
    if parts.password is None:
        return _addressed(name, url, url, working, key=key)
    variable = f"{name}_password".upper().replace("-", "_")
    hidden = url.replace(f":{parts.password}@", f":${{{variable}}}@", 1)
    return _addressed(name, url, hidden, working, key=key, variable=variable)


def _addressed(
    name: str, typed: str, written: str, working: Path, *, key: str, variable: str | None = None
) -> SourceLocation:
    place: dict[str, Any] = {"url": typed} if key == "url" else {"iceberg": IcebergCatalog(uri=typed)}
    return SourceLocation(name, {key: written}, SourceSpec(name=name, base=working, **place), variable)


def _word(text: str) -> str:
    return re.sub("[^A-Za-z0-9]+", "-", text).strip("-").lower()
