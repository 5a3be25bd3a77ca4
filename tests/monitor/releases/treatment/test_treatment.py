"""Tables are recoded piece by piece where they live: nothing is lost between two readings, whatever a source gives."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from monitor.clock import SystemClock
from monitor.releases.disclosure.table_ref import TableRef
from monitor.releases.treatment.generalise_table import RecodingRequest, generalise_table
from monitor.releases.treatment.output import OutputColumns
from monitor.releases.treatment.table_reader import reading
from monitor.releases.treatment.top_bottom_coding import code_extremes
from monitor.scan.results import Subject, Target
from monitor.terminal.problem import ExitCode, Stop
from remedies import RowOrder, UtilityReport
from remedies.code import Code
from remedies.generalisation.recoded import Recodes
from remedies.generalise import Generalise
from sources import SourceSpec
from sources._engine import PIECE

LARGE = 2 * PIECE + 7


def _file(path: Path) -> TableRef:
    return TableRef(Target(Subject(path.name, "t", ()), SourceSpec("f", path.parent, files=path.name, table="t")))


def _recode(place: TableRef, remedy: Recodes, out: Path) -> UtilityReport:
    question = RecodingRequest.of(place, remedy, remedy.columns)
    leaving = OutputColumns(out, order=RowOrder.INPUT)
    return generalise_table(question, leaving, clock=SystemClock(), progress=lambda _: None)


def _generalise(**changes: Any) -> Generalise:
    words = {"columns": ("age",), "k": 5, "hierarchies": {"age": {"type": "intervals", "widths": [10]}}}
    return Generalise.model_validate(words | changes)


def test_tables_of_many_pieces(tmp_path: Path) -> None:
    """All rows come out, in their order, and those that are suppressed are missing wherever they lie."""
    frame = pd.DataFrame({"row": range(LARGE), "age": [row % 90 for row in range(LARGE)]})
    rare = [3, PIECE + 1, LARGE - 1]
    frame.loc[rare, "age"] = 1000
    frame.to_parquet(tmp_path / "in.parquet")
    bill = _recode(
        _file(tmp_path / "in.parquet"), _generalise(levels={"age": 1}, suppress="1%"), tmp_path / "out.parquet"
    )
    assert (bill.rows, bill.rows_suppressed) == (LARGE, 3)
    after = pq.read_table(tmp_path / "out.parquet").to_pandas()
    kept = frame.drop(index=rare)
    assert after["row"].tolist() == kept["row"].tolist()
    assert after["age"].tolist() == [f"{age // 10 * 10}-{age // 10 * 10 + 9}" for age in kept["age"]]


@pytest.mark.parametrize("change", ["value", "rows", "nothing left"])
def test_a_table_that_changed_between_two_readings_is_not_given_out(change: str, tmp_path: Path) -> None:
    """A new value has no level, and other rows were never counted."""
    path = tmp_path / "in.csv"
    path.write_text("age\n" + "30\n" * 9, encoding="utf-8")
    question = RecodingRequest.of(_file(path), _generalise(), ("age",))
    path.write_text({"value": "age\n" + "99\n" * 9, "rows": "age\n" + "30\n" * 8, "nothing left": "age\n"}[change])
    with pytest.raises(Stop, match="changed while it was processed") as caught:
        generalise_table(question, OutputColumns(tmp_path / "out.csv"), clock=SystemClock(), progress=lambda _: None)
    assert caught.value.code is ExitCode.NOT_EVALUATED
    assert [one.name for one in tmp_path.iterdir()] == ["in.csv"]


def test_types_of_sqlite(tmp_path: Path) -> None:
    """SQLite says one type and gives another, such as texts for times; in the end each column has one."""
    with closing(sqlite3.connect(tmp_path / "t.db")) as connection, connection:
        connection.execute("CREATE TABLE t (age INTEGER, at TIMESTAMP, born DATE, wage REAL, note TEXT, loose)")
        rows = [(30 + row % 2, "2024-01-01 10:00:00", "1980-02-03", row, f"n{row}", row) for row in range(10)]
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?)", rows)
    place = TableRef(Target(Subject("t", "t", ()), SourceSpec("s", tmp_path, url=f"sqlite:///{tmp_path}/t.db")))
    remedy = _generalise(
        columns=("age", "born"),
        hierarchies={"age": {"type": "flat"}, "born": {"type": "dates", "levels": ["year"]}},
        levels={"age": 0, "born": 1},
    )
    _recode(place, remedy, tmp_path / "out.parquet")
    found = duckdb.sql(
        f"SELECT DISTINCT age, \"at\"::VARCHAR, born, typeof(wage) FROM '{tmp_path}/out.parquet' ORDER BY age"
    )
    assert found.fetchall() == [(age, "2024-01-01 10:00:00", "1980", "DOUBLE") for age in (30, 31)]


def test_nan_and_null_are_two_values(tmp_path: Path) -> None:
    """Both are missing to a person, and two to an engine: a class of three of each is no class of six."""
    duckdb.sql(
        "COPY (SELECT CASE WHEN i < 3 THEN NULL WHEN i < 6 THEN 'nan'::DOUBLE ELSE 1.5 END AS age FROM range(12) t(i)) "
        f"TO '{tmp_path}/in.parquet'"
    )
    remedy = _generalise(hierarchies={"age": {"type": "flat"}}, levels={"age": 0}, suppress="60%", k=4)
    bill = _recode(_file(tmp_path / "in.parquet"), remedy, tmp_path / "out.parquet")
    assert bill.rows_suppressed == 6
    assert duckdb.sql(f"SELECT DISTINCT age FROM '{tmp_path}/out.parquet'").fetchall() == [(1.5,)]


def test_a_large_file_may_take_its_time(tmp_path: Path) -> None:
    """The limit of a query is for sources that others need too; a person who asks for a whole file waits for it."""
    (tmp_path / "in.csv").write_text("age\n30\n", encoding="utf-8")
    place = _file(tmp_path / "in.csv")
    hurried = replace(place.target, source=replace(place.target.source, query_timeout=timedelta(microseconds=1)))
    with reading(TableRef(hurried)) as (source, table):
        assert source.query_timeout > timedelta(hours=1)
        assert source.fetch(source.compile(table.count().name("n").as_table())) == [{"n": 1}]


def test_odd_names(tmp_path: Path) -> None:
    """A column may be called what counts are called, or have quotes in its name."""
    frame = pd.DataFrame({"count": [1] * 6, 'a "b"': ["x"] * 3 + ["y"] * 3, "count_": [2] * 6})
    frame.to_parquet(tmp_path / "in.parquet")
    columns = ("count", 'a "b"', "count_")
    remedy = _generalise(columns=columns, hierarchies={name: {"type": "flat"} for name in columns}, l={}, k=6)
    bill = _recode(_file(tmp_path / "in.parquet"), remedy, tmp_path / "out.parquet")
    assert bill.guarantee.reached["k"] == 6
    assert pq.read_table(tmp_path / "out.parquet").to_pandas()['a "b"'].tolist() == ["*"] * 6


@pytest.mark.parametrize("form", ["number", "label"])
@pytest.mark.parametrize("end", ["csv", "parquet"])
def test_coding_in_pieces_is_coding_at_once(form: str, end: str, tmp_path: Path) -> None:
    """Rows, bill and information lost are those of the whole frame, also where a piece holds nothing but NULL."""
    number = np.arange(LARGE)
    frame = pd.DataFrame(
        {
            "row": number,
            "age": pd.array(np.where(number // PIECE == 1, -1, number % 90), dtype="Int64"),
            "pay": np.where(number % 7 == 0, np.nan, number % 1000 / 8),
            "text": pd.Series((number % 50).astype(str)),
        }
    )
    frame.loc[frame["age"] == -1, "age"] = pd.NA
    frame.to_parquet(tmp_path / "in.parquet")
    remedy = Code.model_validate(
        {"top": {"age": 80, "pay": "100.5", "text": 40}, "bottom": {"age": 5, "text": 5}, "as": form}
    )
    out = tmp_path / f"out.{end}"
    leaving = OutputColumns(out, order=RowOrder.INPUT)
    bill = code_extremes(remedy, _file(tmp_path / "in.parquet"), leaving, progress=lambda _: None)
    wanted = remedy.apply(pq.read_table(tmp_path / "in.parquet").to_pandas(types_mapper=pd.ArrowDtype))
    assert bill.information_lost == pytest.approx(wanted.bill.information_lost)
    assert (bill.rows, bill.rows_changed, bill.cells_changed) == (LARGE, *_changes(wanted.bill))
    if end == "parquet":
        after = pq.read_table(out).to_pandas(types_mapper=pd.ArrowDtype)
        for name in frame:
            assert after[name].astype(object).fillna("none").tolist() == (
                wanted.frame[name].astype(object).fillna("none").tolist()
            )


def _changes(bill: UtilityReport) -> tuple[int, Any]:
    return bill.rows_changed, bill.cells_changed


def test_a_table_that_grew_is_not_coded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was counted is not what would be given out."""
    path = tmp_path / "in.csv"
    path.write_text("age\n" + "30\n" * 9, encoding="utf-8")
    check = Code.check

    def grows(remedy: Code, *seen: Any) -> None:
        check(remedy, *seen)
        path.write_text("age\n" + "30\n" * 10, encoding="utf-8")

    monkeypatch.setattr(Code, "check", grows)
    leaving = OutputColumns(tmp_path / "out.csv")
    with pytest.raises(Stop, match="changed while it was processed"):
        code_extremes(Code.model_validate({"top": {"age": 5}}), _file(path), leaving, progress=lambda _: None)
    assert [one.name for one in tmp_path.iterdir()] == ["in.csv"]
