"""Spark gives the numbers of disclosure risk that DuckDB gives, and keeps counts that are those of a recomputation."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from checks import Check, Status
from checks._catalog import load_catalog
from checks._contract import ColumnClass
from monitor.clock import SimulatedClock
from monitor.scan.results import Subject, Target
from monitor.scan.run import Engine
from sources import SourceSpec
from store import Store, open_store
from tests.monitor.scan.test_incremental import APPEND, CHANGES, KEY, LOG, START, People
from tests.monitor.shop import NOW

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::ResourceWarning")]  # Spark's bridge to Java

PEOPLE = {"id": "BIGINT", "born": "BIGINT", "city": "STRING", "day": "STRING", "seen": "TIMESTAMP_NTZ"}
TOLD = {name: "STRING" if kind == "TEXT" else kind for name, kind in LOG.items()}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Yield a store in a file."""
    with open_store(f"sqlite:///{tmp_path / 'store.db'}") as opened:
        yield opened


def write(session: Any, name: str, rows: Sequence[Sequence[Any]], columns: Mapping[str, str]) -> None:
    """Write a table of Spark again."""
    session.sql(f"DROP TABLE IF EXISTS {name}")
    kinds = ", ".join(f"{column} {kind}" for column, kind in columns.items())
    session.createDataFrame([tuple(row) for row in rows], kinds).write.saveAsTable(name)


@dataclass
class SparkPeople(People):
    """The same people in Spark, whose tables are written again before each look."""

    session: Any = None
    told: list[tuple[Any, ...]] = field(default_factory=list)

    def run(self, statement: str, rows: Sequence[Sequence[Any]] = ()) -> None:
        """Remember what the log says; the rows are known."""
        if statement.startswith("INSERT INTO log"):
            self.told += [tuple(row) for row in rows]

    @property
    def target(self) -> Target:
        """Return the table as Spark has it now."""
        write(self.session, "people", list(self.rows.values()), PEOPLE)
        write(self.session, "log", self.told, TOLD)
        source = SourceSpec(name="people", base=self.folder, spark="local[2]")
        return Target(Subject("people", "people", (("people.k", self.check),)), source)


@pytest.mark.parametrize("incremental", [APPEND, CHANGES], ids=["append", "changes"])
def test_kept_counts_are_those_of_a_full_recomputation(
    spark_session: Any, tmp_path: Path, store: Store, incremental: Any
) -> None:
    """After each batch of inserts, changes and deletes, in each mode, the numbers are those of counting all again."""
    people = SparkPeople(tmp_path, "spark", store, incremental, session=spark_session)
    hour = timedelta(hours=1)
    people.insert([(1980, "a", "mon", START), (1980, None, "mon", START), (None, "東", "tue", START + hour)])
    assert people.agrees().outcome.observed["recounted_because"] == "first"
    people.insert([(1980, "a", "tue", START + hour), (1981, "b", None, START + 2 * hour)])
    assert people.agrees().outcome.observed["counted"] == "changes"
    assert people.agrees().outcome.observed["counted"] == "changes"
    people.delete([1, 2])
    if incremental is not APPEND:
        people.update({3: (1980, "a", "wed")})
    found = people.agrees().outcome.observed
    assert found["recounted_because"] == ("rows-differ" if incremental is APPEND else None)
    for table in ("people", "log"):
        spark_session.sql(f"DROP TABLE {table}")


COLUMNS = {
    "id": "BIGINT",
    "born": "BIGINT",
    "city": "STRING",
    "share": "DOUBLE",
    "seen": "TIMESTAMP_NTZ",
    "ill": "STRING",
}


def persons(count: int, shift: int) -> Sequence[tuple[Any, ...]]:
    """Return people, many of them alike, some without a value."""
    made = []
    for number in range(count):
        seen = datetime(2026, 1, 1 + number // 24)  # noqa: DTZ001 - a wall clock
        city = (None, "Ōsaka", "Nara ", "nara")[(number + shift) % 4]
        made.append((number, 1980 + number % 3, city, (0.5, 1.5)[number % 2], seen, f"illness {number * 7 % 5}"))
    return made


def checks() -> tuple[tuple[str, Check], ...]:
    """Return a check of each kind of disclosure risk."""
    quasi = {"quasi_identifiers": ("born", "city", "seen")}
    given: Mapping[str, Mapping[str, Any]] = {
        "k_anonymity": {"k": 3, **quasi},
        "l_diversity": {"l": 2, "sensitive": ("ill",), "variant": "recursive", "c": 1.5, **quasi},
        "t_closeness": {"t": 0.2, "sensitive": ("share",), "distance": "ordered", **quasi},
        "delta_presence": {"population": "everybody", "max": 0.5, **quasi},
        "population_uniqueness": {"sampling_fraction": 0.2, "max_population_unique_fraction": 0.5, **quasi},
        "linkage": {
            "auxiliary": "everybody",
            "on": ("born", "city", "seen"),
            "tolerance": {"born": 1, "seen": "1d"},
            "max_unique_fraction": 0.5,
        },
        "reidentification_by_subset": {"max_unique_fraction": 0.1, "known": 2, **quasi},
        "classification": {"columns": {"id": ColumnClass.DIRECT_IDENTIFIER}},
        "re_release": {"person": ("id",), "k": 2, **quasi},
    }
    catalogue: Any = load_catalog()
    return tuple((f"people.{kind}", catalogue[kind](**values)) for kind, values in given.items())


def test_each_check_sees_what_it_sees_in_duckdb(spark_session: Any, tmp_path: Path, store: Store) -> None:
    """All checks of disclosure risk say and show the same of the same rows in Spark and in DuckDB."""
    tables = {"people": persons(31, 0), "everybody": persons(47, 1)}
    with duckdb.connect(str(tmp_path / "people.duckdb")) as connection:
        kinds = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items()).replace("TIMESTAMP_NTZ", "TIMESTAMP")
        for name, rows in tables.items():
            connection.execute(f"CREATE TABLE {name} ({kinds})")
            connection.executemany(f"INSERT INTO {name} VALUES (?, ?, ?, ?, ?, ?)", list(rows))
            write(spark_session, name, rows, COLUMNS)
    places: Mapping[str, Any] = {
        "duckdb": {"url": f"duckdb:///{tmp_path / 'people.duckdb'}"},
        "spark": {"spark": "local[2]"},
    }
    found = {}
    for name, place in places.items():
        subject = Subject("people", "people", checks())
        target = Target(subject, SourceSpec(name=name, base=tmp_path, **place))
        found[name] = Engine(SimulatedClock(NOW), store, key=lambda: KEY).run([target])
    for one, other in zip(found["duckdb"], found["spark"], strict=True):
        assert (one.outcome.status is Status.UNKNOWN) == (one.check_id == "people.re_release"), one.check_id
        assert (other.outcome.status, str(other.outcome.message)) == (one.outcome.status, str(one.outcome.message))
        assert other.outcome.observed == approximately(one.outcome.observed), one.check_id
    for name in tables:
        spark_session.sql(f"DROP TABLE {name}")


def approximately(seen: Any) -> Any:
    """Let sums of floating point numbers differ by their order."""
    if isinstance(seen, float):
        return pytest.approx(seen, rel=1e-9)
    if isinstance(seen, Mapping):
        return {name: approximately(one) for name, one in seen.items()}
    return [approximately(one) for one in seen] if isinstance(seen, Sequence) and not isinstance(seen, str) else seen
