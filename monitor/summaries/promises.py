"""How many false alarms a learned limit promised, how many it raised as people answered them, and its power."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final, Self

from checks import Check, Message
from incidents import AnsweredAlarms, Incident, Resolution, Watch, Window, answer_of, from_us, to_us
from incidents.promise_score import StatementCount, StatementEvidence
from monitor.config import Table
from monitor.config.project import Project
from monitor.summaries.patterns import AlarmCounts
from monitor.summaries.shapes import Shape
from store import ReadTransaction, Result

_DAY = timedelta(days=1)
_NONE: Final = Message("none")
_OF_USUAL: Final = Message("{size:number} ({share:ratio} of the usual value)")
_POWER: Final = Message(
    "{what}: the smallest change detected with a chance of one half is a loss of {loss}, an excess of {excess}."
)
POOLED: Final = "pooled checks"
"""The name of all checks that learn together, in the place of an id."""
_POOLED_POWER: Final = Message(
    "{judged:count} of {all:count} pooled checks have a limit. Half of those with a lower one detect a loss of "
    "{loss:ratio} with a chance of one half."
)
_POOLED_UNKNOWN: Final = Message("{judged:count} of {all:count} pooled checks have a limit, none a lower one.")


class LearnedPower(Shape):
    """The smallest loss and excess that a learned limit would flag with a chance of one half; None where none is.

    In units of the number, which is seconds of `freshness` and a share of rows of `not_null`, as is `usual`.
    `column`: of a check that learns a limit for each of its columns.
    """

    column: str | None
    usual: float | None
    loss: float | None
    excess: float | None

    def message(self, check: Check, check_id: str) -> Message:
        """Return it as a sentence about a check."""
        what = check_id if self.column is None else f"{check_id} ({self.column})"
        return _POWER.given(what=what, loss=self._size(self.loss, check), excess=self._size(self.excess, check))

    def _size(self, size: float | None, check: Check) -> Message:
        if size is None:
            return _NONE
        if check.type == "freshness":
            return Message("{age:duration}", {"age": size})
        if check.type == "not_null":
            return Message("{share:ratio}", {"share": size})
        if not self.usual or self.usual < 0:
            return Message("{size:number}", {"size": size})
        return _OF_USUAL.given(size=size, share=size / self.usual)


def powers_of(result: Result | None) -> tuple[LearnedPower, ...]:
    """Return the power of each learned limit of a check, as of its newest result; none before it learned one."""
    limits = {} if result is None else _limits_in(result.observed)
    return tuple(
        LearnedPower(column=column, **{name: limit[name] for name in ("usual", "loss", "excess")})
        for column, limit in limits.items()
        if "excess" in limit
    )


def _limits_in(observed: Mapping[str, Any]) -> Mapping[str | None, Mapping[str, Any]]:
    """Return the learned limits that a run observed, by column; None: of the check's one number."""
    learned = observed.get("learned")
    if not isinstance(learned, Mapping):
        return {}
    limits: Iterable[tuple[str | None, Any]] = [(None, learned)] if "usual" in learned else learned.items()
    return {column: limit for column, limit in limits if isinstance(limit, Mapping)}


@dataclass(frozen=True, slots=True)
class MeasuredPromise:
    """The alarms of a check with a learned limit, by how they were answered, over the time that it was watched.

    `unanswered` are open, or were closed by a passing run with no word of a person: they may have been false. `power`:
    of each of its limits, with its sentence in `power_messages`.
    """

    check_id: str
    promised: str
    count: float
    per: timedelta
    watched: timedelta
    answers: AnsweredAlarms
    power: tuple[LearnedPower, ...] = ()
    power_messages: tuple[Message, ...] = ()

    @property
    def seen(self) -> float | None:
        """Return the false alarms in the time of the promise; None before that much time was watched."""
        return self._rate(self.answers.false)

    @property
    def seen_at_most(self) -> float | None:
        """Return the same if all unanswered ones were false."""
        return self._rate(self.answers.false + self.answers.unanswered)

    @property
    def share(self) -> float:
        """Return the most false alarms that there may have been, as a share of those promised; 0 while unknown."""
        return (self.seen_at_most or 0.0) / self.count

    def _rate(self, alarms: int) -> float | None:
        return alarms * (self.per / self.watched) if self.watched >= self.per else None

    def sentence(self) -> str:
        """Return it for a terminal."""
        days = f"{self.watched / _DAY:.0f} d"
        by = self.answers
        answers = f"{by.false} false, {by.real} real, {by.expected} expected, {by.unanswered} unanswered"
        if self.seen is None or self.seen_at_most is None:
            return f"promised {self.promised}, watched for {days} only: {by.alarms} alarms ({answers})"
        most = "" if not by.unanswered else f", at most {self.seen_at_most:.2g}"
        return f"promised {self.promised}, seen {self.seen:.2g}{most}: {by.alarms} alarms in {days} ({answers})"


class PromiseLine(AlarmCounts):
    """How many false alarms a learned limit promised, and the alarms that there were, by how people answered them.

    `seen`: false alarms in the time of the promise, `seen_at_most` with unanswered ones; null before it was watched.
    """

    promised: str
    watched_days: float
    seen: float | None
    seen_at_most: float | None
    power: tuple[LearnedPower, ...]

    @classmethod
    def measured(cls, promise: MeasuredPromise, **more: Any) -> Self:
        """Return a promise as a model; `more`: the fields that a wider model adds."""
        return cls.of(
            promise.answers,
            promised=promise.promised,
            watched_days=round(promise.watched / _DAY, 2),
            seen=None if promise.seen is None else round(promise.seen, 3),
            seen_at_most=None if promise.seen_at_most is None else round(promise.seen_at_most, 3),
            power=promise.power,
            **more,
        )


class NamedPromise(PromiseLine):
    """The promise of a check."""

    check_id: str


def promises_of(
    table: Table,
    incidents: Sequence[Incident],
    watches: Mapping[str, Watch],
    results: Mapping[str, Result],
    *,
    now: datetime,
) -> Mapping[str, MeasuredPromise]:
    """Return the promises of a table's checks that ran, by check id; `results`: the newest of each."""
    promises: dict[str, MeasuredPromise] = {}
    for check in table.checks:
        check_id = table.check_id(check)
        watch = watches.get(check_id)
        since = None if watch is None else watch.monitored_since
        promise = promise_of(check, check_id, incidents, since=since, now=now)
        if promise is not None:
            power = powers_of(results.get(check_id))
            messages = tuple(item.message(check, check_id) for item in power)
            promises[check_id] = replace(promise, power=power, power_messages=messages)
    return promises


def promise_of(
    check: Check, check_id: str, incidents: Iterable[Incident], *, since: datetime | None, now: datetime
) -> MeasuredPromise | None:
    """Return the promise of a check and how it was kept; None where its limits promise nothing or it never ran.

    `since`: its first run. Incidents that were merged into others, or are duplicates, are no alarms of their own.
    """
    limits = getattr(check, "limits", None)
    if limits is None or since is None:
        return None
    alarms = limits.learned.false_alarms
    return MeasuredPromise(
        check_id=check_id,
        promised=f"{alarms} of {POOLED}" if limits.learned.pooled else str(alarms),
        count=alarms.count,
        per=alarms.per,
        watched=now - since,
        answers=_answers(incident for incident in incidents if incident.check_id == check_id),
    )


def _answers(incidents: Iterable[Incident]) -> AnsweredAlarms:
    own = [incident for incident in incidents if incident.merged_into is None]
    return AnsweredAlarms.of(
        [answer_of(incident) for incident in own if incident.resolution is not Resolution.DUPLICATE]
    )


def pooled_promises(
    checks: Mapping[str, Check],
    incidents: Sequence[Incident],
    watches: Mapping[str, Watch],
    results: Mapping[str, Result],
    *,
    now: datetime,
) -> Sequence[MeasuredPromise]:
    """Return the promises that checks keep together, one for each promise that is in the configuration.

    `checks`: those with pooled limits, by id.
    """
    by_promise: dict[str, list[str]] = {}
    for check_id, check in checks.items():
        if check_id in watches:
            limits: Any = getattr(check, "limits", None)
            by_promise.setdefault(str(limits.learned.false_alarms), []).append(check_id)
    promises = []
    for ids in map(frozenset, by_promise.values()):
        since = min(watches[check_id].monitored_since for check_id in ids)
        one = promise_of(checks[min(ids)], POOLED, (), since=since, now=now)
        if one is not None:
            answers = _answers(incident for incident in incidents if incident.check_id in ids)
            message = _pooled_power(ids, [power for name in ids for power in powers_of(results.get(name))])
            promises.append(replace(one, answers=answers, power_messages=(message,)))
    return promises


def _pooled_power(ids: Collection[str], powers: Sequence[LearnedPower]) -> Message:
    """Return how many of some checks have a limit, and the loss that half of them would notice."""
    of_rows = [power for power in powers if power.usual and power.loss is not None]
    losses = sorted((power.loss or 0.0) / power.usual for power in of_rows if power.usual)
    if not losses:
        return _POOLED_UNKNOWN.given(judged=len(powers), all=len(ids))
    return _POOLED_POWER.given(judged=len(powers), all=len(ids), loss=losses[len(losses) // 2])


def score_alarms(
    project: Project, tx: ReadTransaction, incidents: Sequence[Incident], window: Window
) -> StatementEvidence:
    """Score the chance of a false alarm that learned limits print at each run, by table.

    Runs within an alarm can raise no other. An alarm without an answer is not decided.
    """
    counts, chances = [], list[float]()
    for table in project.config.tables:
        of_table, answers = list[float](), list[Resolution | None]()
        for check in table.checks:
            if check.learned_numbers:
                for series in _series_of(tx, table.check_id(check), segmented=check.segments is not None):
                    own = [incident for incident in incidents if incident.series == series]
                    looks = _looks(tx.results.observations(series, from_us(window.end_us)), own, window)
                    of_table += looks.values()
                    answers += [answer_of(item) for item in own if to_us(item.episodes[0].detected_at) in looks]
        alarms = AnsweredAlarms.of(answers)
        counts.append(StatementCount(len(of_table), alarms.false, alarms.unanswered))
        chances += of_table
    return StatementEvidence(counts, sum(chances) / len(chances) if chances else None)


def _series_of(tx: ReadTransaction, check_id: str, *, segmented: bool) -> Sequence[str]:
    return [result.check_id for result in tx.results.segments_of(check_id)] if segmented else [check_id]


def _looks(
    observations: Mapping[int, Mapping[str, Any]], own: Sequence[Incident], window: Window
) -> Mapping[int, float]:
    """Return the chance of a false alarm at each run that could raise one, by its time (microseconds)."""
    lasting = [
        (to_us(episode.detected_at), window.end_us if episode.resolved_at is None else to_us(episode.resolved_at))
        for incident in own
        for episode in incident.episodes
    ]
    looks = {}
    for at, observed in observations.items():
        chances = [limit["chance"] for limit in _limits_in(observed).values() if limit.get("chance")]
        if chances and at >= window.start_us and not any(start < at <= end for start, end in lasting):
            looks[at] = min(1.0, sum(chances))
    return looks


_OF_A_SAMPLE: Final = frozenset({"id", "sample", "max_ratio", "severity", "why", "runbook", "warn", "open_on"})
"""Parameters in which a sampled check and the same check of all rows may differ."""


def score_samples(project: Project, tx: ReadTransaction, _: Sequence[Incident], window: Window) -> StatementEvidence:
    """Score that all intervals of a sampled check have the share of all rows, by check.

    The share is that of another check which differs by `sample` alone, in the same run: nothing else counts the rows.
    """
    counts, confidences = [], list[float]()
    for table in project.config.tables:
        for check in table.checks:
            whole = next((item for item in table.checks if check.sampling and _is_whole_of(item, check)), None)
            if whole is not None:
                ids = (table.check_id(check), table.check_id(whole))
                sampled, full = (tx.results.observations(name, from_us(window.end_us)) for name in ids)
                pairs = [
                    (observed, full[at]) for at, observed in sampled.items() if at in full and at >= window.start_us
                ]
                judged = [
                    _holds(sample, counted) for sample, counted in pairs if "estimates" in sample.get("sample", {})
                ]
                known = [holds for holds in judged if holds is not None]
                counts.append(StatementCount(len(known), sum(known)))
                confidences += [check.sampling.confidence for _ in known if check.sampling]
    return StatementEvidence(counts, sum(confidences) / len(confidences) if confidences else None)


def _is_whole_of(whole: Check, check: Check) -> bool:
    """Check whether a check is another one without its sample."""
    plain, sampled = (
        {name: value for name, value in vars(item).items() if name not in _OF_A_SAMPLE} for item in (whole, check)
    )
    return whole.type == check.type and whole.sampling is None and plain == sampled


def _holds(sampled: Mapping[str, Any], full: Mapping[str, Any]) -> bool | None:
    """Check whether the share of all rows lies in each interval; None where it was not counted."""
    rows, nulls, violations = full.get("rows"), full.get("nulls", {}), full.get("violations")
    estimates = sampled["sample"]["estimates"].items()
    shares = [(part, nulls.get(name, violations)) for name, part in estimates]
    if not rows or any(bad is None for _, bad in shares):
        return None
    return all(part["low"] <= bad / rows <= part["high"] for part, bad in shares)
