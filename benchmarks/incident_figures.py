"""Every figure about incidents over a store with a million of three years: processor seconds, in one process.

python -m benchmarks incident_figures

Beside the figures of all three years stands pandas, which reads the same columns and has to come to the same numbers.
"""

import gc
import multiprocessing
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from datetime import timedelta
from fractions import Fraction
from pathlib import Path
from typing import Final, NamedTuple

import pandas as pd

from benchmarks._big_store import END, YEARS, Size, configure, fill
from benchmarks._measure import Cost, measure, median, peak_mb, table
from incidents import IncidentHistory, LevelSurvey, Spans, Window
from incidents import measure as measure_window
from monitor.clock import SimulatedClock
from monitor.config import load
from monitor.config.project import Project
from monitor.config.promised import promised_contracts
from monitor.reporting.build import build_report, gather
from monitor.reporting.period import PERIODS, Period
from monitor.reporting.render import as_html
from monitor.summaries.causes import causes_of
from monitor.summaries.downtime import measure_downtime
from monitor.summaries.patterns import PatternSurvey
from monitor.summaries.products import product_states
from monitor.summaries.service_levels import fast_burns, judge_contract
from monitor.terminal.localizer import Localizer
from monitor.web.incident_brief import incident_brief
from monitor.web.views.incident_list import IncidentQuery, list_incidents
from monitor.web.views.overview import NoQuery, show_overview
from store import ReadTransaction, Store, open_store

SIZE: Final = Size(incidents=1_000_000, measurements=1_000_000, tables=1_000)
RUNS: Final = 3
ALL: Final = Window.of(END - YEARS, END)
RECENT: Final = Window.of(END - timedelta(days=28), END)
_EPISODES: Final = (
    "SELECT e.incident_id, i.table_name, i.cause, i.resolution, e.occurred_us, e.earliest_us, e.latest_us,"
    " e.detected_us, e.acknowledged_us, e.resolved_us FROM episode e JOIN incident i ON i.id = e.incident_id"
)


class Row(NamedTuple):
    """A piece of work, and what it took (medians); `memory` is the most that the process held by then, MB."""

    work: str
    cost: Cost
    memory: float

    def cells(self) -> tuple[str, ...]:
        """Return it as a row of a table."""
        return self.work, f"{self.cost.wall:.2f}", f"{self.cost.cpu:.2f}", f"{self.memory:.0f}"


def main() -> None:
    """Print what each figure takes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        configure(folder, SIZE, promises=True)
        # in a process of its own: a child's memory is counted from that of its parent
        filling = multiprocessing.get_context("spawn").Process(target=fill, args=(folder / "store.db", SIZE))
        filling.start()
        filling.join()
        rows = list(_rows(folder))
        commands = list(_commands(folder / "tablewatch.yaml"))
    print(
        f"**Figures about {SIZE.incidents:,} incidents of three years, {SIZE.tables:,} tables; medians of {RUNS}.**\n"
    )
    print(table(("work", "wall s", "cpu s", "most memory MB"), (row.cells() for row in rows)))
    print("\nCommands, from nothing to the end:\n")
    print(table(("command", "wall s", "cpu s"), commands))


def _rows(folder: Path) -> Iterator[Row]:
    project = Project(load(folder / "tablewatch.yaml"), SimulatedClock(END))
    gc.collect()
    gc.freeze()  # as a daemon does once it has loaded: else a collection walks over the whole configuration
    with open_store(f"sqlite:///{folder}/store.db") as store:
        for name, work in (*_present(project), *((kind.unit, _report(project, kind)) for kind in PERIODS)):
            yield _timed(name, lambda work=work: _reading(store, work))
        yield from _of_all(project, store, folder / "store.db")


def _timed(name: str, work: Callable[[], object]) -> Row:
    return Row(name, median([measure(work) for _ in range(RUNS)]), peak_mb())


def _reading(store: Store, work: Callable[[ReadTransaction], object]) -> None:
    with store.reading() as tx:
        work(tx)


def _report(project: Project, kind: type[Period]) -> Callable[[ReadTransaction], object]:
    """Return the report of the last whole period: read, build, render."""
    period, localizer = kind.last_complete(END, project.config.timezone), Localizer("ja", project.config.timezone)
    return lambda tx: as_html(build_report(gather(project, tx, period, END), period), localizer)


def _present(project: Project) -> Iterator[tuple[str, Callable[[ReadTransaction], object]]]:
    """Yield what people and the daemon ask for again and again."""
    middle, promises = SIZE.incidents - 1_000, list(promised_contracts(project.config))
    products, localizer = list(project.config.products), Localizer("en", "UTC")
    yield "list of incidents, 50", lambda tx: list_incidents(project, tx, IncidentQuery(), END)
    yield "what may have caused an incident", lambda tx: causes_of(project, tx, tx.incidents.get(middle))
    yield "hand-over of an incident, causes included", lambda tx: incident_brief(project, tx, middle, localizer)
    yield (
        "post-mortem draft of an incident",
        lambda tx: incident_brief(project, tx, middle, localizer, post_mortem=True),
    )
    yield "overview page", lambda tx: show_overview(project, tx, NoQuery(), END)
    yield (
        "downtime of 28 days by owner, with TTD, TTA, TTR, patterns",
        lambda tx: measure_downtime(project, tx, window=RECENT, as_of_us=RECENT.end_us, by="owner"),
    )
    yield f"burn-rate alerts of {len(promises):,} budgets", lambda tx: fast_burns(project, tx, promises, END)
    yield (
        f"{len(products)} data products, with promises of 28 days",
        lambda tx: product_states(project, tx, products, RECENT, as_of=END),
    )


def _of_all(project: Project, store: Store, database: Path) -> Iterator[Row]:
    """Yield what the figures of all three years take, once read, and what pandas takes."""
    spans: list[Spans] = []
    frames: list[pd.DataFrame] = []

    def read() -> None:
        with store.reading() as tx:
            spans[:] = [tx.incidents.spans(ALL.start_us, ALL.end_us)]

    def judge() -> None:
        survey = LevelSurvey.of(IncidentHistory(spans[0]), ALL, as_of_us=ALL.end_us)
        for promised in promised_contracts(project.config):
            judge_contract(promised, survey)

    yield _timed("reading all incidents for the next three", read)
    yield _timed(
        "N, downtime with low and high, TTD, TTA, TTR", lambda: measure_window(spans[0], ALL, as_of_us=ALL.end_us)
    )
    patterns = PatternSurvey(spans[0], ALL.end_us, project.config.incidents, pricing=project.pricing)
    yield _timed("causes, resolutions, repeat offenders, precision", lambda: patterns.of(ALL))
    yield _timed("promises, error budgets and forecasts of all tables and products", judge)

    def read_frame() -> None:
        frames[:] = [pd.read_sql_query(_EPISODES, f"sqlite:///{database}")]

    yield _timed("pandas reads the same columns", read_frame)
    yield _timed("pandas: N, downtime with low and high, TTD, TTA, TTR", lambda: _by_pandas(frames[0]))
    _check_agreement(spans[0], frames[0])


def _by_pandas(frame: pd.DataFrame) -> tuple[list[int], list[float]]:
    """Return N and the parts of downtime, and the median and 90 % of TTD, TTA and TTR (microseconds)."""
    counted = frame[frame.resolution.isna() | frame.resolution.isin(["fixed", "no-action"])]
    end = counted.resolved_us.fillna(ALL.end_us).clip(upper=ALL.end_us).astype("int64")
    detected = counted.detected_us.clip(ALL.start_us, ALL.end_us)
    begins = (counted[name].clip(ALL.start_us, ALL.end_us) for name in ("occurred_us", "latest_us", "earliest_us"))
    undetected, low, high = (detected - begin for begin in begins)
    repair = end.clip(lower=ALL.start_us) - detected
    sums = [int((undetected + repair > 0).sum()), *(int(part.sum()) for part in (undetected, repair, low, high))]
    times = (
        _between(counted.occurred_us, counted.detected_us),
        _between(counted.detected_us, counted.acknowledged_us),
        _between(counted.detected_us, counted.resolved_us),
    )
    return sums, [float(time.quantile(share)) for time in times for share in (0.5, 0.9)]


def _between(start: "pd.Series[int]", end: "pd.Series[int]") -> "pd.Series[int]":
    """Return how long it took of what ended in the three years."""
    return (end - start)[(end >= ALL.start_us) & (end < ALL.end_us)]


def _check_agreement(spans: Spans, frame: pd.DataFrame) -> None:
    """End the benchmark unless both came to the same."""
    ours = measure_window(spans, ALL, as_of_us=ALL.end_us)
    sums, shares = _by_pandas(frame)
    if sums != [ours.n, ours.undetected, ours.repair, ours.undetected_low, ours.undetected_high]:
        raise SystemExit(f"pandas and Tablewatch disagree: {sums}, {ours}")
    exact: list[Fraction] = [
        share for part in (ours.ttd, ours.tta, ours.ttr) if part is not None for share in (part.median, part.p90)
    ]
    if any(abs(float(one) - other) > 1 for one, other in zip(exact, shares, strict=True)):  # floating point
        raise SystemExit(f"pandas and Tablewatch disagree: {shares}, {[float(one) for one in exact]}")


def _commands(config: Path) -> Iterator[tuple[str, ...]]:
    page = str(config.with_name("page.html"))
    for words in (
        ["incident", "list"],
        ["incident", "brief", str(SIZE.incidents - 1_000)],
        ["report", "--period", "2026-W46", "--force", "--out", page],
    ):
        command = [sys.executable, "-m", "monitor", *words, "--config", str(config)]
        costs = [_child(command) for _ in range(RUNS)]
        middle = median(costs)
        yield f"`tablewatch {' '.join(words[:2])}`", f"{middle.wall:.2f}", f"{middle.cpu:.2f}"


def _child(command: list[str]) -> Cost:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    cost = measure(lambda: subprocess.run(command, check=True, capture_output=True))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Cost(cost.wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


if __name__ == "__main__":
    main()
