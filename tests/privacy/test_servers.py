"""The same promise where servers are asked: PostgreSQL, as a source and as the store, and Spark."""

import json
import os
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from checks.gx.caller import PRELOAD
from monitor.config import load
from monitor.config.project import Project
from monitor.reporting.terminal_views.pass_report import pass_as_json, pass_lines
from monitor.scan.recorder import record_results
from monitor.scan.results import PassResult, targets_of
from monitor.scan.scanner import scan_source
from monitor.workers import WorkerCalls
from store import open_store
from tests.privacy.cases import CASES
from tests.privacy.place import LAST_WEEK, NOW, Place
from tests.privacy.planted import COLUMNS, PLANTS, Harvest, create_table
from tests.privacy.playing import NO_GX, WEEK
from tests.privacy.tokens import SECRET, found_in

pytestmark = pytest.mark.timeout(1200)  # the session does all that Tablewatch can do

_PASSWORD = f"{SECRET}postgres"
_NOT_NULL = {"type": "not_null", "columns": ["name"]}


def _look(place: Place, engine: str) -> None:
    """Look at an engine's tables in every way, and show what was found."""
    place.session(("check-last-week", ["check", f"{engine}.people", NO_GX, "--format", "json"]), at=LAST_WEEK)
    shown = [(f"incident-{number}", ["incident", "show", str(number)]) for number in range(1, 6)]
    place.session(
        ("check", ["check", "--format", "json"]),
        ("check-human", ["check", f"{engine}.people", NO_GX]),
        ("run-once", ["run", "--once"]),
        ("status", ["status"]),
        ("table", ["table", "show", f"{engine}.people"]),
        *shown,
        ("log", ["alert", "log", "--format", "json"]),
        ("report", ["report", "--period", WEEK, "--out", "week.html"]),
        ("report-json", ["report", "--period", WEEK, "--out", "week.json"]),
        ("doctor", ["doctor"]),
        ("config", ["config", "show", "--defaults"]),
        ("backup", ["backup", "copy.db"]),
        ("export", ["export", "gx", "--out", "suites"]),
    )
    place.session(("crash", ["check", f"{engine}.*_slip", "--format", "json"]), CANARY_CRASH="1")


def _reasons(place: Place, engine: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for one in json.loads(place.said("check"))["results"]:
        if one["table"].startswith(engine):
            found.setdefault(one["type"], set()).add(one["reason"] or one["status"])
    return found


@pytest.fixture(scope="module")
def postgresql(new_place, postgres_url) -> Iterator[tuple[Place, bytes]]:
    """Yield a place over PostgreSQL with its store on PostgreSQL too, and all that the store's tables hold."""
    import psycopg

    name = f"tablewatch_canaries_{os.getpid()}"
    with psycopg.connect(postgres_url, autocommit=True) as admin:
        admin.execute(f"DROP DATABASE IF EXISTS {name}_store")
        admin.execute(f"DROP DATABASE IF EXISTS {name}")
        admin.execute(f"CREATE ROLE {name} LOGIN PASSWORD '{_PASSWORD}'")
        admin.execute(f"CREATE DATABASE {name}_store OWNER {name}")
        admin.execute(f"CREATE DATABASE {name}")
        place = new_place()
        try:
            server = postgres_url.rpartition("/")[0].rpartition("@")[2]
            mine = f"postgresql://{name}:{_PASSWORD}@{server}/{name}"
            harvest = Harvest(place.tokens, loaded_at=NOW - timedelta(hours=4))
            with psycopg.connect(f"{postgres_url.rpartition('/')[0]}/{name}", autocommit=True) as connection:
                _fill(connection, harvest, name)
            place.watch("postgresql", {"url": mine}, expects=True, schedule="every 1h")
            place.expect("postgresql")
            _ask_for_trouble(place, mine)
            place.configure(storage=f"{mine}_store")
            _look(place, "postgresql")
            with psycopg.connect(f"{mine}_store") as connection:
                yield place, _dumped(connection)
        finally:
            admin.execute(f"DROP DATABASE {name}_store WITH (FORCE)")
            admin.execute(f"DROP DATABASE {name} WITH (FORCE)")
            admin.execute(f"DROP ROLE {name}")


def _fill(connection: Any, harvest: Harvest, role: str) -> None:
    marks = ", ".join(["%s"] * len(COLUMNS))
    for table, rows in {"people": harvest.people, "tidy": harvest.tidy, "hidden": harvest.people}.items():
        connection.execute(create_table(table))
        connection.cursor().executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
    connection.execute(f"GRANT SELECT ON people, tidy TO {role}")
    word = harvest.tokens.word()
    connection.execute(
        f"CREATE TYPE mood AS ENUM ('{word}'); CREATE TABLE moods (name mood); GRANT ALL ON moods TO {role}"
    )
    connection.execute(f"INSERT INTO moods VALUES ('{word}')")
    connection.execute(
        "CREATE VIEW raising AS SELECT name, CAST(name AS integer) AS age FROM people; "
        f"GRANT SELECT ON raising TO {role}"
    )


def _ask_for_trouble(place: Place, url: str) -> None:
    """Watch what may not be read, does not cast, has labels, takes too long; and sources that refuse the login."""
    more = {"schedule": "every 1h"}
    place.table("postgresql.hidden", "postgresql", "hidden", [_NOT_NULL], **more)
    place.table("postgresql.raising", "postgresql", "raising", [{"type": "range", "column": "age", "min": 1}], **more)
    labels = {"type": "accepted_values", "column": "name", "values": ["ann"]}
    place.table("postgresql.moods", "postgresql", "moods", [labels, {"type": "schema"}], **more)
    place.add("hasty", {"url": url, "query_timeout": "1s"})
    endless = {
        "id": "endless",
        "type": "sql",
        "query": "SELECT name FROM people CROSS JOIN generate_series(1, 9000000000) n",
    }
    place.table("hasty.people", "hasty", "people", [endless], **more)
    place.add("refused", {"url": url.replace(_PASSWORD, f"{SECRET}wrong")})
    place.table("refused.people", "refused", "people", [_NOT_NULL], **more)


def _dumped(connection: Any) -> bytes:
    """Return every row of the store as text."""
    tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
    rows = [row for (table,) in tables for row in connection.execute(f"SELECT t::text FROM {table} t").fetchall()]
    assert len(rows) > 1000
    return "\n".join(text for (text,) in rows).encode()


@pytest.mark.postgres
def test_every_check_passed_failed_and_stumbled_on_postgresql(postgresql):
    """What is searched is worth the search; no right to read and a time limit are there too."""
    place, _ = postgresql
    found = _reasons(place, "postgresql")
    for kind in set(CASES) - {"expectation", "re_release"}:  # of which no release is remembered here
        assert {"fail", "bug"} <= found[kind], kind
    assert {"permission", "misconfigured"} <= set().union(*found.values())
    assert "timeout" in {one["reason"] for one in json.loads(place.said("check"))["results"]}


@pytest.mark.postgres
def test_postgresql_lets_nothing_out(postgresql):
    """Neither values nor passwords: not in what is said, nor in messages and reports."""
    place, _ = postgresql
    leaks = place.leaks()
    assert not leaks, "\n".join(leaks[:20])


@pytest.mark.postgres
def test_a_store_on_postgresql_keeps_nothing(postgresql):
    """Every row of every table of the store is searched."""
    place, dumped = postgresql
    assert not list(found_in(dumped, place.tokens.numbers))


@pytest.fixture(scope="module")
def spark(new_place, spark_session) -> Iterator[Place]:
    """Yield a place over tables of the Spark session of this process, which our sources then use beside it."""
    session = spark_session
    place = new_place()
    files = place.folder / "data" / "spark"
    files.mkdir()
    PLANTS["parquet"](files, Harvest(place.tokens, loaded_at=NOW - timedelta(hours=4)))
    session.sql("CREATE SCHEMA canaries")
    for table in ("people", "tidy"):
        session.read.parquet(str(files / f"{table}.parquet")).write.saveAsTable(f"canaries.{table}")
    place.watch("spark", {"spark": "local[2]"}, expects=True, within="canaries.")
    place.configure()
    yield place
    session.sql("DROP SCHEMA canaries CASCADE")


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # Spark's bridge to Java leaves sockets to the collector
@pytest.mark.spark
def test_spark_lets_nothing_out(spark, capfd):
    """What Spark says of values is neither reported nor kept; its own log, which prints some, is silent."""
    loaded = load(spark.work / "tablewatch.yaml", environment={"CANARY_PASSWORD": "canary password"})
    project = Project(loaded)
    targets = targets_of(project, ["spark.people"])
    with open_store(loaded.config.storage.url) as store:
        # in this thread: a session is known to the thread that made it
        with WorkerCalls(PRELOAD) as caller:
            scanned = list(scan_source(targets, clock=project.clock, plans={}, caller=caller))
        results = record_results(scanned, store=store, policy_of=project.policy_of, clock=project.clock)
    report = PassResult("canaries", "1", project.clock.now(), 1.0, results)
    spark.seen["report"] = json.dumps(pass_as_json(report)).encode() + "\n".join(map(str, pass_lines(report))).encode()
    spark.seen["streams"] = "".join(capfd.readouterr()).encode()
    found: dict[str, set[str]] = {}
    for result in results:
        found.setdefault(result.check.type, set()).add(result.outcome.reason or result.outcome.status)
    assert set(found) == set(CASES)
    # no release is remembered, and tables of Spark are not compared
    assert {kind for kind, answers in found.items() if "fail" not in answers} == {"diff", "re_release"}
    leaks = spark.leaks()
    assert not leaks, "\n".join(leaks[:20])
