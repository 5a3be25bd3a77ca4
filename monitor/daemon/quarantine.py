"""Remember which checks end their worker, and leave them out for a while after a few times.

Notice that a source cannot be reached for long, or can again: operators hear of it once, not for every table.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from checks import Message, Outcome, UnknownReason, unknown
from monitor.alerts.operational import Operation, OperationalEvent
from monitor.clock import Clock
from monitor.daemon.journal import LOG
from monitor.scan.results import CheckResult, Target
from store import Quarantine, Store

LONG: Final = timedelta(minutes=10)

AWAY: Final = frozenset({UnknownReason.UNREACHABLE, UnknownReason.TIMEOUT})
"""Outcomes of a source that did not answer, or not in time."""
NO_ANSWER: Final = AWAY | {UnknownReason.BUG}
"""Outcomes that prove nothing: it did not answer, or we stumbled before it could. Any other one is an answer."""


@dataclass
class SourceAvailability:
    """Since when each source has not answered. Nothing is kept over a restart: what lasts is told again."""

    _since: dict[str, datetime] = field(default_factory=dict)
    _told: set[str] = field(default_factory=set)

    def take(self, results: Sequence[CheckResult]) -> Iterator[OperationalEvent]:
        """Yield what there is to tell after these results."""
        for result in results:
            if result.outcome.reason not in NO_ANSWER:
                yield from self._answered(result.source, result.measured_at)
            elif result.outcome.reason in AWAY and result.source not in self._told:
                since = self._since.setdefault(result.source, result.measured_at)
                if result.measured_at - since >= LONG:
                    self._told.add(result.source)
                    yield OperationalEvent(Operation.SOURCE_UNREACHABLE, result.source, since=since)

    def _answered(self, source: str, at: datetime) -> Iterator[OperationalEvent]:
        since = self._since.pop(source, None)
        if source in self._told:
            self._told.remove(source)
            yield OperationalEvent(Operation.SOURCE_REACHABLE, source, since=since, until=at)


_MOST: Final = 5
_FIRST_REST: Final = timedelta(hours=1)
_LONGEST_REST: Final = timedelta(days=1)


class QuarantineTracker:
    """The checks that ended their worker since they last ran well, as the store knows them."""

    def __init__(self, store: Store, clock: Clock, on_happened: Callable[[OperationalEvent], None]) -> None:
        """`on_happened` hears when a check is left out, and when it is back."""
        self._store, self._clock, self._on_happened = store, clock, on_happened
        self._known: dict[str, Quarantine] = {}

    def refresh(self) -> None:
        """Learn what other daemons found.

        Raises:
            StoreError: the store cannot be read.
        """
        with self._store.reading() as tx:
            self._known = {quarantine.check_id: quarantine for quarantine in tx.daemons.quarantines()}

    def are_in(self, target: Target) -> bool:
        """Check whether a check of the table ended its worker lately."""
        return any(check_id in self._known for check_id, _ in target.subject.checks)

    def resting(self, target: Target) -> Mapping[str, Outcome]:
        """Return the checks of the table that are left out now, and what is said of them."""
        now = self._clock.now()
        entries = (self._known.get(check_id) for check_id, _ in target.subject.checks)
        return {
            entry.check_id: _rests(entry)
            for entry in entries
            if entry is not None and entry.until is not None and now < entry.until
        }

    def add(self, check_id: str, cause: str) -> None:
        """Count that a check ended its worker; `cause` says how, in our words.

        Raises:
            StoreError: it was not counted.
        """
        with self._store.writing() as tx:
            crash = tx.daemons.count_crash(check_id, tx.schedule.clock(self._clock.now()), _rest_after)
        self._known[check_id] = crash
        LOG.warning("check %s: its worker process ended (%s), crash %d", check_id, cause, crash.crashes)
        if crash.crashes == _MOST:
            operational_event = OperationalEvent(
                Operation.CHECK_QUARANTINED, check_id, cause, since=crash.last_crash_at, until=crash.until
            )
            self._on_happened(operational_event)

    def forgive(self, results: Sequence[CheckResult]) -> None:
        """Forget the crashes of checks that ran well.

        Raises:
            StoreError: they are not forgotten.
        """
        well = [
            result.check_id
            for result in results
            if result.check_id in self._known and result.outcome.reason not in NO_ANSWER
        ]
        if not well:
            return
        with self._store.writing() as tx:
            tx.daemons.clear_crashes(well)
        for check_id in well:
            if self._known.pop(check_id).until is not None:
                self._on_happened(OperationalEvent(Operation.CHECK_RELEASED, check_id))


def _rest_after(crashes: int) -> timedelta | None:
    """Return for how long a check is left out that ended its worker so many times in a row."""
    if crashes < _MOST:
        return None
    rest: timedelta = _FIRST_REST * 2 ** min(crashes - _MOST, 10)
    return min(_LONGEST_REST, rest)


def _rests(crash: Quarantine) -> Outcome:
    text = "not run before {until}: its worker process ended {crashes} times in a row"
    until = "" if crash.until is None else crash.until.isoformat(timespec="minutes")
    return unknown(UnknownReason.BUG, Message(text, {"until": until, "crashes": crash.crashes}))
