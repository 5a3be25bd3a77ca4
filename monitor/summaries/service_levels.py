"""Evaluate the contracts of a project in a period: read their tables from the store, and judge by `incidents`."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypeAlias

from pydantic import Field

from incidents import (
    DownTime,
    ErrorBudget,
    FastBurn,
    Gap,
    Incident,
    IncidentHistory,
    Level,
    LevelResult,
    LevelSurvey,
    LevelVerdict,
    Spans,
    Window,
    error_budget,
    fast_burn,
    from_us,
    to_us,
)
from incidents.promise_score import StatementCount, StatementEvidence
from monitor.config.prices import planned_work
from monitor.config.project import Project
from monitor.summaries.catalogue import RECENT
from monitor.summaries.coverage import MonitoringStart, lasting_gaps, observed_tables
from monitor.summaries.shapes import Moment, Shape, as_hours
from store import Changed, MessageSubject, ReadTransaction, Transition

if TYPE_CHECKING:
    from monitor.config import Contract
    from monitor.config.promised import PromisedContract

_US: Final = timedelta(microseconds=1)
ReadSpans: TypeAlias = Callable[[Collection[str], int, int], Spans]
"""Reads the episodes of all incidents of some tables that touch `[since, until]` (microseconds), and perhaps others."""
BUDGET_BURNING: Final = "budget-burning"
"""The operation of `monitor.alerts` whose messages say that an error budget is spent too fast."""
_MOST_NOTICES: Final = 10_000
_MOMENTS: Final = 48
"""The parts of a period at whose ends its budget is looked at."""
_BEGINNINGS: Final = (Changed.OPENED, Changed.REOPENED)


@dataclass(frozen=True, slots=True)
class JudgedContract:
    """A contract, or the `slo` of a table, in a period, as it is known at a moment.

    `observed_us`: how much of the `period_us` that are known of the period all checks of its tables saw; `origins`: the
    key of the configuration that promises each level; `labels`: the table, owner, domain and tier of the `slo` of a
    table, empty for all others.
    """

    name: str
    tables: tuple[str, ...]
    window: Window
    levels: Sequence[LevelResult]
    period_us: int = 0
    observed_us: int = 0
    budget: ErrorBudget | None = None
    origins: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str | None] = field(default_factory=dict)

    @property
    def is_of_table(self) -> bool:
        """Check whether it is what `slo` promises for a table, not an entry of `contracts`, nor of a product."""
        return bool(self.labels)

    @property
    def verdicts(self) -> Sequence[tuple[str, LevelVerdict]]:
        """Return the verdict of each level; that of the error budget is `downtime`."""
        levels = [(level.level.value, level.verdict) for level in self.levels]
        return levels if self.budget is None else [*levels, ("downtime", self.budget.verdict)]

    @property
    def verdict(self) -> LevelVerdict:
        """Return the worst verdict of its levels and its error budget."""
        return max((verdict for _, verdict in self.verdicts), key=tuple(LevelVerdict).index)


def judge_contracts(
    project: Project,
    tx: ReadTransaction,
    window: Window,
    *,
    as_of: datetime,
    table: str | None = None,
) -> Sequence[JudgedContract]:
    """Evaluate all promises in a period, or those about a table: contracts, products, each table's `slo`."""
    from monitor.config.promised import promised_contracts

    promises = list(promised_contracts(project.config, table))
    if not promises:
        return []
    read = None if table is None else _read_by_table(tx)  # few of the tables: looked up by table, not by time
    survey = survey_of(project, tx, promises, window, as_of=as_of, read=read)
    return [judge_contract(promise, survey) for promise in promises]


def _read_by_table(tx: ReadTransaction) -> ReadSpans:
    return lambda tables, since_us, _: tx.incidents.spans_of(tables, since_us)


def judge_contract(promise: "PromisedContract", survey: LevelSurvey) -> JudgedContract:
    """Return the verdict on one contract from the survey of its tables."""
    contract, window = promise.contract, survey.window
    return JudgedContract(
        promise.name,
        contract.tables,
        window,
        [survey.judge(level, limit, contract.tables) for level, limit in _levels(contract)],
        max(0, survey.end_us - window.start_us),
        survey.observed_us(contract.tables),
        _budget(contract, survey) if survey.end_us > window.start_us else None,
        {level.replace("_", "-"): origin for level, origin in promise.origins.items()},
        promise.labels,
    )


def survey_of(
    project: Project,
    tx: ReadTransaction,
    promises: Sequence["PromisedContract"],
    window: Window,
    *,
    as_of: datetime,
    read: ReadSpans | None = None,
) -> LevelSurvey:
    """Return the incidents and looks of all tables that something is promised of, read once for all promises.

    `read` reads incidents, for a caller who has them already; by default they come from the store.
    """
    contracts = [promise.contract for promise in promises]
    tables = tuple(dict.fromkeys(name for contract in contracts for name in contract.tables))
    end = from_us(min(window.end_us, to_us(as_of)))
    periods = [end - contract.downtime.per for contract in contracts if contract.downtime is not None]
    since = min([from_us(window.start_us), *periods])
    since_us = to_us(since)
    until_us = to_us(max(end, since))
    spans = tx.incidents.spans(since_us, until_us) if read is None else read(tables, since_us, until_us)
    notifies = {name for contract in contracts if contract.time_to_notify for name in contract.tables}
    watches = tx.results.watches()
    gaps = [*tx.results.gaps(since, max(end, since)), *lasting_gaps(project.config, watches, as_of)]
    history = IncidentHistory(
        spans,
        planned=planned_work(project.config, tables) if project.config.maintenance else {},
        notified=_notified(project, tx, spans, notifies, as_of) if notifies else {},
        unseen=_unseen(tables, gaps, MonitoringStart.of(watches, as_of), Window.of(since, max(end, since + _US))),
        observed=observed_tables(watches, gaps, project.config, from_us(window.start_us), end),
    )
    return LevelSurvey.of(history, window, as_of_us=to_us(as_of))


def _budget(contract: "Contract", survey: LevelSurvey) -> ErrorBudget | None:
    """Return the error budget of a contract as it stands at the end of a survey; None where it has none."""
    if contract.downtime is None:
        return None
    allowed, per = contract.downtime.allowed, contract.downtime.per
    return error_budget(survey, allowed_us=allowed // _US, per_us=per // _US, tables=contract.tables)


def fast_burns(
    project: Project, tx: ReadTransaction, promises: Sequence["PromisedContract"], now: datetime
) -> Mapping[str, FastBurn]:
    """Return which error budgets are spent too fast now, by the names of their contracts."""
    budgets = [(promise, promise.contract.downtime) for promise in promises if promise.contract.downtime is not None]
    if not budgets:
        return {}
    since = now - max(budget.per for _, budget in budgets) / 10
    spans = tx.incidents.spans(to_us(since), to_us(now))
    planned = planned_work(project.config, spans.names) if project.config.maintenance else {}
    survey = LevelSurvey.of(IncidentHistory(spans, planned), Window.of(since, now), as_of_us=to_us(now))
    burns: dict[str, FastBurn] = {}
    for promise, budget in budgets:
        tables = promise.contract.tables
        if any(table in survey.touched for table in tables):
            burn = fast_burn(survey, allowed_us=budget.allowed // _US, per_us=budget.per // _US, tables=tables)
            burns |= {} if burn is None else {promise.name: burn}
    return burns


def score_burns(project: Project, tx: ReadTransaction, _: Sequence[Incident], window: Window) -> StatementEvidence:
    """Score that an error budget was overspent within its period after a notice that it is spent too fast.

    A notice is not decided while its period lasts. Messages to several channels are one notice.
    """
    from monitor.config.promised import promised_contracts

    since, now = from_us(window.start_us), from_us(window.end_us)
    begun: dict[str, set[datetime]] = {}
    for message in tx.deliveries.since(since, _MOST_NOTICES, subject=MessageSubject.OPERATIONS):
        if message.payload.get("operation") == BUDGET_BURNING and message.created_at < now:
            begun.setdefault(message.payload["name"], set()).add(message.created_at)
    counts = []
    for promise in promised_contracts(project.config):
        budget, notices = promise.contract.downtime, begun.get(promise.name)
        if budget is not None and notices:
            survey = survey_of(project, tx, [promise], Window.of(since - 2 * budget.per, now), as_of=now)
            allowed = budget.allowed // _US
            true = decided = 0
            for notice in notices:
                moments = [to_us(notice + budget.per * part / _MOMENTS) for part in range(_MOMENTS + 1)]
                spent = [Window(at - budget.per // _US, at) for at in moments if at <= window.end_us]
                is_over = any(time.seen > allowed for time in survey.down_times(spent, promise.contract.tables))
                true, decided = true + is_over, decided + (is_over or moments[-1] <= window.end_us)
            counts.append(StatementCount(len(notices), true, len(notices) - decided))
    return StatementEvidence(counts)


def recent_contracts(project: Project, tx: ReadTransaction, table: str) -> Sequence[JudgedContract]:
    """Return the verdicts on the contracts of a table in the last 28 days."""
    now = project.clock.now()
    return judge_contracts(project, tx, Window.of(now - RECENT, now), as_of=now, table=table)


def _levels(contract: "Contract") -> Iterator[tuple[Level, Fraction]]:
    """Yield what a contract promises: times in microseconds, availability as a share, exactly."""
    for name, length in contract.times.items():
        yield Level(name.replace("_", "-")), Fraction(length // _US)
    if contract.availability is not None:
        yield Level.AVAILABILITY, Fraction(contract.availability)


def _unseen(
    tables: Iterable[str], gaps: Iterable[Gap], watching: MonitoringStart, window: Window
) -> Mapping[str, Sequence[tuple[int, int]]]:
    """Return when some check of each table saw nothing, and the time before its first run."""
    unseen: dict[str, list[tuple[int, int]]] = {}
    for table in tables:
        since = watching.since.get(table)
        unseen[table] = [(window.start_us, window.end_us if since is None else to_us(since))]
    for gap in gaps:
        if gap.table in unseen:
            unseen[gap.table].append((to_us(gap.start), to_us(gap.end)))
    return unseen


def _notified(
    project: Project, tx: ReadTransaction, spans: Spans, tables: Collection[str], as_of: datetime
) -> Mapping[tuple[int, int], datetime | None]:
    """Return when the first message of each episode was delivered; none past retention or imported."""
    kept_since = as_of - project.config.storage.keep_measurements
    episodes = Counter(
        incident
        for incident, code in zip(spans.incident.tolist(), spans.table.tolist(), strict=True)
        if spans.names[code] in tables
    )
    by_incident = tx.outbox.of_incidents(episodes)
    sent = tx.deliveries.sent_at(name for items in by_incident.values() for item in items for name in _messages(item))
    notified: dict[tuple[int, int], datetime | None] = {}
    for incident, transitions in by_incident.items():
        begins = [place for place, item in enumerate(transitions) if item.change in _BEGINNINGS]
        first = episodes[incident] - len(begins)  # earlier ones are not recorded
        for number, (begin, end) in enumerate(pairwise([*begins, len(transitions)]), first):
            if number >= 0 and transitions[begin].recorded_at >= kept_since:
                messages = [name for item in transitions[begin:end] for name in _messages(item)]
                notified[incident, number] = min((sent[name] for name in messages if name in sent), default=None)
    return notified


def _messages(transition: Transition) -> Iterable[str]:
    """Yield the ids of the messages that a change led to."""
    channels: Mapping[str, Any] = (transition.decision or {}).get("channels", {})
    return (record["delivery"] for record in channels.values() if record.get("delivery") is not None)


class LevelLine(Shape):
    """A promised service level and the worst that was seen, between `low` and `high`: hours, or a share (0 to 1).

    `incidents` broke it, of the `undecided` it is not known, or not known yet. Of the `judged` episodes so many kept a
    time, and so many broke it; the share that kept it is between two ends, null where there is none.
    """

    level: Level
    unit: Literal["h", "share"]
    promised: float
    seen: float | None
    low: float | None
    high: float | None
    missed_by: float | None
    verdict: LevelVerdict
    judged: int
    kept: int
    broken: int
    share_kept_low: float | None
    share_kept_high: float | None
    incidents: tuple[int, ...]
    undecided: tuple[int, ...]

    @classmethod
    def of(cls, result: LevelResult) -> Self:
        """Return a judged level as a model."""
        is_share = result.level is Level.AVAILABILITY

        def number(value: Fraction | None) -> float | None:
            return None if value is None else float(value) if is_share else as_hours(value)

        low, high = result.share_kept or (None, None)
        return cls(
            level=result.level,
            unit="share" if is_share else "h",
            promised=float(result.promised) if is_share else as_hours(result.promised),
            **{name: number(getattr(result, name)) for name in ("seen", "low", "high", "missed_by")},
            share_kept_low=None if low is None else float(low),
            share_kept_high=None if high is None else float(high),
            **{
                name: getattr(result, name)
                for name in ("verdict", "judged", "kept", "broken", "incidents", "undecided")
            },
        )


class BurnRateLine(Shape):
    """Downtime of the last hours relative to the allowed rate: above 1 the budget does not last."""

    window_h: float
    rate: float
    rate_low: float
    rate_high: float


class ErrorBudgetLine(Shape):
    """Downtime allowed in a rolling period, spent, left, and in how many hours it is used up: null is never."""

    allowed_h: float
    per_h: float
    start: Moment = Field(alias="from")
    to: Moment
    spent_h: float
    spent_h_low: float
    spent_h_high: float
    left_h: float
    left_h_low: float
    left_h_high: float
    verdict: LevelVerdict
    burn_rates: tuple[BurnRateLine, ...]
    used_up_in_h: float | None
    used_up_in_h_soonest: float | None
    used_up_in_h_latest: float | None

    @classmethod
    def of(cls, budget: ErrorBudget) -> Self:
        """Return an error budget as a model."""
        forecast = budget.exhaustion
        return cls(
            allowed_h=as_hours(budget.allowed_us),
            per_h=as_hours(budget.per_us),
            start=from_us(budget.end_us - budget.per_us),
            to=from_us(budget.end_us),
            **_ends("spent_h", budget.spent),
            **_ends("left_h", budget.left),
            verdict=budget.verdict,
            burn_rates=tuple(
                BurnRateLine(
                    window_h=as_hours(rate.length_us),
                    rate=float(rate.seen),
                    rate_low=float(rate.low),
                    rate_high=float(rate.high),
                )
                for rate in budget.rates
            ),
            used_up_in_h=_or_none(forecast.expected),
            used_up_in_h_soonest=_or_none(forecast.soonest),
            used_up_in_h_latest=_or_none(forecast.latest),
        )


class ContractLine(Shape):
    """The service levels of a contract in a period, or of a table (`slo:TABLE`); `origins`: by which key, by level.

    `labels`: the table, owner, domain and tier of `slo:TABLE`, else empty. `observed_h`: hours of the period that all
    checks of its tables saw.
    """

    contract: str
    tables: tuple[str, ...]
    start: Moment = Field(alias="from")
    to: Moment
    observed_h: float
    levels: tuple[LevelLine, ...]
    error_budget: ErrorBudgetLine | None
    origins: dict[str, str]
    labels: dict[str, str | None]

    @classmethod
    def of(cls, judged: JudgedContract) -> Self:
        """Return a judged contract as a model: times in hours, availability as a share."""
        return cls(
            contract=judged.name,
            tables=judged.tables,
            start=from_us(judged.window.start_us),
            to=from_us(judged.window.end_us),
            observed_h=as_hours(judged.observed_us),
            levels=tuple(LevelLine.of(level) for level in judged.levels),
            error_budget=None if judged.budget is None else ErrorBudgetLine.of(judged.budget),
            origins=dict(judged.origins),
            labels=dict(judged.labels),
        )


def _ends(name: str, time: DownTime) -> dict[str, float]:
    return {name: as_hours(time.seen), f"{name}_low": as_hours(time.low), f"{name}_high": as_hours(time.high)}


def _or_none(time: Fraction | None) -> float | None:
    return None if time is None else as_hours(time)


def broken_levels(contracts: Sequence[JudgedContract]) -> int:
    """Return the number of broken levels and error budgets."""
    return [verdict for contract in contracts for _, verdict in contract.verdicts].count(LevelVerdict.BROKEN)
