"""Judge the contracts of a project in a period: what the store knows of their tables, put before `incidents`."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from incidents import (
    DownTime,
    ErrorBudget,
    Gap,
    Incident,
    IncidentHistory,
    Level,
    LevelResult,
    LevelVerdict,
    Watch,
    Window,
    error_budget,
    from_us,
    hours,
    judge_levels,
    to_us,
)
from monitor.config.prices import planned_work
from monitor.config.project import Project
from monitor.summaries.catalogue import RECENT
from monitor.summaries.coverage import Observed, Watching, lasting_gaps
from store import Changed, IncidentFilter, ReadTransaction, Transition

if TYPE_CHECKING:
    from monitor.config import Contract

_US: Final = timedelta(microseconds=1)
_BEGINNINGS: Final = (Changed.OPENED, Changed.REOPENED)


@dataclass(frozen=True, slots=True)
class JudgedContract:
    """A contract in a period, as it is known at a moment."""

    name: str
    tables: tuple[str, ...]
    window: Window
    levels: Sequence[LevelResult]
    budget: ErrorBudget | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the published shape: times in hours, availability as a share."""
        return {
            "contract": self.name,
            "tables": list(self.tables),
            "from": from_us(self.window.start_us).isoformat(),
            "to": from_us(self.window.end_us).isoformat(),
            "levels": [_level_as_json(level) for level in self.levels],
            "error_budget": None if self.budget is None else _budget_as_json(self.budget),
        }


def judge_contracts(
    project: Project, tx: ReadTransaction, window: Window, *, as_of: datetime, table: str | None = None
) -> Sequence[JudgedContract]:
    """Judge every contract in a period, or those that are about a table."""
    contracts = {
        name: contract
        for name, contract in project.config.contracts.items()
        if table is None or table in contract.tables
    }
    end_us = min(window.end_us, to_us(as_of))
    if not contracts:
        return []
    tables = tuple(dict.fromkeys(name for contract in contracts.values() for name in contract.tables))
    touching = IncidentFilter(
        tables=tables, since=from_us(window.start_us), until=from_us(max(end_us, window.start_us))
    )
    incidents = tx.incidents.matching(touching) if end_us > window.start_us else []
    notifies = {name for contract in contracts.values() if contract.time_to_notify for name in contract.tables}
    notified = _notified(project, tx, [item for item in incidents if item.table in notifies], as_of)
    looks = _Looks.of(project, tx, window, end_us=end_us, as_of=as_of)
    return [
        JudgedContract(
            name,
            contract.tables,
            window,
            judge_levels(
                promised_levels(contract),
                IncidentHistory(
                    [incident for incident in incidents if incident.table in contract.tables],
                    planned=planned_work(project.config, contract.tables),
                    notified=notified,
                    unseen={item: looks.unseen(item) for item in contract.tables},
                    observed=looks.observed(contract.tables),
                ),
                window,
                as_of_us=to_us(as_of),
            ),
            error_budget_of(project, tx, contract, at=from_us(end_us)) if end_us > window.start_us else None,
        )
        for name, contract in contracts.items()
    ]


def error_budget_of(project: Project, tx: ReadTransaction, contract: "Contract", *, at: datetime) -> ErrorBudget | None:
    """Return the error budget of a contract as it stands at a moment; None where it has none."""
    if contract.downtime is None:
        return None
    allowed, per = contract.downtime.allowed, contract.downtime.per
    window = Window.of(at - per, at)
    incidents = tx.incidents.matching(IncidentFilter(tables=contract.tables, since=at - per, until=at))
    looks = _Looks.of(project, tx, window, end_us=window.end_us, as_of=at)
    history = IncidentHistory(
        incidents,
        planned=planned_work(project.config, contract.tables),
        unseen={item: looks.unseen(item) for item in contract.tables},
    )
    return error_budget(history, allowed_us=allowed // _US, per_us=per // _US, as_of_us=window.end_us)


def recent_contracts(project: Project, tx: ReadTransaction, table: str) -> Sequence[JudgedContract]:
    """Judge the contracts of a table in the last 28 days."""
    now = project.clock.now()
    return judge_contracts(project, tx, Window.of(now - RECENT, now), as_of=now, table=table)


def promised_levels(contract: "Contract") -> Mapping[Level, Fraction]:
    """Return what a contract promises: times in microseconds, availability as a share, exactly."""
    levels = {Level(name.replace("_", "-")): Fraction(length // _US) for name, length in contract.times.items()}
    if contract.availability is not None:
        levels[Level.AVAILABILITY] = Fraction(contract.availability)
    return levels


@dataclass(frozen=True, slots=True)
class _Looks:
    """When checks of tables saw something in a period, and when they did not."""

    project: Project
    watches: Mapping[str, Watch]
    gaps: Sequence[Gap]
    watching: Watching
    window: Window
    end_us: int

    @classmethod
    def of(cls, project: Project, tx: ReadTransaction, window: Window, *, end_us: int, as_of: datetime) -> "_Looks":
        watches = tx.results.watches()
        recorded = tx.results.gaps(from_us(window.start_us), from_us(end_us)) if end_us > window.start_us else ()
        gaps = [*recorded, *lasting_gaps(project.config, watches, as_of)]
        return cls(project, watches, gaps, Watching.of(watches, as_of), window, end_us)

    def unseen(self, table: str) -> Sequence[tuple[int, int]]:
        """Return when some check of a table saw nothing, and the time before its first run."""
        since = self.watching.since.get(table)
        before = (self.window.start_us, self.end_us if since is None else to_us(since))
        return [before, *((to_us(gap.start), to_us(gap.end)) for gap in self.gaps if gap.table == table)]

    def observed(self, tables: Iterable[str]) -> bool:
        """Check whether any check of some tables saw something in the period."""
        ids = {check_id for check_id in self.watches if check_id.rpartition(".")[0] in set(tables)}
        watches = {check_id: watch for check_id, watch in self.watches.items() if check_id in ids}
        gaps = [gap for gap in self.gaps if gap.check_id in ids]
        seen = Observed.of(watches, gaps, self.project.config, from_us(self.end_us))
        return self.end_us > self.window.start_us and seen.in_some_of(Window(self.window.start_us, self.end_us))


def _notified(
    project: Project, tx: ReadTransaction, incidents: Sequence[Incident], as_of: datetime
) -> Mapping[tuple[int, int], datetime | None]:
    """Return when somebody was first notified of each episode; what is past retention or was imported is left out."""
    kept_since = as_of - project.config.storage.keep_measurements
    by_incident: dict[int, list[Transition]] = {incident.id: [] for incident in incidents}
    for transition in tx.outbox.of_incidents(by_incident):
        by_incident[transition.incident_id].append(transition)
    sent = tx.deliveries.sent_at(name for items in by_incident.values() for item in items for name in _messages(item))
    notified: dict[tuple[int, int], datetime | None] = {}
    for incident in incidents:
        transitions = by_incident[incident.id]
        begins = [place for place, item in enumerate(transitions) if item.change in _BEGINNINGS]
        first = len(incident.episodes) - len(begins)  # earlier ones are not recorded
        for number, (begin, end) in enumerate(pairwise([*begins, len(transitions)]), first):
            if number >= 0 and transitions[begin].recorded_at >= kept_since:
                messages = [name for item in transitions[begin:end] for name in _messages(item)]
                notified[incident.id, number] = min((sent[name] for name in messages if name in sent), default=None)
    return notified


def _messages(transition: Transition) -> Iterable[str]:
    """Yield the ids of the messages that a change led to."""
    channels: Mapping[str, Any] = (transition.decision or {}).get("channels", {})
    return (record["delivery"] for record in channels.values() if record.get("delivery") is not None)


def _level_as_json(result: LevelResult) -> dict[str, Any]:
    def number(value: Fraction | None) -> float | None:
        if value is None:
            return None
        return float(value if result.level is Level.AVAILABILITY else hours(value))

    return {
        "level": result.level.value,
        "unit": "share" if result.level is Level.AVAILABILITY else "h",
        "promised": number(result.promised),
        "seen": number(result.seen),
        "low": number(result.low),
        "high": number(result.high),
        "missed_by": number(result.missed_by),
        "verdict": result.verdict.value,
        "judged": result.judged,
        "incidents": list(result.incidents),
        "undecided": list(result.undecided),
    }


def _budget_as_json(budget: ErrorBudget) -> dict[str, Any]:
    def length(time: Fraction | int | None) -> float | None:
        return None if time is None else float(hours(time))

    def ends(name: str, time: DownTime) -> dict[str, float | None]:
        return {name: length(time.seen), f"{name}_low": length(time.low), f"{name}_high": length(time.high)}

    forecast = budget.exhaustion
    return {
        "allowed_h": length(budget.allowed_us),
        "per_h": length(budget.per_us),
        "from": from_us(budget.end_us - budget.per_us).isoformat(),
        "to": from_us(budget.end_us).isoformat(),
        **ends("spent_h", budget.spent),
        **ends("left_h", budget.left),
        "verdict": budget.verdict.value,
        "burn_rates": [
            {
                "window_h": length(rate.length_us),
                "rate": float(rate.seen),
                "rate_low": float(rate.low),
                "rate_high": float(rate.high),
            }
            for rate in budget.rates
        ],
        "used_up_in_h": length(forecast.expected),
        "used_up_in_h_soonest": length(forecast.soonest),
        "used_up_in_h_latest": length(forecast.latest),
    }


def broken_levels(contracts: Sequence[JudgedContract]) -> int:
    """Count the broken levels and error budgets."""
    verdicts = [level.verdict for contract in contracts for level in contract.levels]
    verdicts += [contract.budget.verdict for contract in contracts if contract.budget is not None]
    return verdicts.count(LevelVerdict.BROKEN)
