"""Histories that the recorder itself made: results, what people did, and who was notified."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from checks import (
    Measurement,
    Message,
    Occurrence,
    OccurrenceMethod,
    Outcome,
    Segment,
    SegmentedMeasurement,
    Status,
    UnknownReason,
)
from incidents import Corrected, ImpossibleOrder, NotAllowed, Resolution, Window, verbs
from incidents.verbs import Ending, IncidentReport
from monitor.clock import SimulatedClock
from monitor.config import load
from monitor.config.project import Project
from monitor.scan.recorder import record_results
from monitor.scan.results import CheckMeasurement, TableResult, targets_of
from monitor.simulation.compare import Simulation, simulate
from monitor.simulation.plan import RuleProposal, changes_of
from store import IncidentFilter, Store, StoreConflict

START = datetime(2026, 11, 2, 0, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
CHECK = "orders.not-null"
CONFIG = """
version: 1
project: shop
timezone: UTC
storage: {{url: "sqlite:///{folder}/store.db"}}
sources: {{files: {{files: "*.csv"}}}}
cost:
  currency: JPY
  tables: {{orders: {{per_hour: 120000}}}}
tables:
  - name: orders
    source: files
    schedule: every 1h
    checks: [{{type: not_null, columns: [id], max_ratio: 0.01}}]
  - name: lines
    source: files
    upstream: [orders]
    schedule: every 1h
    checks: [{{type: not_null, columns: [id]}}]
alerts:
  group_wait: 0s
  channels:
    desk: {{apprise: "json://localhost:9/"}}
    boss: {{webhook: {{url: "https://example.org/hook", secret: "s3cret-key"}}}}
{alerts}
"""
ROUTES = "  routes: [{to: [desk]}]\n"


def made(folder: Path, alerts: str = ROUTES, *, name: str = "tablewatch.yaml", **changes: tuple[str, str]) -> Project:
    """Return a project; `alerts` are more lines of that section, `changes` replace texts."""
    text = CONFIG.format(folder=folder, alerts=alerts)
    for old, new in changes.values():
        assert old in text
        text = text.replace(old, new)
    (folder / name).write_text(text, encoding="utf-8")
    return Project(load(folder / name, environment={}), SimulatedClock(START))


@dataclass
class Play:
    """A project whose store fills as time goes by; `now` is in minutes after the start."""

    project: Project
    store: Store
    now: int = 0
    listed: tuple[str, ...] = ()

    @property
    def moment(self) -> datetime:
        """Return the present."""
        return START + self.now * MINUTE

    def look(
        self,
        status: Status,
        *,
        at: int,
        took: int = 0,
        occurred: int | None = None,
        observed: Mapping[str, Any] | None = None,
        table: str = "orders",
    ) -> None:
        """Let a check have come to a result."""
        reason = UnknownReason.TIMEOUT if status is Status.UNKNOWN else None
        occurrence = None if occurred is None else Occurrence(START + occurred * MINUTE, OccurrenceMethod.BAD_ROWS)
        outcome = Outcome(status, Message("as played"), observed or {}, reason=reason, occurrence=occurrence)
        (target,) = targets_of(self.project, [table])
        measured = [CheckMeasurement(check_id, check, outcome) for check_id, check in target.subject.checks]
        self.now = max(self.now, at + took)
        started = START + at * MINUTE
        record_results(
            [TableResult(target, started, started + took * MINUTE, measured)],
            store=self.store,
            policy_of=self.project.policy_of,
            clock=SimulatedClock(self.moment),
        )

    def look_at_segments(self, letters: Mapping[str, str], *, at: int, took: int = 0, since: int | None = None) -> None:
        """Let a check with `by` have measured some segments: P, W, F, or E for listed ones without rows."""
        counts = {"P": 0, "W": 5, "F": 100, "E": None}
        loaded = None if since is None else START + since * MINUTE
        segments = tuple(
            Segment(
                name, name, is_listed=name in self.listed,
                values={"rows": 0 if letter == "E" else 1000, "nulls_id": counts[letter], "first_bad_load": loaded},
            )
            for name, letter in letters.items()
        )  # fmt: skip
        (target,) = targets_of(self.project, ["orders"])
        self.now = max(self.now, at + took)
        started = START + at * MINUTE
        answer = SegmentedMeasurement(Measurement(measured_at=started, values={}), segments)
        measured = [CheckMeasurement(check_id, check, answer) for check_id, check in target.subject.checks]
        record_results(
            [TableResult(target, started, started + took * MINUTE, measured)],
            store=self.store,
            policy_of=self.project.policy_of,
            clock=SimulatedClock(self.moment),
        )

    def say(
        self, verb: str, *, back: int = 0, resolution: Resolution = Resolution.FIXED, after: int = 1, older: int = 0
    ) -> None:
        """Let a person do something to the newest incident, or one so much older, if that is allowed."""
        self.now += after
        then, now = self.moment - back * MINUTE, self.moment
        if verb == "report":
            seen = verbs.report(IncidentReport("orders", "seen by mina"), detected_at=then, now=now)
            with suppress(StoreConflict), self.store.writing() as tx:  # who reports the same time twice is refused
                tx.incidents.open(seen, recorded_at=now, actor="mina")
            return
        with self.store.writing() as tx:
            incidents = sorted(tx.incidents.matching(IncidentFilter(check_ids=(CHECK,))), key=lambda item: item.id)
            if len(incidents) <= older:
                return
            incident = incidents[-1 - older]
            every = tx.incidents.matching(IncidentFilter(tables=("orders",)))
            into = max(every, key=lambda item: (item.check_id is None, item.id))
            words = {
                "resolve": lambda: verbs.resolve(incident, Ending(then, resolution), now=now),
                "reopen": lambda: verbs.reopen(incident, detected_at=then, now=now),
                "acknowledge": lambda: verbs.acknowledge(incident, now=now),
                "snooze": lambda: verbs.snooze(incident, now + 10 * MINUTE, now=now),
                "assign": lambda: verbs.assign(incident, "kenji"),
                "correct": lambda: verbs.correct(incident, Corrected(-1, occurred_at=then), now=now),
                "merge": lambda: verbs.merge(incident, into, lookup=tx.incidents.get, now=now),
            }
            with suppress(ImpossibleOrder, NotAllowed, StoreConflict):
                tx.incidents.append(incident, [words[verb]()], recorded_at=now, actor="mina")

    def incidents(self) -> list[Any]:
        """Return what is recorded, in the order of the numbers."""
        with self.store.reading() as tx:
            return sorted(tx.incidents.matching(IncidentFilter()), key=lambda item: item.id)

    def simulated(
        self,
        proposal: RuleProposal = RuleProposal(),  # noqa: B008 - a frozen value
        *,
        other: Project | None = None,
        checks: Sequence[str] = (CHECK,),
        hours: int = 24 * 28,
        everything: bool = False,
    ) -> Simulation:
        """Return what a proposal would have made of the whole history."""
        window = Window.of(START - timedelta(days=1), START + timedelta(hours=hours))
        chosen = set(checks)
        proposed = proposal.applied(other or self.project, chosen)
        changes = changes_of(self.project, proposed, chosen, schedule=proposal.schedule)
        if everything:
            changes = unchanged(self.project, chosen)
        with self.store.reading() as tx:
            as_of = self.moment + MINUTE
            return simulate(self.project, proposed, tx, changes=changes, window=window, as_of=as_of)


def unchanged(project: Project, checks: set[str]) -> list[Any]:
    """Return checks as if something about them differed, though nothing does."""
    from monitor.simulation.plan import CheckChange, _plans

    return [
        CheckChange(check_id, table, plan, plan, ("policy",))
        for check_id, (table, plan) in _plans(project, None, checks).items()
    ]
