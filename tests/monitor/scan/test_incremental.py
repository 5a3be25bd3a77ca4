"""Class counts that are kept from run to run: always those of a full recomputation, whatever happened meanwhile."""

import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from checks import Status, UnknownReason
from checks.k_anonymity import KAnonymityCheck
from monitor.clock import SimulatedClock
from monitor.scan.incremental import stage_counts, with_count_states
from monitor.scan.recorder import retire
from monitor.scan.results import CheckResult, Subject, Target, targets_of
from monitor.scan.run import Engine
from monitor.scan.scanner import scan_source
from sources import SourceSpec
from store import Store, StoreError, open_store
from tests.duckdb_rows import insert_rows
from tests.monitor.shop import NOW, build_shop
from tests.store.conftest import url  # noqa: F401 - a fixture: an address of a store on each database
from tests.tiers import examples

KEY = b"a key for tests, 32 bytes long.."
QUASI = ("born", "city")
APPEND = {"mode": "append", "watermark": "seen"}
CHANGES = {"mode": "changes", "table": "log"}
START = datetime(2026, 11, 1, 8)  # noqa: DTZ001 - the watermark is a wall clock
COLUMNS = {"id": "BIGINT", "born": "BIGINT", "city": "TEXT", "day": "TEXT", "seen": "TIMESTAMP"}
LOG = {"sequence": "BIGINT", "op": "TEXT", "before_born": "BIGINT", "before_city": "TEXT"}
LOG |= {"after_born": "BIGINT", "after_city": "TEXT"}

ENGINES = pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
EXAMPLES = settings(
    max_examples=examples(10),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@dataclass
class People:
    """A table of people in a real engine, its log of changes, and a store that keeps counts of it."""

    folder: Path
    engine: str
    store: Store
    incremental: dict[str, str]
    rows: dict[int, tuple[Any, ...]] = field(default_factory=dict)
    number: int = 0
    changes: int = 0
    key: bytes = KEY
    where: str | None = None
    quasi: Sequence[str] = QUASI
    clock: SimulatedClock = field(default_factory=lambda: SimulatedClock(NOW))

    def __post_init__(self) -> None:
        for name, columns in (("people", COLUMNS), ("log", LOG)):
            self.run(f"CREATE TABLE {name} ({', '.join(f'{column} {kind}' for column, kind in columns.items())})")

    @property
    def file(self) -> Path:
        return self.folder / f"people.{self.engine}"

    def run(self, statement: str, rows: Sequence[Sequence[Any]] = ()) -> None:
        """Change the data."""
        if self.engine == "sqlite":
            with closing(sqlite3.connect(self.file)) as connection, connection:
                texts = [[str(one) if isinstance(one, datetime) else one for one in row] for row in rows]
                connection.executemany(statement, texts) if rows else connection.execute(statement)
            return
        with duckdb.connect(str(self.file)) as connection:
            if rows and "VALUES" in statement:
                insert_rows(connection, statement, rows)
            else:
                connection.executemany(statement, rows) if rows else connection.execute(statement)

    def insert(self, people: Sequence[tuple[Any, ...]], *, logged: bool = True) -> None:
        """Add people: born, city, day, seen."""
        made = []
        for person in people:
            self.number += 1
            self.rows[self.number] = (self.number, *person)
            made.append(self.rows[self.number])
        if made:
            self.run("INSERT INTO people VALUES (?, ?, ?, ?, ?)", made)
            self.log([("insert", None, None, *row[1:3]) for row in made] if logged else [])

    def delete(self, numbers: Sequence[int], *, logged: bool = True) -> None:
        """Remove people."""
        gone = [self.rows.pop(number) for number in numbers]
        if gone:
            self.run("DELETE FROM people WHERE id = ?", [(row[0],) for row in gone])
            self.log([("delete", *row[1:3], None, None) for row in gone] if logged else [])

    def update(self, changes: dict[int, tuple[Any, ...]]) -> None:
        """Change who people are, and their day."""
        said = []
        for number, (born, city, day) in changes.items():
            old = self.rows[number]
            self.rows[number] = (number, born, city, day, old[4])
            said.append(("update", *old[1:3], born, city))
        if changes:
            new = [(*change, number) for number, change in changes.items()]
            self.run("UPDATE people SET born = ?, city = ?, day = ? WHERE id = ?", new)
            self.log(said)

    def log(self, said: Sequence[tuple[Any, ...]]) -> None:
        """Report changes."""
        rows = [(self.changes + number, *one) for number, one in enumerate(said, start=1)]
        self.changes += len(rows)
        if rows:
            self.run("INSERT INTO log VALUES (?, ?, ?, ?, ?, ?)", rows)

    @property
    def check(self) -> KAnonymityCheck:
        return KAnonymityCheck(quasi_identifiers=self.quasi, k=2, where=self.where, incremental=self.incremental)

    @property
    def target(self) -> Target:
        source = SourceSpec(name="people", base=self.folder, url=f"{self.engine}:///{self.file}")
        return Target(Subject("people", "people", (("people.k", self.check),)), source)

    def look(self, store: Store | None = None) -> CheckResult:
        """Make a pass."""
        self.clock.advance(timedelta(hours=1))
        (result,) = Engine(self.clock, store or self.store, key=lambda: self.key).run([self.target])
        return result

    def agrees(self) -> CheckResult:
        """Make a pass, and hold its numbers and the counts in the store to the rows as they are."""
        result = self.look()
        sizes = Counter(Counter(row[1:3] for row in self.rows.values()).values())
        observed = result.outcome.observed
        assert result.outcome.status is not Status.UNKNOWN or not self.rows, str(result.outcome.message)
        if self.rows:
            assert observed["rows"] == len(self.rows)
            assert observed["classes"] == sum(sizes.values())
            assert observed["k"] == min(sizes)
            assert observed["sample_uniques"] == sizes[1]
            if observed["recounted_because"] != "null-watermark":  # then nothing is kept
                assert self.kept() == dict(sizes)
        return result

    def kept(self) -> dict[int, int] | None:
        """Return the sizes in the store, and see that its counts are of these sizes."""
        with self.store.reading() as tx:
            known = tx.classes.known_counts(["people.k"]).get("people.k")
            return None if known is None else tx.classes.sizes(known.state)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Yield a store in a file."""
    with open_store(f"sqlite:///{tmp_path / 'store.db'}") as opened:
        yield opened


BORN = st.sampled_from([1980, 1981, None])
CITY = st.sampled_from(["a", "b", "", None])
DAY = st.sampled_from(["mon", "tue", None])
PERSON = st.tuples(BORN, CITY, DAY)
STEP = st.tuples(
    st.lists(PERSON, max_size=6),
    st.lists(st.integers(0, 99), max_size=4),
    st.lists(st.tuples(st.integers(0, 99), PERSON), max_size=4),
)


def _play(people: People, steps: Sequence[Any]) -> None:
    """Let each batch insert, delete and change, and look after it."""
    for number, (new, old, changed) in enumerate(steps):
        people.insert([(*person, START + timedelta(days=number)) for person in new])
        known = sorted(people.rows)
        people.delete(sorted({known[place % len(known)] for place in old}) if known else [])
        known = sorted(people.rows)
        people.update({known[place % len(known)]: person for place, person in changed} if known else {})
        people.agrees()


@ENGINES
@EXAMPLES
@given(steps=st.lists(STEP, min_size=1, max_size=5))
def test_kept_counts_are_those_of_a_full_recomputation(store, engine, steps):
    """After every batch of inserts, changes and deletes, the numbers are those of counting everything again."""
    with TemporaryDirectory() as folder:
        people = People(Path(folder), engine, store, CHANGES)
        _forget(store)
        _play(people, steps)


@pytest.mark.postgres
def test_kept_counts_are_those_of_a_full_recomputation_on_each_database(url, tmp_path):  # noqa: F811 - the fixture
    """A store on SQLite and one on PostgreSQL keep the same counts, through drafts, deletes to zero and new states."""
    mon, tue = (1980, "a", "mon"), (1981, None, "tue")
    steps = [
        ([mon, mon, tue], [], []),
        ([tue], [], [(0, tue)]),
        ([], [0, 1, 2, 3], []),
        ([mon], [], []),
        ([], [], [(0, tue)]),
    ]
    with open_store(url) as opened:
        _play(People(tmp_path, "sqlite", opened, CHANGES), steps)
        opened.prune(keep_measurements=timedelta(days=90), keep_incidents=timedelta(days=900), now=NOW)


ONE, OTHER = (1980, "a", "mon"), (1980, "b", "mon")
EMPTIED = [([(ONE, 0), (ONE, 2)], [0, 1]), ([(ONE, 1), (OTHER, 0)], [])]
"""All rows go; then as many come, with the watermarks of those."""
ARRIVAL = st.tuples(PERSON, st.integers(0, 2))


@ENGINES
@EXAMPLES
@given(steps=st.lists(st.tuples(st.lists(ARRIVAL, max_size=6), st.lists(st.integers(0, 99), max_size=3)), max_size=6))
@example(steps=EMPTIED)
def test_appended_rows_are_counted_once_whenever_they_come(store, engine, steps):
    """Rows with a newer watermark, with the very same one as the last, or an older one, and deletions: all agree."""
    with TemporaryDirectory() as folder:
        people = People(Path(folder), engine, store, APPEND)
        _forget(store)
        for number, (arrivals, gone) in enumerate(steps):
            hours = (timedelta(hours=max(0, number + lead - 1)) for _, lead in arrivals)
            people.insert([(*person, START + hour) for (person, _), hour in zip(arrivals, hours, strict=True)])
            people.agrees()
            known = sorted(people.rows)
            people.delete(sorted({known[place % len(known)] for place in gone}) if known else [])
            people.agrees()


def _forget(store: Store) -> None:
    with store.writing() as tx:
        tx.classes.keep_only([])


@ENGINES
def test_only_what_changed_is_counted(tmp_path, store, engine):
    """The first run counts all, those after it what changed; they say so."""
    people = People(tmp_path, engine, store, APPEND)
    people.insert([(1980, "a", "mon", START)] * 3)
    first, second = people.agrees().outcome.observed, people.agrees().outcome.observed
    assert (first["counted"], first["recounted_because"]) == ("all", "first")
    assert (second["counted"], second["recounted_because"]) == ("changes", None)


def test_rows_with_the_last_watermark_that_come_later_are_not_lost(tmp_path, store):
    """A row that has the very same watermark as the newest one is counted by the next run, without counting all."""
    people = People(tmp_path, "sqlite", store, APPEND)
    people.insert([(1980, "a", "mon", START)])
    people.agrees()
    people.insert([(1981, "a", "mon", START)])
    observed = people.agrees().outcome.observed
    assert (observed["rows"], observed["counted"]) == (2, "changes")


def test_a_row_count_that_shrank_makes_it_count_all(tmp_path, store):
    """A deleted row below the watermark is no longer counted, because all rows are counted again."""
    people = People(tmp_path, "sqlite", store, APPEND)
    people.insert([(1980, "a", "mon", START), (1980, "a", "mon", START + timedelta(hours=1))])
    people.agrees()
    people.delete([1])
    assert people.agrees().outcome.observed["recounted_because"] == "rows-differ"


def test_a_null_watermark_makes_it_count_all(tmp_path, store):
    """When a row without a watermark came is unknown: it is counted each time, with all others."""
    people = People(tmp_path, "sqlite", store, APPEND)
    people.insert([(1980, "a", "mon", START)])
    people.agrees()
    people.insert([(1981, "a", "mon", None)])
    for _ in range(2):
        observed = people.agrees().outcome.observed
        assert (observed["counted"], observed["recounted_because"]) == ("all", "null-watermark")


@pytest.mark.parametrize(
    "change",
    [
        {"quasi": ("born",)},
        {"where": "born > 0"},
        {"key": b"another key, as long as a key is"},
        {"incremental": CHANGES},
        {"incremental": {"mode": "append", "watermark": "id"}},
    ],
    ids=["columns", "where", "key", "mode", "watermark"],
)
def test_another_question_or_another_key_makes_it_count_all(tmp_path, store, change):
    """Counts of other columns, another filter or mode, or under another key, are not mixed with these."""
    people = People(tmp_path, "sqlite", store, APPEND)
    people.insert([(1980, "a", "mon", START), (1981, "b", "mon", START)])
    people.look()
    other = replace_people(people, **change)
    observed = other.look().outcome.observed
    assert (observed["rows"], observed["counted"]) == (2, "all")
    assert observed["recounted_because"] == "asked-otherwise"
    assert other.look().outcome.observed["counted"] == "changes"


def test_signatures_of_another_scheme_are_never_mixed(tmp_path, store, monkeypatch):
    """When signatures are made otherwise, what was kept is left, and all is counted again."""
    people = People(tmp_path, "sqlite", store, APPEND)
    people.insert([(1980, "a", "mon", START), (1981, "b", "mon", START)])
    people.look()
    people.insert([(1980, "a", "mon", START + timedelta(hours=1))])
    monkeypatch.setattr("monitor.scan.incremental.counting._FORM", "3, another scheme")
    assert people.agrees().outcome.observed["recounted_because"] == "asked-otherwise"
    assert people.agrees().outcome.observed["counted"] == "changes"


def replace_people(people: People, **change: Any) -> People:
    """Return the same table, asked otherwise."""
    for name, value in change.items():
        setattr(people, name, value)
    return people


def test_changes_that_do_not_fit_are_unknown_and_all_is_counted_next_time(tmp_path, store):
    """A log that takes a row out of a class that has none is not this table's: no number, then new counts."""
    people = People(tmp_path, "sqlite", store, CHANGES)
    people.insert([(1980, "a", "mon", START)] * 2)
    people.agrees()
    people.log([("update", 1999, "nowhere", 1980, "a")])
    outcome = people.look().outcome
    assert (outcome.status, outcome.reason) == (Status.UNKNOWN, UnknownReason.MISCONFIGURED)
    assert "nowhere" not in str(outcome.message)
    assert people.agrees().outcome.observed["counted"] == "all"


def test_the_rows_of_one_run_are_what_the_next_starts_from(tmp_path, store):
    """Rows that the log added are in the number to which the following run holds the log, so nothing is recounted."""
    people = People(tmp_path, "sqlite", store, CHANGES)
    people.insert([(1980, "a", "mon", START)] * 2)
    people.agrees()
    for _ in range(2):
        people.insert([(1980, "a", "mon", START)])
        assert people.agrees().outcome.observed["counted"] == "changes"


def test_a_change_that_the_log_does_not_tell_makes_it_count_all(tmp_path, store):
    """The number of rows is held to the log each time."""
    people = People(tmp_path, "sqlite", store, CHANGES)
    people.insert([(1980, "a", "mon", START)] * 2)
    people.agrees()
    people.delete([1], logged=False)
    assert people.agrees().outcome.observed["recounted_because"] == "rows-differ"


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        (("upsert", None, None, 1980, "a"), "'op' is none of insert, update, delete"),
        ((None, None, None, 1980, "a"), "'op' is none of insert, update, delete"),
    ],
)
def test_a_log_with_other_operations_is_refused(tmp_path, store, said, problem):
    """An unknown operation is no change that could be counted."""
    people = People(tmp_path, "sqlite", store, CHANGES)
    people.insert([(1980, "a", "mon", START)])
    people.log([said])
    outcome = people.look().outcome
    assert outcome.reason is UnknownReason.MISCONFIGURED
    assert problem in str(outcome.message)


@pytest.mark.parametrize(
    ("incremental", "problem"),
    [
        ({"mode": "append", "watermark": "sene"}, "column 'sene' not found; did you mean 'seen'?"),
        ({"mode": "append", "watermark": "city"}, "watermark 'city' is of type string; expected times"),
        ({"mode": "changes", "table": "log", "sequence": "op"}, "sequence 'log.op' is of type string"),
        ({"mode": "changes", "table": "people"}, "column 'op' not found in people"),
    ],
)
def test_columns_that_do_not_fit_are_named(tmp_path, store, incremental, problem):
    """A misspelt column, or one of another type, is misconfigured, and the message names it."""
    people = People(tmp_path, "sqlite", store, incremental)
    people.insert([(1980, "a", "mon", START)])
    outcome = people.look().outcome
    assert outcome.reason is UnknownReason.MISCONFIGURED
    assert problem in str(outcome.message)


def test_without_a_store_all_is_counted(tmp_path, store):
    """`--no-store` gives the same numbers, and leaves nothing behind."""
    people = People(tmp_path, "sqlite", store, CHANGES)
    people.insert([(1980, "a", "mon", START)] * 3)
    (result,) = Engine(people.clock, None, key=lambda: KEY).run([people.target])
    assert (result.outcome.observed["rows"], result.outcome.observed["counted"]) == (3, "all")
    assert people.kept() is None


def test_without_a_key_nothing_is_counted_and_the_reason_is_told(tmp_path, store):
    """A store on PostgreSQL without `signature_key`: the check is unknown, and the message says what to do."""

    def no_key() -> bytes:
        raise StoreError("needs 'signature_key' of the storage")

    people = People(tmp_path, "sqlite", store, CHANGES)
    people.insert([(1980, "a", "mon", START)])
    (result,) = Engine(people.clock, store, key=no_key).run([people.target])
    assert result.outcome.reason is UnknownReason.MISCONFIGURED
    assert "signature_key" in str(result.outcome.message)


def _look(people: People) -> Any:
    """Look without remembering."""
    people.clock.advance(timedelta(hours=1))
    targets = with_count_states([people.target], store=people.store, key=lambda: KEY)
    return list(scan_source(targets, clock=people.clock, plans={}))


@pytest.mark.parametrize("incremental", [APPEND, CHANGES], ids=["append", "changes"])
def test_a_crash_before_the_result_leaves_the_old_counts(tmp_path, store, incremental):
    """A change that was written and never settled is read as what held before, and the next run applies it once."""
    people = People(tmp_path, "sqlite", store, incremental)
    people.insert([(1980, "a", "mon", START)] * 3)
    people.agrees()
    people.insert([(1980, "a", "tue", START + timedelta(hours=1)), (1981, "b", "tue", START + timedelta(hours=1))])
    before = people.kept()
    for _ in range(3):
        assert stage_counts(_look(people), store).staged  # and then the process is killed
        assert people.kept() == before
    observed = people.agrees().outcome.observed
    assert observed["counted"] == "changes"
    people.delete([4])
    people.agrees()


def test_a_crash_while_all_is_counted_leaves_nothing(tmp_path, store):
    """Half a set of counts is never read, and retention takes it after a day."""
    people = People(tmp_path, "sqlite", store, CHANGES)
    people.insert([(1980, "a", "mon", START)] * 3)
    assert stage_counts(_look(people), store).staged
    assert people.kept() is None
    assert people.agrees().outcome.observed["recounted_because"] == "first"
    kept = {"keep_measurements": timedelta(days=90), "keep_incidents": timedelta(days=900)}
    assert store.prune(**kept, now=people.clock.now()).class_counts == 0
    assert store.prune(**kept, now=people.clock.now() + timedelta(days=2)).class_counts > 0
    people.agrees()


def test_of_two_runs_at_once_one_is_kept(tmp_path, store):
    """A run whose counts were overtaken is unknown, changes nothing, and the next one is right."""
    people = People(tmp_path, "sqlite", store, CHANGES)
    people.insert([(1980, "a", "mon", START)] * 3)
    people.agrees()
    people.insert([(1981, "b", "mon", START)])
    late = _look(people)
    people.insert([(1981, "b", "tue", START)])
    people.agrees()
    (judged,) = stage_counts(late, store).batch
    assert judged.measured[0].answer.reason is UnknownReason.NO_DATA
    people.agrees()


def test_a_draft_that_was_overtaken_never_holds(tmp_path, store):
    """A change that is settled after another one began on the same counts is dropped."""
    people = People(tmp_path, "sqlite", store, CHANGES)
    people.insert([(1980, "a", "mon", START)] * 3)
    people.agrees()
    people.insert([(1981, "b", "mon", START)])
    before = people.kept()
    first = stage_counts(_look(people), store)
    second = stage_counts(_look(people), store)
    with store.writing() as tx:
        first.settle(tx, first.batch)
    assert people.kept() == before
    with store.writing() as tx:
        second.settle(tx, second.batch)
    assert people.kept() == {1: 1, 3: 1}
    people.agrees()


def test_a_store_that_is_older_than_the_table_is_brought_up(tmp_path, store):
    """A store from before some batches still agrees: what it does not know is read, or all is."""
    people = People(tmp_path, "sqlite", store, APPEND)
    people.insert([(1980, "a", "mon", START)])
    people.agrees()
    with closing(sqlite3.connect(tmp_path / "store.db")) as connection:
        connection.execute(f"VACUUM INTO '{tmp_path / 'older.db'}'")
    people.insert([(1981, "a", "mon", START + timedelta(hours=number)) for number in range(3)])
    people.agrees()
    people.delete([1])
    with open_store(f"sqlite:///{tmp_path / 'older.db'}") as older:
        people.store = older
        people.agrees()


def test_the_store_holds_signatures_and_no_values(tmp_path, store):
    """Neither values nor watermarks can be found in the file of the store."""
    for number, incremental in enumerate((APPEND, CHANGES, {"mode": "append", "watermark": "id"})):
        folder = tmp_path / f"{number}"
        folder.mkdir()
        people = People(folder, "sqlite", store, incremental, number=77_123_400)
        people.insert([(1_234_567, "Springfield", "batch-of-may", datetime(2026, 5, 4, 3, 2, 1))])  # noqa: DTZ001 - a wall clock
        people.look()
    store.close()
    written = b"".join(path.read_bytes() for path in tmp_path.glob("store.db*"))
    for token in (b"Springfield", b"batch-of-may", b"2026-05-04", b"1234567", b"77123401"):
        assert token not in written


def test_counts_of_checks_that_left_the_configuration_go(tmp_path):
    """When a check is no longer configured its counts are given up, and retention takes them."""
    kept = "{type: k_anonymity, quasi_identifiers: [customer], k: 2, incremental: {mode: append, watermark: id}}"
    shop = build_shop(tmp_path, f"      - {kept}\n")
    project = shop.project()
    with project.open_store() as store:
        Engine(shop.clock, store, key=project.signature_key).run(targets_of(project, ["orders"]))
        with store.reading() as tx:
            assert tx.classes.subjects() == {"orders.k-anonymity"}
        without = build_shop_again(shop)
        retire(without, store)
        with store.reading() as tx:
            assert tx.classes.subjects() == set()
        pruned = store.prune(keep_measurements=timedelta(days=90), keep_incidents=timedelta(days=900), now=NOW)
        assert pruned.class_counts > 0
        with store.writing() as tx:
            tables = ("class_state", "class_part", "class_size", "class_count")
            left = [tx._connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar() for table in tables]
        assert left == [0, 0, 0, 0]


def build_shop_again(shop: Any) -> Any:
    """Return the project without the check."""
    text = shop.config.read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if "k_anonymity" not in line]
    shop.config.write_text("\n".join([*lines, "      - {type: primary_key, columns: [id]}"]), encoding="utf-8")
    return shop.project()


def test_the_key_lies_beside_the_store(tmp_path):
    """It is made when it is first needed, for its owner only, and is not in the store."""
    shop = build_shop(tmp_path)
    project = shop.project()
    with project.open_store():
        assert not (tmp_path / "store.db.key").exists()
    assert project.signature_key() == project.signature_key()
    assert (tmp_path / "store.db.key").stat().st_mode & 0o777 == 0o600
