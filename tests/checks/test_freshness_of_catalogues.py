"""The newest row by statistics, and the last write by the catalogue: two facts, none of them by a scan."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import ValidationError

from checks import Measurement, Outcome, PastMeasurement, Status, UnknownReason, Zones, judge
from checks.freshness import Freshness
from monitor.scan.measure import measure
from monitor.scan.planner import plan
from monitor.scan.results import Subject
from monitor.scan.sql_template import TimeLiterals
from sources import SourceSpec, open_source
from tests.checks.ask import NOW
from tests.sources.lake import LAKES, lake, write

HOUR = timedelta(hours=1)
SECONDS = pa.timestamp("us", "UTC")


def _answer(spec: SourceSpec, table: str, *, scans: bool = False, **parameters: Any) -> Outcome:
    check = Freshness.model_validate({"max_age": "1h", **parameters})
    with open_source(spec) as source:
        made = plan(Subject(table, table, (("f", check),), zones=Zones("Asia/Tokyo")), source)
        assert (made.fused is not None) == scans
        answer = measure(made, source, NOW, TimeLiterals(source))[0].answer
    assert not hasattr(answer, "segments")
    return answer if isinstance(answer, Outcome) else judge(check, answer)


def _parquet(folder: Path, *files: Any, **options: Any) -> SourceSpec:
    for number, column in enumerate(files):
        data = pa.table({"at": column, "n": pa.nulls(len(column), pa.int64())})
        pq.write_table(data, folder / f"{number}.parquet", row_group_size=2, **options)
    return SourceSpec("s", folder, files="*.parquet", table="orders")


def _times(*hours: float | None) -> pa.Array:
    return pa.array([None if ago is None else NOW - ago * HOUR for ago in hours], SECONDS)


@pytest.mark.parametrize(
    "files",
    [
        [_times(5, 3, 0.5, 9), _times(7, 8)],
        [_times(5, 3), _times(None, None, 0.5)],
        [_times(7), _times(), _times(0.5, None)],
        [pa.array([datetime(2026, 11, 20, 17, 45, 2)], pa.timestamp("ms")), pa.nulls(3, pa.timestamp("ms"))],  # noqa: DTZ001 - a wall clock of Tokyo
    ],
)
def test_footers_of_parquet_say_the_newest_row(tmp_path: Path, files: list[Any]) -> None:
    """Of all files and row groups, those without a value left out; as a scan says, and no statement is run."""
    spec = _parquet(tmp_path, *files)
    outcome = _answer(spec, "orders", column="at", time="catalogue")
    scanned = _answer(spec, "orders", column="at", scans=True)
    assert outcome.status is Status.PASS
    assert outcome.observed == scanned.observed
    assert outcome.observed["age_s"] == 1800


def test_dates_and_nanoseconds_of_parquet(tmp_path: Path) -> None:
    """A date is its midnight in the zone of the column."""
    (tmp_path / "dates").mkdir()
    spec = _parquet(tmp_path / "dates", pa.array([date(2026, 11, 20)]))
    assert _answer(spec, "orders", column="at", time="catalogue", max_age="19h").observed["newest"] == (
        "2026-11-19T15:00:00+00:00"
    )
    nanoseconds = int((NOW - HOUR).timestamp()) * 1_000_000_000 + 999
    spec = _parquet(tmp_path, pa.array([nanoseconds], pa.timestamp("ns", "UTC")))
    assert _answer(spec, "orders", column="at", time="catalogue").observed["age_s"] == 3600


@pytest.mark.parametrize(
    ("files", "options"),
    [
        ([_times(0.5), _times(3)], {"write_statistics": False}),
        ([_times(0.5), _times(3)], {"write_statistics": ["n"]}),
        ([pa.array(["2026-11-20"])], {}),
        ([pa.array([date(2026, 11, 20)]), _times(3)], {}),
    ],
)
def test_parquet_without_statistics_of_every_row_is_refused(
    tmp_path: Path, files: list[Any], options: dict[str, Any]
) -> None:
    """Nothing is guessed from a part of the files, from texts, or from mixed types."""
    outcome = _answer(_parquet(tmp_path, *files, **options), "orders", column="at", time="catalogue")
    assert (outcome.status, outcome.reason) == (Status.UNKNOWN, UnknownReason.MISCONFIGURED)


def test_a_row_in_the_future_hides_the_newest_row_before_it(tmp_path: Path) -> None:
    """Statistics say only the greatest value; a clock that is a little fast is tolerated."""
    (tmp_path / "skewed").mkdir()
    outcome = _answer(_parquet(tmp_path, _times(-2, 0.5)), "orders", column="at", time="catalogue")
    assert (outcome.status, outcome.reason) == (Status.UNKNOWN, UnknownReason.NO_DATA)
    skewed = _answer(_parquet(tmp_path / "skewed", _times(-0.05)), "orders", column="at", time="catalogue")
    assert skewed.status is Status.PASS


def test_no_value_is_no_data(tmp_path: Path) -> None:
    """Of an empty table and of one with nothing but NULL."""
    outcome = _answer(_parquet(tmp_path, _times(None, None), _times()), "orders", column="at", time="catalogue")
    assert (outcome.status, outcome.reason) == (Status.UNKNOWN, UnknownReason.NO_DATA)


def test_files_that_are_no_parquet_and_folders_that_are_columns_are_refused(tmp_path: Path) -> None:
    """CSV has no statistics; a column from the name of a folder has none either."""
    (tmp_path / "t.csv").write_text("at\n2026-11-20 09:00:00\n", encoding="utf-8")
    csv = _answer(SourceSpec("s", tmp_path, files="t.csv"), "t", column="at", time="catalogue")
    assert csv.reason is UnknownReason.MISCONFIGURED
    folder = tmp_path / "day=2026-11-20"
    folder.mkdir()
    _parquet(folder, _times(1))
    hive = SourceSpec("s", tmp_path, files="*/*.parquet", table="orders")
    assert _answer(hive, "orders", column="day", time="catalogue").reason is UnknownReason.MISCONFIGURED


@pytest.mark.parametrize("kind", LAKES)
def test_logs_and_manifests_say_the_newest_row_and_the_last_write(kind: str, tmp_path: Path) -> None:
    """Two facts: rows of yesterday that were written now are old rows of a table that was just written."""
    spec = lake(kind, tmp_path)
    for hours in (30, 26, None):
        write(kind, tmp_path, "orders", pa.table({"at": _times(hours, hours), "n": [1, 2]}))
    newest = _answer(spec, "orders", column="at", time="catalogue")
    scanned = _answer(spec, "orders", column="at", scans=True)
    assert newest.status is Status.FAIL
    assert newest.observed == scanned.observed
    written = _answer(spec, "orders", time="last_write", max_age="36500d")
    assert written.status is Status.PASS
    assert set(written.observed) == {"written", "age_s", "expected_age_s"}
    assert abs(datetime.fromisoformat(written.observed["written"]) - datetime.now(UTC)) < HOUR  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", LAKES)
def test_deleted_rows_are_not_the_newest(kind: str, tmp_path: Path) -> None:
    """Statistics of a file whose rows are marked as deleted elsewhere do not hold; those of rewritten files do."""
    spec = lake(kind, tmp_path)
    table = write(kind, tmp_path, "orders", pa.table({"at": _times(30, 0.5), "n": [1, 2]}))
    table.delete("n = 2")
    outcome = _answer(spec, "orders", column="at", time="catalogue")
    assert outcome.status is not Status.PASS


@pytest.mark.delta
def test_compaction_is_no_write(tmp_path: Path) -> None:
    """A commit that only rewrites files leaves the time of the last write as it was."""
    spec = lake("delta", tmp_path)
    for _ in range(2):
        table = write("delta", tmp_path, "orders", pa.table({"at": _times(1), "n": [1]}))
    before = _answer(spec, "orders", time="last_write", max_age="36500d").observed["written"]
    table.optimize.compact()
    assert table.history(1)[0]["operation"] == "OPTIMIZE"
    assert _answer(spec, "orders", time="last_write", max_age="36500d").observed["written"] == before


def test_engines_that_do_not_tell_say_so(tmp_path: Path) -> None:
    """Nothing is guessed: the check is misconfigured, and says what to do."""
    import duckdb

    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute("CREATE TABLE t AS SELECT TIMESTAMP '2026-11-20 09:00:00' AS at")
    spec = SourceSpec("s", tmp_path, url="duckdb:///t.duckdb")
    for parameters in ({"column": "at", "time": "catalogue"}, {"time": "last_write"}):
        outcome = _answer(spec, "t", **parameters)
        assert (outcome.status, outcome.reason) == (Status.UNKNOWN, UnknownReason.MISCONFIGURED)
        assert "'time: scan'" in str(outcome.message)


@pytest.mark.mysql
def test_mariadb_says_the_last_write(mysql_url: str, tmp_path: Path) -> None:
    """Of InnoDB too; a table that was not written since the server started has none."""
    from contextlib import closing

    from sources import mysql

    spec = SourceSpec("s", tmp_path, url=mysql_url)
    with closing(mysql.connect(mysql_url)) as connection:
        cursor = connection.cursor()
        for name in ("written", "untouched"):
            cursor.execute(f"CREATE TABLE {name} (a int) ENGINE=InnoDB")
        cursor.execute("INSERT INTO written VALUES (1)")
        try:
            outcome = _answer(spec, "written", time="last_write", max_age="36500d")
            never = _answer(spec, "untouched", time="last_write", max_age="36500d")
        finally:
            cursor.execute("DROP TABLE written, untouched")
    assert outcome.status is Status.PASS
    assert abs(datetime.fromisoformat(outcome.observed["written"]) - datetime.now(UTC)) < HOUR  # type: ignore[arg-type]
    assert (never.status, never.reason) == (Status.UNKNOWN, UnknownReason.NO_DATA)


@pytest.mark.parametrize(
    ("expected", "written", "text"),
    [
        (None, 0.5 * HOUR, "the table was last written 30 min ago"),
        (None, 2 * HOUR, "the table was last written 2 h ago, limit 1 h"),
        ({"start": "08:00", "timezone": "UTC"}, 26 * HOUR, "the table was not written for"),
        ({"by": "09:00", "timezone": "UTC"}, 26 * HOUR, "the table was last written"),
    ],
)
def test_a_write_is_called_a_write(expected: Any, written: timedelta, text: str) -> None:
    """No message about the last write says anything of the newest row, and the deadline is counted as usual."""
    check = Freshness.model_validate({"time": "last_write", "max_age": "1h", "expected": expected})
    outcome = judge(check, Measurement(NOW, {"written": NOW - written}))
    assert str(outcome.message).startswith(text)
    assert "row" not in str(outcome.message)
    assert "newest" not in outcome.observed
    assert (outcome.occurrence is not None) == (outcome.status is Status.FAIL)


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({}, "'time: scan' needs a 'column'"),
        ({"time": "catalogue"}, "'time: catalogue' needs a 'column'"),
        ({"time": "last_write", "column": "at"}, "'time: last_write' goes without a 'column'"),
        ({"time": "catalogue", "column": "at", "where": "n > 1"}, "is of whole tables"),
        ({"time": "catalogue", "column": "at", "by": "n"}, "is of whole tables"),
    ],
)
def test_what_a_catalogue_does_not_tell_is_refused(parameters: dict[str, Any], text: str) -> None:
    """When the configuration is read."""
    with pytest.raises(ValidationError, match=text):
        Freshness.model_validate({"max_age": "1h", **parameters})


def test_a_catalogue_that_counts_writes_says_when_the_last_was_seen() -> None:
    """It is the first run that saw it; before any was seen, and after the count began again, the check is unknown."""
    check = Freshness.model_validate({"time": "last_write", "max_age": "1d"})

    def run(at: datetime, writes: int, *pasts: PastMeasurement) -> Outcome:
        return judge(check, Measurement(at, {"written": None, "writes": writes}), pasts)

    def as_past(at: datetime, outcome: Outcome) -> PastMeasurement:
        return PastMeasurement(at, outcome.status, outcome.observed, in_span=True)

    first = run(NOW, 7)
    assert (first.reason, first.observed["writes"]) == (UnknownReason.NO_DATA, 7)
    history = [as_past(NOW, first)]
    assert run(NOW + HOUR, 7, *history).reason is UnknownReason.NO_DATA
    for hours, writes, age, status in ((2, 9, 0, Status.PASS), (20, 9, 18, Status.PASS), (30, 9, 28, Status.FAIL)):
        outcome = run(NOW + hours * HOUR, writes, *history)
        assert (outcome.status, outcome.observed["age_s"]) == (status, age * 3600)
        history.append(as_past(NOW + hours * HOUR, outcome))
    assert run(NOW + 31 * HOUR, 2, *history).reason is UnknownReason.NO_DATA
    assert run(NOW + 31 * HOUR, 10, *history).status is Status.PASS
