"""Which kind of source a declaration leads to."""

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sources import CsvOptions, IcebergCatalog, SourceSpec, Unreachable, dialect_of, did_you_mean, open_source

_AT_ONCE = """
from pathlib import Path
from threading import Barrier, Thread
from sources import SourceSpec, open_source
start = Barrier(2)
def open_one(place):
    start.wait()
    print(type(open_source(SourceSpec("s", Path(), **place))).__name__)
threads = [Thread(target=open_one, args=[place]) for place in ({"files": "*.csv"}, {"url": "sqlite:///a.db"})]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""
HEAVY = ("ibis", "pandas", "duckdb", "sqlglot", "sqlite3", "psycopg", "pyspark", "numpy", "pyarrow")


@pytest.mark.parametrize(
    ("place", "kind"),
    [
        ({"files": "*.csv"}, "Files"),
        pytest.param({"delta": "lake/*"}, "Delta", marks=pytest.mark.delta),
        pytest.param({"iceberg": IcebergCatalog(uri="sqlite:///a.db")}, "Iceberg", marks=pytest.mark.iceberg),
        ({"url": "sqlite:///a.db"}, "Sqlite"),
        ({"url": "duckdb:///a.duckdb"}, "DuckdbFile"),
        ({"url": "DUCKDB:///a.duckdb"}, "DuckdbFile"),
        ({"url": "mssql://localhost/a"}, "IbisUrl"),
        ({"url": "a.duckdb"}, "IbisUrl"),
    ],
)
def test_the_kind_follows_from_what_is_declared(place: dict[str, Any], kind: str) -> None:
    """Files, SQLite, DuckDB and everything else each have a kind of their own."""
    spec = SourceSpec("s", Path(), **place)
    source = open_source(spec)
    assert (type(source).__name__, source.dialect) == (kind, dialect_of(spec))


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg"])
def test_postgresql_goes_by_several_names(scheme: str) -> None:
    """The schemes that people write for PostgreSQL all lead there."""
    spec = SourceSpec("s", Path(), url=f"{scheme}://localhost/a")
    source = open_source(spec)
    assert (type(source).__name__, source.dialect) == ("Postgresql", dialect_of(spec))


@pytest.mark.mysql_driver
@pytest.mark.parametrize("scheme", ["mysql", "mariadb", "mysql+pymysql"])
def test_mysql_goes_by_several_names(scheme: str) -> None:
    """The schemes that people write for MySQL and MariaDB all lead there."""
    spec = SourceSpec("s", Path(), url=f"{scheme}://localhost/a")
    source = open_source(spec)
    assert (type(source).__name__, source.dialect) == ("MySql", dialect_of(spec))


@pytest.mark.parametrize(
    ("module", "place", "told"),
    [
        (
            "MySQLdb",
            {"url": "mysql://u:canary@localhost/a"},
            r"the package MySQLdb is not installed: pip install 'tablewatch\[mysql\]'",
        ),
        (
            "psycopg",
            {"url": "postgresql://u:canary@localhost/a"},
            r"the package psycopg is not installed: pip install 'tablewatch\[postgres\]'",
        ),
        (
            "deltalake",
            {"delta": "lake/*"},
            r"the package deltalake is not installed: pip install 'tablewatch\[delta\]'",
        ),
        (
            "pyiceberg",
            {"iceberg": IcebergCatalog()},
            r"the package pyiceberg is not installed: pip install 'tablewatch\[iceberg\]'",
        ),
        (
            "pyspark",
            {"spark": "sc://localhost/;token=canary"},
            r"the package pyspark is not installed: pip install 'tablewatch\[spark\]'",
        ),
    ],
)
def test_a_missing_driver_says_what_to_install(
    module: str, place: dict[str, Any], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without its driver a source names the extra to install, and keeps the secret of its address."""
    for name in [name for name in sys.modules if name.split(".")[0] == module]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    for name in ("mysql", "postgresql", "spark", "delta", "iceberg"):
        monkeypatch.delitem(sys.modules, f"sources.{name}", raising=False)
    with pytest.raises(Unreachable, match=told) as caught:
        open_source(SourceSpec("s", Path(), **place))
    assert "canary" not in str(caught.value)


def test_importing_the_room_is_cheap() -> None:
    """No engine and no frame library is loaded before a source is opened."""
    script = f"import sys, sources; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_sources_of_two_kinds_may_be_opened_at_once() -> None:
    """The first two threads of a process that open a source do not see each other's half-imported engines."""
    done = subprocess.run([sys.executable, "-c", _AT_ONCE], check=True, capture_output=True, text=True)
    assert (sorted(done.stdout.split()), done.stderr) == (["Files", "Sqlite"], "")


@pytest.mark.parametrize(
    "place", [{}, {"files": "a", "url": "b"}, {"url": "a", "spark": "b"}, {"url": "a", "table": "t"}]
)
def test_a_source_is_in_exactly_one_place(place: dict[str, str]) -> None:
    """None or two of files, url and spark are refused, and a table's name goes with files only."""
    with pytest.raises(ValueError, match="source 's'"):
        SourceSpec("s", Path(), **place)  # type: ignore[arg-type]  # by name


def test_a_declaration_keeps_its_secret_and_travels() -> None:
    """A declaration shows no URL, and reaches a worker process as it is."""
    for spec in (
        SourceSpec("s", Path(), url="postgresql://u:canary@localhost/a"),
        SourceSpec("s", Path(), spark="sc://localhost/;token=canary"),
        SourceSpec("s", Path(), files="*.csv", csv=CsvOptions({"a": "DATE"})),
    ):
        assert "canary" not in repr(spec)
        assert pickle.loads(pickle.dumps(spec)) == spec  # noqa: S301 - our own bytes


def test_the_nearest_name_is_suggested() -> None:
    """A near name is suggested in its own spelling, a far one is not."""
    assert did_you_mean("emial", ["Email", "phone"]) == "; did you mean 'Email'?"
    assert did_you_mean("zzz", ["Email"]) == ""
    assert did_you_mean("a", []) == ""
