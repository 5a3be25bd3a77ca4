"""Suspend checks whose worker process died repeatedly, and detect sources that cannot be reached.

Operators are notified once of a source that cannot be reached for long, not for every table.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from checks import Message, Outcome, UnknownReason, unknown
from incidents import Watch
from monitor.alerts.operational import Operation, OperationalEvent
from monitor.clock import Clock
from monitor.daemon.journal import LOG
from monitor.scan.results import CheckResult, Target
from store import Quarantine, Store

LONG: Final = timedelta(minutes=10)

AWAY: Final = frozenset({UnknownReason.UNREACHABLE, UnknownReason.TIMEOUT})
"""Outcomes of a source that did not answer, or not in time."""
NO_ANSWER: Final = AWAY | {UnknownReason.BUG}
"""Outcomes that are no answer of the source: it did not answer, or an internal error came first."""


@dataclass
class SourceAvailability:
    """Since when each source has not answered. In memory only: after a restart it is reported again."""

    _since: dict[str, datetime] = field(default_factory=dict)
    _reported: set[str] = field(default_factory=set)
    _other: dict[str, str] = field(default_factory=dict)
    """By check, the source that it compares with and that did not answer."""

    def take(self, results: Sequence[CheckResult]) -> Iterator[OperationalEvent]:
        """Yield the events that follow from results."""
        for result in results:
            source = result.silent_source
            if result.outcome.reason not in NO_ANSWER:
                for name in {source, self._other.pop(result.check_id, source)}:
                    yield from self._answered(name, result.measured_at)
                continue
            if source != result.source:
                self._other[result.check_id] = source
            if result.outcome.reason in AWAY and source not in self._reported:
                since = min(self._since.get(source, result.measured_at), result.measured_at)
                self._since[source] = since
                if result.measured_at - since >= LONG:
                    self._reported.add(source)
                    yield OperationalEvent(Operation.SOURCE_UNREACHABLE, source, since=since)

    def _answered(self, source: str, at: datetime) -> Iterator[OperationalEvent]:
        since = self._since.pop(source, None)
        if source in self._reported:
            self._reported.remove(source)
            yield OperationalEvent(Operation.SOURCE_REACHABLE, source, since=since, until=at)


@dataclass
class TableAvailability:
    """Which tables had checks that worked and cannot be evaluated any more, for a reason that no later run mends."""

    _worked: dict[str, datetime] = field(default_factory=dict)
    """When each check was last evaluated, while it is, or since it is not any more."""
    _lost: dict[str, set[str]] = field(default_factory=dict)
    """The checks of each table that operators were notified of."""

    def begin(self, watches: Iterable[Watch]) -> None:
        """Begin with what is known of the checks before the start; what is lost then is reported again."""
        self._worked = {
            watch.check_id: watch.last_pass_ended_at or watch.monitored_since for watch in watches if watch.recent
        }

    def keep_only(self, check_ids: Iterable[str]) -> None:
        """Forget the checks that are no longer configured: none of them can hold back that a table is lost or back."""
        known = frozenset(check_ids)
        self._worked = {check_id: at for check_id, at in self._worked.items() if check_id in known}
        self._lost = {table: left for table, lost in self._lost.items() if (left := lost & known)}

    def take(self, results: Sequence[CheckResult]) -> Iterator[OperationalEvent]:
        """Yield the events that follow from results."""
        for result in results:
            lost = self._lost.get(result.table, set())
            if result.outcome.reason is None:
                self._worked[result.check_id] = result.measured_at
                if result.outcome.observed.get("table") is None and result.check_id in lost:
                    lost.discard(result.check_id)
                    if not lost:
                        del self._lost[result.table]
                        yield OperationalEvent(Operation.TABLE_BACK, result.table, until=result.measured_at)
            elif self._is_lost(result):
                if not lost:
                    since, why = self._worked[result.check_id], str(result.outcome.message)
                    yield OperationalEvent(Operation.TABLE_LOST, result.table, why, since=since)
                self._lost.setdefault(result.table, set()).add(result.check_id)

    def _is_lost(self, result: CheckResult) -> bool:
        worked = self._worked.get(result.check_id)
        if worked is None:
            return False
        if result.outcome.reason is UnknownReason.MISCONFIGURED and not result.is_moved:
            return True
        lasting = result.outcome.reason in {UnknownReason.MISCONFIGURED, UnknownReason.PERMISSION}
        return lasting and result.measured_at - worked >= LONG


_MOST: Final = 5
_FIRST_SUSPENSION: Final = timedelta(hours=1)
_LONGEST_SUSPENSION: Final = timedelta(days=1)


class QuarantineTracker:
    """The checks whose worker died since their last successful run, as the store has them."""

    def __init__(self, store: Store, clock: Clock, on_event: Callable[[OperationalEvent], None]) -> None:
        """`on_event` is called when a check is suspended, and when it is released."""
        self._store, self._clock, self._on_event = store, clock, on_event
        self._crashes: dict[str, Quarantine] = {}

    def refresh(self) -> None:
        """Read the crashes that other daemons recorded.

        Raises:
            StoreError: the store cannot be read.
        """
        with self._store.reading() as tx:
            self._crashes = {quarantine.check_id: quarantine for quarantine in tx.daemons.quarantines()}

    def are_in(self, target: Target) -> bool:
        """Check whether the worker of a check of the table died lately."""
        return any(check_id in self._crashes for check_id, _ in target.subject.checks)

    def suspended(self, target: Target) -> Mapping[str, Outcome]:
        """Return the suspended checks of the table, with their outcomes.

        A suspension that ends later than the longest one from now does not count: the clock was set back since.
        """
        now = self._clock.now()
        entries = (self._crashes.get(check_id) for check_id, _ in target.subject.checks)
        return {
            entry.check_id: _suspended(entry)
            for entry in entries
            if entry is not None and entry.until is not None and now < entry.until <= now + _LONGEST_SUSPENSION
        }

    def add(self, check_id: str, cause: str) -> None:
        """Count that the worker of a check died; `cause`: how, without values.

        Raises:
            StoreError: it was not counted.
        """
        with self._store.writing() as tx:
            crash = tx.daemons.count_crash(check_id, tx.schedule.clock(self._clock.now()), _suspension)
        self._crashes[check_id] = crash
        LOG.warning("check %s: its worker process ended (%s), crash %d", check_id, cause, crash.crashes)
        if crash.crashes == _MOST:
            operational_event = OperationalEvent(
                Operation.CHECK_QUARANTINED, check_id, cause, since=crash.last_crash_at, until=crash.until
            )
            self._on_event(operational_event)

    def forgive(self, results: Sequence[CheckResult]) -> None:
        """Clear the crashes of checks that ran successfully.

        Raises:
            StoreError: they are not cleared.
        """
        successful = [
            result.check_id
            for result in results
            if result.check_id in self._crashes and result.outcome.reason not in NO_ANSWER
        ]
        if not successful:
            return
        with self._store.writing() as tx:
            tx.daemons.clear_crashes(successful)
        for check_id in successful:
            if self._crashes.pop(check_id).until is not None:
                self._on_event(OperationalEvent(Operation.CHECK_RELEASED, check_id))


def _suspension(crashes: int) -> timedelta | None:
    """Return for how long a check is suspended after so many crashes in a row; None: not at all."""
    if crashes < _MOST:
        return None
    suspension: timedelta = _FIRST_SUSPENSION * 2 ** min(crashes - _MOST, 10)
    return min(_LONGEST_SUSPENSION, suspension)


def _suspended(crash: Quarantine) -> Outcome:
    text = "not run before {until}: its worker process ended {crashes} times in a row"
    until = "" if crash.until is None else crash.until.isoformat(timespec="minutes")
    return unknown(UnknownReason.BUG, Message(text, {"until": until, "crashes": crash.crashes}))
