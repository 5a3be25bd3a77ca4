"""Untreated columns that identify records: counted in the engine, by name and number, never by value."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest

from checks.classes.tables import PersonColumn
from monitor.releases.disclosure import uniqueness
from monitor.releases.disclosure.table_ref import TableRef
from monitor.releases.disclosure.uniqueness import Uniqueness, UniqueRecords, find_uniqueness
from monitor.scan.results import Subject, Target
from sources import SourceSpec


def _frame(rows: int = 100) -> pd.DataFrame:
    numbers = range(rows)
    return pd.DataFrame(
        {
            "ticket": [f"T-{number}" for number in numbers],
            "row": [number // 10 for number in numbers],
            "seat": [number % 10 for number in numbers],
            "ward": ["a" if number else "z" for number in numbers],
            "pay": [50_000 + 100 * (number % 7) if number > 1 else 9_000_000 for number in numbers],
            "none": [None] * rows,
        }
    )


def _place(folder: Path, kind: str) -> TableRef:
    if kind == "sqlite":
        with closing(sqlite3.connect(folder / "t.db")) as connection:
            _frame().to_sql("t", connection, index=False)
        spec = SourceSpec(name="t", base=folder, url="sqlite:///t.db")
    else:
        _frame().to_parquet(folder / "t.parquet")
        spec = SourceSpec(name="t", base=folder, files="t.parquet")
    return TableRef(Target(Subject("t", "t", ()), spec))


@pytest.mark.parametrize("kind", ["parquet", "sqlite"])
def test_columns_that_identify_records_are_named_with_how_many(tmp_path: Path, kind: str) -> None:
    """Alone and in pairs, on every engine alike."""
    found = find_uniqueness(_place(tmp_path, kind), ["ticket", "row", "seat", "ward", "pay", "none", "gone"])
    assert found.rows == 100
    assert found.alone == [UniqueRecords(("ticket",), 100), UniqueRecords(("ward",), 1)]
    assert found.pairs[0] == UniqueRecords(("row", "seat"), 100)
    assert found.share(["ticket"]) == 1
    assert found.share(["ward", "seat"]) == 0.01
    assert "'ticket' identifies 100 of 100 records uniquely and is not treated" in found.warnings()
    assert "'row' and 'seat' together identify 100 of 100 records uniquely and are not treated" in found.warnings()
    assert not any("T-1" in said or "9000000" in said for said in found.warnings())


def test_outliers_are_counted_and_not_shown(tmp_path: Path) -> None:
    """How many values lie far outside the quartiles; a column of one value has none."""
    found = find_uniqueness(_place(tmp_path, "parquet"), ["pay", "seat", "ward", "none"])
    assert found.outliers == {"pay": 2}
    assert "'pay': 2 values are outliers, and the column is not treated" in found.warnings()
    (warning,) = Uniqueness(9, outliers={"pay": 1}).warnings()
    assert warning == "'pay': 1 value is an outlier, and the column is not treated"


def test_what_was_not_looked_at_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bound that is reached is no silence."""
    monkeypatch.setattr(uniqueness, "MOST_COLUMNS", 3)
    monkeypatch.setattr(uniqueness, "MOST_IN_PAIRS", 1)
    found = find_uniqueness(_place(tmp_path, "parquet"), ["row", "seat", "ward", "pay"])
    assert any("pay" in said for said in found.not_looked_at)
    assert any(said.startswith("pairs with seat, ward") for said in found.not_looked_at)
    monkeypatch.setattr(uniqueness, "MOST_ROWS_IN_PAIRS", 10)
    found = find_uniqueness(_place(tmp_path, "parquet"), ["row", "seat"])
    assert not found.pairs
    assert any("more than 10 rows" in said for said in found.not_looked_at)


def test_a_table_without_rows_identifies_nobody(tmp_path: Path) -> None:
    """And nothing is divided by zero."""
    _frame(0).to_parquet(tmp_path / "t.parquet")
    spec = SourceSpec(name="t", base=tmp_path, files="t.parquet")
    found = find_uniqueness(TableRef(Target(Subject("t", "t", ()), spec)), ["ticket", "row"])
    assert (found.rows, found.share(["ticket"]), list(found.warnings())) == (0, 0.0, [])


@pytest.mark.parametrize("kind", ["parquet", "sqlite"])
def test_a_column_is_counted_within_the_classes_too(tmp_path: Path, kind: str) -> None:
    """Ten rows and ten seats: no seat is alone, each is within its row; what classes identify already is not added."""
    place = _place(tmp_path, kind)
    found = find_uniqueness(place, ["seat", "ward", "none"], ["row"])
    assert found.within == [UniqueRecords(("seat",), 100)]
    assert (found.share(["seat"]), found.share(["none"])) == (1, 0)
    assert "'seat' together with the quasi-identifiers identifies 100 of 100 records uniquely and is not treated" in [
        *found.warnings()
    ]
    assert found.as_json()["within_classes"] == [{"column": "seat", "records": 100}]
    assert find_uniqueness(place, ["seat"], ["row", "ticket"]).within == []


@pytest.mark.parametrize("kind", ["parquet", "sqlite"])
def test_people_are_singled_out_not_their_rows(tmp_path: Path, kind: str) -> None:
    """Of ten people with ten rows each, all are found by their row, though no row is alone."""
    person = PersonColumn("row")
    found = find_uniqueness(_place(tmp_path, kind), ["row", "none"], ["none"], person)
    assert (found.rows, found.alone) == (10, [UniqueRecords(("row",), 10)])


@pytest.mark.parametrize("kind", ["parquet", "sqlite"])
def test_a_person_who_is_found_by_several_rows_is_counted_once(tmp_path: Path, kind: str) -> None:
    """Of ten people with ten tickets each, ten are found, not a hundred; within the classes as well."""
    place = _place(tmp_path, kind)
    found = find_uniqueness(place, ["ticket"], ["none"], PersonColumn("row"))
    assert (found.rows, found.alone) == (10, [UniqueRecords(("ticket",), 10)])
    found = find_uniqueness(place, ["pay"], ["seat"], PersonColumn("row"))
    assert all(item.records <= found.rows for item in (*found.alone, *found.within))


@pytest.mark.parametrize("kind", ["parquet", "sqlite"])
def test_an_identifier_that_does_not_repeat_tells_no_people(tmp_path: Path, kind: str) -> None:
    """Rows are counted by it, and people by those that repeat."""
    people, place = [PersonColumn(name, apart=True) for name in ("gone", "ticket", "row")], _place(tmp_path, kind)
    assert find_uniqueness(place, ["ward"], (), *people[:2]).rows == 100
    assert find_uniqueness(place, ["ward"], (), *people).rows == 10
