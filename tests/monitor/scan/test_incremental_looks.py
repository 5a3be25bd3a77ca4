"""Tables with `incremental`: a run reads new rows only, and judges the whole as a full look does."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from checks import Outcome, Status, UnknownReason, Zones, load_catalog
from checks.classes.counts import ClosedPart, Recount
from monitor.clock import SimulatedClock
from monitor.config import load_tree
from monitor.config.project import Project
from monitor.config.python_values import node_of
from monitor.scan.incremental.parts import BEFORE, UNTIL
from monitor.scan.planner import plan
from monitor.scan.results import LookbackWindow, Subject, Target, targets_of
from monitor.scan.run import Engine, ResultsNotStored
from monitor.scan.sql_template import TimeLiterals
from sources import SourceSpec, open_source
from store import Store, StoreError, open_store
from tests.duckdb_rows import insert_rows
from tests.tiers import examples

START = datetime(2026, 11, 1, 12, tzinfo=UTC)
LOOKBACK = timedelta(days=3)
WEEK = timedelta(days=7)
FAR = datetime(2999, 1, 1)  # noqa: DTZ001 - a wall clock, as the column holds it
COLUMNS = {
    "id": "BIGINT",
    "day": "DATE",
    "loaded": "TIMESTAMP",
    "aware": "TIMESTAMPTZ",
    "country": "TEXT",
    "amount": "DECIMAL(12, 2)",
    "n": "BIGINT",
    "x": "DOUBLE",
}
ADDS_UP: Mapping[str, Mapping[str, Any]] = {
    "not-null": {"type": "not_null", "columns": ["country", "x"], "max_ratio": 0.2},
    "volume": {"type": "volume", "min": 3, "max": 9},
    "range": {"type": "range", "column": "n", "min": 0, "max": 2**62, "where": "country <> 'US'"},
    "range-nan": {"type": "range", "column": "x", "min": 0},
    "range-times": {"type": "range", "column": "loaded", "max": "2026-11-20"},
    "accepted": {"type": "accepted_values", "column": "country", "values": ["JP", "US"]},
    "pattern": {"type": "pattern", "column": "country", "pattern": "^[A-Z]+$"},
    "sum": {"type": "metric", "aggregate": "sum", "column": "amount", "min": 0},
    "sum-whole": {"type": "metric", "aggregate": "sum", "column": "n", "min": 0},
    "mean": {"type": "metric", "aggregate": "mean", "column": "amount", "max": 10},
    "count": {"type": "metric", "aggregate": "count", "column": "x", "min": 2},
    "share": {"type": "metric", "aggregate": "share", "column": "country", "value": "JP", "min": 0.5},
    "key": {"type": "primary_key", "columns": ["id", "$"]},
    "unique": {"type": "unique", "columns": ["$", "country"], "nulls": "equal"},
    "freshness": {"type": "freshness", "column": "$", "max_age": "2d"},
}
IN_FULL: Mapping[str, Mapping[str, Any]] = {
    "mean-float": {"type": "metric", "aggregate": "mean", "column": "x", "min": 0},
    "largest": {"type": "metric", "aggregate": "max", "column": "n", "max": 100},
    "distinct": {"type": "metric", "aggregate": "distinct", "column": "country", "min": 1},
    "key-alone": {"type": "primary_key", "columns": ["id"]},
    "window": {"type": "volume", "column": "loaded", "window": "1d", "min": 1},
    "clock": {"type": "volume", "min": 1, "where": "day <= current_date"},
    "segments": {"type": "volume", "min": 1, "by": ["country"]},
    "k": {"type": "k_anonymity", "quasi_identifiers": ["country"], "k": 2},
    "other-freshness": {"type": "freshness", "column": "loaded", "max_age": "2d", "timezone": "Pacific/Honolulu"},
}
OTHER = {"loaded": "aware", "aware": "loaded", "day": "loaded"}


@dataclass
class Shop:
    """A table in DuckDB, looked at twice each time: incrementally with a store, and in full without one."""

    folder: Path
    store: Store
    column: str = "loaded"
    checks: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: {**ADDS_UP, **IN_FULL})
    clock: SimulatedClock = field(default_factory=lambda: SimulatedClock(START))
    engine: Engine = field(init=False)
    full: Engine = field(init=False)
    number: int = 0
    newest: datetime | None = None
    """The newest value that a run has seen."""

    def __post_init__(self) -> None:
        self.run(f"CREATE TABLE t ({', '.join(f'{name} {kind}' for name, kind in COLUMNS.items())})")
        self.engine = Engine(self.clock, self.store, key=lambda: b"a key for tests, 32 bytes long..")
        self.full = Engine(self.clock)

    def run(self, statement: str, rows: Sequence[Sequence[Any]] = ()) -> list[tuple[Any, ...]]:
        with duckdb.connect(str(self.folder / "t.duckdb")) as connection:
            if rows:
                insert_rows(connection, statement, rows)
                return []
            return connection.execute(statement).fetchall()

    def insert(self, rows: Sequence[Sequence[Any]]) -> None:
        """Add rows: a wall clock in Tokyo or None, country, amount, n, x."""
        made = []
        for loaded, *others in rows:
            self.number += 1
            aware = None if loaded is None else loaded - timedelta(hours=9)
            text = None if aware is None else f"{aware.isoformat()}+00:00"
            made.append((self.number, None if loaded is None else loaded.date(), loaded, text, *others))
        if made:
            self.run("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?, ?, ?)", made)

    @property
    def limit(self) -> str:
        """Return the condition for rows that may be changed: those within the lookback, in the future, or NULL."""
        if self.newest is None:
            return "true"
        first = self.newest - LOOKBACK
        if self.column == "day":
            return f"day >= DATE '{first.date()}' OR day IS NULL"
        if self.column == "aware":
            return f"aware >= TIMESTAMPTZ '{first}' OR aware IS NULL"
        return f"loaded >= TIMESTAMP '{first.replace(tzinfo=None)}' OR loaded IS NULL"

    @property
    def target(self) -> Target:
        catalog = load_catalog()
        checks = []
        for name, given_ in self.checks.items():
            text = repr({**given_, "id": name}).replace("'$'", repr(self.column))
            parameters = eval(text, {"__builtins__": {}})  # noqa: S307 - a literal of this file
            checks.append((f"t.{name}", catalog[str(given_["type"])].model_validate(parameters)))
        subject = Subject("t", "t", tuple(checks), zones=Zones("Asia/Tokyo"), loaded_at="loaded")
        subject = replace(subject, incremental=LookbackWindow(self.column, LOOKBACK, WEEK, len(checks)))
        return Target(subject, SourceSpec("shop", self.folder, url="duckdb:///t.duckdb"))

    def look(self, target: Target | None = None) -> Mapping[str, Outcome]:
        """Make a run, and remember the newest value that it saw."""
        outcomes = {item.check_id: item.outcome for item in self.engine.run([target or self.target])}
        part = self.part
        if part is not None and part.newest is not None:
            self.newest = max(part.newest, self.newest or part.newest)
        return outcomes

    def look_in_full(self) -> Mapping[str, Outcome]:
        target = replace(self.target, subject=replace(self.target.subject, incremental=None))
        return {item.check_id: item.outcome for item in self.full.run([target])}

    @property
    def part(self) -> ClosedPart | None:
        with self.store.reading() as tx:
            return tx.classes.closed_parts(["t"]).get("t")


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    """Return an empty table with all checks, and a store."""
    with open_store(f"sqlite:///{tmp_path / 'store.db'}") as store:
        yield Shop(tmp_path, store)


def wall(days: float) -> datetime:
    """Return a wall clock in Tokyo, some days after the start."""
    return START.replace(tzinfo=None) + timedelta(days=days, hours=9)


GOOD = ("JP", Decimal("1.50"), 3, 1.0)
STALE = -30


def fill(shop: Shop, days: int = 20) -> None:
    """Add one good row for each day up to now."""
    shop.insert([(wall(-day), *GOOD) for day in range(days)])


values = st.tuples(
    st.sampled_from(["JP", "US", "jp", None]),
    st.one_of(st.none(), st.decimals(-5, 10**9, places=2)),
    st.one_of(st.none(), st.sampled_from([-1, 5, 2**63 - 1])),
    st.sampled_from([None, 1.5, -2.0, float("nan")]),
)
ages = st.one_of(st.none(), st.just("future"), st.floats(0, 3))
steps = st.lists(
    st.tuples(
        st.floats(0.1, 1),
        st.lists(st.tuples(ages, values), max_size=4),
        st.sampled_from(["update", "delete", "none", "empty"]),
        st.integers(0, 2),
    ),
    min_size=3,
    max_size=5,
)


@pytest.mark.parametrize("column", ["loaded", "aware", "day"])
@settings(max_examples=examples(5), deadline=None, suppress_health_check=list(HealthCheck))
@given(first=st.lists(st.tuples(st.floats(0, 8), values), min_size=3, max_size=8), steps=steps)
def test_an_incremental_look_comes_to_what_a_full_look_does(column: str, first: list[Any], steps: list[Any]) -> None:
    """Whatever is inserted, changed or deleted within the lookback, each outcome is that of a full look."""
    with TemporaryDirectory() as folder, open_store(f"sqlite:///{folder}/store.db") as store:
        shop = Shop(Path(folder), store, column, ADDS_UP)
        shop.insert([(wall(-age), *row) for age, row in first])
        days = 0.0
        for later, rows, change, residue in steps:
            assert shop.look() == shop.look_in_full()
            days += later
            shop.clock.advance(timedelta(days=later))
            some = f"({shop.limit}) AND id % 3 = {residue}"
            if change == "delete":
                shop.run(f"DELETE FROM t WHERE {some}")
            elif change == "update":
                shop.run(f"UPDATE t SET country = 'jp', n = -7, x = NULL WHERE {some}")
            elif change == "empty":
                shop.run(f"DELETE FROM t WHERE {shop.limit}")
            newest = days if shop.newest is None else (shop.newest.replace(tzinfo=None) - wall(0)) / timedelta(days=1)
            floor = days if shop.newest is None else max(days - 3, newest + (0.4 if column == "aware" else 1) - 3)
            shop.insert([(_at(age, days, floor), *row) for age, row in rows])
        assert shop.look() == shop.look_in_full()


def _at(age: float | str | None, days: float, floor: float) -> datetime | None:
    if age is None:
        return None
    return FAR if age == "future" else wall(max(days - float(age), floor))  # type: ignore[arg-type]


def test_a_run_reads_new_rows_only(shop: Shop) -> None:
    """The first run reads all rows; the next ones those within the lookback, for the checks that add up."""
    fill(shop)
    shop.look()
    first = shop.part
    assert first is not None
    assert (first.rows, first.read, first.why) == (20, 20, Recount.FIRST)
    assert set(first.checks) == {f"t.{name}" for name in ADDS_UP}
    shop.clock.advance(timedelta(days=1))
    shop.insert([(wall(1), *GOOD)])
    assert shop.look() == shop.look_in_full()
    second = shop.part
    assert second is not None
    assert (second.rows, second.read, second.why) == (21, 5, None)


@pytest.mark.parametrize("change", ["UPDATE t SET n = -7", "DELETE FROM t"])
def test_a_change_within_the_lookback_is_seen(shop: Shop, change: str) -> None:
    """A row may change, or go, until it is older than the lookback, though runs have read it before."""
    fill(shop)
    shop.checks = {name: ADDS_UP[name] for name in ("range", "volume", "sum", "key")}
    for day in range(3):
        shop.look()
        shop.clock.advance(timedelta(days=1))
        shop.run(f"{change} WHERE loaded BETWEEN TIMESTAMP '{wall(day - 2.9)}' AND TIMESTAMP '{wall(day - 1.5)}'")
        shop.insert([(wall(day + 1), *GOOD)])
        assert shop.look() == shop.look_in_full()
        assert shop.part is not None
        assert shop.part.why is None


def test_a_sample_is_drawn_of_all_rows(shop: Shop) -> None:
    """A sampled check estimates the share of all rows, so that nothing of it is kept."""
    fill(shop)
    pattern = {"type": "pattern", "column": "country", "pattern": "[A-Z]+", "max_ratio": 0.9, "sample": {"share": 0.5}}
    shop.checks = {"volume": ADDS_UP["volume"], "sample": pattern}
    assert shop.look()["t.sample"].status is Status.PASS
    assert shop.part is not None
    assert shop.part.checks == ("t.volume",)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE t SET country = NULL WHERE id = 20",
        "DELETE FROM t WHERE id = 20; INSERT INTO t SELECT * REPLACE (NULL AS country) FROM t WHERE id = 19",
    ],
)
def test_a_late_change_is_found_by_the_full_look(shop: Shop, change: str) -> None:
    """A change before the lookback is not seen until the full look, which judges it, and counts what had changed."""
    fill(shop)
    shop.look()
    shop.run(change)
    shop.clock.advance(timedelta(days=1))
    assert shop.look() != shop.look_in_full()
    shop.clock.advance(WEEK - timedelta(days=1))
    assert shop.look() == shop.look_in_full()
    part = shop.part
    assert part is not None
    assert part.why is Recount.DUE
    assert part.late is not None
    assert part.late["figures"] > 0
    assert part.late["rows"] == 0
    assert part.found_late == part.late
    shop.clock.advance(WEEK)
    shop.look()
    assert shop.part is not None
    assert shop.part.late == {"figures": 0, "rows": 0}
    assert shop.part.found_late is None


def test_a_run_that_is_not_remembered_leaves_what_was_kept(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept changes with the results, in one transaction, or not at all; and then it still holds."""
    fill(shop)
    shop.look()
    kept = shop.part
    shop.clock.advance(timedelta(days=2))
    shop.insert([(wall(2), *GOOD)])

    def fail(*_: object) -> None:
        raise StoreError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr("store._result_repository.ResultWriter.add_runs", fail)
        with pytest.raises(ResultsNotStored):
            shop.look()
    assert shop.part == kept
    assert shop.look() == shop.look_in_full()
    assert shop.part != kept


def test_other_figures_are_read_anew(shop: Shop) -> None:
    """What is kept of other checks, another filter or other columns is not used."""
    fill(shop)
    shop.look()
    shop.checks = {**ADDS_UP, "volume": {"type": "volume", "min": 3, "where": "country = 'JP'"}}
    assert shop.look() == shop.look_in_full()
    assert shop.part is not None
    assert (shop.part.why, shop.part.read) == (Recount.ASKED_OTHERWISE, 20)
    shop.run("ALTER TABLE t ADD COLUMN more TEXT")
    shop.engine.plans.clear()  # as after a restart
    assert shop.look() == shop.look_in_full()
    assert shop.part.why is Recount.ASKED_OTHERWISE


@pytest.mark.parametrize("column", ["loaded", "aware", "day"])
@pytest.mark.parametrize("change", ["UPDATE t SET {column} = {newest}", "DELETE FROM t WHERE id > 15"])
def test_a_table_from_which_closed_rows_have_gone_is_read_whole(tmp_path: Path, change: str, column: str) -> None:
    """A table that was loaded again has all its rows at a new time, and none twice: DuckDB knows how many there are."""
    with open_store(f"sqlite:///{tmp_path / 'store.db'}") as store:
        shop = Shop(tmp_path, store, column, ADDS_UP)
        fill(shop)
        shop.look()
        shop.clock.advance(timedelta(hours=1))
        shop.run(change.format(column=column, newest=f"(SELECT max({column}) FROM t)"))
        assert shop.look() == shop.look_in_full()
        assert shop.part is not None
        assert (shop.part.why, shop.part.rows) == (Recount.ROWS_DIFFER, 20 if "UPDATE" in change else 15)
        assert shop.look() == shop.look_in_full()
        assert shop.part.why is None


@pytest.mark.parametrize("change", ["DELETE FROM t", "DELETE FROM t WHERE id <= 2"])
def test_a_table_whose_newest_rows_have_gone_is_read_whole(shop: Shop, change: str) -> None:
    """A table that was emptied or taken back is not judged by what is kept of it, which may have gone as well."""
    fill(shop)
    shop.look()
    shop.clock.advance(timedelta(hours=1))
    shop.run(change)
    outcomes = shop.look()
    assert outcomes == shop.look_in_full()
    assert shop.part is not None
    assert shop.part.why is Recount.ROWS_DIFFER
    if change == "DELETE FROM t":
        assert outcomes["t.volume"].reason is UnknownReason.NO_DATA or outcomes["t.volume"].status is Status.FAIL


def test_a_table_of_another_place_is_read_whole(tmp_path: Path) -> None:
    """Figures of a table that lies elsewhere, though it is called the same, are not added to those of this one."""
    with duckdb.connect() as connection, open_store(f"sqlite:///{tmp_path / 'store.db'}") as store:
        for folder, rows in (("old", 20), ("new", 3)):
            (tmp_path / folder).mkdir()
            made = f"SELECT TIMESTAMP '2026-10-01' + to_days(30 - i) AS loaded FROM range({rows}) AS r(i)"
            connection.execute(f"COPY ({made}) TO '{tmp_path / folder / 't.parquet'}'")
            table = {"name": "t", "source": "lake", "incremental": {"column": "loaded"}, "checks": [ADDS_UP["volume"]]}
            sources = {"lake": {"files": f"{tmp_path / folder}/*.parquet"}}
            tree = {"version": 1, "project": "p", "sources": sources, "tables": [table]}
            project = Project(load_tree(node_of(tree, "")), SimulatedClock(START))
            engine = Engine(project.clock, store, key=lambda: b"a key for tests, 32 bytes long..")
            [result] = engine.run(targets_of(project, ["t"]))
            assert result.outcome.observed["rows"] == rows


def test_a_look_at_some_checks_reads_all_rows_and_keeps_nothing(shop: Shop) -> None:
    """A run of some checks, or as of a past time, neither uses nor changes what is kept."""
    fill(shop)
    shop.look()
    kept = shop.part
    shop.run("DELETE FROM t WHERE id = 20")
    target = shop.target
    some = replace(target, subject=replace(target.subject, checks=target.subject.checks[1:2]))
    assert shop.look(some)["t.volume"].observed["rows"] == 19
    assert shop.look(target.at(START - timedelta(days=5)))["t.volume"].observed["rows"] == 14
    assert shop.part == kept


def test_a_later_look_is_not_undone_by_an_earlier_one(shop: Shop) -> None:
    """Of two looks that began with the same state, what the first to end kept stands."""
    fill(shop)
    shop.look()
    kept = shop.part
    assert kept is not None
    shop.look()
    later = shop.part
    with shop.store.writing() as tx:
        tx.classes.keep_closed_parts([replace(kept, version=kept.version, rows=1), replace(kept, version=0, rows=2)])
    assert shop.part == later


def test_a_stray_future_row_closes_nothing(shop: Shop) -> None:
    """A load time in the future is read on each run, and does not make the rows before it old."""
    fill(shop)
    shop.insert([(FAR, *GOOD)])
    for day in range(1, 4):
        assert shop.look() == shop.look_in_full()
        shop.clock.advance(timedelta(days=1))
        shop.insert([(wall(day - 0.5), *GOOD)])
    assert shop.part is not None
    assert shop.part.newest == START.replace(tzinfo=UTC) + timedelta(days=1.5, hours=9)


def test_one_bad_check_does_not_blind_the_others(shop: Shop) -> None:
    """Where the engine refuses the statement, each check reads all rows by itself, and what is kept stays."""
    fill(shop)
    shop.checks = {**ADDS_UP, "bad": {"type": "volume", "min": 1, "where": "CAST(country AS INTEGER) > 1"}}
    outcomes = shop.look()
    assert outcomes == shop.look_in_full()
    assert outcomes["t.bad"].reason is UnknownReason.MISCONFIGURED
    assert outcomes["t.key"].status is Status.PASS
    assert shop.part is None


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("n", "column 'n' of 'incremental' is of type int64; it must be a timestamp or a date"),
        ("loded", "column 'loded' of 'incremental' not found; did you mean 'loaded'?"),
    ],
)
def test_a_column_that_does_not_fit_is_refused(shop: Shop, column: str, message: str) -> None:
    """A column that is missing or no time makes the checks that add up unknown, with what to do; others are run."""
    fill(shop)
    shop.column = column
    shop.checks = {"volume": ADDS_UP["volume"], "distinct": IN_FULL["distinct"]}
    outcomes = shop.look()
    assert str(outcomes["t.volume"].message) == message
    assert outcomes["t.volume"].reason is UnknownReason.MISCONFIGURED
    assert outcomes["t.distinct"].status is Status.PASS


def test_no_value_of_the_table_is_kept(shop: Shop) -> None:
    """What is kept are counts, sums and times of the columns that say when rows arrived."""
    shop.insert([(wall(-day), "CANARY-country", Decimal("0.01"), 7_777_777, 3.25e5) for day in range(20)])
    shop.look()
    with shop.store.reading() as tx:
        (text,) = tx._connection.exec_driver_sql("SELECT body FROM closed_part").scalars()
    assert '"rows":16' in text
    for canary in ("CANARY", "7777777", "325000", "0.01"):
        assert canary not in text


def test_the_newest_rows_are_found_in_parquet_without_reading_the_others(tmp_path: Path) -> None:
    """The condition on the column reaches the file: DuckDB reads the row groups that may hold new rows."""
    source = SourceSpec("lake", tmp_path, files="*.parquet")
    made = "SELECT TIMESTAMP '2026-01-01' + to_minutes(i) AS loaded, i AS n FROM range(100000) AS r(i)"
    with duckdb.connect() as connection:
        connection.execute(f"COPY ({made}) TO '{tmp_path / 't.parquet'}' (ROW_GROUP_SIZE 10000)")
    check = load_catalog()["range"].model_validate({"type": "range", "column": "n", "min": 0, "id": "range"})
    lookback = LookbackWindow("loaded", LOOKBACK, WEEK, 1)
    subject = Subject("t", "t", (("t.range", check),), loaded_at="loaded", incremental=lookback)
    with open_source(source) as opened:
        parts = plan(subject, opened).parts
        assert parts is not None
        bounds = dict.fromkeys((BEFORE, UNTIL), datetime(2026, 3, 10, tzinfo=UTC))
        sql = parts.recent.fill(START, TimeLiterals(opened), bounds)
    with duckdb.connect() as connection:
        connection.execute(f"CREATE VIEW t AS FROM '{tmp_path / 't.parquet'}'")
        explained = "".join(row[1] for row in connection.execute(f"EXPLAIN ANALYZE {sql}").fetchall())
    scan = explained[explained.index("TABLE_SCAN") :]
    assert "loaded >= '2026-03-10" in " ".join(scan.split())
    assert "2,080 rows" in scan


@dataclass
class PostgresqlShop(Shop):
    """The same table in PostgreSQL."""

    url: str = ""

    def run(self, statement: str, rows: Sequence[Sequence[Any]] = ()) -> list[tuple[Any, ...]]:
        """Change the data."""
        import psycopg

        text: Any = statement.replace("?", "%s").replace("DOUBLE", "DOUBLE PRECISION")
        with psycopg.connect(self.url) as connection, connection.cursor() as cursor:
            if rows:
                cursor.executemany(text, rows)
            else:
                cursor.execute(text)
        return []

    @property
    def target(self) -> Target:
        """Return the table."""
        return replace(super().target, source=SourceSpec("shop", self.folder, url=self.url))


@pytest.mark.postgres
@pytest.mark.parametrize("column", ["loaded", "aware", "day"])
def test_an_incremental_look_at_postgresql_comes_to_what_a_full_one_does(
    postgres_url: str, tmp_path: Path, column: str
) -> None:
    """Rows that come, change and go within the lookback, without a time or in the future, are judged as in full."""
    with open_store(f"sqlite:///{tmp_path / 'store.db'}") as store:
        shop = PostgresqlShop(tmp_path, store, column, ADDS_UP, url=postgres_url)
        try:
            fill(shop)
            assert shop.look() == shop.look_in_full()
            for day in range(1, 4):
                shop.clock.advance(timedelta(days=1))
                shop.insert([(wall(day - 0.5), "US", None, None, float("nan")), (FAR, *GOOD), (None, *GOOD)])
                shop.run(f"UPDATE t SET n = -1 WHERE id % 2 = 0 AND ({shop.limit})")
                shop.run(f"DELETE FROM t WHERE id % 5 = 0 AND ({shop.limit})")
                assert shop.look() == shop.look_in_full()
            assert shop.part is not None
            assert shop.part.read < shop.part.rows
        finally:
            shop.run("DROP TABLE t")


@pytest.mark.postgres
def test_closed_rows_that_have_gone_are_missed_in_the_catalogue_of_postgresql(
    postgres_url: str, tmp_path: Path
) -> None:
    """Its estimate is believed where it is too small even with its error; else the kept figures hold."""
    with open_store(f"sqlite:///{tmp_path / 'store.db'}") as store:
        shop = PostgresqlShop(tmp_path, store, "loaded", ADDS_UP, url=postgres_url)
        try:
            fill(shop)
            shop.run("ANALYZE t")
            shop.look()
            shop.clock.advance(timedelta(hours=1))
            assert shop.look() == shop.look_in_full()
            assert shop.part is not None
            assert shop.part.why is None
            shop.run("DELETE FROM t WHERE id > 10")
            shop.run("ANALYZE t")
            assert shop.look() == shop.look_in_full()
            assert (shop.part.why, shop.part.rows) == (Recount.ROWS_DIFFER, 10)
        finally:
            shop.run("DROP TABLE t")
