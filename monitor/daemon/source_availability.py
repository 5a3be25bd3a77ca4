"""Notice that a source cannot be reached for long, or can again: operators hear of it once, not for every table."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from checks import UnknownReason
from monitor.alerts.operational import Operation, OperationalEvent
from monitor.scan.recorder import CheckResult

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
