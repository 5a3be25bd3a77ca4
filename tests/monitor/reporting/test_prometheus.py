"""What Prometheus reads: downtime, ages, releases and budgets; rules and dashboard use metrics that exist."""

import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import yaml
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from incidents import AGENT, Acknowledged, ReportedIncident, Resolution
from monitor.config import Config, Contract
from monitor.config.alerts_model import Slo
from monitor.config.project import Project
from monitor.config.selector import select
from monitor.daemon.metrics import Metrics
from monitor.reporting.prometheus import StoreMetrics, project_metrics
from monitor.scan.run import run_checks
from monitor.summaries.scan_costs import today
from monitor.triage.incident_editor import IncidentEditor
from sources import ReadVolume
from store import Run, RunCost, Scheduled, Store
from tests.monitor.shop import NOW, Shop, build_shop
from tests.store.made import episode, opened

ROOT = Path(__file__).parents[3]
CHECKS = """
      - {type: not_null, columns: [customer]}
      - {type: freshness, column: loaded_at, max_age: 2h}
cost: {currency: JPY, tiers: {gold: {per_hour: 1200}}}
releases:
  extract:
    table: orders
    columns: {id: other, customer: quasi-identifier, amount: sensitive, loaded_at: other}
    audience: a university
    limits: {k: 2}
    remedies: [{remedy: suppress}]
budgets:
  orders: {unit: row, total: 3, domain: {id: [1, 2, 3]}}
"""


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[tuple[Shop, Project, Store]]:
    """Return a shop that was checked once, with an incident of four hours: one until detected, three until resolved."""
    shop = build_shop(tmp_path, CHECKS)
    project = shop.project()
    with project.open_store() as store:
        run_checks(project, select([], project.config), store=store)
        desk = IncidentEditor(project, store, actor="test")
        occurred = NOW - timedelta(days=2)
        detected = occurred + timedelta(hours=1)
        report = ReportedIncident(table="orders", title="x", detected_at=detected, occurred_at=occurred)
        incident, _ = desk.log(report)
        with store.writing() as tx:
            after_two_hours = Acknowledged(detected + timedelta(hours=2))
            tx.incidents.append(incident, [after_two_hours], recorded_at=shop.clock.now(), actor="test")
        desk.resolve(incident.id, "fixed", at=detected + timedelta(hours=3))
        shop.clock.advance(timedelta(hours=1))
        yield shop, project, store


class _All(Collector):
    """Everything that a daemon answers."""

    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterator[Metric]:
        """Yield it."""
        yield from self._families


def _text(project: Project, store: Store, *, budgets: bool = True) -> str:
    now = project.clock.now()
    with store.reading() as tx:
        families = [*StoreMetrics.of(tx, now).families(), *project_metrics(project, tx, now, budgets=budgets)]
    metrics = Metrics("1", lambda: families, config_loaded_at=now)
    registry = CollectorRegistry()
    registry.register(_All([*metrics.collect()]))
    return generate_latest(registry).decode()


def test_downtime_and_its_cost_are_those_of_the_last_28_days(watched: tuple[Shop, Project, Store]) -> None:
    """Undetected and repair apart, each by table; the cost in the currency of the project."""
    _, project, store = watched
    lines = _text(project, store).splitlines()
    assert 'tablewatch_downtime_seconds{part="undetected",table="orders"} 3600.0' in lines
    assert 'tablewatch_downtime_seconds{part="repair",table="orders"} 10800.0' in lines
    assert 'tablewatch_downtime_cost{currency="JPY",table="orders"} 4800.0' in lines


def test_times_of_incidents_are_histograms(watched: tuple[Shop, Project, Store]) -> None:
    """An hour falls into the class up to an hour, its bound included."""
    _, project, store = watched
    lines = _text(project, store).splitlines()
    assert 'tablewatch_time_to_detection_seconds_bucket{le="900.0"} 0.0' in lines
    assert 'tablewatch_time_to_detection_seconds_bucket{le="3600.0"} 1.0' in lines
    assert "tablewatch_time_to_acknowledge_seconds_gsum 7200.0" in lines
    assert "tablewatch_time_to_acknowledge_seconds_gcount 1.0" in lines
    assert "tablewatch_time_to_resolution_seconds_gsum 10800.0" in lines
    assert "tablewatch_time_to_resolution_seconds_gcount 1.0" in lines


def test_the_age_of_the_newest_row_grows_between_runs(watched: tuple[Shop, Project, Store]) -> None:
    """It was 30 minutes old when it was checked, an hour ago."""
    _, project, store = watched
    assert 'tablewatch_data_age_seconds{check="orders.freshness",table="orders"} 5400.0' in _text(project, store)


def test_what_checks_cost_and_what_is_delayed(watched: tuple[Shop, Project, Store]) -> None:
    """Seconds and rows of today by source; tables that a daily limit delays."""
    _, project, store = watched
    (source,) = project.config.sources
    now = project.clock.now()
    day = today(project, now)
    with store.writing() as tx:
        before = tx.costs.of_source(source, day).seconds
        tx.results.add_runs([Run("one", "orders", now, now, RunCost(source, day, 2.5, ReadVolume(7)))], [])
        tx.schedule.replace([Scheduled("orders", "every 1h", "UTC", now, now, now)])
    lines = _text(project, store).splitlines()
    seconds = next(line for line in lines if line.startswith("tablewatch_scan_seconds_today{"))
    assert float(seconds.split()[1]) == pytest.approx(before + 2.5)
    assert f'tablewatch_scan_rows_today{{source="{source}"}} 7.0' in lines
    assert f'tablewatch_tables_delayed{{source="{source}"}} 1.0' in lines


def test_releases_and_budgets(watched: tuple[Shop, Project, Store]) -> None:
    """A release on hold is 1; what is left of a budget is for those who may see it."""
    _, project, store = watched
    budget = project.config.budgets["orders"]
    assert budget is not None
    assert 'tablewatch_release_hold{release="extract",table="orders"} 1.0' in _text(project, store)
    assert "tablewatch_budget_remaining" in _text(project, store)
    assert "tablewatch_budget_remaining" not in _text(project, store, budgets=False)


def _names(expression: str) -> set[str]:
    return set(re.findall(r"\btablewatch_[a-z_]+", expression))


def _metric_names(text: str) -> set[str]:
    return {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")} | _names(
        "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    )


def test_rules_and_dashboard_name_metrics_that_exist(watched: tuple[Shop, Project, Store]) -> None:
    """Every metric of an expression is one that a daemon answers."""
    _, project, store = watched
    rules = yaml.safe_load((ROOT / "examples/prometheus/alerts.yaml").read_text(encoding="utf-8"))
    dashboard = json.loads((ROOT / "examples/grafana/tablewatch.json").read_text(encoding="utf-8"))
    expressions = [rule["expr"] for group in rules["groups"] for rule in group["rules"]]
    expressions += [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    existing = _metric_names(_text(project, store))
    used = set().union(*map(_names, expressions))
    assert used - existing == set()
    assert {panel["id"] for panel in dashboard["panels"]} == set(range(1, len(dashboard["panels"]) + 1))


@pytest.mark.promtool
def test_promtool_accepts_the_rules_and_the_metrics(watched: tuple[Shop, Project, Store]) -> None:
    """Prometheus' own linter reads both."""
    promtool = "promtool"
    _, project, store = watched
    rules = subprocess.run(
        [promtool, "check", "rules", ROOT / "examples/prometheus/alerts.yaml"], capture_output=True, check=False
    )
    assert rules.returncode == 0, rules.stderr
    text = _text(project, store)
    metrics = subprocess.run([promtool, "check", "metrics"], input=text, text=True, capture_output=True, check=False)
    assert metrics.returncode == 0, metrics.stderr + metrics.stdout


def test_causes_and_answers_are_metrics(watched: tuple[Shop, Project, Store]) -> None:
    """Only causes of the configuration are labels; alarms of a check are counted by their answers."""
    shop, project, store = watched
    desk = IncidentEditor(project, store, actor="mia")
    desk.resolve(2, Resolution.FIXED, cause="told in confidence")
    text = _text(project, store)
    assert 'tablewatch_downtime_by_cause_seconds{cause="(not in the list)"} 14400.0' in text
    assert "confidence" not in text
    listed = Project(replace(project.loaded, config=_with_causes(project)), clock=shop.clock)
    assert 'tablewatch_downtime_by_cause_seconds{cause="told in confidence"} 14400.0' in _text(listed, store)
    with store.writing() as tx:
        tx.incidents.open(opened("not-null", episode=episode(NOW)), recorded_at=NOW, actor=AGENT)
    assert 'tablewatch_alarms{answer="unanswered",check="crm.customers.not-null"} 1.0' in _text(project, store)


def _with_causes(project: Project) -> Config:
    rules = project.config.incidents.model_copy(update={"causes": ("told in confidence",)})
    return project.config.model_copy(update={"incidents": rules})


def test_error_budgets_are_metrics(watched: tuple[Shop, Project, Store]) -> None:
    """Four hours of downtime two days ago: 6 h are left of 10, spent at 4 h in 3 days where 1 h is allowed in them."""
    shop, project, store = watched
    assert "tablewatch_error_budget" not in _text(project, store)
    contract = Contract.model_validate({"tables": ["orders"], "downtime": "10h per 30d"})
    slo = {"*": Slo.model_validate({"ttd": "1h"})}
    tables = tuple(table.model_copy(update={"tier": "gold"}) for table in project.config.tables)
    promised = project.config.model_copy(update={"contracts": {"board": contract}, "slo": slo, "tables": tables})
    text = _text(Project(replace(project.loaded, config=promised), clock=shop.clock), store)
    line = 'tablewatch_service_level{{contract="{}",domain="",level="{}",owner="{}",tier="{}",verdict="'
    assert line.format("board", "downtime", "", "") in text
    assert line.format("slo:orders", "time-to-detect", "desk", "gold") in text
    assert 'tablewatch_error_budget_left_seconds{contract="board"} 21600.0' in text
    assert 'tablewatch_error_budget_burn_rate{contract="board",window_seconds="259200"} 4.0' in text
    assert 'tablewatch_error_budget_burn_rate{contract="board",window_seconds="21600"} 0.0' in text
