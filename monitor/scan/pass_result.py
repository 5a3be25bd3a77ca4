"""The result of a pass over tables, with the exit code that it means."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from checks import Severity, Status
from monitor.scan.recorder import CheckResult

OK, FAILED, NOT_EVALUATED, NOTHING_SELECTED = 0, 1, 3, 5


@dataclass(frozen=True, slots=True)
class PassResult:
    """The results of a pass; a failure below `fail_on` does not count for the exit code.

    `problem` says why not all of it was remembered, None if it was.
    """

    project: str
    run_id: str
    started_at: datetime
    duration_s: float
    results: Sequence[CheckResult]
    fail_on: Severity = Severity.INFO
    problem: str | None = None

    @property
    def exit_code(self) -> int:
        """Return 5 without checks, 1 when one failed, 3 when one could not be evaluated or remembered, else 0."""
        if not self.results:
            return NOTHING_SELECTED
        if any(self.counts_as_failure(result) for result in self.results):
            return FAILED
        unknown = any(result.outcome.status is Status.UNKNOWN for result in self.results)
        return NOT_EVALUATED if unknown or self.problem is not None else OK

    def counts_as_failure(self, result: CheckResult) -> bool:
        """Check whether a result is a failure of at least the severity that matters."""
        return result.outcome.status is Status.FAIL and result.check.severity.rank >= self.fail_on.rank

    @property
    def summary(self) -> dict[str, int]:
        """Count the results by status."""
        counted = Counter(result.outcome.status for result in self.results)
        return {**{status.value: counted[status] for status in Status}, "total": len(self.results)}
