"""Plan schedules: seconds for 1,000 tables beside HiGHS, and how often months lie inside the forecast.

python -m benchmarks plan [DEMO]

1,000 tables ran for 84 days, every 5 minutes to once a day, 1 to 60 s a run. Their faults begin at any moment, at rates
between one in ten days and one in three years. The choice of schedules is compared with `scipy.optimize.milp` on the
same menus. The forecast of a month is made from the days before it, and compared with the faults that were drawn or,
in the demo (DEMO: the folder of one that is built), planted.
"""

import random
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import cache
from math import sqrt
from os import getloadavg
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Final, NamedTuple

import numpy as np

from benchmarks._measure import table
from checks import Kind, OccurrenceMethod, Severity
from incidents import AGENT, Episode, FoundBy, Onset, Opened, Resolution, Resolved, Watch, Window, to_us
from incidents.detection_forecast import FaultHistory, WaitTimes, fault_rates, forecast_month
from incidents.knapsack import Frontier
from incidents.spans import HOUR_US
from monitor.clock import SimulatedClock
from monitor.config import load
from monitor.config.project import Project
from monitor.demo import FAULTS, newest_start
from monitor.simulation.schedules import MONTH, SchedulePlan, plan_schedules
from store import IncidentFilter
from store._incidents import History

END: Final = datetime(2026, 11, 16, 0, 0, tzinfo=UTC)
TABLES: Final = 1_000
DAYS: Final = 84
MINUTES: Final = (5, 15, 30, 60, 120, 360, 720, 1_440)
PROJECTS: Final = 250
_HEAD: Final = """version: 1
project: large
storage: {{url: "sqlite:///{folder}/store.db"}}
sources: {{s: {{files: "*.csv"}}}}
cost:
  currency: JPY
  tiers: {{gold: {{per_hour: 120000}}, silver: {{per_hour: 30000}}, bronze: {{per_hour: 3000}}}}
  business_hours: {{days: mon-fri, start: "09:00", end: "19:00", outside_factor: 0.2}}
tables:
"""
_TABLE: Final = (
    "  - {{name: t{0}, source: s, tier: {1}, schedule: every {2}m, checks: [{{type: not_null, columns: [a]}}]}}\n"
)


class SimulatedTable(NamedTuple):
    """A table of a simulated project: minutes between runs now and then, and its faults in hours, with episodes."""

    tier: str
    now: int
    then: int
    faults: Sequence[tuple[float, int]]


def main() -> None:
    """Print the tables."""
    print(f"Load of {getloadavg()[0]:.0f}.\n")
    with TemporaryDirectory() as folder:
        tables = [simulated_table(random.Random(number), "any moment", days=DAYS) for number in range(TABLES)]
        project = _project(Path(folder), tables)
        _fill(project, tables)
        rows = list(_speed(project))
        print(table(("1,000 tables", "wall s", "cpu s", "gap proven", "above the optimum"), rows), "\n")
    coverage = list(_coverage())
    if len(sys.argv) > 2:
        coverage += _of_demo(Path(sys.argv[2]))
    print(table(("faults", "figure of a month", "months", "inside, % (95 % interval)"), coverage))


# --- speed ------------------------------------------------------------------------------------------------------------


def _project(folder: Path, tables: Sequence[SimulatedTable]) -> Project:
    file = folder / "tablewatch.yaml"
    lines = [_TABLE.format(number, item.tier, item.now) for number, item in enumerate(tables)]
    file.write_text(_HEAD.format(folder=folder) + "".join(lines), encoding="utf-8")
    return Project(load(file, environment={}), SimulatedClock(END))


def _fill(project: Project, tables: Sequence[SimulatedTable]) -> None:
    """Write the results of the last 28 days of the tables, their incidents, and what their runs cost."""
    start = END - timedelta(days=DAYS)
    with project.open_store() as store:
        file = Path(project.loaded.home / "store.db")
        with closing(sqlite3.connect(file)) as connection, connection:
            connection.execute('INSERT INTO message_text (id, body) VALUES (1, \'{"text":"x"}\')')
            run = 0
            for number, item in enumerate(tables):
                run = _fill_results(connection, number, item, run)
        for number, item in enumerate(tables):
            histories = [_history(number, item, start, at) for at, _ in item.faults]
            watch = Watch(f"t{number}.not-null", start, END, "pass", END, recent="P", pass_streak=1)
            with store.writing() as tx:
                tx.incidents.add_histories(histories)
                tx.results.save_watches([watch])


def _fill_results(connection: sqlite3.Connection, number: int, item: SimulatedTable, run: int) -> int:
    """Write the results of a table that are at most 28 days old; return the number of its last run."""
    step, begin = timedelta(minutes=item.now), END - MONTH
    names = (number + 1, f"t{number}.not-null", f"t{number}")
    connection.execute("INSERT INTO series (id, check_id, table_name) VALUES (?, ?, ?)", names)
    moments = [begin + step * place for place in range(int(MONTH / step))]
    bad = [(END - timedelta(days=DAYS) + timedelta(hours=at), _repair(at)) for at, _ in item.faults]
    fails = [any(start < moment <= start + step + repair for start, repair in bad) for moment in moments]
    connection.executemany(
        "INSERT INTO run (number, id, table_name, started_us, ended_us) VALUES (?, ?, ?, ?, ?)",
        [(run + i, f"run-{run + i}", names[2], to_us(at), to_us(at) + 1) for i, at in enumerate(moments, 1)],
    )
    connection.executemany(
        "INSERT INTO measurement (run, series, measured_us, status, observed, text, duration_us)"
        " VALUES (?, ?, ?, ?, '{\"rows\":41203}', 1, 1000)",
        [(run + i, number + 1, to_us(at), "fail" if fails[i - 1] else "pass") for i, at in enumerate(moments, 1)],
    )
    seconds = 60 ** random.Random(number).random()
    runs = 24 * 60 // item.now
    connection.executemany(
        "INSERT INTO daily_cost (day, source, table_name, runs, cost_us) VALUES (?, 's', ?, ?, ?)",
        [(str((END - timedelta(days=day)).date()), names[2], runs, int(seconds * runs * 1e6)) for day in range(8)],
    )
    return run + len(moments)


def _repair(at: float) -> timedelta:
    return timedelta(hours=1 + at % 5)


def _history(number: int, item: SimulatedTable, start: datetime, at: float) -> History:
    """Return the incident of a fault: detected by the next run, by the last good run before."""
    detected = start + timedelta(hours=at + _wait(at, item.now))
    onset = Onset(
        detected - timedelta(minutes=item.now),
        detected - timedelta(minutes=item.now),
        detected,
        OccurrenceMethod.LAST_GOOD_RUN,
    )
    name = f"t{number}.not-null"
    opened = Opened(
        name, f"t{number}", name, Kind.QUALITY, Severity.ERROR, "x", {}, FoundBy.CHECK, Episode(onset, detected)
    )
    return History([opened, Resolved(detected + _repair(at), Resolution.FIXED)], detected + _repair(at), AGENT)


def _speed(project: Project) -> Iterator[tuple[str, ...]]:
    wall, cpu = perf_counter(), process_time()
    fresh = Project(load(project.loaded.path, environment={}), project.clock)
    loaded = perf_counter() - wall, process_time() - cpu
    with fresh.open_store(existing=True) as store, store.reading() as tx:
        names = [item.name for item in fresh.config.tables]
        plan = plan_schedules(fresh, tx, tables=names, budget=None, now=END)
    total = perf_counter() - wall, process_time() - cpu
    menus = [item.items for item in plan.tables]
    wall, cpu = perf_counter(), process_time()
    choice = Frontier.of(menus).choose(plan.budget)
    own = perf_counter() - wall, process_time() - cpu
    wall, cpu = perf_counter(), process_time()
    optimum = _optimum(plan)
    other = perf_counter() - wall, process_time() - cpu
    gap, above = f"{choice.gap:.4%}", f"{choice.loss / optimum - 1:.4%}"
    yield ("reading the configuration", *(f"{part:.2f}" for part in loaded), "", "")
    yield ("the whole plan, with that and the replay", *(f"{part:.2f}" for part in total), gap, above)
    yield ("of it, one choice", *(f"{part:.3f}" for part in own), gap, above)
    yield ("the same choice by HiGHS (`milp`)", *(f"{part:.3f}" for part in other), "", "")


def _optimum(plan: SchedulePlan) -> float:
    from scipy.optimize import Bounds, LinearConstraint, milp  # the oracle; the plan needs none
    from scipy.sparse import coo_array, csr_array

    items = [item for entry in plan.tables for item in entry.items]
    rows = [number for number, entry in enumerate(plan.tables) for _ in entry.items]
    one_each = coo_array((np.ones(len(items)), (rows, range(len(items))))).tocsr()
    limits = [
        LinearConstraint(csr_array([[item.weight for item in items]]), -np.inf, plan.budget),
        LinearConstraint(one_each, 1, 1),
    ]
    options = {"mip_rel_gap": 1e-6}
    losses = [item.loss for item in items]
    result = milp(losses, constraints=limits, integrality=np.ones(len(items)), bounds=Bounds(0, 1), options=options)
    return float(result.fun)


# --- how often months lie inside the forecast -------------------------------------------------------------------------


def simulated_table(rng: random.Random, kind: str, *, days: int) -> SimulatedTable:
    """Return a table whose faults begin at any moment, with the daily load, or where several checks notice one."""
    rate = rng.gammavariate(0.7, 1 / 0.7) / rng.choice([14, 30, 60])
    hour, at = rng.random() * 24, 0.0
    faults = []
    while (at := at + rng.expovariate(rate)) < days:
        moment = int(at) * 24 + hour if kind == "with a daily load" else at * 24
        faults.append((moment, rng.choice([1, 1, 2, 3]) if kind == "several checks" else 1))
    return SimulatedTable(rng.choice(["gold", "silver", "bronze"]), rng.choice(MINUTES), rng.choice(MINUTES), faults)


def _wait(at: float, minutes: int) -> float:
    return minutes / 60 - at % (minutes / 60)


@cache
def _waits(minutes: int) -> WaitTimes:
    slots = np.arange(0, 40 * 24 * HOUR_US, minutes * HOUR_US // 60, dtype=np.int64)
    return WaitTimes.of(slots, Window(0, 28 * 24 * HOUR_US))


def months_inside(tables: Sequence[SimulatedTable], month: int) -> Iterator[tuple[str, bool]]:
    """Yield whether figures of a month lie inside the forecast from the months before, now and as proposed."""
    start, end = (edge * MONTH / timedelta(hours=1) for edge in (month, month + 1))
    histories = {}
    for number, item in enumerate(tables):
        before = [episodes for at, episodes in item.faults if at < start]
        histories[str(number)] = FaultHistory(len(before), sum(before), start / 24)
    rates = fault_rates(histories, {str(number): item.tier for number, item in enumerate(tables)})
    for schedule in ("now", "then"):
        minutes = [getattr(item, schedule) for item in tables]
        forecast = forecast_month([(rates[str(n)], 1.0, _waits(each)) for n, each in enumerate(minutes)], MONTH.days)
        hours = episodes = 0.0
        for item, each in zip(tables, minutes, strict=True):
            seen = [(_wait(at, each), number) for at, number in item.faults if start <= at < end]
            hours += sum(wait * number for wait, number in seen)
            episodes += sum(number for _, number in seen)
        yield f"undetected hours, {schedule}", forecast.undetected.low <= hours <= forecast.undetected.high
        if episodes:
            yield f"mean time to detect, {schedule}", forecast.ttd.low <= hours / episodes <= forecast.ttd.high


def _coverage() -> Iterator[tuple[str, ...]]:
    for kind in ("any moment", "with a daily load", "several checks"):
        results: dict[str, list[bool]] = {}
        for seed in range(PROJECTS):
            rng = random.Random(seed)
            tables = [simulated_table(rng, kind, days=5 * MONTH.days) for _ in range(30)]
            for figure, is_inside in months_inside(tables, 3 if seed % 2 else 4):
                results.setdefault(figure, []).append(is_inside)
        for figure, flags in sorted(results.items()):
            yield kind, figure, f"{len(flags):,}", _share(sum(flags), len(flags))


def _share(inside: int, months: int) -> str:
    """Return a share with its interval by Wilson."""
    z, share = 1.96, inside / months
    middle, width = share + z * z / (2 * months), z * sqrt(share * (1 - share) / months + (z / (2 * months)) ** 2)
    low, high = ((middle + sign * width) / (1 + z * z / months) for sign in (-1, 1))
    return f"{share:.1%} ({low:.1%} to {high:.1%})"


def _of_demo(folder: Path) -> Iterator[tuple[str, ...]]:
    """Yield the same for the demo: each 28 days after one or two weeks, and each table of them."""
    project = Project(load(folder / "tablewatch.yaml", environment={}))
    start = newest_start(datetime.now(UTC))
    waits, means, tables = [], [], []
    with project.open_store(existing=True) as store, store.reading() as tx:
        incidents = {item.check_id: item for item in tx.incidents.matching(IncidentFilter())}
        for week in (1, 2):
            now = start + timedelta(weeks=week)
            plan = plan_schedules(project, tx, tables=[t.name for t in project.config.tables], budget=None, now=now)
            waits = [
                (
                    fault.table,
                    (incidents[fault.check_id].episodes[0].detected_at - (start + fault.begins)) / timedelta(hours=1),
                )
                for fault in FAULTS
                if fault.check_id in incidents and now <= start + fault.begins < now + MONTH
            ]
            mean = sum(wait for _, wait in waits) / len(waits)
            means.append(plan.now.ttd.low <= mean <= plan.now.ttd.high)
            longest = {item.table.name: float(item.waits[0].waits[-1]) for item in plan.tables}
            for name in {name for name, _ in waits}:
                own = [wait for other, wait in waits if other == name]
                tables.append(sum(own) / len(own) <= longest[name] + 1 / 60)
    yield "the demo", "mean time to detect, now", f"{len(means)}", _share(sum(means), len(means))
    yield "the demo", "of a table: at most its longest wait", f"{len(tables)}", _share(sum(tables), len(tables))


if __name__ == "__main__":
    main()
