"""A table is identified by what it is, in whatever words its source is written."""

import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from sources import SourceSpec, is_same_table, table_identity
from sources._identity import _address


def _files(base: Path, files: str, table: str | None = None) -> SourceSpec:
    return SourceSpec(name="files", base=base, files=files, table=table)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with two files of people, one of orders, a link to the folder, and a hard link."""
    for name in ("people_1", "people_2", "orders"):
        (tmp_path / f"{name}.csv").write_text("a\n1\n", encoding="utf-8")
    (tmp_path / "link").symlink_to(tmp_path)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "folk.csv").hardlink_to(tmp_path / "people_1.csv")
    return tmp_path


@pytest.mark.parametrize(
    ("files", "table", "relation", "same"),
    [
        ("people*.csv", "people", "people", True),
        ("*.csv", None, "people_1", True),
        ("*.csv", None, "PEOPLE_1", True),
        ("./other/../people_1.csv", None, "people_1", True),
        ("link/people_1.csv", None, "people_1", True),
        ("other/folk.csv", None, "folk", True),
        ("people_2.csv", None, "people_2", False),
        ("*.csv", None, "orders", False),
        ("nothing/*.csv", "people", "people", False),
    ],
)
def test_files_are_known_by_path_and_inode(
    folder: Path, files: str, table: str | None, relation: str, same: bool
) -> None:
    """Globs, links and relative paths that lead to a file, and some of its files, are the same table."""
    this = table_identity(_files(folder, str(folder / "people_1.csv")), "people_1")
    assert is_same_table(this, table_identity(_files(folder, files, table), relation)) is same


def test_a_renamed_file_keeps_its_inode_and_another_one_in_its_place_its_path(folder: Path) -> None:
    """Both are the table that was there before; a third file is not."""
    before = table_identity(_files(folder, "people_1.csv"), "people_1")
    (folder / "people_1.csv").rename(folder / "moved.csv")
    (folder / "people_1.csv").write_text("a\n2\n", encoding="utf-8")
    assert is_same_table(before, table_identity(_files(folder, "moved.csv"), "moved"))
    assert is_same_table(before, table_identity(_files(folder, "people_1.csv"), "people_1"))
    assert not is_same_table(before, table_identity(_files(folder, "people_2.csv"), "people_2"))


def _url(base: Path, url: str) -> SourceSpec:
    return SourceSpec(name="database", base=base, url=url)


def test_tables_of_sqlite_are_known_by_file_and_name_through_views(tmp_path: Path) -> None:
    """A view of a view is the table behind it; two tables of one file are two."""
    with closing(sqlite3.connect(tmp_path / "a.db")) as connection:
        connection.executescript(
            "CREATE TABLE people (a); CREATE TABLE wards (a); CREATE VIEW some AS SELECT * FROM main.people;"
            'CREATE VIEW few AS SELECT a FROM "some" WHERE a > 1'
        )
    (tmp_path / "link.db").symlink_to(tmp_path / "a.db")
    this = table_identity(_url(tmp_path, "sqlite:///a.db"), "people")
    for url, relation, same in (
        (f"sqlite:///{tmp_path}/link.db", "People", True),
        ("SQLite:///./a.db", "main.people", True),
        ("sqlite:///a.db", "few", True),
        ("sqlite:///a.db", "wards", False),
        ("sqlite:///b.db", "people", False),
    ):
        assert is_same_table(this, table_identity(_url(tmp_path, url), relation)) is same, (url, relation)


def test_a_view_of_duckdb_that_reads_a_file_is_that_file(tmp_path: Path) -> None:
    """The same records, whichever source reads them."""
    (tmp_path / "people.csv").write_text("a\n1\n", encoding="utf-8")
    with duckdb.connect(str(tmp_path / "a.duckdb")) as connection:
        connection.execute(f"CREATE VIEW people AS SELECT * FROM read_csv('{tmp_path}/p*.csv')")
        connection.execute(f"CREATE VIEW short AS SELECT * FROM '{tmp_path}/people.csv'")
        connection.execute("CREATE TABLE wards AS SELECT 1 AS a")
    this = table_identity(_files(tmp_path, "people.csv"), "people")
    found = {
        name: is_same_table(this, table_identity(_url(tmp_path, "duckdb:///a.duckdb"), name))
        for name in ("people", "short", "wards")
    }
    assert found == {"people": True, "short": True, "wards": False}


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("postgresql://me:x@LocalHost/crm", "postgres://you@127.0.0.1:5432/crm?sslmode=require", True),
        ("postgresql+psycopg://db.example.org./crm", "postgresql://DB.example.org:5432/crm", True),
        ("postgresql:///crm?host=/run/postgresql", "postgresql://localhost/crm", True),
        ("postgresql://db/crm", "postgresql://db:6432/crm", False),
        ("postgresql://db/crm", "postgresql://db/crm2", False),
        ("mysql://me@db/crm?charset=utf8", "mysql+pymysql://db:3306/crm", True),
        ("bigquery://p?dataset_id=a", "bigquery://p?dataset_id=b", False),
    ],
)
def test_a_url_is_normalised(one: str, other: str, same: bool) -> None:
    """Account, driver, default port, case of the host and options of the connection are not the table."""
    assert (_address(one) == _address(other)) is same


def test_postgresql_says_which_table_it_is(postgres_schema: str, tmp_path: Path) -> None:
    """Views, materialised views, partitions and a renamed table are the tables behind them; others are not."""
    import psycopg

    with psycopg.connect(postgres_schema, autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE people (a INTEGER); CREATE TABLE wards (a INTEGER); CREATE SCHEMA crm;"
            "CREATE VIEW few AS SELECT a FROM people WHERE a > 1; CREATE MATERIALIZED VIEW crm.kept AS TABLE few;"
            "CREATE TABLE parted (a INTEGER) PARTITION BY RANGE (a);"
            "CREATE TABLE part PARTITION OF parted FOR VALUES FROM (1) TO (9)"
        )

        def marks(relation: str) -> frozenset[str]:
            return table_identity(_url(tmp_path, postgres_schema), relation)

        this = marks("people")
        same = [
            name for name in ("public.people", "few", "crm.kept", "wards", "parted") if is_same_table(this, marks(name))
        ]
        assert same == ["public.people", "few", "crm.kept"]
        assert is_same_table(marks("parted"), marks("part"))
        connection.execute("ALTER TABLE people RENAME TO folk")
        other = f"{postgres_schema}?application_name=x".replace("postgresql://", "postgres://")
        assert is_same_table(this, table_identity(_url(tmp_path, other), "folk"))
