"""How many false alarms a learned limit promised, and how many it raised, as people answered them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from checks import Check
from incidents import AnsweredAlarms, Incident, Resolution, Watch, answer_of
from monitor.config import Table

_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class MeasuredPromise:
    """The alarms of a check with a learned limit, by how they were answered, over the time that it was watched.

    `unanswered` are open, or were closed by a passing run with no word of a person: they may have been false.
    """

    check_id: str
    promised: str
    count: float
    per: timedelta
    watched: timedelta
    false: int
    real: int
    expected: int
    unanswered: int

    @property
    def alarms(self) -> int:
        """Return how many alarms there were."""
        return self.false + self.real + self.expected + self.unanswered

    @property
    def seen(self) -> float | None:
        """Return the false alarms in the time of the promise; None before that much time was watched."""
        return self._rate(self.false)

    @property
    def seen_at_most(self) -> float | None:
        """Return the same if all that nobody answered were false."""
        return self._rate(self.false + self.unanswered)

    @property
    def share(self) -> float:
        """Return the most false alarms that there may have been, as a share of those promised; 0 while unknown."""
        return (self.seen_at_most or 0.0) / self.count

    def _rate(self, alarms: int) -> float | None:
        return alarms * (self.per / self.watched) if self.watched >= self.per else None

    def as_json(self) -> dict[str, Any]:
        """Return the published shape."""
        return {
            "promised": self.promised,
            "watched_days": round(self.watched / _DAY, 2),
            "alarms": self.alarms,
            "false": self.false,
            "real": self.real,
            "expected": self.expected,
            "unanswered": self.unanswered,
            "seen": None if self.seen is None else round(self.seen, 3),
            "seen_at_most": None if self.seen_at_most is None else round(self.seen_at_most, 3),
        }

    def sentence(self) -> str:
        """Return it for a terminal."""
        days = f"{self.watched / _DAY:.0f} d"
        answers = f"{self.false} false, {self.real} real, {self.expected} expected, {self.unanswered} unanswered"
        if self.seen is None or self.seen_at_most is None:
            return f"promised {self.promised}, watched for {days} only: {self.alarms} alarms ({answers})"
        most = "" if not self.unanswered else f", at most {self.seen_at_most:.2g}"
        return f"promised {self.promised}, seen {self.seen:.2g}{most}: {self.alarms} alarms in {days} ({answers})"


def promises_of(
    table: Table, incidents: Sequence[Incident], watches: Mapping[str, Watch], *, now: datetime
) -> Mapping[str, MeasuredPromise]:
    """Return the promises of a table's checks that ran, by check id."""
    promises: dict[str, MeasuredPromise] = {}
    for check in table.checks:
        check_id = table.check_id(check)
        watch = watches.get(check_id)
        since = None if watch is None else watch.monitored_since
        promise = promise_of(check, check_id, incidents, since=since, now=now)
        if promise is not None:
            promises[check_id] = promise
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
        false=answers.false,
        real=answers.real,
        expected=answers.expected,
        unanswered=answers.unanswered,
    )
