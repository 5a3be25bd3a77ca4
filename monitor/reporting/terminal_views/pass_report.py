"""Say what a pass found: as JSON (the published shape), as lines for a person, as an exit code."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rich.text import Text

from checks import Kind, Severity, Status, UnknownReason
from monitor.scan.recorder import CheckResult
from monitor.terminal.output import count

OK, FAILED, NOT_EVALUATED, NOTHING_SELECTED = 0, 1, 3, 5

_INDENT = " " * 8
_STYLES = {Status.PASS: "green", Status.WARN: "yellow", Status.FAIL: "bold red", Status.UNKNOWN: "magenta"}


@dataclass(frozen=True, slots=True)
class PassReport:
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
        if any(
            one.outcome.status is Status.FAIL and one.check.severity.rank >= self.fail_on.rank for one in self.results
        ):
            return FAILED
        unknown = any(one.outcome.status is Status.UNKNOWN for one in self.results)
        return NOT_EVALUATED if unknown or self.problem is not None else OK

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
            **({} if self.problem is None else {"problem": self.problem}),
        }

    def lines(self, *, only_failed: bool = False) -> Iterator[Text]:
        """Give what a person reads: unreachable sources, a line for each check, why the failures matter, the tally."""
        unreachable = [one for one in self.results if one.outcome.reason is UnknownReason.UNREACHABLE]
        yield from _unreachable_lines(unreachable)
        for one in self.results:
            if one not in unreachable and not (only_failed and one.outcome.status is Status.PASS):
                yield from _result_lines(one)
        yield from _why_lines([one for one in self.results if one.outcome.status is Status.FAIL])
        counts = self.summary
        tally = "  ".join(f"{status.value.upper()} {counts[status.value]}" for status in Status)
        yield Text(f"{tally}  of {counts['total']} in {self.duration_s:.1f} s")


def _unreachable_lines(results: Sequence[CheckResult]) -> Iterator[Text]:
    by_source: dict[str, list[CheckResult]] = {}
    for one in results:
        by_source.setdefault(one.source, []).append(one)
    for source, silent in by_source.items():
        tables = len({one.table for one in silent})
        yield Text.assemble(_word(Status.UNKNOWN), f"source {source}: {silent[0].outcome.message}")
        yield Text(f"{_INDENT}{count(len(silent), 'check')} of {count(tables, 'table')} could not be evaluated")


def _result_lines(one: CheckResult) -> Iterator[Text]:
    is_risk = one.check.kind is Kind.DISCLOSURE and one.outcome.status is Status.FAIL
    word = _word(one.outcome.status, "RISK" if is_risk else None)
    yield Text.assemble(word, one.check_id, (f"  {one.duration_s:.2f} s", "dim"))
    if one.outcome.status is Status.PASS:
        return
    said = [str(one.outcome.message), one.outcome.reason.value if one.outcome.reason else one.check.severity.value]
    if one.incident is not None:
        said.append(f"incident #{one.incident}")
    if one.owner is not None:
        said.append(f"owner {one.owner}")
    yield Text(_INDENT + " · ".join(said))


def _why_lines(failed: Sequence[CheckResult]) -> Iterator[Text]:
    explained = [one for one in failed if one.check.why or one.check.runbook]
    if explained:
        yield Text("")
        yield Text("Why it matters", "bold")
    for one in explained:
        said = [one.check_id, one.check.why or ""]
        if one.check.runbook:
            said.append(f"runbook: {one.check.runbook}")
        yield Text("  " + "  ".join(part for part in said if part))
    if explained:
        yield Text("")


def _word(status: Status, word: str | None = None) -> tuple[str, str]:
    return f"{word or status.value.upper():<8}", _STYLES[status]


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
