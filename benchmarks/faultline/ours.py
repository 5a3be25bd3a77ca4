"""Tablewatch on the histories: `init` alone, with all that `suggest` proposes, and by hand.

Each run calls what `tablewatch check` calls after it has read its configuration (`monitor.scan.run.Engine`), on Parquet
files, with a store in which all earlier runs are. The clock is that of the history.
"""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from time import process_time
from typing import Any, Final, Self

import yaml

from benchmarks.faultline.faults import RUNS, Injection, write_state
from benchmarks.faultline.histories import HOUR, WEEK, RealHistory
from benchmarks.faultline.knowledge import Knowledge
from benchmarks.faultline.scores import Outcomes, Verdict
from checks import Status, UnknownReason
from monitor.clock import SimulatedClock
from monitor.config import load
from monitor.config.project import Project
from monitor.scan.results import CheckResult, targets_of
from monitor.scan.run import Engine
from monitor.suggest.catalogue import read_catalogue
from monitor.suggest.sources import source_locations
from monitor.suggest.starter import write_yaml
from monitor.suggest.targets import suggest_for_catalogues
from store import open_store

_HEAD: Final = {
    "version": 1,
    "project": "faultline",
    "timezone": "UTC",
    "storage": {"url": "sqlite:///${here}/store.db", "keep_measurements": "800d"},
}
_TYPES: Final = {"BIGINT": "int64", "DOUBLE": "float64", "VARCHAR": "string", "TIMESTAMP": "timestamp"}


class HistoryClock:
    """A clock that is set to the time of each run."""

    def __init__(self, now: datetime) -> None:
        self.time = now

    def now(self) -> datetime:
        """Return the time of the run."""
        return self.time

    def monotonic(self) -> float:
        """Return the same in seconds."""
        return self.time.timestamp()

    def uptime(self) -> tuple[float, str | None]:
        """Return the same, of no boot that is known."""
        return self.time.timestamp(), None


class WatchedTables:
    """A configuration with its store in a folder, where each run finds the state of the tables."""

    def __init__(self, folder: Path, clock: HistoryClock) -> None:
        self.folder, self.clock = folder, clock
        self.project = Project(load(folder / "tablewatch.yaml"), clock)
        self.names = {table.name: {check.name for check in table.checks} for table in self.project.config.tables}
        self.plans: dict[str, Any] = {}
        self.opened = ExitStack()
        self.judged = 0
        self.store = self.opened.enter_context(open_store(self.project.config.storage.url))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.opened.close()

    def judge(self, now: datetime, *, is_dry: bool) -> Verdict:
        """Run the checks at a time; record the results unless it is a dry run."""
        self.clock.time, self.judged = now, self.judged + 1
        plans = dict(self.plans) if is_dry else self.plans
        engine = Engine(self.clock, self.store, self.project.policy_of, plans=plans, is_dry=is_dry)
        return Verdict(frozenset(_alarms(engine.run(targets_of(self.project, self.names)))))

    def copied(self, folder: Path) -> "WatchedTables":
        """Return the same configuration in another folder, with a copy of the store."""
        shutil.copytree(self.folder, folder, dirs_exist_ok=True)
        return WatchedTables(folder, self.clock)


def _alarms(results: Sequence[CheckResult]) -> Iterator[str]:
    """Yield the checks that fail, or could not be evaluated for another reason than too little history."""
    for result in results:
        outcome = result.outcome
        is_unknown = outcome.status is Status.UNKNOWN and outcome.reason is not UnknownReason.NO_DATA
        if outcome.status is Status.FAIL or is_unknown:
            yield result.check_id


def run_ours(history: RealHistory, text: str, injections: Sequence[Injection], folder: Path) -> Outcomes:
    """Judge every clean run of a history, then each injection at up to `RUNS` runs, on the store as it was then."""
    learns, begun, states = any("learned:" in line for line in _written(text)), process_time(), 0
    loads = {injection.load for injection in injections}
    home, snapshots = folder / "clean", folder / "snapshots"
    home.mkdir(parents=True)
    (home / "tablewatch.yaml").write_text(text, encoding="utf-8")
    clean: dict[int, Verdict] = {}
    with WatchedTables(home, HistoryClock(history.now(0))) as watch:
        for run in range(0 if learns else history.warm, history.runs):
            write_state(history, run, None, home)
            if run in loads and learns:
                shutil.copytree(home, snapshots / str(run))
            clean[run] = watch.judge(history.now(run), is_dry=not learns)
        found: dict[int, int | None] = {}
        if not learns:
            for injection in injections:
                found[injection.seed] = _find_plain(watch, history, injection, clean)
        states += watch.judged
    for run in sorted(loads) if learns else ():
        with WatchedTables(snapshots / str(run), HistoryClock(history.now(run))) as watch:
            write_state(history, run - 1, None, watch.folder)
            watch.judge(history.now(run - 1), is_dry=True)
            for injection in injections:
                if injection.load == run:
                    found[injection.seed] = _find_learning(watch, history, injection, clean)
            states += watch.judged
        shutil.rmtree(snapshots / str(run))
    shutil.rmtree(folder)
    judged = {run: verdict for run, verdict in clean.items() if run >= history.warm}
    return Outcomes(judged, found, states, process_time() - begun, len(_written(text)))


def _written(text: str) -> Sequence[str]:
    """Return the lines of a configuration, without comments."""
    return [line for line in text.splitlines() if line.strip() and not line.strip().startswith("#")]


def _find_plain(
    watch: WatchedTables, history: RealHistory, injection: Injection, clean: Mapping[int, Verdict]
) -> int | None:
    """Return at which run a fault is found by checks that compare with no earlier run."""
    for number in range(RUNS):
        run = injection.load + number
        write_state(history, run, injection, watch.folder)
        if watch.judge(history.now(run), is_dry=True).beyond(clean[run]):
            return number + 1
    return None


def _find_learning(
    watch: WatchedTables, history: RealHistory, injection: Injection, clean: Mapping[int, Verdict]
) -> int | None:
    """Return at which run a fault is found, where a run that found nothing counts as history for the next."""
    write_state(history, injection.load, injection, watch.folder)
    if watch.judge(history.now(injection.load), is_dry=True).beyond(clean[injection.load]):
        return 1
    folder = watch.folder.with_name("faulty")
    try:
        with watch.copied(folder) as later:
            for number in range(RUNS):
                run = injection.load + number
                write_state(history, run, injection, folder)
                watch.judged += 1
                if later.judge(history.now(run), is_dry=False).beyond(clean[run]):
                    return number + 1
    finally:
        shutil.rmtree(folder)
    return None


def init_text(history: RealHistory, folder: Path, *, with_suggestions: bool) -> str:
    """Return the configuration that `init` writes for the last state of the warm-up.

    With suggestions: as `init --show-values` writes it, with all proposals in it that do not fail.
    """
    folder.mkdir(parents=True)
    write_state(history, history.warm - 1, None, folder)
    (place,) = source_locations("*.parquet", folder, folder).locations
    tables = [(place, read_catalogue(place.spec))]
    clock = SimulatedClock(history.now(history.warm - 1))
    suggestions = suggest_for_catalogues(tables, clock, lambda *_: None)
    shutil.rmtree(folder)
    text = write_yaml(tables, suggestions, project="faultline", show_values=with_suggestions)
    if not with_suggestions:
        return text
    tree = yaml.safe_load(text.replace("${here}", "HERE"))
    proposed = {table.name: table.proposals for table in suggestions[place.name].tables}
    for table in tree["tables"]:
        proposals = [proposal for proposal in proposed[table["name"]] if not proposal.fails_now]
        table["checks"] = list(_named([proposal.check for proposal in proposals if proposal.check]))
    return _text(tree["sources"], tree["tables"])


def _named(checks: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield checks with an id each."""
    for number, check in enumerate(checks):
        yield {"id": f"{check['type'].replace('_', '-')}-{number}", **_as_plain(check)}


def _as_plain(value: Any) -> Any:
    """Return what YAML can write of a proposed check."""
    if isinstance(value, Mapping):
        return {key: _as_plain(each) for key, each in value.items()}
    return [_as_plain(each) for each in value] if isinstance(value, list | tuple) else value


def _text(sources: Mapping[str, Any], tables: Sequence[Mapping[str, Any]]) -> str:
    """Return a configuration with one line for each check."""
    lines = [_line({key: value}) for key, value in {**_HEAD, "sources": sources}.items()] + ["tables:"]
    for table in tables:
        lines += [f"  - name: {table['name']}", f"    source: {table['source']}", "    checks:"]
        lines += [f"      - {_line(check, braces=True)}" for check in table["checks"]]
    return "\n".join(lines) + "\n"


def _line(value: Mapping[str, Any], *, braces: bool = False) -> str:
    text = yaml.safe_dump(value, default_flow_style=True, width=100_000, sort_keys=False).strip()
    return text if braces else text[1:-1]


def by_hand_text(knowledge: Knowledge) -> str:
    """Return a configuration of at most 20 checks, one to a line."""
    history = knowledge.history
    tables = [{"name": history.name, "source": "s", "checks": list(_checks(knowledge))}]
    if history.has_dimension:
        age = f"{int(0.5 * history.period.total_seconds() / 60)}m"
        fresh = {"type": "freshness", "column": "loaded_at", "max_age": age}
        tables.append({"name": "dimension", "source": "s", "checks": [fresh]})
    return _text({"s": {"files": "*.parquet", "timezone": "UTC"}}, tables)


def _checks(knowledge: Knowledge) -> Iterator[Mapping[str, Any]]:
    history, shape = knowledge.history, knowledge.history.shape
    window = f"{int(history.period / HOUR)}h"
    learned = {"limits": {"learned": {"false_alarms": f"1 per {_promised_days(history)}d"}}}
    yield {"type": "primary_key", "columns": [*shape.key]}
    if strict := [name for name in knowledge.not_null if name not in shape.key]:
        yield {"type": "not_null", "columns": strict}
    for most in sorted(set(knowledge.missing.values())):
        columns = [name for name, share in knowledge.missing.items() if share == most]
        yield {"id": f"missing-{columns[0]}", "type": "not_null", "columns": columns, "max_ratio": most, **learned}
    for name, values in knowledge.values.items():
        yield {"id": f"values-{name}", "type": "accepted_values", "column": name, "values": [*values]}
    for name, (low, high) in knowledge.limits.items():
        yield {"id": f"range-{name}", "type": "range", "column": name, "min": low, "max": high}
    if shape.reference is not None:
        column, key = shape.reference
        yield {"type": "foreign_key", "columns": [column], "references": f"dimension.{key}"}
    yield {"type": "freshness", "column": "loaded_at", "max_age": f"{int(knowledge.max_age.total_seconds() / 60)}m"}
    rows = {"type": "volume", "column": "loaded_at", "window": window}
    yield {"id": "rows", **rows, "min": knowledge.load_rows[0], "max": knowledge.load_rows[1], **learned}
    if knowledge.load_means is not None:
        name, low, high = knowledge.load_means
        mean = {"type": "metric", "aggregate": "mean", "column": name, "time_column": "loaded_at", "window": window}
        yield {"id": "mean", **mean, "min": low, "max": high, **learned}
    types = {name: _TYPES[type_] for name, type_ in shape.columns.items()}
    yield {"type": "schema", "columns": {**types, "loaded_at": "timestamp"}}
    if shape.event is not None:
        query = f'SELECT 1 FROM {history.name} WHERE "{shape.event}" > loaded_at'
        yield {"id": "event-before-load", "type": "sql", "query": query}


def _promised_days(history: RealHistory) -> int:
    """Return in how many days one false alarm is promised: as the warm-up allows."""
    days = history.warm * history.period.total_seconds() / 86_400
    return 364 if history.period >= WEEK else min(90, max(7, int(days)))
