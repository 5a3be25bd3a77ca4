"""Replay six weeks: loads, checks, repairs and one person, each at its moment, by the real engine on a simulated clock.

Nothing is written into the store by hand: the engine finds what it finds, and the person uses the verbs of the command
line.
"""

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

from incidents import Resolution, verbs
from incidents.verbs import Ending, IncidentReport
from monitor.clock import SimulatedClock
from monitor.config.project import Project
from monitor.demo import _plan as plan
from monitor.demo._shop import Shop
from monitor.scan.results import targets_of
from monitor.scan.run import Engine
from store import LoggedEvent, LoggedEventKind, Store

PERSON = "finance"


@dataclass(order=True, slots=True)
class DemoEvent:
    """Something that happens at a moment; at the same moment, loads come before checks."""

    at: datetime
    rank: int
    serial: int
    action: Callable[[datetime], None] = field(compare=False)


@dataclass
class Replay:
    """The six weeks of one shop, in a store of its own."""

    shop: Shop
    project: Project
    store: Store
    runs: int = 0

    def __post_init__(self) -> None:
        self._clock = SimulatedClock(self.shop.start)
        self._engine = Engine(
            clock=self._clock, store=self.store, policy_of=self.project.policy_of, key=self.project.signature_key
        )
        self._serial = 0

    def play(self, on_day: Callable[[], None] = lambda: None) -> None:
        """Let everything happen; `on_day` is called once for each simulated day."""
        today = self.shop.start.date()
        queue = sorted([*self._loads(), *self._repairs(), *self._person(), *self._checks()])
        for happening in queue:
            while today < happening.at.date():
                today += timedelta(days=1)
                on_day()
            self._clock.advance_to(happening.at)
            happening.action(happening.at)

    def _loads(self) -> Iterator[DemoEvent]:
        for step, first, load in self.shop.loads():
            yield from self._every(step, first, load)

    def _repairs(self) -> Iterator[DemoEvent]:
        shop = self.shop
        for fault, repair in (
            (plan.DUPLICATES, shop.repair_duplicates),
            (plan.NULLS, shop.repair_nulls),
            (plan.TIMES_HUNDRED, shop.repair_amounts),
        ):
            if fault.ends is not None:
                yield self._at(fault.ends, repair)

    def _person(self) -> Iterator[DemoEvent]:
        yield self._at(plan.DEPLOYED, self._log_deployment)
        yield self._at(plan.PERSON_NOTICED, self._report)
        yield self._at(plan.PERSON_ACKNOWLEDGED, self._acknowledge)
        yield self._at(plan.TIMES_HUNDRED.ends or plan.END, self._resolve)

    def _checks(self) -> Iterator[DemoEvent]:
        by_slot: dict[datetime, list[str]] = {}
        for table in self.project.config.tables:
            slot = self.shop.start
            while table.schedule is not None:
                slot = table.schedule.next_after(slot, self.project.config.timezone)
                if slot > self.shop.start + plan.END:
                    break
                by_slot.setdefault(slot, []).append(table.name)
        for slot, names in heapq.merge(sorted(by_slot.items())):
            yield self._at(slot - self.shop.start, partial(self._look, names), rank=1)

    def _look(self, names: list[str], _now: datetime) -> None:
        targets = targets_of(self.project, names)
        self._engine.run(targets)
        self.runs += sum(len(target.subject.checks) for target in targets)

    def _log_deployment(self, now: datetime) -> None:
        table, team = plan.NULLS.table, "commerce-data"
        event = LoggedEvent(LoggedEventKind.DEPLOY, now, table, None, "order loader 2.3", team, now)
        with self.store.writing() as tx:
            tx.logged_events.add(event)

    def _report(self, now: datetime) -> None:
        report = IncidentReport("orders", "amounts are a hundred times too large")
        opened = verbs.report(report, detected_at=now, now=now, occurred_at=self.shop.start + plan.TIMES_HUNDRED.begins)
        with self.store.writing() as tx:
            self._reported = tx.incidents.open(opened, recorded_at=now, actor=PERSON).id

    def _acknowledge(self, now: datetime) -> None:
        with self.store.writing() as tx:
            incident = tx.incidents.get(self._reported)
            tx.incidents.append(incident, [verbs.acknowledge(incident, now=now)], recorded_at=now, actor=PERSON)

    def _resolve(self, now: datetime) -> None:
        ending = Ending(now, Resolution.FIXED, "the new field is in sen; the loader now divides by 100")
        with self.store.writing() as tx:
            incident = tx.incidents.get(self._reported)
            tx.incidents.append(incident, [verbs.resolve(incident, ending, now=now)], recorded_at=now, actor=PERSON)

    def _every(self, step: timedelta, first: timedelta, action: Callable[[datetime], None]) -> Iterator[DemoEvent]:
        offset = first
        while offset < plan.END:
            yield self._at(offset, action)
            offset += step

    def _at(self, offset: timedelta, action: Callable[[datetime], None], rank: int = 0) -> DemoEvent:
        self._serial += 1
        return DemoEvent(self.shop.start + offset, rank, self._serial, action)
