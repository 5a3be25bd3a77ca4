"""Whole passes on real files: what is found, what is remembered, what could not be evaluated."""

import sqlite3
import threading
from contextlib import closing
from datetime import timedelta
from unittest import mock

import pytest

from checks import Severity, Status
from incidents import Resolution, State, verbs
from monitor.clock import SimulatedClock
from monitor.config.selector import select
from monitor.reporting.terminal_views.pass_report import pass_as_json, pass_lines
from monitor.scan.recorder import retire
from monitor.scan.results import targets_of, wait_for
from monitor.scan.run import Engine, run_checks
from monitor.scan.scanner import _Results
from sources import TimedOut, open_source
from sources._deadline import Deadlines
from store import IncidentFilter, Store, StoreError
from tests.monitor.shop import CHECKS, CONFIG, NOW, build_shop


@pytest.fixture
def shop(tmp_path):
    """Return the shop."""
    return build_shop(tmp_path)


def _look(shop, store, *words):
    project = shop.project()
    return run_checks(project, select(words, project.config), store=store)


def _incidents(store):
    with store.reading() as tx:
        return tx.incidents.matching(IncidentFilter())


def test_a_pass_finds_what_is_wrong_and_opens_an_incident(shop):
    """A duplicate key fails its check, and the failure is an incident from then on."""
    with shop.project().open_store() as store:
        assert _look(shop, store).exit_code == 0
        shop.clock.advance(timedelta(hours=1))
        shop.sql("INSERT INTO orders VALUES (1, 'eve', 1.0, '2026-11-20 09:30')")
        report = _look(shop, store)
        assert report.exit_code == 1
        assert [result.outcome.status for result in report.results] == [Status.FAIL, Status.PASS]
        (incident,) = _incidents(store)
        assert report.results[0].incident == incident.id
        assert incident.last.onset.earliest == NOW
        assert incident.last.detected_at == NOW + timedelta(hours=1)


def test_two_passing_runs_resolve_it_as_of_the_first(shop):
    """An incident ends with the first run of the passing streak that closed it."""
    with shop.project().open_store() as store:
        _look(shop, store)
        shop.sql("INSERT INTO orders VALUES (1, 'eve', 1.0, '2026-11-20 09:30')")
        for hour in range(1, 4):
            shop.clock.advance_to(NOW + timedelta(hours=hour))
            _look(shop, store)
            shop.sql("DELETE FROM orders WHERE customer = 'eve'")
        (incident,) = _incidents(store)
        assert incident.state is State.RESOLVED
        assert incident.resolution is Resolution.FIXED
        assert incident.last.resolved_at == NOW + timedelta(hours=2)


def test_a_source_that_is_away_is_unknown_and_opens_nothing(shop):
    """Without its file a source cannot be reached: every check is unknown, and no incident opens or closes."""
    with shop.project().open_store() as store:
        (shop.folder / "shop.sqlite").unlink()
        report = _look(shop, store)
        assert report.exit_code == 3
        assert {result.outcome.reason for result in report.results} == {"unreachable"}
        assert _incidents(store) == []
        assert not (shop.folder / "shop.sqlite").exists()
        assert sum("source shop" in line.plain for line in pass_lines(report)) == 1


def test_a_table_that_is_not_there_is_unknown(shop):
    """A dropped table cannot be evaluated; its checks say which table was looked for."""
    shop.sql("DROP TABLE orders")
    report = _look(shop, None)
    assert {result.outcome.reason for result in report.results} == {"misconfigured"}
    assert "orders" in str(report.results[0].outcome.message)


def test_one_check_that_breaks_the_statement_leaves_the_others(tmp_path):
    """When the engine refuses the fused statement, only the guilty check is unknown."""
    broken = "      - {id: broken, type: not_null, columns: [customer], where: \"upper(customer, 'x') = 'y'\"}\n"
    shop = build_shop(tmp_path, CHECKS + broken)
    report = _look(shop, None)
    statuses = {result.check_id: result.outcome.status for result in report.results}
    assert statuses == {"orders.primary-key": "pass", "orders.not-null": "pass", "orders.broken": "unknown"}


def test_a_fused_statement_that_timed_out_is_not_put_again_for_each_check(shop, monkeypatch):
    """Every check of it is unknown (timeout) after one statement, not after one for each of them."""
    statements = []

    def open_a_slow_one(spec):
        source = open_source(spec)
        source.fetch = mock.Mock(side_effect=lambda sql: statements.append(sql) or _time_out())
        return source

    monkeypatch.setattr("monitor.scan.scanner.open_source", open_a_slow_one)
    report = _look(shop, None)
    assert {result.outcome.reason for result in report.results} == {"timeout"}
    assert len(statements) == 1


def _time_out():
    raise TimedOut("no answer in time")


def test_a_kept_plan_is_used_while_it_fits_the_table(shop, monkeypatch):
    """The second pass over a table that did not change plans nothing."""
    project = shop.project()
    engine = Engine(shop.clock)
    targets = targets_of(project, ["orders"])
    engine.run(targets)
    monkeypatch.setattr("monitor.scan.planner.plan", mock.Mock(side_effect=AssertionError("planned again")))
    assert {one.outcome.status for one in engine.run(targets)} == {Status.PASS}


def test_a_kept_plan_is_made_anew_when_the_table_changed(shop):
    """A column that went away makes its check unknown with a clear reason, not the whole table."""
    project = shop.project()
    engine = Engine(shop.clock)
    targets = targets_of(project, ["orders"])
    assert {one.outcome.status for one in engine.run(targets)} == {Status.PASS}
    shop.sql("ALTER TABLE orders RENAME COLUMN customer TO client")
    by_id = {one.check_id: one.outcome for one in engine.run(targets)}
    assert by_id["orders.primary-key"].status is Status.PASS
    assert "column 'customer' not found" in str(by_id["orders.not-null"].message)


def test_a_failure_below_the_severity_asked_for_leaves_the_exit_code(shop):
    """`--fail-on` lowers what counts for the exit code only; the check failed all the same."""
    shop.sql("INSERT INTO orders VALUES (3, NULL, 1.0, '2026-11-20 09:30')")
    project = shop.project()
    report = run_checks(project, select([], project.config), store=None, fail_on=Severity.CRITICAL)
    assert report.exit_code == 0
    assert report.summary["fail"] == 1


def test_a_check_that_is_no_longer_configured_closes_its_incident(shop):
    """Renaming or removing a check ends its incident as no-action, with the reason."""
    with shop.project().open_store() as store:
        shop.sql("INSERT INTO orders VALUES (1, 'eve', 1.0, '2026-11-20 09:30')")
        _look(shop, store)
        shop.config.write_text(CONFIG.format(folder=shop.folder, checks=CHECKS.splitlines()[2]), encoding="utf-8")
        shop.clock.advance(timedelta(minutes=5))
        assert retire(shop.project(), store) == 1
        (incident,) = _incidents(store)
        assert incident.resolution is Resolution.NO_ACTION
        assert "no longer configured" in incident.cause


_USUAL = """
      - {id: rows, type: volume, min_ratio: 0.5, weeks: 4}
      - {id: total, type: metric, aggregate: sum, column: amount, max_deviation: 0.5, weeks: 4}
"""


def _weekly(shop, *counts):
    """Look once a week at so many orders of 1.0 each, and return the outcomes of the last look by check."""
    with shop.project().open_store() as store:
        for count in counts:
            shop.sql("DELETE FROM orders")
            shop.sql("INSERT INTO orders VALUES (?, 'ann', 1.0, NULL)", [(number,) for number in range(count)])
            report = _look(shop, store)
            shop.clock.advance(timedelta(weeks=1))
        return {result.check_id: result.outcome for result in report.results}


def test_a_baseline_does_not_learn_from_failed_weeks(tmp_path):
    """Two failed weeks of four turn 1000 into nothing else: the weeks inside the incident are left out."""
    shop = build_shop(tmp_path, _USUAL)
    outcomes = _weekly(shop, 1000, 1000, 200, 200, 1000)
    assert {check_id: outcome.observed["baseline"] for check_id, outcome in outcomes.items()} == {
        "orders.rows": 1000,
        "orders.total": 1000,
    }


def test_a_baseline_does_not_learn_from_planned_maintenance(tmp_path):
    """A week in which nothing was to be expected is left out, and leaves nothing to compare with if it was all."""
    shop = build_shop(tmp_path, _USUAL)
    planned = f"""
maintenance:
  - {{tables: [orders], start: {NOW:%Y-%m-%dT%H:%M:%SZ}, end: {NOW + timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ}, reason: x}}
"""
    shop.config.write_text(shop.config.read_text() + planned)
    outcomes = _weekly(shop, 10, 1000)
    assert {outcome.reason for outcome in outcomes.values()} == {"no-data"}
    assert _weekly(shop, 1000)["orders.rows"].observed["baseline"] == 1000


def test_without_a_store_nothing_is_remembered(shop):
    """`--no-store` looks and leaves no file."""
    _look(shop, None)
    assert not (shop.folder / "store.db").exists()


def test_the_published_shape_of_a_pass(shop):
    """The JSON form has exactly the published keys."""
    shop.sql("INSERT INTO orders VALUES (1, 'eve', 1.0, '2026-11-20 09:30')")
    found = pass_as_json(_look(shop, None))
    assert found["schema"] == "tablewatch.check/1"
    assert found["summary"] == {"pass": 1, "warn": 0, "fail": 1, "unknown": 0, "total": 2}
    key = found["results"][0]
    assert key["observed"] == {"rows": 3, "duplicate_keys": 1, "duplicate_rows": 2, "null_keys": 0}
    assert key["expected"] == {"duplicate_keys": 0, "null_keys": 0}
    assert set(key) == {
        "check_id", "table", "type", "kind", "status", "severity", "observed", "expected",
        "message", "reason", "incident", "owner", "duration_s",
    }  # fmt: skip


def test_while_a_merged_incident_lasts_its_duplicate_stays_closed(shop):
    """A check whose incident was merged into another opens no new one as long as that other lasts."""
    with shop.project().open_store() as store:
        shop.sql("INSERT INTO orders VALUES (1, NULL, 1.0, '2026-11-20 09:30')")
        _look(shop, store)
        keys, nulls = sorted(_incidents(store), key=lambda incident: incident.check_id, reverse=True)
        with store.writing() as tx:
            merged = verbs.merge(nulls, keys, lookup=tx.incidents.get, now=shop.clock.now())
            tx.incidents.append(nulls, [merged], recorded_at=shop.clock.now(), actor="someone")
        shop.clock.advance(timedelta(hours=1))
        report = _look(shop, store)
        assert [result.incident for result in report.results] == [keys.id, keys.id]
        assert len(_incidents(store)) == 2


@pytest.fixture
def two_sources(shop, monkeypatch):
    """Return the shop with a second source, `other`, that opens only once the event is set."""
    text = shop.config.read_text(encoding="utf-8")
    text = text.replace("timezone: UTC}", 'timezone: UTC}\n  other: {url: "sqlite:///shop.sqlite"}')
    text += "  - {name: late, source: other, table: orders, checks: [{type: not_null, columns: [id]}]}\n"
    shop.config.write_text(text, encoding="utf-8")
    released = threading.Event()

    def open_when_released(spec):
        if spec.name == "other":
            assert released.wait(timeout=60)
        return open_source(spec)

    monkeypatch.setattr("monitor.scan.scanner.open_source", open_when_released)
    yield shop, released
    released.set()


def test_a_slow_source_delays_the_record_of_no_other(two_sources):
    """What is known of a table is remembered before another source has answered at all."""
    shop, released = two_sources
    project = shop.project()
    done = []

    def remember(table):
        with store.reading() as tx:
            assert set(tx.results.latest()) == {"orders.primary-key", "orders.not-null"} or released.is_set()
        done.append(table)
        released.set()

    with project.open_store() as store:
        Engine(project.clock, store).run(targets_of(project, ["orders", "late"]), remember)
    assert done == ["orders", "late"]


def test_a_pass_that_is_given_up_does_not_wait_for_the_other_sources(two_sources):
    """Ctrl-C ends a pass at once, however long another source still takes."""
    shop, released = two_sources
    project = shop.project()
    targets = targets_of(project, ["orders", "late"])
    with pytest.raises(KeyboardInterrupt):
        Engine(project.clock).run(targets, on_table=mock.Mock(side_effect=KeyboardInterrupt))
    assert not released.is_set()


def test_a_statement_that_cannot_be_stopped_is_a_timeout_and_delays_no_other_table(two_sources, monkeypatch):
    """Its thread is left alone with it: the table is unknown (timeout), and the tables after it are looked at."""
    shop, _ = two_sources
    config = shop.config.read_text(encoding="utf-8").replace("name: late, ", "name: after, ")
    config += "  - {name: before, source: other, table: orders, checks: [{type: not_null, columns: [id]}]}\n"
    shop.config.write_text(config, encoding="utf-8")
    hanging = threading.Event()

    def open_one_that_hangs(spec):
        source = open_source(spec)
        if spec.name == "other" and not hanging.is_set():
            hanging.set()
            fetch = source.fetch

            def stuck(sql):
                with Deadlines(timedelta(0), lambda: None) as deadlines, deadlines.work():
                    over.wait(timeout=60)
                return fetch(sql)

            source.fetch = stuck
        return source

    over = threading.Event()
    monkeypatch.setattr("monitor.scan.scanner.open_source", open_one_that_hangs)
    monkeypatch.setattr("sources._deadline.STUCK_AFTER", timedelta(0))
    project = shop.project()
    try:
        results = Engine(project.clock).run(targets_of(project, ["before", "after"]))
    finally:
        over.set()
    assert [(result.outcome.status, result.outcome.reason) for result in results] == [
        (Status.UNKNOWN, "timeout"), (Status.PASS, None),
    ]  # fmt: skip
    assert "could not be stopped; see query_timeout" in str(results[0].outcome.message)


def test_a_store_that_fails_in_the_middle_hides_nothing_that_was_found(shop):
    """The pass tells all results, says that they were not kept, and is never a success."""
    with shop.project().open_store() as store:
        assert _look(shop, store).problem is None
        with closing(sqlite3.connect(shop.folder / "store.db")) as connection, connection:
            connection.execute("CREATE TRIGGER x BEFORE INSERT ON measurement BEGIN SELECT RAISE(ABORT, 'x'); END")
        report = _look(shop, store)
        assert [result.outcome.status for result in report.results] == [Status.PASS, Status.PASS]
        assert report.exit_code == 3
        assert "not all results were stored: " in report.problem
        assert pass_as_json(report)["problem"] == report.problem
        shop.sql("INSERT INTO orders VALUES (1, 'eve', 1.0, '2026-11-20 09:30')")
        assert _look(shop, store).exit_code == 1
        assert _incidents(store) == []


@pytest.fixture
def compared(tmp_path):
    """Return the shop whose only check compares with earlier measurements."""
    return build_shop(tmp_path, "      - {type: schema}\n")


def test_a_store_that_can_still_be_read_gives_the_history(compared):
    """A failure stays a failure where only its record could not be written."""
    with compared.project().open_store() as store:
        _look(compared, store)
        compared.clock.advance(timedelta(hours=1))
        compared.sql("ALTER TABLE orders DROP COLUMN amount")
        with closing(sqlite3.connect(compared.folder / "store.db")) as connection, connection:
            connection.execute("CREATE TRIGGER x BEFORE INSERT ON measurement BEGIN SELECT RAISE(ABORT, 'x'); END")
        report = _look(compared, store)
        assert [result.outcome.status for result in report.results] == [Status.FAIL]
        assert report.problem is not None


def test_without_its_history_a_check_is_not_evaluated(compared):
    """A store that cannot be read leaves a check that compares `unknown`; nothing is claimed to be recorded."""
    with compared.project().open_store() as store:
        _look(compared, store)
        with closing(sqlite3.connect(compared.folder / "store.db")) as connection, connection:
            connection.execute("ALTER TABLE measurement RENAME TO away")
        (result,) = run_checks(compared.project(), select([], compared.project().config), store=store).results
        assert result.outcome.reason == "no-data"
        assert str(result.outcome.message) == "earlier measurements cannot be read: the store is failing"


def test_what_was_found_is_shown_when_only_forgetting_fails(shop, monkeypatch):
    """A store that fails after the pass costs no result, and the report says what was not done."""
    with shop.project().open_store() as store:
        _look(shop, store)
        monkeypatch.setattr(Store, "prune", mock.Mock(side_effect=StoreError("the disk is full")))
        shop.clock.advance(timedelta(hours=1))
        report = _look(shop, store)
    assert [result.outcome.status for result in report.results] == [Status.PASS, Status.PASS]
    assert report.problem == "results were stored, but old data was not deleted: the disk is full"
    assert report.exit_code == 3


@pytest.mark.parametrize(
    "error", [ZeroDivisionError, SystemExit, KeyboardInterrupt, type("Panic", (BaseException,), {})]
)
def test_a_source_that_cannot_be_opened_for_a_bug_of_ours_leaves_the_others(two_sources, monkeypatch, error):
    """Not even an unexpected error ends the pass, nor an exit that some library calls for."""
    shop, _ = two_sources

    def stumble(spec):
        if spec.name == "other":
            raise error
        return open_source(spec)

    monkeypatch.setattr("monitor.scan.scanner.open_source", stumble)
    report = _look(shop, None)
    assert [result.outcome.reason for result in report.results] == [None, None, "bug"]


def test_a_check_that_went_away_while_the_clock_was_set_back(shop):
    """An incident never ends before it was detected, whatever the clock says by now."""
    with shop.project().open_store() as store:
        shop.sql("INSERT INTO orders VALUES (3, NULL, 1.0, '2026-11-20 09:30')")
        _look(shop, store)
        shop.config.write_text(shop.config.read_text().replace("{type: not_null", "{id: renamed, type: not_null"))
        shop.clock = SimulatedClock(NOW - timedelta(hours=5))
        assert retire(shop.project(), store) == 1
        (incident,) = _incidents(store)
        assert incident.last.resolved_at == incident.last.detected_at == NOW


def test_two_processes_close_the_incident_of_a_check_that_went_away(shop):
    """Who comes second finds nothing left to do."""
    with shop.project().open_store() as store:
        shop.sql("INSERT INTO orders VALUES (3, NULL, 1.0, '2026-11-20 09:30')")
        _look(shop, store)
        shop.config.write_text(shop.config.read_text().replace("{type: not_null", "{id: renamed, type: not_null"))
        project = shop.project()

        class Slower:
            reading = store.reading

            def writing(self):
                retire(project, store)
                return store.writing()

        assert retire(project, Slower()) == 0
        assert [incident.state for incident in _incidents(store)] == [State.RESOLVED]


@pytest.mark.parametrize("error", [ZeroDivisionError("ann"), SystemExit(3)])
def test_a_check_that_stumbles_while_judging_leaves_the_others(shop, monkeypatch, error):
    """A bug in one check's verdict makes that check unknown; the rest of the batch is judged and remembered."""
    monkeypatch.setattr("checks.not_null.NotNull.judge", mock.Mock(side_effect=error))
    with shop.project().open_store() as store:
        report = _look(shop, store)
        assert [result.outcome.reason for result in report.results] == [None, "bug"]
        assert "ann" not in str(report.results[1].outcome.message)
        with store.reading() as tx:
            assert set(tx.results.latest()) == {"orders.primary-key", "orders.not-null"}


def test_ctrl_c_while_judging_ends_the_pass(shop, monkeypatch):
    """Who gives up a pass gets no verdict for it."""
    monkeypatch.setattr("checks.not_null.NotNull.judge", mock.Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        _look(shop, None)


def test_full_batches_leave_the_rest_to_the_next(monkeypatch):
    """A transaction for the one table that came after a full batch costs as much as one for fifty."""
    inbox = _Results(1, SimulatedClock(NOW))
    arriving = iter([120, 31, 0])

    def arrive(_seconds):
        tables = next(arriving)
        for _ in range(tables):
            inbox.put(mock.sentinel.table_result)
        if not tables:
            inbox.close()
        return True

    monkeypatch.setattr(inbox, "_wake", mock.Mock(wait=arrive))
    assert [len(batch) for batch in inbox.batches()] == [50, 50, 50, 1]


def test_few_tables_are_recorded_when_the_reader_wakes(monkeypatch):
    """Without a full batch, whatever there is is taken: the tables of a slow source block no other."""
    inbox = _Results(2, SimulatedClock(NOW))
    arriving = iter([3, 0])

    def arrive(_seconds):
        for _ in range(next(arriving)):
            inbox.put(mock.sentinel.table_result)
        inbox.close()
        return True

    monkeypatch.setattr(inbox, "_wake", mock.Mock(wait=arrive))
    assert [len(batch) for batch in inbox.batches()] == [3]


def test_the_reader_waits_by_the_cost_of_recording(monkeypatch):
    """Where a batch is dear to record, as on a busy machine, more results are collected: recording takes a tenth."""
    clock = SimulatedClock(NOW)
    inbox = _Results(1, clock)
    waits = []

    def arrive(seconds):
        waits.append(seconds)
        clock.advance(timedelta(seconds=seconds))
        inbox.put(mock.sentinel.table_result)
        if len(waits) == 5:
            inbox.close()
        return True

    monkeypatch.setattr(inbox, "_wake", mock.Mock(wait=arrive))
    costs = iter([0.001, 0.2, 0.5, 60.0, 0.0])
    for _ in inbox.batches():
        clock.advance(timedelta(seconds=next(costs)))
    assert waits == pytest.approx([0.5, 0.5, 1.8, 4.5, 10.0])
    assert wait_for(0.0, shortest_s=0.5) == 0.5


def test_a_slow_pass_is_recorded_in_few_batches(monkeypatch):
    """300 tables of 50 ms, of which recording a batch takes 100 ms, are 18 transactions, not one for every ten."""
    clock = SimulatedClock(NOW)
    inbox = _Results(1, clock)
    left = [300]

    def arrive(seconds):
        number = min(left[0], max(1, int(seconds / 0.05)), 50)
        clock.advance(timedelta(seconds=number * 0.05))
        left[0] -= number
        for _ in range(number):
            inbox.put(mock.sentinel.table_result)
        if not left[0]:
            inbox.close()
        return True

    monkeypatch.setattr(inbox, "_wake", mock.Mock(wait=arrive))
    sizes = []
    for batch in inbox.batches():
        clock.advance(timedelta(seconds=0.1))
        sizes.append(len(batch))
    assert sum(sizes) == 300
    assert len(sizes) == 18
