"""Histories of a mesh of tables, each with an incident whose cause is planted, for the benchmark of root causes.

Each case is a history of three weeks of a mesh of twelve tables in three layers, looked at by their schedules, decided
on by `incidents.advance` and stored; one incident has one planted cause. What is drawn is written beside each draw; the
delay between a cause and its effect follows the loads of tables and not the formula of the score. Noise: incidents,
changed columns, shifted row counts and deployments that caused nothing.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import numpy as np

from checks import Kind, Message, Occurrence, OccurrenceMethod, Outcome, Severity, Status
from incidents import Commented, Incident, Opened, Policy, Resolution, Resolved, RunTimes, Watch, advance
from incidents.causes import CauseKind
from incidents.lifecycle import Identity
from monitor.clock import SimulatedClock
from monitor.config import load
from monitor.config.project import Project
from monitor.summaries.causes import IncidentCauses, NamedCause, causes_of
from store import (
    History,
    LoggedEvent,
    LoggedEventKind,
    ReadTransaction,
    Result,
    Run,
    Store,
    WriteTransaction,
    open_store,
)

DAYS: Final = 21
END: Final = datetime(2026, 11, 20, tzinfo=UTC)
START: Final = END - timedelta(days=DAYS)
HOUR: Final = timedelta(hours=1)
LAYERS: Final = (4, 5, 3)
CHECKS: Final = ("columns", "rows", "nulls", "amounts")
COLUMNS: Final = ("a", "b", "c0", "c1", "c2", "c3")
OF_CHECK: Final = {"nulls": "a", "amounts": "b"}
PARTS: Final = "parts"
COUNTRIES: Final = 6
SCHEDULES: Final = ("every 1h", "every 2h", "every 3h", "every 6h", "cron: 15 5 * * *", "cron: 40 7,19 * * *")
CAUSES: Final = ("unit of amounts", "late file of the supplier", "key was renamed", "disk was full", "timezone")
_ALL: Final = 10_000
POLICY: Final = Policy()

Rng = np.random.Generator


@dataclass(frozen=True, slots=True)
class Fault:
    """A time in which a check of a table fails, and by how much; `part` is the segment that it lies in."""

    table: str
    check: str
    start: datetime
    end: datetime
    size: float


@dataclass(frozen=True, slots=True)
class ColumnChange:
    """The type of a column changed; None: a column was added."""

    at: datetime
    column: str | None


@dataclass(frozen=True, slots=True)
class Planted:
    """The cause of the incident of a case; `number` is that of the event, `words` the cause that people gave."""

    kind: CauseKind | None
    table: str
    check: str | None = None
    number: int | None = None
    words: str | None = None

    def is_shown_by(self, cause: NamedCause) -> bool:
        """Check whether a candidate is the planted cause: a change upstream may be shown as the incident it opened."""
        clue = cause.candidate.clue
        if self.kind in {CauseKind.EVENT, CauseKind.JOB}:
            return cause.event == self.number
        if self.kind is CauseKind.EARLIER:
            return clue.kind is CauseKind.EARLIER and clue.evidence["incident"].cause == self.words
        if self.kind is CauseKind.SEGMENT:
            return clue.kind is CauseKind.SEGMENT
        measured = {CauseKind.UPSTREAM, CauseKind.SCHEMA, CauseKind.VOLUME}
        return clue.kind in measured and clue.table == self.table and (clue.kind is self.kind or self._opened(cause))

    def _opened(self, cause: NamedCause) -> bool:
        is_incident = cause.candidate.clue.kind is CauseKind.UPSTREAM
        return is_incident and (self.kind is CauseKind.UPSTREAM or cause.check_id == f"{self.table}.{self.check}")


@dataclass(slots=True)
class Mesh:
    """Tables with what feeds them, how they are looked at, and what happened to them."""

    rng: Rng
    upstream: Mapping[str, tuple[str, ...]]
    schedules: Mapping[str, str]
    faults: list[Fault] = field(default_factory=list)
    columns: dict[str, list[ColumnChange]] = field(default_factory=lambda: defaultdict(list))
    shifts: dict[str, list[tuple[datetime, datetime, float]]] = field(default_factory=lambda: defaultdict(list))
    events: list[LoggedEvent] = field(default_factory=list)
    traces: Rng = field(default_factory=np.random.default_rng)
    """Draws what was added to histories later, so that all else in them stays as it was."""
    made: dict[str, dict[str, dict[str, set[str]]]] = field(default_factory=dict)
    """For a table, for one that feeds it, which of its columns each column is made from: as far as it is recorded."""
    share: float | None = None
    """The share of one segment in the violations of the focus; None: as of the rows."""

    @classmethod
    def draw(cls, rng: Rng, traces: Rng) -> "Mesh":
        """Draw twelve tables: each above the lowest layer is fed by one to three tables of the layer below."""
        names = [[f"l{layer}t{n}" for n in range(count)] for layer, count in enumerate(LAYERS)]
        upstream = dict.fromkeys(names[0], ()) | {
            name: tuple(rng.choice(below, size=rng.integers(1, 4), replace=False).tolist())
            for below, layer in pairwise(names)
            for name in layer
        }
        mesh = cls(rng, upstream, {name: str(rng.choice(SCHEDULES)) for name in upstream}, traces=traces)
        mesh.draw_columns()
        return mesh

    def draw_columns(self) -> None:
        """Draw what each column is made of: of one or two columns of one table that feeds it, in the mean 1.3.

        Three in ten pairs of tables have a filter or a join on one column.
        """
        rng = self.traces
        for name, feeds in self.upstream.items():
            made: dict[str, dict[str, set[str]]] = {parent: {} for parent in feeds}
            for column in COLUMNS if feeds else ():
                parent = str(rng.choice(feeds))
                sources = rng.choice(COLUMNS, size=2 if rng.random() < 0.3 else 1, replace=False)
                made[parent][column] = set(sources.tolist())
            for parent in feeds:
                if rng.random() < 0.3:
                    made[parent]["*"] = {str(rng.choice(COLUMNS))}
            self.made[name] = made

    def feed(self, source: tuple[str, str | None], fed: tuple[str, str]) -> None:
        """Let a column (None: one of them) of a table feed that of another; nine in ten such ways are recorded."""
        (upper, column), (table, made) = source, fed
        if upper == table or self.traces.random() >= 0.9:
            return
        way = [table]
        if upper not in self.upstream[table]:
            way = [next(name for name in self.upstream[table] if upper in self.upstream[name]), table]
        columns = [*(str(self.traces.choice(COLUMNS)) for _ in way[1:]), made]
        below = column or str(self.traces.choice(COLUMNS))
        for parent, child, its in zip([upper, *way[:-1]], way, columns, strict=True):
            self.made[child][parent].setdefault(its, set()).add(below)
            below = its

    def forget(self) -> None:
        """Forget the lineage of columns of one pair of tables in five."""
        for feeds in self.made.values():
            for parent in [parent for parent in feeds if self.traces.random() < 0.2]:
                del feeds[parent]

    def config(self, folder: str, *, with_columns: bool) -> str:
        """Return the configuration of the mesh, with or without the lineage of columns."""
        lines = ["version: 1", "project: mesh", f'storage: {{url: "sqlite:///{folder}/store.db"}}']
        lines += ["sources: {lake: {files: '*.csv'}, house: {files: '*.csv'}}", "tables:"]
        for name, feeds in self.upstream.items():
            source = "house" if feeds else "lake"
            checks = "{type: schema, id: columns}, {type: volume, id: rows, min: 1}, "
            checks += "{type: not_null, id: nulls, columns: [a]}, {type: range, id: amounts, column: b, min: 0}, "
            checks += "{type: not_null, id: parts, columns: [a], by: country}"
            lines.append(
                f"  - {{name: {name}, source: {source}, upstream: [{', '.join(feeds)}], "
                f'schedule: "{self.schedules[name]}", checks: [{checks}], '
                f"upstream_columns: {self._recorded(name) if with_columns else {}}}}"
            )
        return "\n".join(lines) + "\n"

    def _recorded(self, name: str) -> str:
        return json.dumps(
            {
                parent: {column: sorted(sources) for column, sources in made.items()}
                for parent, made in self.made[name].items()
            }
        )

    def above(self, name: str) -> Mapping[str, int]:
        """Return the tables upstream with their distance."""
        near = dict.fromkeys(self.upstream[name], 1)
        return {far: 2 for one in near for far in self.upstream[one]} | near

    def add_noise(self) -> None:
        """Add what caused nothing, at random times."""
        rng = self.rng
        for name in self.upstream:
            # incidents: a lognormal rate, in the median one in four days for a table; a lognormal length, median 3 h
            for at in self._times(0.25 * rng.lognormal(0, 1)):
                check = str(rng.choice(("nulls", "amounts", "rows")))
                self.faults.append(Fault(name, check, at, at + rng.lognormal(np.log(3), 1) * HOUR, rng.lognormal(4, 1)))
            self.columns[name] += [self._change(at) for at in self._times(1 / 10)]
            for at in self._times(1 / 7):
                length = rng.lognormal(np.log(8), 1) * HOUR
                self.shifts[name].append((at, at + length, float(rng.choice((0.6, 0.75, 1.4, 2.0)))))
        # deployments: a lognormal rate, in the median three a day for the whole mesh
        for at in self._times(3 * rng.lognormal(0, 0.7)):
            self.log(at, str(rng.choice(list(self.upstream))))

        for name in self.upstream:
            # failed jobs: a lognormal rate, in the median one in ten days for a table
            count = int(self.traces.poisson(DAYS / 10 * self.traces.lognormal(0, 1)))
            for day in self.traces.uniform(0, DAYS, count):
                self.fail_job(START + timedelta(days=float(day)), name)

    def _change(self, at: datetime) -> ColumnChange:
        """Draw a change that caused nothing: six in ten add a column, the others change the type of one."""
        return ColumnChange(at, None if self.traces.random() < 0.6 else str(self.traces.choice(COLUMNS)))

    def fail_job(self, at: datetime, name: str) -> int:
        """Log that the job failed that writes a table; return its place."""
        note = f"run {len(self.events)}"
        self.events.append(LoggedEvent(LoggedEventKind.OTHER, at, name, None, note, "ci", at, job=f"load_{name}"))
        return len(self.events)

    def _times(self, a_day: float) -> list[datetime]:
        count = int(self.rng.poisson(a_day * DAYS))
        return [START + timedelta(days=float(day)) for day in self.rng.uniform(0, DAYS, count)]

    def log(self, at: datetime, name: str) -> int:
        """Log an event of a table (60 %), of its source (25 %) or of nothing in particular; return its place."""
        scope = self.rng.choice(("table", "source", "any"), p=(0.6, 0.25, 0.15))
        source = ("house" if self.upstream[name] else "lake") if scope == "source" else None
        named = name if scope == "table" else None
        note = f"release {len(self.events)}"
        self.events.append(LoggedEvent(LoggedEventKind.DEPLOY, at, named, source, note, "ci", at))
        return len(self.events)

    def delay(self) -> timedelta:
        """Draw how long a cause takes to show.

        Half wait for the next of 1 to 8 loads a day, 30 % take some minutes (gamma, mean 80), 20 % up to 18 hours.
        """
        way, rng = self.rng.random(), self.rng
        if way < 0.5:
            return timedelta(hours=24 / int(rng.integers(1, 9)) * rng.random())
        return timedelta(minutes=rng.gamma(2, 40)) if way < 0.8 else timedelta(hours=18 * rng.random())

    def plant(self, kind: CauseKind | None) -> tuple[Fault, Planted]:
        """Let a table of the upper layers go bad in the last three days for a cause of a kind."""
        rng = self.rng
        layers = [name for name in self.upstream if self.upstream[name]]
        name = str(rng.choice(layers))
        began = END - timedelta(hours=float(rng.uniform(12, 72)))
        at, check = began - self.delay(), str(rng.choice(("nulls", "amounts")))
        focus = Fault(name, check, began, END, rng.lognormal(4, 1))
        above = self.above(name)
        near = str(rng.choice(list(above)))
        place = name if rng.random() < 0.4 else near
        self.faults = [fault for fault in self.faults if not (fault.table == name and fault.check == check)]
        planted = Planted(kind, name)
        match kind:
            case CauseKind.UPSTREAM:
                its = str(rng.choice(("nulls", "amounts", "rows")))
                self.faults.append(Fault(near, its, at, self._over(began), rng.lognormal(4, 1)))
                self._pass_on(name, near, at, began)
                self.feed((near, OF_CHECK.get(its)), (name, OF_CHECK[check]))
                planted = Planted(kind, near, its)
            case CauseKind.SCHEMA:
                self.columns[place].append(self._lead_to(OF_CHECK[check], name, ColumnChange(at, None), place))
                planted = Planted(kind, place, "columns")
            case CauseKind.JOB:
                self.feed((place, None), (name, OF_CHECK[check]))
                planted = Planted(kind, place, number=self.fail_job(at, place))
            case CauseKind.EVENT:
                logged = at + timedelta(minutes=float(rng.normal(0, 5)))  # people and pipelines log it a little off
                self.feed((place, None), (name, OF_CHECK[check]))
                planted = Planted(kind, place, number=self.log(logged, place))
            case CauseKind.VOLUME:
                self.shifts[place].append((at, self._over(began), float(rng.choice((0.3, 0.5, 0.7, 1.5, 2.5)))))
                self.feed((place, None), (name, OF_CHECK[check]))
                planted = Planted(kind, place, "rows")
            case CauseKind.SEGMENT:
                self.share = float(rng.beta(8, 2))
            case CauseKind.EARLIER:
                planted = Planted(kind, name, words=str(rng.choice(CAUSES)))
        self.faults.append(focus)
        return focus, planted

    def _lead_to(self, column: str, name: str, change: ColumnChange, place: str) -> ColumnChange:
        """Draw what changed: nine in ten times a column that feeds that of the incident; one in ten, one is new."""
        changed = None if self.traces.random() < 0.1 else str(self.traces.choice(COLUMNS))
        changed = column if changed and place == name else changed
        self.feed((place, changed), (name, column))
        return replace(change, column=changed)

    def _over(self, began: datetime) -> datetime:
        """Draw when a cause upstream is over: one in five while the incident goes on, the others last to the end."""
        return began + (END - began) * self.traces.random() if self.traces.random() < 0.2 else END

    def _pass_on(self, name: str, near: str, at: datetime, began: datetime) -> None:
        """Let half of the tables between fail too."""
        for between in self.upstream[name]:
            if near in self.upstream[between] and self.rng.random() < 0.5:
                self.faults.append(Fault(between, "nulls", at + (began - at) * self.rng.random(), END, 50.0))


@dataclass(slots=True)
class Case:
    """A stored history with an incident of which the cause is known."""

    mesh: Mesh
    focus: Fault
    planted: Planted

    @classmethod
    def draw(cls, seed: int, kind: CauseKind | None) -> "Case":
        """Draw a case."""
        mesh = Mesh.draw(np.random.default_rng(seed), np.random.default_rng([seed, 1]))
        mesh.add_noise()
        case = cls(mesh, *mesh.plant(kind))
        mesh.forget()
        return case

    @contextmanager
    def stored(self) -> Iterator[tuple[Project, ReadTransaction]]:
        """Store the history and yield what reads it."""
        with self._stored() as (_, project, tx):
            yield project, tx

    @contextmanager
    def _stored(self) -> Iterator[tuple[Project, Project, ReadTransaction]]:
        """Store the history and yield what reads it, without and with the lineage of columns."""
        with TemporaryDirectory() as folder:
            projects = []
            for with_columns in (False, True):
                file = Path(folder, f"{with_columns}.yaml")
                file.write_text(self.mesh.config(folder, with_columns=with_columns), encoding="utf-8")
                projects.append(Project(load(file), SimulatedClock(END)))
            with open_store(f"sqlite:///{folder}/store.db") as store:
                self._store(store)
                with store.reading() as tx:
                    yield projects[0], projects[1], tx

    def causes(self) -> tuple[IncidentCauses, IncidentCauses] | None:
        """Store the history and return what may have caused the incident, without and with the lineage of columns.

        None if no check noticed it.
        """
        with self._stored() as (without, using, tx):
            both = self.causes_in(without, tx), self.causes_in(using, tx)
        return None if both[0] is None or both[1] is None else (both[0], both[1])

    def causes_in(self, project: Project, tx: ReadTransaction) -> IncidentCauses | None:
        """Return what may have caused the incident of a stored history; None if no check noticed it."""
        check_id = f"{self.focus.table}.{self.focus.check}"
        incident = tx.incidents.latest([check_id]).get(check_id)
        lasts = incident is not None and incident.last.resolved_at is None
        return causes_of(project, tx, incident, most=_ALL) if incident is not None and lasts else None

    def _store(self, store: Store) -> None:
        with store.writing() as tx:
            self._add_past(tx)
            for event in sorted(self.mesh.events, key=lambda event: int(event.note.split()[1])):
                tx.logged_events.add(event)
            for name in (self.focus.table, *self.mesh.above(self.focus.table)):  # no others are asked for
                self._watch(tx, name)

    def _add_past(self, tx: WriteTransaction) -> None:
        """Write incidents of the last months that people ended: of the focus with its cause, of others with others.

        Each table has a mean of six; four in ten have a cause that people gave. One to three of the focus' check have
        the planted one, with figures like those of the focus (lognormal, 0.3).
        """
        rng = self.mesh.rng
        histories = []
        for name in self.mesh.upstream:
            for _ in range(rng.poisson(6)):
                words = str(rng.choice(CAUSES)) if rng.random() < 0.4 else None
                check = str(rng.choice(("nulls", "amounts", "rows")))
                histories.append((name, check, rng.lognormal(4, 1), words))
        if self.planted.words is not None:
            focus = self.focus
            sizes = focus.size * rng.lognormal(0, 0.3, rng.integers(1, 4))
            histories += [(focus.table, focus.check, float(size), self.planted.words) for size in sizes]
        for name, check, size, words in histories:
            at = START - timedelta(days=float(rng.uniform(8, 120)))
            opened = self._open(name, check, size, at, at - HOUR)
            changes = [opened, Commented("looked at it"), Resolved(at + 5 * HOUR, Resolution.FIXED, words)]
            tx.incidents.add_histories([History(changes, at + 5 * HOUR, "mia")])

    @staticmethod
    def _open(name: str, check: str, size: float, at: datetime, good: datetime) -> Opened:
        identity = Identity(f"{name}.{check}", name, f"{name}.{check}", Kind.QUALITY, Severity.ERROR)
        watch = Watch(identity.check_id, good, good, "pass", last_pass_ended_at=good)
        outcome = Outcome(Status.FAIL, _message(check, size), {})
        step = advance(watch, None, outcome, identity=identity, policy=POLICY, run=RunTimes(at, at))
        return next(change for change in step.changes if isinstance(change, Opened))

    def _watch(self, tx: WriteTransaction, name: str) -> None:
        """Look at a table at each of its slots, some seconds late, as the daemon does."""
        runs, results = [], []
        watches: dict[str, Watch | None] = {}
        incidents: dict[str, Incident | None] = {}
        for number, at in enumerate(self._slots(name)):
            run = Run(f"{name}-{number}", name, at, at + timedelta(seconds=float(self.mesh.rng.uniform(1, 40))))
            runs.append(run)
            for check, outcome in self._look(name, at):
                check_id = f"{name}.{check}"
                results.append(_result(run, check_id, outcome))
                if "[" in check:
                    continue
                identity = Identity(check_id, name, check_id, Kind.QUALITY, Severity.ERROR)
                known = incidents.get(check_id)
                step = advance(
                    watches.get(check_id),
                    known,
                    outcome,
                    identity=identity,
                    policy=POLICY,
                    run=RunTimes(at, run.ended_at),
                )
                watches[check_id] = step.watch
                if step.changes and isinstance(step.changes[0], Opened):
                    history = History(step.changes, at, "tablewatch")
                    (incidents[check_id],) = tx.incidents.add_histories([history])
                elif step.changes and known is not None:
                    incidents[check_id] = tx.incidents.append(known, step.changes, recorded_at=at, actor="tablewatch")
        tx.results.add_runs(runs, results)

    def _slots(self, name: str) -> Iterator[datetime]:
        from monitor.config.cron import Schedule

        schedule = Schedule.parse(self.mesh.schedules[name])
        slot = schedule.next_after(START, "UTC")
        while slot < END:
            yield slot + timedelta(seconds=float(self.mesh.rng.uniform(0, 30)))
            slot = schedule.next_after(slot, "UTC")

    def _look(self, name: str, at: datetime) -> Iterator[tuple[str, Outcome]]:
        """Yield what the checks of a table find at a moment."""
        mesh, rng = self.mesh, self.mesh.rng
        changes = sorted((change for change in mesh.columns[name] if change.at <= at), key=lambda change: change.at)
        drifted = dict.fromkeys(COLUMNS, "int64")
        for number, change in enumerate(changes):
            drifted[change.column or f"new{number}"] = f"int64 #{number}"
        recent = any(at - change.at < timedelta(hours=12) for change in changes)
        strict = hash_of(name) % 2 == 0  # half of the schema checks forbid what changes, until a user accepts it
        yield "columns", Outcome(Status.FAIL if recent and strict else Status.PASS, Message("c"), {"columns": drifted})
        spread = 0.03 + 0.09 * (hash_of(name) % 7) / 6
        factor = float(np.prod([size for start, end, size in mesh.shifts[name] if start <= at < end] or [1.0]))
        weekend = 0.8 if at.weekday() >= 5 else 1.0
        rows = int(50_000 * weekend * factor * rng.lognormal(0, spread))
        baseline = int(50_000 * weekend) if hash_of(name) % 3 else None  # a third have no baseline of their own
        failing = {fault.check: fault for fault in mesh.faults if fault.table == name and fault.start <= at < fault.end}
        observed = {"rows": rows, "baseline": baseline}
        yield "rows", Outcome(Status.FAIL if "rows" in failing else Status.PASS, _message("rows", rows), observed)
        for check in ("nulls", "amounts"):
            size = failing[check].size if check in failing else 0.0
            occurrence = self._load_of(failing[check]) if check in failing else None
            status = Status.FAIL if size else Status.PASS
            yield check, Outcome(status, _message(check, size), {"rows": rows}, occurrence=occurrence)
        yield from self._parts(name, at, rows, failing)

    def _load_of(self, fault: Fault) -> Occurrence | None:
        """Return the load time of the first bad rows: half of the tables have one, of which one in ten is wrong."""
        if hash_of(fault.table) // 2 % 2:
            return None
        wrong = hash_of(f"{fault.start}") % 10 == 0
        return Occurrence(fault.start - timedelta(hours=5) if wrong else fault.start, OccurrenceMethod.BAD_ROWS)

    def _parts(self, name: str, at: datetime, rows: int, failing: Mapping[str, Fault]) -> Iterator[tuple[str, Outcome]]:
        """Yield how the violations are spread over segments of uneven size (Dirichlet, 3), in the last four days."""
        if at < END - timedelta(days=4):
            return
        rng = self.mesh.rng
        shares = np.random.default_rng(hash_of(name)).dirichlet(np.full(COUNTRIES, 3.0))
        spread = shares
        if self.mesh.share is not None and name == self.focus.table:
            others = shares * (1 - self.mesh.share)
            spread = np.where(np.arange(COUNTRIES) == 2, self.mesh.share, others / others.sum() * (1 - self.mesh.share))
        violations = rng.poisson(3) + sum(int(fault.size) for fault in failing.values())
        counts = rng.multinomial(violations, spread / spread.sum())
        yield PARTS, Outcome(Status.PASS, Message("p"), {"rows": rows, "segments": COUNTRIES, "failing": 0})
        for number, (count, share) in enumerate(zip(counts, shares, strict=True)):
            message = Message("p").about(f"segment {number}")
            yield (
                f"{PARTS}[{number}]",
                Outcome(Status.PASS, message, {"rows": int(rows * share), "nulls": {"a": int(count)}}),
            )


def hash_of(name: str) -> int:
    """Return a number of a name that is the same in every process."""
    return sum(ord(sign) * 31**place for place, sign in enumerate(name))


def _message(check: str, size: float) -> Message:
    return Message(f"{check}: {{n:count}} rows", {"n": int(size)})


def _result(run: Run, check_id: str, outcome: Outcome) -> Result:
    return Result(
        run.id, check_id, run.table, run.started_at, outcome.status, None, outcome.observed, outcome.message, 0.1
    )
