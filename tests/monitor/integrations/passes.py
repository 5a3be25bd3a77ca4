"""Results of a pass, as the formats take them."""

from collections.abc import Sequence
from datetime import UTC, datetime

from checks import Message, Outcome, Severity, Status, UnknownReason, unknown
from checks.not_null import NotNull
from monitor.scan.results import CheckResult, PassResult

NOW = datetime(2026, 11, 20, 9, 0, tzinfo=UTC)


def outcome_of(status: Status, text: str = "3 of 9 rows are NULL") -> Outcome:
    """Return an outcome of a status."""
    if status is Status.UNKNOWN:
        return unknown(UnknownReason.TIMEOUT, Message("{problem}", {"problem": text}))
    return Outcome(status, Message("{problem}", {"problem": text}), {"rows": 9}, {"max_ratio": 0})


def checked(
    status: Status,
    *,
    name: str = "not-null",
    table: str = "orders",
    severity: Severity = Severity.ERROR,
    text: str = "3 of 9 rows are NULL",
    why: str | None = None,
) -> CheckResult:
    """Return the result of one check."""
    check = NotNull(id=name, columns=("id",), severity=severity, why=why)
    outcome = outcome_of(status, text)
    return CheckResult(f"{table}.{name}", table, check, outcome, NOW, 0.25, "shop", owner="desk", incident=None)


def passed(
    results: Sequence[CheckResult], *, fail_on: Severity = Severity.INFO, problem: str | None = None
) -> PassResult:
    """Return a pass with these results."""
    return PassResult("shop", "f00d", NOW, 1.5, results, fail_on, problem)
