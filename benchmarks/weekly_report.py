"""The weekly report over a store with a million incidents of three years, in one process and as the command."""

import multiprocessing
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks._measure import Cost, measure, median, table
from incidents import IncidentHistory, LevelSurvey, Window, to_us
from monitor.config import load
from monitor.config.project import Project
from monitor.config.promised import promised_contracts
from monitor.reporting.build import build_report, gather
from monitor.reporting.period import PERIODS, Period
from monitor.reporting.render import as_html
from monitor.summaries.patterns import PatternSurvey
from monitor.summaries.service_levels import judge_contract
from monitor.terminal.localizer import Localizer
from store import open_store

CAUSES = ("late upstream", "code change", "schema change", "manual edit")
INCIDENTS, TABLES, CHECKS, OWNERS, RUNS = 1_000_000, 1000, 5, 20, 5
END = datetime(2026, 11, 16, tzinfo=UTC)
START = END - timedelta(days=3 * 365)
WEEK, ZONE = "2026-W46", "Asia/Tokyo"
HEAD = """version: 1
project: million
timezone: Asia/Tokyo
sources: {s: {url: "sqlite:///source.db"}}
cost:
  currency: JPY
  tiers: {gold: {per_hour: 120000}, silver: {per_hour: 30000}, bronze: {per_hour: 3000}}
  business_hours: {days: mon-fri, start: "09:00", end: "19:00", outside_factor: 0.2}
"""
SLO = """slo:
  "tier:gold": {downtime: 2h per 30d, ttd: 1h, ttr: 4h}
  "tier:silver": {downtime: 8h per 30d, ttd: 2h, ttr: 8h}
  "tier:bronze": {downtime: 1d per 30d, ttd: 4h, ttr: 1d}
"""
INCIDENT = (
    "INSERT INTO incident (id, fingerprint, table_name, check_id, kind, severity, title, title_values, found_by, state,"
    " resolution, detected_us, ended_us, regressed, flapping, cause, answered)"
    " VALUES (?, ?, ?, ?, 'quality', ?, '{rows:count} rows', '{\"rows\":41203}', ?, ?, ?, ?, ?, 0, 0, ?, ?)"
)
EPISODE = (
    "INSERT INTO episode (incident_id, number, occurred_us, earliest_us, latest_us, method, detected_us, resolved_us)"
    " VALUES (?, 0, ?, ?, ?, 'last-good-run', ?, ?)"
)
WATCH = (
    "INSERT INTO check_state (check_id, monitored_since_us, last_run_us, last_status, fail_streak, pass_streak, recent,"
    " flapping) VALUES (?, ?, ?, 'pass', 0, 1, 'P', 0)"
)


def main() -> None:
    """Print what the report takes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _configure(folder)
        # in a process of its own: a child's memory is counted from that of its parent
        filling = multiprocessing.get_context("spawn").Process(target=_fill, args=(folder / "store.db",))
        filling.start()
        filling.join()
        page = folder / "report.html"
        config = str(folder / "tablewatch.yaml")
        words = ["report", "weekly", "--force", "--config", config, "--week", WEEK, "--out", str(page)]
        outside = [_wall([sys.executable, "-m", "monitor", *words]) for _ in range(RUNS)]
        memory = _peak_mb([sys.executable, "-m", "monitor", *words])
        inside = {kind.unit: _in_process(folder, kind.last_complete(END, ZONE)) for kind in PERIODS}
        read, counted, judged = _all_figures(folder)
        size = page.stat().st_size
    rows = [
        *((f"{unit}: read, build, render (median of {RUNS})", *_columns(cost)) for unit, cost in inside.items()),
        (f"causes, resolutions, returns and alarms of all of them (median of {RUNS})", *_columns(counted)),
        (f"error budgets and promises of {TABLES} tables over all of them (median of {RUNS})", *_columns(judged)),
        ("reading all of them for that, once", *_columns(read)),
        (f"the command, from start to file (median of {RUNS})", f"{median(outside).wall:.2f}", ""),
    ]
    print(
        f"**The weekly report: {INCIDENTS:,} incidents of three years, {TABLES} tables.** A page of {size:,} bytes.\n"
    )
    print(table(("work", "wall s", "cpu s"), rows))
    print(f"\nMost memory of the command: {memory:.0f} MB")


def _in_process(folder: Path, period: Period) -> Cost:
    project = Project(load(folder / "tablewatch.yaml"))
    voice = Localizer("ja", ZONE)

    def work() -> None:
        with open_store(f"sqlite:///{folder}/store.db") as store, store.reading() as tx:
            report = build_report(gather(project, tx, period, END), period)
        as_html(report, voice)

    return median([measure(work) for _ in range(RUNS)])


def _columns(cost: Cost) -> tuple[str, str]:
    return f"{cost.wall:.2f}", f"{cost.cpu:.2f}"


def _all_figures(folder: Path) -> tuple[Cost, Cost, Cost]:
    """Measure reading three years of incidents, counting what they have in common, and judging what is promised."""
    project, spans = Project(load(folder / "tablewatch.yaml")), []
    window = Window.of(START, END)

    def read() -> None:
        with open_store(f"sqlite:///{folder}/store.db") as store, store.reading() as tx:
            spans[:] = [tx.incidents.spans(window.start_us, window.end_us)]

    def count() -> None:
        PatternSurvey(spans[0], window.end_us, project.config.incidents, pricing=project.pricing).of(window)

    def judge() -> None:
        survey = LevelSurvey.of(IncidentHistory(spans[0]), window, as_of_us=window.end_us)
        for promised in promised_contracts(project.config):
            judge_contract(promised, survey)

    return measure(read), *(median([measure(work) for _ in range(RUNS)]) for work in (count, judge))


def _peak_mb(command: list[str]) -> float:
    """Run a command and give the most memory it held."""
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    return usage.ru_maxrss / 1e3


def _wall(command: list[str]) -> Cost:
    return measure(lambda: subprocess.run(command, check=True, capture_output=True))


def _configure(folder: Path) -> None:
    lines = ["owners:", *(f"  o{number}: {{name: Team {number}}}" for number in range(OWNERS)), "tables:"]
    for number in range(TABLES):
        tier = ("gold", "silver", "bronze")[number % 3]
        lines.append(f"  - {{name: t{number}, source: s, owner: o{number % OWNERS}, tier: {tier}, checks: [")
        lines.append(", ".join(f"{{type: not_null, id: c{check}, columns: [a]}}" for check in range(CHECKS)) + "]}")
    storage = f'storage: {{url: "sqlite:///{folder}/store.db"}}\n'
    (folder / "tablewatch.yaml").write_text(HEAD + SLO + storage + "\n".join(lines) + "\n", encoding="utf-8")


def _fill(database: Path) -> None:
    open_store(f"sqlite:///{database}").close()
    connection = sqlite3.connect(database)
    with connection:
        incidents = list(_incidents())
        connection.executemany(INCIDENT, [incident for incident, _ in incidents])
        connection.executemany(EPISODE, [episode for _, episode in incidents])
        checks = [f"t{number}.c{check}" for number in range(TABLES) for check in range(CHECKS)]
        connection.executemany(WATCH, [(check, to_us(START), to_us(END)) for check in checks])
    connection.close()


def _incidents() -> Iterator[tuple[tuple[Any, ...], tuple[Any, ...]]]:
    """Yield incidents spread evenly over three years; those at the end still last."""
    chance = random.Random(7)  # noqa: S311 - a benchmark, the same each time
    start, end, hour = to_us(START), to_us(END), 3_600_000_000
    for number in range(1, INCIDENTS + 1):
        occurred = start + (end - start) * number // INCIDENTS - hour
        detected = min(occurred + int(chance.expovariate(1 / (2 * hour))), end)
        resolved = detected + int(chance.expovariate(1 / (6 * hour)))
        over = resolved < end
        person, good = chance.random() < 0.02, chance.random() < 0.9
        name = f"t{chance.randrange(TABLES)}"
        ended = ("fixed" if good else "false-positive", resolved) if over else (None, None)
        check = None if person else f"{name}.c{number % CHECKS}"
        severity = ("info", "warning", "error", "critical")[number % 4]
        cause = CAUSES[number % len(CAUSES)] if over and number % 3 == 0 else None
        words = ("person" if person else "check", "resolved" if over else "open", ended[0], detected, ended[1])
        yield (
            (number, f"f{number}", name, check, severity, *words, cause, cause is not None or not good),
            (number, occurred, occurred - hour, detected, detected, ended[1]),
        )


if __name__ == "__main__":
    main()
