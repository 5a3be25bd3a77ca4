"""Rows that are not counted: what the catalogue says, and how far that may be off."""

from datetime import timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from checks import Measurement, Outcome, Status, UnknownReason, judge
from checks.volume import Volume
from monitor.scan.measure import measure
from monitor.scan.planner import plan
from monitor.scan.results import Subject
from monitor.scan.sql_template import TimeLiterals
from sources import SourceSpec, open_source
from tests.checks.ask import NOW, past

COUNTED_AT = NOW - timedelta(hours=2)


def _judged(check: Volume, rows: int, error: int, *history: Any) -> Outcome:
    values = {"rows": rows, "error": error, "counted_at": COUNTED_AT}
    return judge(check, Measurement(NOW, values), history)


@pytest.mark.parametrize(
    ("limits", "rows", "error", "status"),
    [
        ({"min": 100}, 120, 20, Status.PASS),
        ({"min": 100}, 120, 21, Status.UNKNOWN),
        ({"min": 100}, 90, 9, Status.FAIL),
        ({"min": 100}, 90, 10, Status.UNKNOWN),
        ({"max": 100}, 90, 10, Status.PASS),
        ({"max": 100}, 111, 10, Status.FAIL),
        ({"max": 100}, 110, 10, Status.UNKNOWN),
        ({"min": 100, "max": 110}, 105, 50, Status.UNKNOWN),
        ({"min": 100}, 100, 0, Status.PASS),
    ],
)
def test_an_estimate_within_its_error_of_a_limit_is_unknown(
    limits: dict[str, Any], rows: int, error: int, status: Status
) -> None:
    """It passes if every number within the error would, fails if each breaks the same limit, and is else unknown."""
    outcome = _judged(Volume(count="catalogue", **limits), rows, error)
    assert outcome.status is status
    assert outcome.observed["error"] == error
    assert outcome.observed["counted_at"] == COUNTED_AT.isoformat()


def test_an_estimate_is_compared_with_the_usual_number() -> None:
    """A share of the baseline is a limit like any other."""
    check = Volume(count="catalogue", min_ratio=0.5, weeks=1)
    history = past({"rows": 1000, "baseline": None}, timedelta(days=7))
    assert _judged(check, 600, 50, history).status is Status.PASS
    assert _judged(check, 600, 101, history).status is Status.UNKNOWN
    assert _judged(check, 400, 50, history).status is Status.FAIL


@pytest.mark.parametrize("other", [{"where": "a > 1"}, {"by": "a"}, {"column": "t", "window": "1d"}])
def test_a_catalogue_knows_whole_tables_only(other: dict[str, Any]) -> None:
    """No catalogue says how many rows fulfil a condition."""
    with pytest.raises(ValidationError, match="'count: catalogue' is of whole tables"):
        Volume(min=1, count="catalogue", **other)


def _asked(tmp_path: Any, url: str, table: str) -> Outcome:
    check = Volume(min=900, count="catalogue")
    with open_source(SourceSpec(name="s", base=tmp_path, url=url)) as source:
        made = plan(Subject(table, table, (("v", check),)), source)
        assert made.fused is None
        answer = measure(made, source, NOW, TimeLiterals(source))[0].answer
    assert not hasattr(answer, "segments")
    return answer if isinstance(answer, Outcome) else judge(check, answer)


def test_engines_that_keep_no_number_say_so(tmp_path: Any) -> None:
    """Where the catalogue has no number of rows, the check is misconfigured: nothing is guessed."""
    import duckdb

    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS a")
    outcome = _asked(tmp_path, "duckdb:///t.duckdb", "t")
    assert (outcome.status, outcome.reason) == (Status.UNKNOWN, UnknownReason.MISCONFIGURED)


@pytest.mark.postgres
def test_postgresql_says_what_analyze_found(postgres_url: str, tmp_path: Any) -> None:
    """Also of all partitions together; a table that was never analyzed has no number, and neither has a view."""
    import psycopg

    made = (
        "CREATE TABLE counted (a int) PARTITION BY RANGE (a)",
        "CREATE TABLE counted_1 PARTITION OF counted FOR VALUES FROM (0) TO (500)",
        "CREATE TABLE counted_2 PARTITION OF counted FOR VALUES FROM (500) TO (1000)",
        "INSERT INTO counted SELECT * FROM generate_series(0, 999)",
        "CREATE VIEW counted_view AS SELECT * FROM counted",
    )
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        for statement in made:
            connection.execute(statement)
        try:
            assert _asked(tmp_path, postgres_url, "counted").reason is UnknownReason.MISCONFIGURED
            connection.execute("SELECT pg_stat_force_next_flush()")
            connection.execute("ANALYZE counted")
            connection.execute("SELECT pg_stat_force_next_flush()")
            outcome = _asked(tmp_path, postgres_url, "counted")
            assert (outcome.status, outcome.observed["rows"]) == (Status.PASS, 1000)
            assert outcome.observed["error"] == 50
            assert outcome.observed["counted_at"] is not None
            assert _asked(tmp_path, postgres_url, "counted_view").reason is UnknownReason.MISCONFIGURED
        finally:
            connection.execute("DROP TABLE counted CASCADE")


@pytest.mark.mysql
def test_mysql_says_what_its_statistics_hold(mysql_url: str, tmp_path: Any) -> None:
    """Of InnoDB the number may be off by half, so it is unknown near a limit; Aria counts its rows."""
    from contextlib import closing

    from sources import mysql

    with closing(mysql.connect(mysql_url)) as connection:
        cursor = connection.cursor()
        for name, engine in (("sampled", "InnoDB"), ("exact", "Aria")):
            cursor.execute(f"CREATE TABLE {name} (a int) ENGINE={engine}")
            cursor.executemany(f"INSERT INTO {name} VALUES (%s)", [(number,) for number in range(1000)])
            connection.commit()
            cursor.execute(f"ANALYZE TABLE {name}")
            cursor.fetchall()
        try:
            assert _asked(tmp_path, mysql_url, "sampled").reason is UnknownReason.NO_DATA
            outcome = _asked(tmp_path, mysql_url, "exact")
            assert (outcome.status, outcome.observed["rows"], outcome.observed["error"]) == (Status.PASS, 1000, 0)
        finally:
            cursor.execute("DROP TABLE sampled, exact")
