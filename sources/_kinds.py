"""Choose the kind of a source by what is declared, and load only that kind's engine."""

from typing import Final

from sources._contract import Source, Unreachable
from sources._spec import SourceSpec, scheme_of

_DIALECTS: Final = {"sqlite": "sqlite", "duckdb": "duckdb", "postgresql": "postgres", "postgres": "postgres"}


def open_source(spec: SourceSpec) -> Source:
    """Return the source that a spec declares; enter it to connect.

    Raises:
        Unreachable: the driver it needs is not installed.
    """
    try:
        return _of_its_kind(spec)
    except ImportError as error:
        missing = (error.name or "its driver").split(".")[0]
        extra = {"psycopg": "tablewatch[postgres]", "pyspark": "tablewatch[spark]"}.get(missing, missing)
        text = f"source '{spec.name}' needs {missing}, which cannot be imported; install '{extra}'"
        raise Unreachable(text) from None


def dialect_of(spec: SourceSpec) -> str:
    """Return sqlglot's name of the dialect of a source without loading its engine; `ansi` where only that knows it."""
    if spec.files is not None:
        return "duckdb"
    if spec.spark is not None:
        return "spark"
    return _DIALECTS.get(_scheme(spec), "ansi")


def _scheme(spec: SourceSpec) -> str:
    return scheme_of(spec.url or "").split("+")[0]


def _of_its_kind(spec: SourceSpec) -> Source:
    if spec.files is not None:
        from sources.files import Files

        return Files(spec)
    if spec.spark is not None:
        from sources.spark import Spark

        return Spark(spec)
    match _scheme(spec):
        case "sqlite":
            from sources.sqlite import Sqlite

            return Sqlite(spec)
        case "duckdb":
            from sources.duckdb_file import DuckdbFile

            return DuckdbFile(spec)
        case "postgresql" | "postgres":
            from sources.postgresql import Postgresql

            return Postgresql(spec)
    from sources.ibis_url import IbisUrl

    return IbisUrl(spec)
