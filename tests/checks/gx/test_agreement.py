"""The oracle: each check and its twin in Great Expectations look at the same random tables and must agree.

Both run as in the product: one pass of the engine over each table, by the source's own route. Where Great Expectations
is known to be wrong, `DEFECTS` says why, and a test of its own proves that it still is.
"""

import os
import random
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

import duckdb
import psycopg
import pytest

from checks import Check, Frame, Outcome, Status, UnknownReason, Zones
from checks._catalog import load_catalog
from checks.expectation import Expectation
from checks.gx.twins import _TWINS, twins_of
from checks.gx.worker_door import GxRequest, evaluate
from checks.sql import Sql
from monitor.clock import SimulatedClock
from monitor.scan.results import Subject, Target
from monitor.scan.run import Engine
from sources import SourceSpec, open_source
from tests.checks.gx.tables import CALLER

Cell: TypeAlias = int | float | str | None
Row: TypeAlias = tuple[Cell, Cell, Cell, Cell]

NOW = datetime(2026, 11, 20, 9, 15, tzinfo=UTC)
COLUMNS = ("id", "grp", "amount", "qty")
PLACES = ("sqlite", "postgres", "files")
TABLES = int(os.environ.get("TABLEWATCH_AGREEMENT_TABLES", "4"))
"""Random tables on each kind of source; more take longer and find more."""
_TYPES = {
    "sqlite": ("INTEGER", "TEXT", "REAL", "INTEGER"),
    "postgres": ("bigint", "text", "double precision", "integer"),
    "files": ("BIGINT", "VARCHAR", "DOUBLE", "INTEGER"),
}

DEFECTS: Mapping[str, str] = {
    "empty": "an empty table or filter passes every row-wise expectation, since no row breaks it",
    "null-blind": "in SQL, duplicates that hold a NULL are joined back by `=`, so `ignore_row_if: never` misses them",
    "all-null": "an aggregate of a column without values is a failure, not a question without an answer",
    "nan": "on a frame NaN counts as missing; DuckDB and PostgreSQL have it as a value",
}
"""What Great Expectations 1.24 answers wrongly, by the name of the test that proves it (`test_defect_...`)."""


# --- tables -----------------------------------------------------------------------------------------------------------


def random_rows(seed: int) -> Sequence[Row]:
    """Return 1 to 30 rows with duplicates and NULLs, more or less of each by the seed."""
    dice = random.Random(seed)
    size = dice.randint(1, 30)
    spread = size * dice.choice([1, 3, 100])
    missing = [dice.choice([0.0, 0.0, 0.1, 0.6]) for _ in COLUMNS]

    def cell(column: int) -> Cell:
        if dice.random() < missing[column]:
            return None
        match column:
            case 0:
                return dice.randint(0, spread)
            case 1:
                return dice.choice(["a", "b", "c", "d'"])
            case 2:
                return dice.randint(-400, 400) / 8
            case _:
                return dice.randint(0, 5)

    return [(cell(0), cell(1), cell(2), cell(3)) for _ in range(size)]


def random_checks(seed: int) -> Sequence[Check]:
    """Return every check that has a twin, with limits that a table of `random_rows` may or may not keep."""
    dice = random.Random(-seed - 1)
    some = dice.sample(["a", "b", "c", "d'"], dice.randint(2, 4))
    low = dice.randint(-30, 5)
    typed: list[dict[str, Any]] = [
        {"type": "not_null", "columns": ["grp"], "max_ratio": dice.choice([0, 0.1, 0.3, 0.6])},
        {"type": "not_null", "columns": ["id", "qty"]},
        {"type": "primary_key", "columns": ["id"]},
        {"type": "primary_key", "columns": ["id", "grp"]},
        {"type": "unique", "columns": ["id"]},
        {"type": "unique", "columns": ["id", "grp", "qty"]},
        {"type": "unique", "columns": ["id", "grp"], "nulls": "equal"},
        {"type": "accepted_values", "column": "grp", "values": some, "allow_null": dice.random() < 0.7},
        {"type": "accepted_values", "column": "qty", "values": list(range(dice.randint(3, 6)))},
        {"type": "range", "column": "amount", "min": low, "max": low + 45.5},
        {"type": "range", "column": "qty", "max": dice.randint(4, 5), "exclusive_max": dice.random() < 0.5},
        {"type": "volume", "min": dice.randint(1, 12), "max": dice.randint(12, 30)},
        {"type": "schema", "columns": dice.sample(COLUMNS, 3), "extra": dice.choice(["allow", "forbid"])},
        {"type": "schema", "columns": dice.sample(COLUMNS, 4), "order": dice.random() < 0.5},
        {"type": "metric", "aggregate": "sum", "column": "amount", "min": low * 3 - 0.01},
        {"type": "metric", "aggregate": "mean", "column": "qty", "max": 2.51},
        {"type": "metric", "aggregate": "min", "column": "amount", "min": low},
        {"type": "metric", "aggregate": "max", "column": "id", "max": dice.randint(10, 60)},
        {"type": "metric", "aggregate": "distinct", "column": "grp", "min": dice.randint(2, 4)},
        {"type": "metric", "aggregate": "stddev", "column": "amount", "max": dice.randint(10, 40) + 0.01},
    ]
    return [make(one) for one in typed]


def make(typed: Mapping[str, Any]) -> Check:
    """Return the check of a configuration."""
    return load_catalog()[typed["type"]].model_validate(typed)  # type: ignore[attr-defined] # each is a pydantic model


@dataclass
class Place:
    """A place with tables; each kind keeps them in its own way."""

    kind: str
    folder: Path
    url: str | None = None

    def fill(self, tables: Mapping[str, Iterable[Row]]) -> None:
        """Make tables of the four columns."""
        {"sqlite": self._fill_sqlite, "postgres": self._fill_postgres, "files": self._fill_files}[self.kind](tables)

    @property
    def spec(self) -> SourceSpec:
        """Return how it is declared as a source."""
        if self.kind == "files":
            return SourceSpec("place", self.folder, files="*.parquet")
        return SourceSpec("place", self.folder, url=self.url or "sqlite:///place.db")

    def _columns(self) -> str:
        return ", ".join(f"{name} {kind}" for name, kind in zip(COLUMNS, _TYPES[self.kind], strict=True))

    def _fill_sqlite(self, tables: Mapping[str, Iterable[Row]]) -> None:
        with closing(sqlite3.connect(self.folder / "place.db")) as connection:
            for name, rows in tables.items():
                connection.execute(f'CREATE TABLE "{name}" ({self._columns()})')
                connection.executemany(f'INSERT INTO "{name}" VALUES (?, ?, ?, ?)', rows)
            connection.commit()

    def _fill_postgres(self, tables: Mapping[str, Iterable[Row]]) -> None:
        assert self.url is not None
        with psycopg.connect(self.url) as connection, connection.cursor() as cursor:
            for name, rows in tables.items():
                cursor.execute(f'DROP TABLE IF EXISTS "{name}"'.encode())
                cursor.execute(f'CREATE TABLE "{name}" ({self._columns()})'.encode())
                cursor.executemany(f'INSERT INTO "{name}" VALUES (%s, %s, %s, %s)'.encode(), rows)

    def _fill_files(self, tables: Mapping[str, Iterable[Row]]) -> None:
        with duckdb.connect() as connection:
            for name, rows in tables.items():
                connection.execute(f'CREATE TABLE "{name}" ({self._columns()})')
                for row in rows:
                    connection.execute(f'INSERT INTO "{name}" VALUES (?, ?, ?, ?)', row)
                connection.execute(f"COPY \"{name}\" TO '{self.folder / name}.parquet' (FORMAT parquet)")


@pytest.fixture(params=[pytest.param(one, marks=pytest.mark.postgres if one == "postgres" else ()) for one in PLACES])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """Yield each kind of place in turn, empty; in PostgreSQL it is a schema."""
    if request.param != "postgres":
        yield Place(request.param, tmp_path)
        return
    server = request.getfixturevalue("postgres_url")
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute('CREATE SCHEMA "Agreement"')
        yield Place("postgres", tmp_path, f"{server}?options=-csearch_path%3D%22Agreement%22")
        connection.execute('DROP SCHEMA "Agreement" CASCADE')


# --- both sides -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pair:
    """A check's outcome, and those of the expectations that together are its twin."""

    check: Check
    outcome: Outcome
    twins: Sequence[Outcome]

    @property
    def status(self) -> Status:
        """Return what Great Expectations says."""
        found = {twin.status for twin in self.twins}
        return next(one for one in (Status.UNKNOWN, Status.FAIL, Status.PASS) if one in found)

    def __str__(self) -> str:
        said = [f"{twin.status}: {twin.message}" for twin in self.twins]
        return f"{self.check!r}\n  ours {self.outcome.status}: {self.outcome.message}\n  GX   {said}"


def both(place: Place, table: str, checks: Sequence[Check]) -> Sequence[Pair]:
    """Look at a table once, with checks and their twins."""
    asked: dict[str, Check] = {}
    for number, check in enumerate(checks):
        asked[f"{number}"] = check
        for part, (kind, kwargs) in enumerate(twins_of(check, Zones()).expectations):
            asked[f"{number}.{part}"] = Expectation(expectation=kind, kwargs=kwargs)
    subject = Subject(table, table, tuple(asked.items()))
    results = Engine(SimulatedClock(NOW), caller=CALLER).run([Target(subject, place.spec)])
    outcomes = {result.check_id: result.outcome for result in results}
    return [
        Pair(check, outcomes[f"{number}"], [found for name, found in outcomes.items() if name.startswith(f"{number}.")])
        for number, check in enumerate(checks)
    ]


def known_defect(pair: Pair, rows: Sequence[Row], kind: str) -> str | None:
    """Return the name of the defect that explains a disagreement, None if none does."""
    ours, theirs = pair.outcome.status, pair.status
    asked = dict(pair.check.model_dump())  # type: ignore[attr-defined] # each check is a pydantic model
    if asked["type"] == "metric" and ours is Status.UNKNOWN and theirs is Status.FAIL:
        at = COLUMNS.index(asked["column"])
        return "all-null" if sum(row[at] is not None for row in rows) <= (asked["aggregate"] == "stddev") else None
    if asked.get("nulls") == "equal" and (ours, theirs) == (Status.FAIL, Status.PASS) and kind != "files":
        keys = [tuple(row[COLUMNS.index(name)] for name in asked["columns"]) for row in rows]
        complete = [key for key in keys if None not in key]
        return "null-blind" if len(set(complete)) == len(complete) else None
    return None


def test_agrees_on_random_tables(place):
    """On random tables of every kind of source, each check and its twin agree outside the known defects."""
    tables = {f"t{seed}": random_rows(seed) for seed in range(TABLES)}
    place.fill(tables)
    failures, differing, seen = 0, [], set()
    for seed, (name, rows) in enumerate(tables.items()):
        for pair in both(place, name, random_checks(seed)):
            failures += pair.status is Status.FAIL
            seen.add((type(pair.check), pair.outcome.status))
            if pair.outcome.status is not pair.status and known_defect(pair, rows, place.kind) is None:
                differing.append(f"{name} ({len(rows)} rows): {pair}")
    assert not differing, "\n".join(differing)
    assert failures > TABLES  # a table on which everything passes would prove nothing
    for kind in {type(check) for check in random_checks(0)}:
        assert {(kind, Status.PASS), (kind, Status.FAIL)} <= seen, f"{kind.__name__} was not tested both ways"


def test_every_check_with_a_twin_takes_part():
    """Every check that has a twin is here, but those that need a clock or run text: they have tests of their own."""
    assert {type(check) for check in random_checks(0)} == set(_TWINS) - {Expectation, Sql}


def disclosure_checks(seed: int) -> Sequence[Check]:
    """Return the checks that we offer to Great Expectations, with limits that a table may or may not keep."""
    dice = random.Random(seed)
    alike = {"quasi_identifiers": dice.sample(["grp", "qty"], dice.randint(1, 2))}
    tree = {"a": ["x", "*"], "b": ["x", "*"], "c": ["y", "*"], "d'": ["y", "*"]}
    typed: list[dict[str, Any]] = [
        {"type": "k_anonymity", "k": dice.randint(2, 3), **alike},
        {"type": "k_anonymity", "k": 2, "max_average_risk": dice.choice([0.1, 0.5]), "quasi_identifiers": ["grp"]},
        {"type": "l_diversity", "sensitive": ["id", "amount"], "l": dice.randint(2, 3), **alike},
        {"type": "l_diversity", "sensitive": ["id"], "l": 1.5, "variant": "entropy", **alike},
        {
            "type": "l_diversity",
            "sensitive": ["qty"],
            "l": 2,
            "variant": "recursive",
            "c": 2,
            "quasi_identifiers": ["grp"],
        },
        {"type": "t_closeness", "sensitive": ["id"], "t": dice.choice([0.3, 0.9]), **alike},
        {"type": "t_closeness", "sensitive": ["amount"], "t": dice.choice([0.2, 0.5]), "distance": "ordered", **alike},
        {"type": "t_closeness", "sensitive": ["grp"], "t": 0.4, "hierarchy": tree, "quasi_identifiers": ["qty"]},
    ]
    return [make(one) for one in typed]


def test_disclosure_checks_agree_with_our_expectations(place):
    """k, l and t come to the same verdict through Great Expectations, and count the same records."""
    tables = {f"t{seed}": random_rows(seed) for seed in range(TABLES)}
    place.fill(tables)
    seen = set()
    for seed, name in enumerate(tables):
        for pair in both(place, name, disclosure_checks(seed)):
            assert pair.outcome.status is pair.status, str(pair)
            broken = [pair.outcome.observed.get(f"records_{word}") for word in ("below_k", "below_l", "above_t")]
            assert [one or None for one in broken if one is not None] == [pair.twins[0].observed["violations"] or None]
            seen.add((type(pair.check), pair.status))
    for kind in {type(check) for check in disclosure_checks(0)}:
        assert {(kind, Status.PASS), (kind, Status.FAIL)} <= seen, f"{kind.__name__} was not tested both ways"


@pytest.mark.parametrize(
    "query", ["SELECT * FROM t WHERE qty > 3", "SELECT grp FROM t GROUP BY grp HAVING count(*) > 99"]
)
def test_agrees_on_queries(place, query):
    """A query of one's own counts the same rows by either route, where Great Expectations has SQL."""
    if place.kind == "files":
        pytest.skip("Great Expectations runs queries on SQL databases only")
    place.fill({"t": random_rows(3)})
    (pair,) = both(place, "t", [make({"type": "sql", "query": query})])
    assert pair.outcome.status is pair.status
    assert pair.outcome.observed["violations"] == pair.twins[0].observed["violations"]


# --- what Great Expectations answers wrongly --------------------------------------------------------------------------


def test_every_defect_is_proven():
    """Each documented defect has a test of its own below, so that we notice when it is repaired."""
    proven = {name.removeprefix("test_defect_").replace("_", "-") for name in globals() if "test_defect_" in name}
    assert proven == set(DEFECTS)
    assert all(DEFECTS.values())


def test_defect_empty(place):
    """On an empty table Great Expectations passes; the check says that there was nothing to look at."""
    place.fill({"t": []})
    check = Expectation(expectation="ExpectColumnValuesToNotBeNull", kwargs={"column": "id"})
    with open_source(place.spec) as source:
        request = GxRequest.of(check, source, relation="t", frame=Frame(("id",), 1))
        assert evaluate(request, CALLER, deadline=source.query_timeout)["met"] is True
    (pair,) = both(place, "t", [make({"type": "not_null", "columns": ["id"]})])
    assert pair.outcome.reason is UnknownReason.NO_DATA
    assert pair.status is Status.UNKNOWN  # by our rule for empty tables, which holds for expectations too


def test_defect_null_blind(place):
    """Two rows (1, NULL) are duplicates where NULL equals NULL; in SQL Great Expectations does not see them."""
    place.fill({"t": [(1, None, 0, 0), (1, None, 1, 1)]})
    (pair,) = both(place, "t", [make({"type": "unique", "columns": ["id", "grp"], "nulls": "equal"})])
    assert pair.outcome.status is Status.FAIL
    assert pair.status is (Status.FAIL if place.kind == "files" else Status.PASS)


def test_defect_all_null(place):
    """The mean of no value is no number: a failure to Great Expectations, a question without an answer to us."""
    place.fill({"t": [(1, None, None, 0), (2, None, None, 1)]})
    (pair,) = both(place, "t", [make({"type": "metric", "aggregate": "mean", "column": "amount", "min": 0})])
    assert pair.outcome.status is Status.UNKNOWN
    assert pair.status is Status.FAIL


def test_defect_nan(place):
    """NaN is a value in DuckDB and PostgreSQL, and so to us; on a frame Great Expectations takes it for missing."""
    if place.kind == "sqlite":
        pytest.skip("SQLite keeps NaN as NULL")
    place.fill({"t": [(1, "a", float("nan"), 0), (2, "a", 1.5, 1)]})
    (pair,) = both(place, "t", [make({"type": "not_null", "columns": ["amount"]})])
    assert pair.outcome.status is Status.PASS
    assert pair.status is (Status.FAIL if place.kind == "files" else Status.PASS)
