"""The read models of the web pages over a large store: how long each takes, again and again on one connection."""

import argparse
import gc
import multiprocessing
import statistics
import tempfile
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any, TypeAlias

from pydantic import BaseModel

from benchmarks._big_store import END, Size, configure, fill
from benchmarks._measure import Cost, measure, peak_mb, table
from checks import Severity
from monitor.clock import SimulatedClock
from monitor.config import load
from monitor.config.project import Project
from monitor.summaries.health import TableHealth
from monitor.web.views.alert_log import AlertLogQuery, list_alerts
from monitor.web.views.checks import CheckCostQuery, CheckQuery, list_check_costs, show_check
from monitor.web.views.configuration import show_configuration
from monitor.web.views.downtime import DowntimeQuery, SplitBy, show_downtime
from monitor.web.views.incident_list import IncidentQuery, list_incidents
from monitor.web.views.incidents import IncidentNumber, show_incident
from monitor.web.views.overview import NoQuery, show_overview
from monitor.web.views.table import TableQuery, show_table
from monitor.web.views.tables import TableListQuery, list_tables
from store import ReadTransaction, Store, open_store

View: TypeAlias = Callable[[Project, ReadTransaction, Any, Any], BaseModel]
TWO_MONTHS = DowntimeQuery(start=date(2026, 9, 18), end=date(2026, 11, 18), by=SplitBy.CHECK)
WHAT_IF = DowntimeQuery(by=SplitBy.TABLE, noticed_within=15, repair=20)


def main() -> None:
    """Print how long each model takes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--incidents", type=int, default=1_000_000)
    parser.add_argument("--measurements", type=int, default=10_000_000)
    parser.add_argument("--tables", type=int, default=5_000)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--folder", type=Path, help="A store that is kept there, and made if it is not there.")
    options, _ = parser.parse_known_args()
    size = Size(options.incidents, options.measurements, options.tables)
    with tempfile.TemporaryDirectory() as name:
        _report(options.folder or Path(name), size, options.runs)


def _report(folder: Path, size: Size, runs: int) -> None:
    folder.mkdir(exist_ok=True)
    database = folder / "store.db"
    if not database.exists():
        configure(folder, size)
        # in a process of its own: a child's memory is counted from that of its parent
        filling = multiprocessing.get_context("spawn").Process(target=fill, args=(database, size))
        filling.start()
        filling.join()
    project = Project(load(folder / "tablewatch.yaml"), SimulatedClock(END))
    gc.collect()
    gc.freeze()  # as a server does once it has loaded: else a collection walks over the whole configuration, 0.4 s
    with open_store(f"sqlite:///{database}") as store:
        rows = [_row(name, _timed(project, store, view, query, runs)) for name, view, query in _models(size)]
    rows_held = f"{size.incidents:,} incidents, {size.measurements:,} measurements, {size.tables:,} tables"
    print(f"**Models of the pages: {rows_held}, SQLite; {runs} times each.**\n")
    print(table(("model", "first ms", "p50 ms", "p95 ms", "cpu p50 ms"), rows))
    print(f"\nMost memory of the process: {peak_mb():.0f} MB")


def _models(size: Size) -> list[tuple[str, View, BaseModel]]:
    middle = size.incidents // 2
    older = f"older.{int((END - timedelta(days=500)).timestamp() * 1_000_000)}.{middle}"
    return [
        ("overview", show_overview, NoQuery()),
        ("incidents, newest 50", list_incidents, IncidentQuery()),
        ("incidents, 100 from the middle", list_incidents, IncidentQuery(cursor=older, size=100)),
        (
            "incidents, critical of an owner",
            list_incidents,
            IncidentQuery(owner=("o3",), severity=(Severity.CRITICAL,)),
        ),
        ("incident", show_incident, IncidentNumber(id=middle)),
        ("tables, 50", list_tables, TableListQuery()),
        ("tables, 100 that are degraded", list_tables, TableListQuery(health=(TableHealth.DEGRADED,), size=100)),
        ("table", show_table, TableQuery(name="t3")),
        ("check, 90 days", show_check, CheckQuery(id="t3.rows")),
        ("downtime, 28 days by owner", show_downtime, DowntimeQuery()),
        ("downtime, as of a week before", show_downtime, DowntimeQuery(as_of=END - timedelta(days=7))),
        ("downtime, 28 days by table, what if", show_downtime, WHAT_IF),
        ("downtime, 62 days by check", show_downtime, TWO_MONTHS),
        ("alerts", list_alerts, AlertLogQuery()),
        ("cost of checks, 50", list_check_costs, CheckCostQuery()),
        ("configuration", show_configuration, NoQuery()),
    ]


def _timed(project: Project, store: Store, view: View, query: BaseModel, runs: int) -> list[Cost]:
    def work() -> None:
        with store.reading() as tx:
            view(project, tx, query, END)

    return [measure(work) for _ in range(runs)]


def _row(name: str, costs: list[Cost]) -> tuple[str, ...]:
    walls = sorted(cost.wall * 1e3 for cost in costs)
    p95 = statistics.quantiles(walls, n=20)[-1] if len(walls) > 1 else walls[0]
    cpu = statistics.median(cost.cpu for cost in costs) * 1e3
    return (
        name,
        f"{costs[0].wall * 1e3:.0f}",
        f"{statistics.median(walls):.0f}",
        f"{p95:.0f}",
        f"{cpu:.0f}",
    )


if __name__ == "__main__":
    main()
