"""What a person declares about a source, and where its URL leads."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from os import R_OK, access
from os.path import lexists
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from sources._contract import PermissionDenied, Unreachable


@dataclass(frozen=True, slots=True)
class CsvOptions:
    """How CSV files are written, where DuckDB's detection is not enough.

    `types`: DuckDB's type by column name. `header`: whether the first line names the columns; None means that it does.
    `null_values`: further texts that stand for NULL, beside the empty one. `quoted_nulls`: whether they do in quotes
    too. `encoding`: of files without a byte order mark, UTF-8 by default. `quote`, `escape`: of cells, `"` and a
    doubled quote by default. `skip_lines`: lines before the header. `date_format`, `timestamp_format`: as for strptime;
    without them only dates that begin with the year are dates. `strict`: whether a row of another length than the first
    makes the file unreadable; else a column `ragged` marks such rows, of which cells that lack are NULL and more are
    cut.
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
    `unset`: what is missing to open it, a variable or a file; the place still names it.
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
    unset: str | None = None

    def __post_init__(self) -> None:
        places = (self.files, self.delta, self.iceberg, self.url, self.spark, self.frames)
        if sum(place is not None for place in places) + self.external != 1:
            raise ValueError(f"source '{self.name}' has exactly one of files, delta, iceberg, url, spark, external")
        if self.table is not None and self.files is None:
            raise ValueError(f"source '{self.name}': 'table' goes with 'files' only")

    @property
    def place(self) -> str:
        """Return where its tables lie, without the credentials of an address."""
        catalogue = None if self.iceberg is None else self.iceberg.uri
        address = urlsplit(self.url or self.spark or catalogue or "")
        server = (address.scheme, address.netloc.rpartition("@")[2], address.path.partition(";")[0])
        return repr((server, str(self.base), self.files, self.delta, self.iceberg, self.table))


def scheme_of(url: str) -> str:
    """Return what stands before `://`, empty if nothing does; the rest may be anything and is not looked at."""
    match = re.match(r"([A-Za-z][A-Za-z0-9+.-]*)://", url)
    return match[1].lower() if match else ""


def login_in_words(url: str, *, user: str | None, host: str | None) -> str:
    """Return `; user 'crm', host 'db.example.org'` for the message of a refused connection.

    Nothing where an `@` stands anywhere but before the host: a password that is not quoted may hold it, and a part of
    that password be taken for the host.
    """
    try:
        is_plain = url.count("@") == urlsplit(url).netloc.count("@") <= 1
    except ValueError:
        is_plain = False
    parts = {"user": user, "host": host} if is_plain else {}
    text = ", ".join(f"{name} '{value}'" for name, value in parts.items() if value)
    return f"; {text}" if text else ""


def path_in_url(path: str) -> str:
    """Return a path as it stands in a URL; letters that are not ASCII stay readable."""
    return "".join(quote(letter) if letter.isascii() else letter for letter in path)


def is_file(path: Path) -> bool:
    """Check whether a path leads to a file; one that no file system takes, such as of 256 letters, does not."""
    try:
        return path.is_file()
    except OSError:
        return False


def file_of(spec: SourceSpec, url: str | None = None) -> Path:
    """Return the existing file of a `sqlite:///` or `duckdb:///` URL; a relative path belongs to the source's base.

    Without `url` it is that of the source.

    Raises:
        Unreachable: it names no file, or a missing one; it is never created.
        PermissionDenied: this user may not read it.
    """
    parts = urlsplit(url or spec.url or "")
    if parts.netloc or parts.query or parts.fragment or not parts.path.strip("/"):
        marks = "a ? or # of its name as %3F or %23"
        expected = f"{parts.scheme}:///FOLDER/FILE, without host and options, {marks}"
        raise Unreachable(f"source '{spec.name}': its URL has no file path; expected {expected}")
    path = spec.base / unquote(parts.path.removeprefix("/"))
    if not is_file(path):
        text = "is not a file" if lexists(path) else "does not exist"
        raise Unreachable(f"source '{spec.name}': '{path}' {text}; expected an existing database file")
    if not access(path, R_OK):
        raise PermissionDenied(
            f"source '{spec.name}': '{path}' cannot be read: permission denied; check the permissions of the file"
        )
    return path.resolve()
