"""Checks that are judged in each segment of a table: incidents, histories, names, and how much is kept."""

import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from checks import MOST_SEGMENTS, Status, UnknownReason
from incidents import Incident, Resolution, State, Window, hours, to_us
from monitor.config.selector import select
from monitor.reporting.terminal_views.pass_report import pass_as_json, pass_lines
from monitor.scan.recorder import retire
from monitor.scan.results import PassResult
from monitor.scan.run import run_checks
from monitor.summaries.downtime import measure_downtime
from store import IncidentFilter, Store
from tests.monitor.shop import CONFIG, NOW, Shop, build_shop

HOUR = timedelta(hours=1)


@pytest.fixture
def shop(tmp_path):
    """Return a shop whose orders are by customer: five of `ann`, three of `bob`, one of no customer."""
    shop = build_shop(tmp_path, _checks("by: customer"))
    shop.sql("DELETE FROM orders")
    rows = [*[("ann", 1.0)] * 5, *[("bob", 1.0)] * 3, (None, 1.0)]
    _insert(shop, rows)
    return shop


def _checks(by: str, check: str = "type: range, column: amount, min: 0") -> str:
    return f"      - {{{check}, {by}}}"


def _insert(shop: Shop, rows: Sequence[tuple[Any, float]]) -> None:
    shop.sql("INSERT INTO orders VALUES (1, ?, ?, '2026-11-20 08:00')", rows)


def _configure(shop: Shop, checks: str) -> None:
    shop.config.write_text(CONFIG.format(folder=shop.folder, checks=checks), encoding="utf-8")


def _run(shop: Shop, store: Store | None) -> PassResult:
    project = shop.project()
    shop.clock.advance(HOUR)
    return run_checks(project, select([], project.config), store=store)


def _incidents(store: Store) -> list[Incident]:
    with store.reading() as tx:
        return sorted(tx.incidents.matching(IncidentFilter()), key=lambda incident: incident.id)


def test_each_segment_that_fails_has_an_incident_of_its_own(shop):
    """Two of three segments fail: two incidents of one check, each resolved when its own segment passes again."""
    with shop.project().open_store() as store:
        assert _run(shop, store).exit_code == 0
        _insert(shop, [("ann", -1.0), (None, -1.0)])
        report = _run(shop, store)
        assert report.exit_code == 1
        assert [incident.check_id for incident in _incidents(store)] == ["orders.range"] * 2
        assert len({incident.fingerprint for incident in _incidents(store)}) == 2
        assert all(incident.last.onset.earliest == NOW + HOUR for incident in _incidents(store))
        shop.sql("DELETE FROM orders WHERE amount < 0 AND customer = 'ann'")
        for _ in range(2):
            _run(shop, store)
        first, second = _incidents(store)
        assert (first.state, first.resolution) == (State.RESOLVED, Resolution.FIXED)
        assert first.last.resolved_at == NOW + 3 * HOUR
        assert second.state is State.OPEN


def test_a_relapse_belongs_to_the_incident_of_its_segment(shop):
    """A segment that fails again within seven days has a second episode, whatever the other segments did meanwhile."""
    with shop.project().open_store() as store:
        for amount in (-1.0, 1.0, 1.0, -1.0):
            shop.sql("UPDATE orders SET amount = ? WHERE customer = 'bob'", [(amount,)])
            _run(shop, store)
        (incident,) = _incidents(store)
        assert len(incident.episodes) == 2
        assert incident.regressed


def test_a_name_is_a_hash_unless_it_is_listed_or_shown(shop):
    """Values reach no result, store or incident, unless the configuration lists them or says `show: true`."""
    _insert(shop, [("ann", -1.0), ("bob", -1.0)])
    for by, names in (
        ("by: customer", set()),
        ("by: {columns: customer, values: [ann]}", {"customer=ann"}),
        ("by: {columns: customer, show: true}", {"customer=ann", "customer=bob"}),
    ):
        _configure(shop, _checks(by))
        with shop.project().open_store() as store:
            report = _run(shop, store)
            text = json.dumps(pass_as_json(report)) + "".join(line.plain for line in pass_lines(report))
        stored = b"".join(file.read_bytes() for file in shop.folder.glob("store.db*"))
        for name in ("ann", "bob"):
            is_shown = f"customer={name}" in names
            assert (f"customer={name}" in text) == is_shown
            assert (f"customer={name}".encode() in stored) == is_shown
    assert len(_titles(report)) == 2


def _titles(report: PassResult) -> list[str]:
    return [str(part.segment) for part in report.results[0].segments]


def test_the_same_segment_has_the_same_name_in_every_run_and_check(shop):
    """The name of a segment is a keyed hash: it is the same for all checks of a table, and in the next process."""
    _insert(shop, [("ann", -1.0)])
    checks = [_checks("by: customer"), _checks("by: customer, id: again")]
    _configure(shop, "\n".join(checks))
    names = []
    for _ in range(2):
        with shop.project().open_store() as store:
            names += [part.segment for result in _run(shop, store).results for part in result.segments]
    assert len(names) == 4
    assert len(set(names)) == 1


def test_more_failures_than_are_followed_are_summed_up(shop):
    """Of 30 failing segments, `most` have incidents, the largest first, and one incident says how many more fail."""
    shop.sql("DELETE FROM orders")
    _insert(shop, [(f"c{number:02}", -1.0) for number in range(30) for _ in range(number + 1)])
    _configure(shop, _checks("by: {columns: customer, most: 4, show: true}"))
    with shop.project().open_store() as store:
        report = _run(shop, store)
        assert _titles(report) == [f"customer=c{number}" for number in (29, 28, 27, 26)]
        assert report.results[0].outcome.observed["failing"] == 30
        own = [incident for incident in _incidents(store) if incident.fingerprint == "orders.range"]
        assert [incident.title_values["more"] for incident in own] == [26]
        assert len(_incidents(store)) == 5
        shop.sql("UPDATE orders SET amount = 1 WHERE customer < 'c26'")
        for _ in range(2):
            _run(shop, store)
        states = {incident.fingerprint: incident.state for incident in _incidents(store)}
        assert states.pop("orders.range") is State.RESOLVED
        assert set(states.values()) == {State.OPEN}


def test_a_listed_segment_that_vanishes_fails_and_others_end(shop):
    """Of a listed segment rows are expected: none is too few. One that is not listed ends with its last row."""
    _configure(shop, _checks("by: {columns: customer, values: [ann]}", "type: volume, min: 4"))
    with shop.project().open_store() as store:
        _run(shop, store)
        (bob, nobody) = _incidents(store)
        shop.sql("DELETE FROM orders WHERE customer IN ('ann', 'bob')")
        report = _run(shop, store)
        assert "customer=ann: 0 rows, at least 4 expected" in {
            str(part.outcome.message) for part in report.results[0].segments
        }
        _run(shop, store)
        ended, lasting, ann = _incidents(store)
        assert (ended.id, ended.resolution, ended.last.resolved_at) == (bob.id, Resolution.NO_ACTION, NOW + 2 * HOUR)
        assert ended.cause == "the segment has no rows any more"
        assert (lasting.id, lasting.state) == (nobody.id, State.OPEN)
        assert ann.last.detected_at == NOW + 2 * HOUR


def test_too_many_segments_are_bounded_and_said(shop):
    """Of a column with more values than are judged, the largest segments are, and the check is unknown."""
    _insert(shop, [(f"c{number}", 1.0) for number in range(MOST_SEGMENTS)])
    with shop.project().open_store() as store:
        report = _run(shop, store)
        (result,) = report.results
        assert (result.outcome.status, result.outcome.reason) == (Status.UNKNOWN, UnknownReason.MISCONFIGURED)
        assert str(result.outcome.message).startswith("more than 10,000 segments")
        assert result.outcome.observed["segments"] == MOST_SEGMENTS
        assert result.segments == ()
        _insert(shop, [("c1", -1.0)] * 3)
        report = _run(shop, store)
        assert report.exit_code == 1
        assert len(_incidents(store)) == 1
        with store.reading() as tx:
            assert len(tx.results.watches()) == 1


def test_segments_have_histories_of_their_own(shop):
    """A baseline is that of the segment: `bob` shrinks to a third of his usual rows, and only `bob` fails."""
    _configure(shop, _checks("by: {columns: customer, show: true}", "type: volume, min_ratio: 0.5, weeks: 1"))
    with shop.project().open_store() as store:
        assert _run(shop, store).results[0].outcome.reason is UnknownReason.NO_DATA
        shop.clock.advance(timedelta(days=7) - HOUR)
        shop.sql("DELETE FROM orders WHERE customer = 'bob'")
        _insert(shop, [("bob", 1.0)])
        report = _run(shop, store)
        seen = {part.segment: part.outcome for part in report.results[0].segments}
        assert {name: outcome.status for name, outcome in seen.items()} == {
            "customer=ann": Status.PASS,
            "customer=bob": Status.FAIL,
            "customer=NULL": Status.PASS,
        }
        assert seen["customer=ann"].observed["baseline"] == 5


def test_what_is_not_followed_is_not_compared_and_unknown(shop):
    """Segments beyond `most` have no history: they are unknown, and never pass."""
    _configure(shop, _checks("by: {columns: customer, most: 2}", "type: volume, min_ratio: 0.5, weeks: 1"))
    with shop.project().open_store() as store:
        _run(shop, store)
        shop.clock.advance(timedelta(days=7) - HOUR)
        (result,) = _run(shop, store).results
        assert [part.outcome.status for part in result.segments] == [Status.PASS] * 2
        assert (result.outcome.status, result.outcome.reason) == (Status.UNKNOWN, UnknownReason.MISCONFIGURED)


def test_hours_of_segments_add_up_and_table_hours_do_not(shop):
    """Two segments that are down at once are two incidents: their hours add up, and the table was down once."""
    with shop.project().open_store() as store:
        _run(shop, store)
        _insert(shop, [("ann", -1.0), ("bob", -1.0)])
        _run(shop, store)
        shop.clock.advance(2 * HOUR)
        project = shop.project()
        now = project.clock.now()
        with store.reading() as tx:
            window = Window.of(now - timedelta(days=1), now)
            figures = measure_downtime(project, tx, window=window, as_of_us=to_us(now), by="table")
    assert figures.whole.n == 2
    assert hours(figures.whole.downtime) == 6
    assert hours(figures.whole.table_time) == 3


def test_a_check_that_loses_its_segments_ends_their_incidents(shop):
    """Removing `by` ends the incidents of segments: nothing would ever pass for them."""
    _insert(shop, [("ann", -1.0)])
    with shop.project().open_store() as store:
        _run(shop, store)
        _configure(shop, _checks("severity: error"))
        assert retire(shop.project(), store) == 1
        (incident,) = _incidents(store)
        assert incident.resolution is Resolution.NO_ACTION


def test_one_statement_for_all_checks_of_the_same_columns(shop):
    """Checks that share the columns of their segments are read in one GROUP BY, whatever their order."""
    from monitor.scan.planner import plan
    from monitor.scan.results import targets_of
    from sources import open_source

    checks = [
        _checks("by: [customer, id]"),
        _checks("by: [id, customer]", "type: volume, min: 1"),
        _checks("by: customer", "type: not_null, columns: [amount]"),
    ]
    _configure(shop, "\n".join(checks))
    (target,) = targets_of(shop.project(), ["orders"])
    with open_source(target.source) as source:
        made = plan(target.subject, source)
    assert [set(query.columns) for query in made.segments] == [{"orders.range", "orders.volume"}, {"orders.not-null"}]
    assert made.fused is None
