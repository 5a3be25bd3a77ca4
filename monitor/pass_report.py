"""Say what a pass found: as JSON (the published shape), as lines for a person, as an exit code."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rich.markup import escape

from checks import Kind, Severity, Status, UnknownReason
from monitor.conclude import CheckResult

OK, FAILED, NOT_EVALUATED = 0, 1, 3

_INDENT = " " * 8
_STYLES = {Status.PASS: "green", Status.WARN: "yellow", Status.FAIL: "bold red", Status.UNKNOWN: "magenta"}


@dataclass(frozen=True, slots=True)
class PassReport:
    """The results of a pass; a failure below `fail_on` does not count for the exit code."""

    project: str
    run_id: str
    started_at: datetime
    duration_s: float
    results: Sequence[CheckResult]
    fail_on: Severity = Severity.INFO

    @property
    def exit_code(self) -> int:
        """Give 1 when a check failed, 3 when none did but one could not be evaluated, else 0."""
        if any(one.outcome.status is Status.FAIL and one.check.severity.rank >= self.fail_on.rank for one in self.results):
            return FAILED
        return NOT_EVALUATED if any(one.outcome.status is Status.UNKNOWN for one in self.results) else OK

    @property
    def summary(self) -> dict[str, int]:
        """Count the results by status."""
        counted = Counter(one.outcome.status for one in self.results)
        return {**{status.value: counted[status] for status in Status}, "total": len(self.results)}

    def to_json(self) -> dict[str, Any]:
        """Give the published shape `tablewatch.check/1`."""
        return {
            "schema": "tablewatch.check/1",
            "ok": self.exit_code == OK,
            "exit_code": self.exit_code,
            "project": self.project,
            "run_id": self.run_id,
            "started_at": self.started_at.isoformat(),
            "duration_s": round(self.duration_s, 3),
            "summary": self.summary,
            "results": [_result_json(one) for one in self.results],
        }

    def lines(self, *, only_failed: bool = False) -> Iterator[str]:
        """Give Rich markup for a person: unreachable sources, a line for each check, the failures once more, the tally."""
        unreachable = [one for one in self.results if one.outcome.reason is UnknownReason.UNREACHABLE]
        yield from _unreachable_lines(unreachable)
        for one in self.results:
            if one not in unreachable and not (only_failed and one.outcome.status is Status.PASS):
                yield from _result_lines(one)
        yield from _failures_again([one for one in self.results if one.outcome.status is Status.FAIL])
        counts = self.summary
        tally = "  ".join(f"{status.value.upper()} {counts[status.value]}" for status in Status)
        yield f"{tally}  of {counts['total']} in {self.duration_s:.1f} s"


def _unreachable_lines(results: Sequence[CheckResult]) -> Iterator[str]:
    by_source: dict[str, list[CheckResult]] = {}
    for one in results:
        by_source.setdefault(one.source, []).append(one)
    for source, silent in by_source.items():
        tables = len({one.table for one in silent})
        yield f"{_word(Status.UNKNOWN)} source {escape(source)}: {escape(str(silent[0].outcome.message))}"
        yield f"{_INDENT}{len(silent)} checks of {tables} tables could not be evaluated"


def _result_lines(one: CheckResult) -> Iterator[str]:
    word = "RISK" if one.check.kind is Kind.DISCLOSURE and one.outcome.status is Status.FAIL else None
    yield f"{_word(one.outcome.status, word)} {escape(one.check_id)}  [dim]{one.duration_s:.2f} s[/dim]"
    if one.outcome.status is Status.PASS:
        return
    said = [escape(str(one.outcome.message))]
    if one.outcome.reason is not None:
        said.append(one.outcome.reason.value)
    else:
        said.append(one.check.severity.value)
    if one.incident is not None:
        said.append(f"incident #{one.incident}")
    if one.owner is not None:
        said.append(f"owner {escape(one.owner)}")
    yield _INDENT + " · ".join(said)


def _failures_again(failed: Sequence[CheckResult]) -> Iterator[str]:
    explained = [one for one in failed if one.check.why or one.check.runbook]
    if explained:
        yield ""
        yield f"Why it matters ({len(explained)} of {len(failed)} failed)"
    for one in explained:
        runbook = f"  runbook: {escape(one.check.runbook)}" if one.check.runbook else ""
        yield f"  {escape(one.check_id)}  {escape(one.check.why or '')}{runbook}"


def _word(status: Status, word: str | None = None) -> str:
    return f"[{_STYLES[status]}]{(word or status.value.upper()):<7}[/]"


def _result_json(one: CheckResult) -> dict[str, Any]:
    return {
        "check_id": one.check_id,
        "table": one.table,
        "type": one.check.type,
        "kind": one.check.kind.value,
        "status": one.outcome.status.value,
        "severity": one.check.severity.value,
        "observed": dict(one.outcome.observed),
        "expected": dict(one.outcome.expected),
        "message": str(one.outcome.message),
        "reason": one.outcome.reason.value if one.outcome.reason else None,
        "incident": one.incident,
        "owner": one.owner,
        "duration_s": round(one.duration_s, 4),
    }
