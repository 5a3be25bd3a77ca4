"""The law of segments: a check with `by` says of each segment what it says of the table filtered to it."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from checks import Check, Outcome, SegmentedMeasurement, Zones, judge, load_catalog
from monitor.scan.measure import measure
from monitor.scan.planner import plan
from monitor.scan.results import Subject
from monitor.scan.sql_template import TimeLiterals
from sources import Source, SourceSpec, open_source
from tests.duckdb_rows import insert_rows
from tests.monitor.shop import NOW
from tests.tiers import examples

COLUMNS = {"country": "VARCHAR(9)", "shop": "INTEGER", "amount": "DECIMAL(9, 2)", "seen": "TIMESTAMP"}
COUNTRIES = ("JP", "US", "jp", "J'P", "東京", "", None)
SHOPS = (1, 2, None)
CHECKS: Mapping[str, Mapping[str, Any]] = {
    "not-null": {"type": "not_null", "columns": ["amount", "seen"], "max_ratio": 0.3, "warn": {"max_ratio": 0.1}},
    "volume": {"type": "volume", "min": 2, "max": 4},
    "volume-window": {"type": "volume", "min": 1, "column": "seen", "window": "1d"},
    "freshness": {"type": "freshness", "column": "seen", "max_age": "1d"},
    "metric": {"type": "metric", "aggregate": "sum", "column": "amount", "min": 0, "max": 100},
    "metric-mean": {"type": "metric", "aggregate": "mean", "column": "amount", "max": 40},
    "metric-share": {"type": "metric", "aggregate": "share", "column": "shop", "value": 1, "min": 0.4},
    "range": {"type": "range", "column": "amount", "min": -10, "max": 60, "where": "shop <> 2"},
    "range-times": {"type": "range", "column": "seen", "min": "2026-11-19"},
}
BY: Mapping[str, Sequence[str]] = {name: ["country"] for name in CHECKS} | {"metric": ["shop", "country"]}

rows = st.lists(
    st.tuples(
        st.sampled_from(COUNTRIES),
        st.sampled_from(SHOPS),
        st.one_of(st.none(), st.decimals(-50, 90, places=2)),
        st.one_of(st.none(), st.sampled_from([NOW - timedelta(hours=hours) for hours in (-2, 1, 20, 30, 90)])),
    ),
    max_size=14,
)


@dataclass
class Table:
    """A table of one engine that can be written again, and its source."""

    source: Source
    write: Any

    def fill(self, data: Sequence[Sequence[object]]) -> None:
        """Replace its rows."""
        self.write(
            [
                (country, shop, amount, None if at is None else at.replace(tzinfo=None))
                for country, shop, amount, at in data
            ]
        )

    def ask(self, **checks: Check) -> Mapping[str, Any]:
        """Measure checks as a pass does; return what came back of each."""
        subject = Subject("t", "t", tuple(checks.items()), zones=Zones("UTC"))
        results = measure(plan(subject, self.source), self.source, NOW, TimeLiterals(self.source))
        return {result.check_id: result.answer for result in results}


def _columns() -> str:
    return ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())


@contextmanager
def _sqlite(folder: Path) -> Iterator[Table]:
    file = folder / "t.sqlite"

    def write(data: Sequence[Sequence[object]]) -> None:
        with closing(sqlite3.connect(file)) as connection, connection:
            connection.execute("DELETE FROM t")
            connection.executemany(
                "INSERT INTO t VALUES (?, ?, ?, ?)",
                [(*row[:2], None if row[2] is None else float(str(row[2])), row[3] and str(row[3])) for row in data],
            )

    with closing(sqlite3.connect(file)) as connection:
        connection.execute(f"CREATE TABLE t ({_columns()})")
    with open_source(SourceSpec(name="s", base=folder, url=f"sqlite:///{file}")) as source:
        yield Table(source, write)


@contextmanager
def _duckdb(folder: Path) -> Iterator[Table]:
    file = folder / "t.parquet"

    def write(data: Sequence[Sequence[object]]) -> None:
        with duckdb.connect() as connection:
            connection.execute(f"CREATE TABLE t ({_columns()})")
            insert_rows(connection, "INSERT INTO t VALUES (?, ?, ?, ?)", data)
            connection.execute(f"COPY t TO '{file}' (FORMAT parquet)")

    write(())
    with open_source(SourceSpec(name="s", base=folder, files="t.parquet", table="t")) as source:
        yield Table(source, write)


@contextmanager
def _postgres(url: str, folder: Path) -> Iterator[Table]:
    import psycopg

    def run(statement: str, data: Sequence[Sequence[object]] = ()) -> None:
        with psycopg.connect(url) as connection, connection.cursor() as cursor:
            cursor.executemany(statement, data) if data else cursor.execute(statement)

    def write(data: Sequence[Sequence[object]]) -> None:
        run("DELETE FROM t")
        if data:
            run("INSERT INTO t VALUES (%s, %s, %s, %s)", data)

    run(f"CREATE TABLE t ({_columns()})")
    try:
        with open_source(SourceSpec(name="s", base=folder, url=url)) as source:
            yield Table(source, write)
    finally:
        run("DROP TABLE t")


@contextmanager
def _mysql(url: str, folder: Path) -> Iterator[Table]:
    from sources import mysql

    def run(statement: str, data: Sequence[Sequence[object]] = ()) -> None:
        with closing(mysql.connect(url)) as connection:
            cursor = connection.cursor()
            cursor.executemany(statement, data) if data else cursor.execute(statement)
            connection.commit()

    def write(data: Sequence[Sequence[object]]) -> None:
        run("DELETE FROM t")
        if data:
            run("INSERT INTO t VALUES (%s, %s, %s, %s)", [tuple(row) for row in data])

    run(f"CREATE OR REPLACE TABLE t ({_columns().replace('TIMESTAMP', 'DATETIME(6)')}) COLLATE utf8mb4_bin")
    try:
        with open_source(SourceSpec(name="s", base=folder, url=url)) as source:
            yield Table(source, write)
    finally:
        run("DROP TABLE t")


@pytest.fixture(
    scope="module",
    params=[
        "sqlite",
        "duckdb",
        pytest.param("postgres", marks=pytest.mark.postgres),
        pytest.param("mysql", marks=pytest.mark.mysql),
    ],
)
def table(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Table]:
    """Yield a table of each engine in turn."""
    folder = tmp_path_factory.mktemp("segments")
    if request.param in {"postgres", "mysql"}:
        server = {"postgres": _postgres, "mysql": _mysql}[request.param]
        opened = server(request.getfixturevalue(f"{request.param}_url"), folder)
    else:
        opened = {"sqlite": _sqlite, "duckdb": _duckdb}[request.param](folder)
    with opened as result:
        yield result


def _check(name: str, **more: Any) -> Check:
    parameters = dict(CHECKS[name])
    if "where" in more and "where" in parameters:
        more["where"] = f"({parameters['where']}) AND {more['where']}"
    made: Check = load_catalog()[parameters["type"]].model_validate({**parameters, **more})
    return made


def _condition(names: Sequence[str], values: Sequence[object]) -> str:
    parts = []
    for name, value in zip(names, values, strict=True):
        text = str(value).replace("'", "''")
        parts.append(
            f"{name} IS NULL" if value is None else f"{name} = '{text}'" if name == "country" else f"{name} = {text}"
        )
    return "(" + " AND ".join(parts) + ")"


def _title(names: Sequence[str], values: Sequence[object]) -> str:
    return ", ".join(f"{name}={'NULL' if value is None else value}" for name, value in zip(names, values, strict=True))


def _judged(check: Check, answer: Any) -> Outcome:
    return answer if isinstance(answer, Outcome) else judge(check, answer)


@given(data=rows)
@settings(max_examples=examples(12), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_a_segment_is_judged_as_the_filtered_table(table: Table, data: Sequence[Sequence[Any]]) -> None:
    """For all five checks, each segment has the outcome of the same check on the table filtered to it."""
    table.fill(data)
    segmented = {name: _check(name, by={"columns": BY[name], "show": True, "most": 1000}) for name in CHECKS}
    answers = table.ask(**segmented)
    filtered: dict[str, tuple[str, str, Check]] = {}
    for name in CHECKS:
        places = [list(COLUMNS).index(column) for column in BY[name]]
        for number, values in enumerate(dict.fromkeys(tuple(row[place] for place in places) for row in data)):
            alone = _check(name, where=_condition(BY[name], values))
            filtered[f"{name}-{number}"] = name, _title(BY[name], values), alone
    expected = table.ask(**{key: check for key, (_, _, check) in filtered.items()}) if filtered else {}
    for name, check in segmented.items():
        measured = answers[name]
        assert isinstance(measured, SegmentedMeasurement)
        seen = {segment.title: judge(check, measured.of(segment)) for segment in measured.segments}
        wanted = {title: _judged(alone, expected[key]) for key, (of, title, alone) in filtered.items() if of == name}
        present = {title: outcome for title, outcome in wanted.items() if title in seen}
        assert seen == present
        left_out = [outcome for title, outcome in wanted.items() if title not in seen]
        assert all(outcome.observed == {"rows": 0} for outcome in left_out)


@given(data=rows)
@settings(max_examples=examples(8), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_a_listed_segment_without_rows_is_judged_as_an_empty_table(table: Table, data: Sequence[Sequence[Any]]) -> None:
    """A segment that must exist and has no rows has the outcome of the check on no rows."""
    table.fill([row for row in data if row[0] != "JP"])
    segmented = {name: _check(name, by={"columns": ["country"], "values": ["JP", None]}) for name in CHECKS}
    empty = {name: _check(name, where="(country = 'JP')") for name in CHECKS}
    answers, expected = table.ask(**segmented), table.ask(**empty)
    for name, check in segmented.items():
        first = next(segment for segment in answers[name].segments if segment.title == "country=JP")
        assert first.is_listed
        seen, wanted = judge(check, answers[name].of(first)), _judged(empty[name], expected[name])
        assert seen == replace(wanted, expected=seen.expected)
