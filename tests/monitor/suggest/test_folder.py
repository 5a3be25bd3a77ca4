"""Finding tables among whatever else a folder holds."""

import os
from pathlib import Path

import duckdb
import pytest

from monitor.suggest.folder import Folder, FolderFiles, count_data, engine_of
from monitor.suggest.sources import source_locations


def _fill(folder: Path, *names: str) -> Folder:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if not name.endswith("/"):
            (folder / name).write_text("id\n1\n", encoding="utf-8")
    return Folder.of(folder)


@pytest.mark.parametrize(
    ("names", "patterns"),
    [
        (["dt=1/a.csv", "dt=2/b/a.csv", "_SUCCESS", ".x/y.csv"], {"**/*.csv": "lake"}),
        (["part-0.csv", "part-1.csv", "README.md"], {"**/*.csv": "lake"}),
        (["dt=1/a.csv", "README.md"], {"dt=*/**/*.csv": "lake"}),
        (["dt=1/a.csv", "customers.csv"], {"dt=*/**/*.csv": "lake", "*.csv": None}),
        (["dt=1/a.csv", "shops/a.csv"], {"dt=*/**/*.csv": "lake"}),
        (["dt=1/a.csv", "[x]=1/a.csv", "z.md"], {"[[]x]=*/**/*.csv": "lake", "dt=*/**/*.csv": "lake"}),
        (["dt=1/a.csv", "dt=2/a.parquet"], {"dt=*/**/*.csv": "lake", "dt=*/**/*.parquet": "lake"}),
        (["part-0.csv", "customers.csv"], {"*.csv": None}),
        (["a.csv.gz", "b.tsv", "c.tsv.gz", "d.json"], {"*.csv.gz": None, "*.tsv": None, "*.tsv.gz": None}),
        (["dt=1/a.csv.gz", "dt=2/a.csv.gz"], {"**/*.csv.gz": "lake"}),
        (["A.CSV", "b.csv", "_c.csv", "D.Tsv.GZ"], {"*.CSV": None, "*.csv": None, "*.Tsv.GZ": None}),
        (["_c.csv"], {"*.csv": None}),
        (["dt=1/A.CSV", "dt=2/A.CSV"], {"**/*.CSV": "lake"}),
        (["Orders.csv", "orders.csv", "we[ir]d.csv", "Orders.parquet"],
         {"Orders.csv": None, "orders.csv": None, "we[[]ir]d.csv": None, "*.parquet": None}),
        (["dt=1/notes.txt", "x.csv/", "a=b.txt"], {}),
        ([], {}),
    ],
)  # fmt: skip
def test_what_is_one_table_and_what_is_a_table_each(tmp_path: Path, names: list[str], patterns: dict[str, str]) -> None:
    """Parts of a table are one table; what lies beside them neither joins them nor is lost."""
    found = list(_fill(tmp_path / "lake", *names, ".keep").sources())
    assert {one.pattern: one.table for one in found} == patterns


def test_of_a_large_folder_only_the_first_names_are_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was found until then is reported as at least that, or that there are too many files, with what to do."""
    _fill(tmp_path, *(f"in/a/{at}/{kind}" for at in range(4) for kind in ("x.csv", "y.txt")))
    _fill(tmp_path, *(f"in/c/{at}/y.txt" for at in range(4)))
    assert count_data(tmp_path / "in" / "a") == (4, "0/x.csv", True)
    monkeypatch.setattr("monitor.suggest.folder._MOST_NAMES", 6)
    assert count_data(tmp_path / "in" / "a") == (1, "0/x.csv", False)
    of_data, of_others = source_locations(None, tmp_path, tmp_path).not_searched
    assert of_data.startswith("in/a: at least 1 file of data, such as a/0/x.csv, below the folders")
    assert of_others == "in/c: too many files to search them all; add it by --source and a glob if there is data"


def test_files_that_are_not_read_are_named_with_what_to_do(tmp_path: Path) -> None:
    """One line for each remedy; neither documents and code nor folders are named."""
    names = ("b.xlsx", "A.XLS", "x.ods", "r.jsonl", "log.txt", "old.parquet.gz", "shop.db3", "backup.zip")
    folder = _fill(tmp_path, *names, "README.md", "run.py", "d.xlsx/", "shop.db", ".hidden.xlsx", "t.csv")
    assert sorted(folder.unread) == [
        "A.XLS and 2 such files more: not read; export each sheet as CSV",
        "backup.zip: not read; if it holds tables, unpack it",
        "log.txt: not read; if it is a table, name it .csv",
        "old.parquet.gz: not read; write it as .parquet",
        "r.jsonl: not read; write it as Parquet or CSV",
        "shop.db3: not read; if it is a database, add it by --source sqlite:///FILE or duckdb:///FILE",
    ]


def test_a_folder_goes_before_its_patterns(tmp_path: Path) -> None:
    """Each pattern says where its files lie, in what the caller has escaped."""
    assert list(_fill(tmp_path / "[x]", "a.csv").sources("[[]x]/")) == [FolderFiles("[[]x]/*.csv", "[x]")]


def test_a_folder_that_ends_like_a_database_is_none(tmp_path: Path) -> None:
    """Only files are databases; a link that leads nowhere is none."""
    folder = _fill(tmp_path, "old.db/", "new.db", "NEW.DB")
    (tmp_path / "gone.db").symlink_to(tmp_path / "nowhere")
    assert Folder.of(tmp_path).databases == folder.databases == ["NEW.DB", "new.db"]


def test_a_database_is_of_the_engine_that_wrote_it(tmp_path: Path) -> None:
    """A file of DuckDB may be named `.db`, as its documentation does; what neither wrote is reported by its name."""
    duckdb.connect(str(tmp_path / "a.db")).close()
    _fill(tmp_path, "b.db", "c.duckdb")
    names = ("a.db", "b.db", "c.duckdb", "none.db")
    assert [engine_of(tmp_path / name) for name in names] == ["duckdb", "sqlite", "duckdb", "sqlite"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every folder")
def test_a_folder_that_may_not_be_read_is_an_error(tmp_path: Path) -> None:
    """The caller tells it and goes on."""
    tmp_path.chmod(0)
    with pytest.raises(PermissionError):
        Folder.of(tmp_path)


def test_what_is_found_is_what_duckdb_reads(tmp_path: Path) -> None:
    """The patterns of a mixed folder cover each file once."""
    found = _fill(tmp_path, "dt=1/a.csv", "dt=1/h=2/a.csv", "customers.csv", "x.md").sources()
    counted = [duckdb.sql(f"SELECT count(*) FROM read_csv('{tmp_path}/{one.pattern}')").fetchall() for one in found]
    assert sorted(counted) == [[(1,)], [(2,)]]
