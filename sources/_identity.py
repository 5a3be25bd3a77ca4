"""Identify a table by what it is, not by the words of a source: its files, or its database and relation.

An identity is a set of marks, and two tables are the same table if they have a mark in common. A mark is a hash of one
fact that stays true when the source is written in other words:

    files       the resolved path of each file, and its inode: not the glob, link or relative path that leads there
    Delta       the same of its folder and of each Parquet file in it; of an object store, the address
    Iceberg     the file or address of the catalogue, with namespace and table, and the place where the table lies
    SQLite      path and inode of the database file, with the table; a view has the marks of the tables behind it
    DuckDB      as SQLite; a view that reads files has the marks of those files
    PostgreSQL  the cluster's system identifier with the object ids of database and table, and the normalised URL;
                views, materialised views and partitions have the marks of the tables behind them
    others      the normalised URL and the relation, without account, options and default port

A table that shares only some files with another one is the same table: it holds records of the same people. Not found:
a copy whose content differs, a foreign table, a view of another engine, one server under two addresses (except
PostgreSQL, which says which one it is).
"""

import os
import struct
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast
from urllib.parse import parse_qsl, unquote, urlsplit

from sources._contract import Source, SourceError
from sources._file_tables import delta_tables
from sources._names import quote_text
from sources._open import open_source
from sources._spec import IcebergCatalog, SourceSpec, scheme_of

if TYPE_CHECKING:
    from sources.iceberg import Iceberg

_SIZE: Final = 12
"""Bytes of a mark: two tables share one by chance with a probability of 2^-96 per pair."""
_GET_GENERATION: Final = 0x8008_7601
"""FS_IOC_GETVERSION of Linux: a number that differs when an inode is used again for another file."""
_PORTS: Final[Mapping[str, int]] = {
    "postgresql": 5432,
    "mysql": 3306,
    "mssql": 1433,
    "clickhouse": 8123,
    "trino": 8080,
    "oracle": 1521,
    "sc": 15002,
    "spark": 7077,
}
_SCHEMES: Final[Mapping[str, str]] = {"postgres": "postgresql", "mariadb": "mysql"}
_NAMING: Final = ("catalog", "database", "dataset", "dataset_id", "dbname", "http_path", "schema")
"""Options of a URL that say which database it is; all others say how it is reached."""
_LOCAL: Final = frozenset({"", "localhost", "127.0.0.1", "::1", "0:0:0:0:0:0:0:1"})
_DEFAULT_SCHEMA: Final[Mapping[str, str]] = {"postgresql": "public", "sqlite": "main", "duckdb": "main"}
_DEEPEST: Final = 32

_CLUSTER: Final = "SELECT system_identifier::text AS cluster FROM pg_control_system()"
_DATABASE: Final = "SELECT oid::text AS oid FROM pg_database WHERE datname = current_database()"
_BEHIND: Final = """
WITH RECURSIVE behind AS (
  SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE (c.relname = {name} AND pg_table_is_visible(c.oid)) OR (n.nspname || '.' || c.relname) = {name}
  UNION
  SELECT used.oid FROM behind b CROSS JOIN LATERAL (
    SELECT d.refobjid AS oid FROM pg_rewrite r JOIN pg_depend d ON d.objid = r.oid
    WHERE r.ev_class = b.oid AND d.classid = 'pg_rewrite'::regclass AND d.refclassid = 'pg_class'::regclass
    UNION ALL
    SELECT i.inhrelid FROM pg_inherits i WHERE i.inhparent = b.oid
  ) used
)
SELECT oid::text AS oid FROM behind
"""


def table_identity(spec: SourceSpec, relation: str, *, connect: bool = True) -> frozenset[str]:
    """Return the marks of a table; two tables are the same table if they have one in common.

    Args:
        spec: the source of the table.
        relation: its name in the source.
        connect: whether a database may be asked which tables are behind a view, and which server it is. Without that,
            and where it cannot be reached, a database is identified by its file or its URL alone.
    """
    return frozenset(_marks(spec, relation, connect=connect))


def _marks(spec: SourceSpec, relation: str, *, connect: bool) -> Iterator[str]:
    scheme = _scheme(spec.url or "")
    if spec.files is not None:
        yield from _of_files(_files_of(spec, relation))
    elif spec.delta is not None:
        yield from _of_delta(spec, relation)
    elif spec.iceberg is not None:
        yield from _of_iceberg(spec, spec.iceberg, relation, connect=connect)
    elif spec.spark is not None:
        yield _mark("spark", _spark_address(spec.spark), _plain_relation("spark", relation))
    elif spec.external:
        yield _mark("external", spec.name, _plain_relation("ansi", relation))
    elif scheme in {"sqlite", "duckdb"}:
        yield from _of_database_file(spec, scheme, relation, connect=connect)
    else:
        yield _mark("url", *_address(spec.url or ""), _plain_relation(scheme, relation))
        if scheme == "postgresql" and connect:
            yield from _of_postgresql(spec, relation)


def is_same_table(names: Iterable[str], other: Iterable[str]) -> bool:
    """Return whether two tables are the same, or share records: whether their identities have a mark in common."""
    return not set(names).isdisjoint(other)


def file_marks(path: Path | str) -> Iterator[str]:
    """Yield the marks of a file: of its resolved path, and of its inode where it exists."""
    resolved = os.path.realpath(path)
    yield _mark("path", resolved)
    with suppress(OSError):
        result = Path(resolved).stat()
        yield _mark("inode", result.st_dev, result.st_ino, _generation(resolved))


def _generation(path: str) -> int:
    """Return what tells an inode from an earlier use of its number; 0 where the file system does not say."""
    with suppress(ImportError, OSError, struct.error):
        import fcntl

        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            answer = fcntl.ioctl(number, _GET_GENERATION, bytes(8))
        finally:
            os.close(number)
        return int(struct.unpack_from("=I", answer)[0])
    return 0


def _of_files(paths: Iterable[Path | str]) -> Iterator[str]:
    for path in paths:
        yield from file_marks(path)


def _files_of(spec: SourceSpec, relation: str) -> Iterable[Path | str]:
    """Return the files of a table; where none is there, the words of the source with the table's name."""
    from sources._file_tables import table_files

    return table_files(spec, relation) or [spec.base / (spec.files or "") / relation]


def _of_delta(spec: SourceSpec, relation: str) -> Iterator[str]:
    place = spec.delta or ""
    if scheme_of(place):
        yield _mark("url", *_address(place.rstrip("/")))
        return
    folders = [folder for folder in delta_tables(spec.base, place) if folder.name == relation]
    for folder in folders or [spec.base / place / relation]:
        yield from _of_folder(folder)


def _of_folder(folder: Path) -> Iterator[str]:
    return _of_files([folder, *folder.rglob("*.parquet")])


def _of_iceberg(spec: SourceSpec, declared: IcebergCatalog, relation: str, *, connect: bool) -> Iterator[str]:
    name = relation if declared.namespace is None else f"{declared.namespace}.{relation.rpartition('.')[2]}"
    if declared.uri is not None and scheme_of(declared.uri) == "sqlite":
        path = spec.base / unquote(urlsplit(declared.uri).path.removeprefix("/"))
        yield from (_mark("iceberg", mark, name) for mark in file_marks(path))
    else:
        place = declared.catalog if declared.uri is None else _address(declared.uri)
        yield _mark("iceberg", place, name)
    if connect:
        with suppress(SourceError), open_source(spec) as source:
            location = cast("Iceberg", source).location(relation)
            at = location.removeprefix("file://")
            yield from _of_folder(Path(at)) if at.startswith("/") else [_mark("url", *_address(location))]


def _of_database_file(spec: SourceSpec, scheme: str, relation: str, *, connect: bool) -> Iterator[str]:
    path = spec.base / unquote(urlsplit(spec.url or "").path.removeprefix("/"))
    relations = {_plain_relation(scheme, relation)}
    if connect:
        with suppress(SourceError), open_source(spec) as source:
            behind, files = _behind_view(source, scheme, relation)
            relations |= {_plain_relation(scheme, name) for name in behind}
            yield from _of_files(files)
    for name in sorted(relations):
        yield from (_mark(scheme, mark, name) for mark in file_marks(path))


def _behind_view(source: Source, scheme: str, relation: str) -> tuple[set[str], set[str]]:
    """Return the tables that a view selects from, through other views too, and the files that it reads."""
    views = _views(source, scheme)
    texts: set[str] = set()
    files: set[str] = set()
    pending = [_plain_relation(scheme, relation)]
    for _ in range(_DEEPEST):
        results = [_selected(views[name], scheme) for name in pending if name in views]
        files |= {path for _, paths in results for path in paths}
        pending = [_plain_relation(scheme, name) for names, _ in results for name in names]
        pending = [name for name in pending if name not in texts]
        texts |= set(pending)
    return texts, files


def _views(source: Source, scheme: str) -> Mapping[str, str]:
    request = {
        "sqlite": "SELECT name, sql FROM sqlite_master WHERE type = 'view'",
        "duckdb": "SELECT schema_name || '.' || view_name AS name, sql FROM duckdb_views() WHERE NOT internal",
    }
    return {_plain_relation(scheme, str(row["name"])): str(row["sql"]) for row in source.fetch(request[scheme])}


def _selected(sql: str, scheme: str) -> tuple[set[str], set[str]]:
    """Return the tables that a view's text names, and the files that it reads."""
    from sqlglot import exp, parse_one
    from sqlglot.errors import SqlglotError

    try:
        tree = parse_one(sql, dialect=scheme)
    except SqlglotError:
        return set(), set()
    body = tree.args.get("expression") or tree
    names: set[str] = set()
    files: set[str] = set()
    for table in body.find_all(exp.Table):
        texts = [item.this for item in table.find_all(exp.Literal) if item.is_string]
        files |= {path for text in texts for path in _matching(text)} if scheme == "duckdb" else set()
        if table.name:
            names.add(".".join(part for part in (table.db, table.name) if part))
            files |= set(_matching(table.name)) if scheme == "duckdb" and "." in table.name else set()
    return names, files


def _matching(text: str) -> Iterable[str]:
    from sources._file_tables import table_files

    return map(str, table_files(SourceSpec(name="view", base=Path.cwd(), files=text, table="view"), "view"))


def _of_postgresql(spec: SourceSpec, relation: str) -> Iterator[str]:
    """Yield the marks that the server itself gives: they are the same under each of its addresses."""
    text = quote_text(relation)
    with suppress(SourceError), open_source(spec) as source:
        behind = [row["oid"] for row in source.fetch(_BEHIND.format(name=text))]
        (database,) = source.fetch(_DATABASE)
        try:
            (cluster,) = source.fetch(_CLUSTER)
            server = str(cluster["cluster"])
        except SourceError:  # not every user may ask; then the address says it
            server = repr(_address(spec.url or ""))
        yield from (_mark("postgresql", server, database["oid"], oid) for oid in behind)


def _scheme(url: str) -> str:
    result = scheme_of(url).split("+")[0]
    return _SCHEMES.get(result, result)


def _address(url: str) -> tuple[object, ...]:
    """Normalise a URL: scheme, host, port and database; without account, driver and how it is reached."""
    scheme, parts = _scheme(url), urlsplit(url)
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    try:
        host, port = parts.hostname or options.get("host", ""), parts.port
    except ValueError:  # several hosts, or a port that is none: the text is what there is
        host, port = parts.netloc.rpartition("@")[2].lower(), None
    text = str(port or options.get("port") or _PORTS.get(scheme, ""))
    place = "local" if host.lower().rstrip(".") in _LOCAL or host.startswith("/") else host.lower().rstrip(".")
    database = unquote(parts.path).strip("/") or options.get("dbname", "")
    naming = tuple((name, options[name]) for name in _NAMING if name != "dbname" and name in options)
    return scheme, place, text, database, naming


def _spark_address(address: str) -> object:
    if not scheme_of(address):
        return address.partition("[")[0].strip().lower()  # local[2] and local[4] are one catalogue
    return _address(address.partition(";")[0].rstrip("/"))


def _plain_relation(scheme: str, relation: str) -> str:
    """Normalise the name of a table: without the default schema, and in one case where the engine knows none."""
    name = relation if scheme == "postgresql" else relation.replace("`", "").replace('"', "").casefold()
    name = name.removeprefix("spark_catalog.").removeprefix("default.") if scheme == "spark" else name
    default = _DEFAULT_SCHEMA.get(scheme)
    return name if default is None else name.removeprefix(f"{default}.")


def _mark(kind: str, *facts: object) -> str:
    return blake2b(repr((kind, *facts)).encode("utf-8", "surrogatepass"), digest_size=_SIZE).hexdigest()
