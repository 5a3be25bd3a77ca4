"""How many false alarms a learned limit promised, how many it raised as people answered them, and its power."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final, Self

from checks import Check, Message
from incidents import AnsweredAlarms, Incident, Resolution, Watch, answer_of
from monitor.config import Table
from monitor.summaries.patterns import AlarmCounts
from monitor.summaries.shapes import Shape
from store import Result

_DAY = timedelta(days=1)
_NONE: Final = Message("none")
_OF_USUAL: Final = Message("{size:number} ({share:ratio} of the usual value)")
_POWER: Final = Message(
    "{what}: the smallest change detected with a chance of one half is a loss of {loss}, an excess of {excess}."
)


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
    learned = None if result is None else result.observed.get("learned")
    if not isinstance(learned, Mapping):
        return ()
    limits: Iterable[tuple[str | None, Any]] = [(None, learned)] if "usual" in learned else learned.items()
    return tuple(
        LearnedPower(column=column, **{name: limit[name] for name in ("usual", "loss", "excess")})
        for column, limit in limits
        if isinstance(limit, Mapping) and "excess" in limit
    )


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
    if not check.learned_numbers or limits is None or since is None:
        return None
    alarms = limits.learned.false_alarms
    own = [incident for incident in incidents if incident.check_id == check_id and incident.merged_into is None]
    answers = AnsweredAlarms.of(
        [answer_of(incident) for incident in own if incident.resolution is not Resolution.DUPLICATE]
    )
    return MeasuredPromise(
        check_id=check_id,
        promised=str(alarms),
        count=alarms.count,
        per=alarms.per,
        watched=now - since,
        answers=answers,
    )
