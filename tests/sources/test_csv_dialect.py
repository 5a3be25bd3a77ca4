"""No value in a CSV file that is read blindly changes how any other row is read."""

import csv
import gzip
import io
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sources import CsvOptions, QueryFailed, SourceSpec, open_source
from tests.tiers import examples


def read(folder: Path, files: str = "t.csv", **said: Any) -> list[dict[str, Any]]:
    """Read a table blindly."""
    with open_source(SourceSpec("s", folder, files=files, blind=True, **said)) as source:
        return [dict(row) for row in source.fetch(source.compile(source.table(source.tables()[0])))]


def written(rows: list[list[Any]], delimiter: str = ",", end: str = "\r\n") -> bytes:
    """Write a table as CSV; up to Python 3.12 some line ends are only quoted where all is."""
    text = io.StringIO(newline="")
    quoting = csv.QUOTE_MINIMAL if end == "\r\n" else csv.QUOTE_ALL
    csv.writer(text, delimiter=delimiter, lineterminator=end, quoting=quoting).writerows(rows)
    return text.getvalue().encode()


@settings(max_examples=examples(80), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    cell=st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=8)
    | st.text("a\",;\r\n\t|#' ", max_size=12),
    place=st.integers(0, 3),
    end=st.sampled_from(["\r\n", "\n"]),
)
@example(cell='";"', place=0, end="\n")
@example(cell="\r", place=1, end="\n")
@example(cell="2026-01-01", place=0, end="\r\n")
def test_one_cell_changes_no_other_row(tmp_path: Path, cell: str, place: int, end: str) -> None:
    """Whatever a cell holds, all other rows are read as before, and there are as many."""
    rows = [["1", "x"], ["2", ""], ["3", "é;é"], ["4", 'a "b"']]
    (tmp_path / "t.csv").write_bytes(written([["id", "note"], *rows], end=end))
    before = read(tmp_path)
    rows[place][1] = cell
    (tmp_path / "t.csv").write_bytes(written([["id", "note"], *rows], end=end))
    after = read(tmp_path)
    assert len(after) == len(before) == 4
    assert [row for row in after if row["id"] != str(place + 1)] == [
        row for row in before if row["id"] != str(place + 1)
    ]
    assert after[place]["id"] == str(place + 1)


@pytest.mark.parametrize("line", ["2", "2,3,4,5", '2,"3', "2,3"])
def test_a_row_of_another_length_is_still_one_row(tmp_path: Path, line: str) -> None:
    """Cells that are missing are NULL, those that are too many are left out; a quote that stays open takes the rest."""
    (tmp_path / "t.csv").write_text(f"a,b\n1,x\n{line}\n", encoding="utf-8")
    first, second = read(tmp_path)
    assert (first, second["a"]) == ({"a": "1", "b": "x"}, "2")


def test_numbers_and_days_stay_texts(tmp_path: Path) -> None:
    """No type is guessed, and declared ones are left: a column of numbers is read as it is written."""
    (tmp_path / "t.csv").write_text("a,b\n007,2026-01-01\n1e3,\n", encoding="utf-8")
    types = CsvOptions(types={"a": "INTEGER"})
    assert read(tmp_path, csv=types) == [{"a": "007", "b": "2026-01-01"}, {"a": "1e3", "b": None}]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_header_alone_shows_the_delimiter(tmp_path: Path, delimiter: str) -> None:
    """What parts the names in the header parts the cells of all rows, whatever these hold."""
    (tmp_path / "t.csv").write_bytes(written([["a", "b"], ["1,2;3\t4|5", "x"]], delimiter=delimiter))
    assert read(tmp_path) == [{"a": "1,2;3\t4|5", "b": "x"}]


def test_a_declared_delimiter_holds(tmp_path: Path) -> None:
    """What is declared to part cells does, in files without a header too, whose columns are counted from 0."""
    (tmp_path / "t.csv").write_text("a,1;b\n", encoding="utf-8")
    said = CsvOptions(delimiter=";", header=False)
    assert read(tmp_path, csv=said) == [{"column0": "a,1", "column1": "b"}]
    assert read(tmp_path, csv=CsvOptions(header=False)) == [{"column0": "a", "column1": "1;b"}]


def test_names_that_come_again_or_are_missing_get_others(tmp_path: Path) -> None:
    """Two columns of one name, and one without any, can be distinguished."""
    (tmp_path / "t.csv").write_text("\ufeffid,,ID\n1,2,3\n", encoding="utf-8")
    assert read(tmp_path) == [{"id": "1", "column1": "2", "ID_1": "3"}]


def test_files_with_other_columns_are_one_table(tmp_path: Path) -> None:
    """Files are put together by name, compressed ones too; what a file does not have is NULL."""
    (tmp_path / "a.csv").write_text("id,x\n1,2\n", encoding="utf-8")
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(b"y;id\n3;4\n"))
    (tmp_path / "c.csv").write_text("id,x\n5,6\n", encoding="utf-8")
    found = read(tmp_path, files="*.csv*", table="t")
    assert sorted(found, key=lambda row: row["id"]) == [
        {"id": "1", "x": "2", "y": None},
        {"id": "4", "x": None, "y": "3"},
        {"id": "5", "x": "6", "y": None},
    ]


def test_words_for_null_are_null(tmp_path: Path) -> None:
    """Texts that are declared to stand for NULL do."""
    (tmp_path / "t.csv").write_text("a,b\nNA,x\n,NA\n", encoding="utf-8")
    assert read(tmp_path, csv=CsvOptions(null_values=("NA",))) == [{"a": None, "b": "x"}, {"a": None, "b": None}]


def test_a_row_without_a_value_is_a_row(tmp_path: Path) -> None:
    """In a table of one column NULL is an empty line; it is counted wherever it stands."""
    for text in ("a\n\n1\n2\n", "a\n1\n\n2\n", "a\n1\n2\n\n"):
        (tmp_path / "t.csv").write_text(text, encoding="utf-8")
        assert len(read(tmp_path)) == 3


@pytest.mark.parametrize("content", [b"", b"a,b\n1,\xff\n"])
def test_what_is_no_csv_in_utf_8_is_not_read(tmp_path: Path, content: bytes) -> None:
    """A file without a header, or with bytes that are no UTF-8, fails, in words without a value."""
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(QueryFailed, match="source 's'"):
        read(tmp_path)


def test_a_file_with_long_rows_is_read(tmp_path: Path) -> None:
    """A row of some megabytes, at which DuckDB gives up by itself, does not stop the others."""
    (tmp_path / "t.csv").write_bytes(written([["a", "b"], ["1", "x" * 3_000_000], ["2", "y"]]))
    assert [row["a"] for row in read(tmp_path)] == ["1", "2"]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("other", ["2026-11-21", "unknown", "7", "2026-11-21 10%3A00%3A00"])
def test_no_folder_changes_how_the_names_of_others_are_read(tmp_path: Path, kind: str, other: str) -> None:
    """What a folder says is a text: one that is no date does not change what another one, which is, is taken for."""
    for day in ("2026-1-2", other):
        (tmp_path / f"day={day}").mkdir()
        duckdb.sql("SELECT 1 AS id").write_csv(str(tmp_path / f"day={day}" / "part.csv"))
        duckdb.sql("SELECT 1 AS id").write_parquet(str(tmp_path / f"day={day}" / "part.parquet"))
    found = read(tmp_path, f"**/*.{kind}", table="days")
    assert {row["day"] for row in found} == {"2026-1-2", other.replace("%3A", ":")}
