"""Find what is new in results, for the journal: incidents that opened or ended, checks that say nothing any more."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from checks import Status, UnknownReason
from incidents import Incident
from monitor.conclude import CheckResult


@dataclass
class ChangeLog:
    """What was said last of each check."""

    _incidents: dict[str, int] = field(default_factory=dict)
    _silent: dict[str, UnknownReason] = field(default_factory=dict)

    def begin(self, lasting: Iterable[Incident], silent: Mapping[str, UnknownReason]) -> None:
        """Take what is known from before the start: it is no news."""
        self._incidents = {one.check_id: one.id for one in lasting if one.check_id is not None}
        self._silent = dict(silent)

    def take(self, results: Sequence[CheckResult]) -> Iterator[str]:
        """Give a line for each thing that changed."""
        for one in results:
            yield from self._of_incident(one)
            yield from self._of_silence(one)

    def _of_incident(self, one: CheckResult) -> Iterator[str]:
        before = self._incidents.get(one.check_id)
        if one.incident == before:
            return
        if before is not None:
            yield f"incident #{before} ended: {one.check_id}"
            del self._incidents[one.check_id]
        if one.incident is not None:
            yield f"incident #{one.incident} opened: {one.check_id}, {one.check.severity.value}"
            self._incidents[one.check_id] = one.incident

    def _of_silence(self, one: CheckResult) -> Iterator[str]:
        reason = one.outcome.reason if one.outcome.status is Status.UNKNOWN else None
        before = self._silent.get(one.check_id)
        if reason is before:
            return
        if reason is None:
            del self._silent[one.check_id]
            yield f"check {one.check_id} can be evaluated again"
        else:
            self._silent[one.check_id] = reason
            yield f"check {one.check_id} cannot be evaluated: {reason.value}"
