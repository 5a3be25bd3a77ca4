"""Audit what the product promises: how often each kind of statement came true in the history of the store.

A statement is a probability, a bound or a rate that is printed. Each kind stands in `STATEMENTS` once, with the
function that scores it (beside what makes the statement), or with the reason why the store cannot tell and what could.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from statistics import median
from typing import Final, Literal, Self, TypeAlias

from pydantic import Field

from checks import Message
from incidents import Incident, LevelVerdict, Resolution, Window, from_us
from incidents.promise_score import (
    Bound,
    CorrectedStart,
    StatementEvidence,
    StatementScore,
    corrected_starts,
    score_ranges,
    score_starts,
)
from monitor.config.project import Project
from monitor.summaries.causes import score_causes
from monitor.summaries.coverage import kept_since
from monitor.summaries.promises import score_alarms, score_samples
from monitor.summaries.service_levels import score_burns
from monitor.summaries.shapes import Moment, Sentence, Shape
from store import IncidentFilter, ReadTransaction

Scorer: TypeAlias = Callable[[Project, ReadTransaction, Sequence[Incident], Window], StatementEvidence]
"""Returns the evidence of incidents detected in a window, the newest first, and of what else the store has of it."""


class StatementKind(StrEnum):
    """The kinds of statements that are audited."""

    FALSE_ALARMS = "false-alarms"
    START = "start"
    DOWNTIME_RANGE = "downtime-range"
    SAMPLE = "sample"
    FIRST_CAUSE = "first-cause"
    BURN_RATE = "burn-rate"
    POWER = "power"
    SUGGESTION = "suggestion"
    ALERT_PRECISION = "alert-precision"
    SIMULATION = "simulation"
    ANSWER = "answer"
    SYNTHETIC_TABLE = "synthetic-table"
    DISCLOSURE_RISK = "disclosure-risk"


@dataclass(frozen=True, slots=True)
class ScoredStatement:
    """A kind of statement that the store can score: `text` is the statement, `observed` what is counted.

    `bound`: how its rate is promised; None where no rate is.
    """

    text: Message
    observed: Message
    bound: Bound | None
    score: Scorer


@dataclass(frozen=True, slots=True)
class UnscoredStatement:
    """A kind of statement that the store cannot score: why, and what would make it possible."""

    text: Message
    why: Message
    remedy: Message


def _of_starts(score: Callable[[Sequence[CorrectedStart]], StatementEvidence]) -> Scorer:
    """Return the scorer of the starts that people corrected."""

    def of_incidents(_: Project, tx: ReadTransaction, incidents: Sequence[Incident], __: Window) -> StatementEvidence:
        histories = tx.incidents.histories([incident.id for incident in incidents])
        return score([start for events in histories.values() for start in corrected_starts(events)])

    return of_incidents


_KNOWN_FAULTS: Final = Message("faults of known size, as in the benchmark audit")
_PUBLIC_DATA: Final = Message("the same request of a public table, as in the benchmark audit")
STATEMENTS: Final[Mapping[StatementKind, ScoredStatement | UnscoredStatement]] = {
    StatementKind.FALSE_ALARMS: ScoredStatement(
        Message("A learned limit raises a false alarm at a run."),
        Message("runs with a learned limit, by table"),
        Bound.AT_MOST,
        score_alarms,
    ),
    StatementKind.START: ScoredStatement(
        Message("The data of an incident was wrong from a time between the earliest and the latest start."),
        Message("starts that a person corrected, by table"),
        Bound.AT_LEAST,
        _of_starts(score_starts),
    ),
    StatementKind.DOWNTIME_RANGE: ScoredStatement(
        Message("Downtime before detection lies between its low and high estimate."),
        Message("weeks with a start that a person corrected"),
        Bound.AT_LEAST,
        _of_starts(score_ranges),
    ),
    StatementKind.SAMPLE: ScoredStatement(
        Message("The shares of bad rows lie in the intervals of a sample."),
        Message("runs of a sampled check beside the same check of all rows, by check"),
        Bound.AT_LEAST,
        score_samples,
    ),
    StatementKind.FIRST_CAUSE: ScoredStatement(
        Message("The cause that is ranked first is the root cause."),
        Message("incidents with a root that a person named, by root"),
        None,
        score_causes,
    ),
    StatementKind.BURN_RATE: ScoredStatement(
        Message("An error budget that is spent too fast is overspent within its period."),
        Message("notices of error budgets, by contract"),
        None,
        score_burns,
    ),
    StatementKind.POWER: UnscoredStatement(
        Message("A change as large as the printed loss or excess is detected with a chance of one half."),
        Message("The size of a change that no check detected is not known."),
        _KNOWN_FAULTS,
    ),
    StatementKind.SUGGESTION: UnscoredStatement(
        Message("At most the printed share of rows breaks a suggested check."),
        Message("Suggestions are not stored, and the rows that they will meet are not known."),
        Message("rows that were held out, as in the benchmark audit"),
    ),
    StatementKind.ALERT_PRECISION: UnscoredStatement(
        Message("The share of alerts that are real lies in its 95 % interval."),
        Message("No second person answers the same alerts."),
        Message("alerts that two people answer independently"),
    ),
    StatementKind.SIMULATION: UnscoredStatement(
        Message("Downtime under another configuration lies between the low and high estimate."),
        Message("The other configuration did not run."),
        Message("histories that ran under both configurations"),
    ),
    StatementKind.ANSWER: UnscoredStatement(
        Message("The noise of an answer is at most its 95 % error bound."),
        Message("The true value is never read, since that would be an answer without noise."),
        _PUBLIC_DATA,
    ),
    StatementKind.SYNTHETIC_TABLE: UnscoredStatement(
        Message("The counts of a synthetic table have the printed expected error."),
        Message("The true counts are read once only."),
        _PUBLIC_DATA,
    ),
    StatementKind.DISCLOSURE_RISK: UnscoredStatement(
        Message("A person is found, or unique in the population, with the printed probability."),
        Message("Who is in the population is not known."),
        Message("samples of a known population, as in the benchmark disclosure_risk"),
    ),
}


_PROMISED: Final[Mapping[Bound | None, Message]] = {
    Bound.AT_MOST: Message("at most {percent:number} %"),
    Bound.AT_LEAST: Message("at least {percent:number} %"),
    Bound.EQUAL: Message("{percent:number} %"),
    None: Message("no rate"),
}
_ALWAYS: Final = Message("always")
_NONE: Final = Message("There are none.")
_UNDECIDED: Final = Message("Not decided: {n:count}. The interval counts these both ways.")
_LEFT_OUT: Final = Message("Older ones that were not evaluated: {n:count}.")
_DISPERSED: Final = Message(
    "The {groups:count} groups differ {times:number} times as much as independent observations; the interval is wider."
)
_WIDTH: Final = Message("Length of the intervals: {median:hours} in the median, {most:hours} at most.")


def _percent(share: float) -> float:
    """Return a share in percent with three figures; 0 and 100 are exact."""
    return min(float(f"{100 * share:.3g}"), 100.0 if share >= 1 else 99.9)


class StatementLine(Shape):
    """How often a kind of statement came true: `true` of `made`, of which some are `undecided`; `low`, `high`: of 95 %.

    `bound` and `promised` are null where no rate is promised, or where it was never made; `verdict` is null without a
    bound. `rate` is null while any is undecided. `dispersion` above 1: `groups` differ more than independent
    observations would, and the interval is wider. `left_out`: older ones that were not looked at. Widths are of the
    intervals that were printed.
    """

    kind: StatementKind
    statement: Sentence
    observed: Sentence
    bound: Bound | None
    promised: float | None
    made: int
    true: int
    undecided: int
    left_out: int
    rate: float | None
    low: float | None
    high: float | None
    groups: int
    dispersion: float | None
    width_h_median: float | None
    width_h_max: float | None
    verdict: LevelVerdict | None

    @property
    def promise(self) -> Message | None:
        """Return the promised rate in words; None where it was never made."""
        if self.promised is None:
            return None if self.bound is not None else _PROMISED[None]
        if self.promised == 1 and self.bound is Bound.AT_LEAST:
            return _ALWAYS
        return _PROMISED[self.bound].given(percent=_percent(self.promised))

    @property
    def interval(self) -> Message | None:
        """Return the 95 % interval in words; None where the statement was never made."""
        if self.low is None or self.high is None:
            return None
        return Message("{low:number} to {high:number} %", {"low": _percent(self.low), "high": _percent(self.high)})

    @property
    def notes(self) -> Iterator[Message]:
        """Yield what limits the score."""
        if not self.made:
            yield _NONE
        if self.undecided:
            yield _UNDECIDED.given(n=self.undecided)
        if self.left_out:
            yield _LEFT_OUT.given(n=self.left_out)
        if self.dispersion is not None and self.dispersion > 1:
            yield _DISPERSED.given(groups=self.groups, times=float(f"{self.dispersion:.2g}"))
        if self.width_h_median is not None and self.width_h_max is not None:
            lengths = {"median": self.width_h_median, "most": self.width_h_max}
            yield _WIDTH.given(**{name: timedelta(hours=length) for name, length in lengths.items()})

    @classmethod
    def of(cls, kind: StatementKind, statement: ScoredStatement, evidence: StatementEvidence) -> Self:
        """Return the score of evidence as a model."""
        score = StatementScore.of(evidence.counts)
        return cls(
            kind=kind,
            statement=statement.text,
            observed=statement.observed,
            bound=statement.bound,
            promised=evidence.promised,
            left_out=evidence.left_out,
            **{name: getattr(score, name) for name in ("made", "true", "undecided", "rate", "low", "high")},
            groups=score.groups,
            dispersion=score.dispersion,
            width_h_median=median(evidence.widths) if evidence.widths else None,
            width_h_max=max(evidence.widths, default=None),
            verdict=score.verdict(statement.bound, evidence.promised),
        )


class UnscoredLine(Shape):
    """A kind of statement that is not scored: why, and what would make it possible."""

    kind: StatementKind
    statement: Sentence
    why: Sentence
    remedy: Sentence


class PromiseAudit(Shape):
    """`tablewatch.audit/1`: the statements that were scored on incidents and runs of a window, and those not scored."""

    schema_: Literal["tablewatch.audit/1"] = Field("tablewatch.audit/1", alias="schema")
    as_of: Moment
    start: Moment = Field(alias="from")
    to: Moment
    scored: tuple[StatementLine, ...]
    not_scored: tuple[UnscoredLine, ...]


def audit_promises(project: Project, tx: ReadTransaction, now: datetime, window: Window | None = None) -> PromiseAudit:
    """Return how often statements came true in a window; by default in all that is kept."""
    window = window or Window.of(kept_since(project.config, now), now)
    start, end = from_us(window.start_us), from_us(window.end_us)
    touching = tx.incidents.matching(IncidentFilter(since=start, until=end))
    incidents = [
        incident
        for incident in touching
        if start <= incident.episodes[0].detected_at < end and incident.resolution is not Resolution.DUPLICATE
    ]
    scored, unscored = [], []
    for kind, statement in STATEMENTS.items():
        if isinstance(statement, ScoredStatement):
            scored.append(StatementLine.of(kind, statement, statement.score(project, tx, incidents, window)))
        else:
            texts = {"statement": statement.text, "why": statement.why, "remedy": statement.remedy}
            unscored.append(UnscoredLine(kind=kind, **texts))
    return PromiseAudit(as_of=now, start=start, to=end, scored=tuple(scored), not_scored=tuple(unscored))
