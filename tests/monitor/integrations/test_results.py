"""Results of other tools become results of checks: incidents, streaks and times are those of our own checks."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from checks import Status, UnknownReason
from incidents import State, Window, to_us
from monitor.config.project import Project
from monitor.integrations.results import ExternalRun, FutureRun, ImportedRun, import_run
from monitor.summaries.coverage import lasting_gaps
from monitor.summaries.health import TableHealth, health_list, states_of
from store import IncidentFilter, Store
from tests.monitor.shop import NOW, Shop


def run_of(
    *results: Any, at: datetime = NOW, name: str = "run", origin: str = "other", complete: bool = False
) -> ExternalRun:
    """Return a run of a minute that ended at a time; a result is (check, status) or (check, status, violations)."""
    keys = ("check", "status", "violations", "table")
    return ExternalRun.model_validate(
        {
            "schema": "tablewatch.results/1",
            "origin": origin,
            "run_id": name,
            "started_at": at - timedelta(minutes=1),
            "ended_at": at,
            "complete": complete,
            "results": [dict(zip(keys, result, strict=False)) for result in results],
        }
    )


class Imports:
    """A project with a store, to which runs are sent."""

    def __init__(self, shop: Shop) -> None:
        self.shop = shop
        self.project: Project = shop.project()
        self.store: Store = self.project.open_store()

    def take(self, *results: Any, **about: Any) -> ImportedRun:
        """Import a run at the present moment of the clock."""
        return import_run(self.project, self.store, run_of(*results, at=self.shop.clock.now(), **about))

    def incidents(self) -> list[Any]:
        """Return all incidents, the oldest first."""
        with self.store.reading() as tx:
            return sorted(tx.incidents.matching(IncidentFilter()), key=lambda item: item.id)


@pytest.fixture
def imports(shop: Shop) -> Any:
    """Return the project with its store, closed with the test."""
    made = Imports(shop)
    yield made
    made.store.close()


def test_a_failing_result_is_an_incident_with_the_times_of_its_runs(imports: Imports) -> None:
    """It occurred after the last good run, detected by the failing one, resolved by the first of two good ones."""
    clock = imports.shop.clock
    imports.take(("test.shop.ids.1", "pass"), name="1", origin="dbt")
    good = clock.now()
    clock.advance(timedelta(hours=24))
    failed = imports.take(("ids", "fail", 3), name="2", origin="dbt")
    detected = clock.now() - timedelta(minutes=1)
    assert [item.incident for item in failed.results] == [1]
    clock.advance(timedelta(hours=24))
    imports.take(("ids", "pass", 0), name="3", origin="dbt")
    resolved = clock.now() - timedelta(minutes=1)
    clock.advance(timedelta(hours=24))
    imports.take(("ids", "pass", 0), name="4", origin="dbt")
    (incident,) = imports.incidents()
    assert str(failed.results[0].outcome.message) == "ids: 3 violations, reported by dbt"
    assert (incident.check_id, incident.state) == ("orders.ids", State.RESOLVED)
    assert incident.last.onset.at == good
    assert incident.last.detected_at == detected
    assert incident.last.resolved_at == resolved


def test_a_run_that_was_imported_changes_nothing(imports: Imports) -> None:
    """Also where its results would be others: the run is known by its id."""
    imports.take(("ids", "fail"), origin="dbt")
    again = imports.take(("ids", "pass"), origin="dbt")
    assert again.already_imported
    assert not again.results
    assert imports.incidents()[0].state is State.OPEN


def test_the_same_id_of_another_tool_is_another_run(imports: Imports) -> None:
    """A run belongs to its origin."""
    imports.take(("ids", "fail"), origin="dbt")
    assert not imports.take(("totals", "fail", None, "refunds"), origin="other").already_imported


def test_results_of_checks_that_are_not_configured_are_named(imports: Imports) -> None:
    """So are those that several tables have, and a second result of one check."""
    run = imports.take(
        ("no-such", "pass"), ("totals", "pass"), ("totals", "pass", None, "orders"), ("totals", "fail", None, "orders")
    )
    assert [(item.check_id, item.outcome.status.value) for item in run.results] == [("orders.totals", "fail")]
    assert [item.reason.partition(";")[0].partition(" (")[0] for item in run.not_taken] == [
        "no check of type external with origin other has this reference",
        "checks of several tables have this reference",
        "it has several results in this run",
    ]


@pytest.mark.parametrize("status", ["error", "skipped"])
def test_what_could_not_be_evaluated_opens_and_closes_nothing(imports: Imports, status: str) -> None:
    """The incident stays open, the outcome is unknown."""
    imports.take(("ids", "fail"), name="1", origin="dbt")
    imports.shop.clock.advance(timedelta(hours=1))
    run = imports.take(("ids", status), name="2", origin="dbt")
    assert [item.outcome.status for item in run.results] == [Status.UNKNOWN]
    assert imports.incidents()[0].state is State.OPEN


def test_a_complete_run_makes_missing_checks_of_its_origin_unknown(imports: Imports) -> None:
    """Of a run of some checks, the others are left as they are."""
    partial = imports.take(("ids", "pass"), name="1", origin="dbt")
    assert [item.check_id for item in partial.results] == ["orders.ids"]
    imports.shop.clock.advance(timedelta(hours=1))
    complete = imports.take(("ids", "pass"), name="2", origin="dbt", complete=True)
    reasons = {item.check_id: item.outcome.reason for item in complete.results}
    no_data = UnknownReason.NO_DATA
    assert reasons == {"orders.ids": None, "orders.amounts": no_data, "orders.fresh": no_data}


def test_a_check_without_a_result_in_time_counts_as_not_run(imports: Imports) -> None:
    """After `every` and a slack, its table is unobserved; until then nothing is missed."""
    clock, project = imports.shop.clock, imports.project
    imports.take(("totals", "pass", None, "refunds"))
    refunds = [table for table in project.config.tables if table.name == "refunds"]
    for hours, health in ((1, TableHealth.HEALTHY), (3, TableHealth.UNKNOWN)):
        clock.advance_to(NOW + timedelta(hours=hours))
        with imports.store.reading() as tx:
            (state,) = states_of(project, tx, refunds)
            assert state.health is health
            assert health_list(project, tx, clock.now()).health["refunds"] is health
            watches = tx.results.watches()
        gaps = list(lasting_gaps(project.config, watches, clock.now()))
        assert [gap.reason for gap in gaps] == (["not-run"] if health is TableHealth.UNKNOWN else [])
    assert "a result is expected every 1 h" in state.not_evaluated[0].message


def test_no_pass_asks_for_it_and_none_closes_its_incident(imports: Imports) -> None:
    """`tablewatch check` of the table runs nothing, and leaves the incident open."""
    from monitor.config.selector import select
    from monitor.scan.run import run_checks

    imports.take(("ids", "fail"), origin="dbt")
    imports.shop.clock.advance(timedelta(hours=1))
    result = run_checks(imports.project, select([], imports.project.config), store=imports.store)
    assert result.results == []
    assert imports.incidents()[0].state is State.OPEN


def test_downtime_is_counted_as_for_any_check(imports: Imports) -> None:
    """From the first failing run on, since no good one is known."""
    from incidents import measure

    imports.take(("ids", "fail"), origin="dbt")
    imports.shop.clock.advance(timedelta(hours=2))
    now = imports.shop.clock.now()
    with imports.store.reading() as tx:
        spans = tx.incidents.spans_of(["orders"], 0)
    downtime = measure(spans, Window.of(now - timedelta(days=1), now), as_of_us=to_us(now))
    assert downtime.downtime == to_us(now) - to_us(now - timedelta(hours=2, minutes=1))


def test_a_run_of_the_future_is_refused(imports: Imports) -> None:
    """It would hold back every result until then; clocks may differ by some minutes."""
    run = run_of(("ids", "fail"), at=NOW + timedelta(minutes=4), origin="dbt")
    assert import_run(imports.project, imports.store, run).results
    with pytest.raises(FutureRun, match="in the future"):
        import_run(imports.project, imports.store, run_of(("ids", "pass"), at=NOW + timedelta(hours=1), origin="dbt"))
    assert len(imports.incidents()) == 1


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("status", "passed"),
        ("violations", -1),
        ("violations", 2**63),
        ("check", ""),
        ("note", "x"),
    ],
)
def test_results_of_another_shape_are_refused(key: str, value: object) -> None:
    """Nothing is guessed: a word that is not known could be a pass or a fail."""
    result = {"check": "ids", "status": "pass", key: value}
    with pytest.raises(ValidationError):
        ExternalRun.model_validate(run_of(("ids", "pass")).model_dump() | {"results": [result]})


def test_a_run_that_ends_before_it_starts_is_refused() -> None:
    """Its times cannot be those of a measurement."""
    run = run_of(("ids", "pass")).model_dump() | {"started_at": NOW + timedelta(hours=1)}
    with pytest.raises(ValidationError, match="before"):
        ExternalRun.model_validate(run)


def test_nothing_is_read_from_an_external_source(shop: Shop) -> None:
    """A check of our own on such a table is refused by its place, and no command reads the table."""
    from monitor.config import ConfigError
    from sources import Unreachable, open_source

    text = shop.config.read_text().replace('{url: "sqlite:///shop.sqlite", timezone: UTC}', "{external: true}")
    shop.config.write_text(text)
    project = shop.project()
    with pytest.raises(Unreachable, match="nothing is read from it"):
        open_source(project.specs["shop"])
    shop.config.write_text(text + "      - {type: volume, min: 1}\n")
    with pytest.raises(ConfigError) as caught:
        shop.project()
    assert [(item.code, item.line) for item in caught.value.problems] == [
        ("config.external_source", text.count("\n") + 1)
    ]
