"""The result of a pass: as JSON (the published shape), as lines, and the keys that break a check."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from rich.table import Table
from rich.text import Text

from checks import Kind, Status, UnknownReason
from incidents.lifecycle import softer
from monitor.config.project import Project
from monitor.scan.results import OK, CheckResult, PassResult, targets_of
from monitor.terminal.output import count
from monitor.terminal.redaction import visible

_INDENT = " " * 8
_MOST_LISTED: Final = 20
"""Checks of which those that passed are listed, too."""
_STYLES = {Status.PASS: "green", Status.WARN: "yellow", Status.FAIL: "bold red", Status.UNKNOWN: "magenta"}


def pass_as_json(result: PassResult) -> dict[str, Any]:
    """Return the published shape `tablewatch.check/1`."""
    return {
        "schema": "tablewatch.check/1",
        "ok": result.exit_code == OK,
        "exit_code": result.exit_code,
        "project": result.project,
        "run_id": result.run_id,
        "started_at": result.started_at.isoformat(),
        "duration_s": round(result.duration_s, 3),
        "summary": result.summary,
        "results": [result_as_json(check_result) for check_result in result.results],
        **({} if result.problem is None else {"problem": result.problem}),
    }


def pass_lines(result: PassResult, *, only_failed: bool | None = False) -> Iterator[Text]:
    """Yield what a person reads: unreachable sources, a line for each check, why the failures matter, the tally.

    `only_failed`: whether passed checks are left out; None leaves out those of more than 20 checks, and names `--all`.
    """
    results = result.results
    is_long = only_failed is None and len(results) > _MOST_LISTED
    unreachable = [item for item in results if item.outcome.reason is UnknownReason.UNREACHABLE]
    yield from _unreachable_lines(unreachable)
    shown = [item for item in results if not ((only_failed or is_long) and item.outcome.status is Status.PASS)]
    yield from result_lines([item for item in shown if item not in unreachable])
    yield from _why_lines([item for item in results if item.outcome.status is Status.FAIL])
    counts = result.summary
    tally = "  ".join(f"{status.value.upper()} {counts[status.value]}" for status in Status)
    hint = "; --all lists what passed" if is_long and len(shown) < len(results) else ""
    yield Text(f"{tally}  of {counts['total']} in {result.duration_s:.1f} s{hint}")


def _unreachable_lines(results: Sequence[CheckResult]) -> Iterator[Text]:
    by_source: dict[str, list[CheckResult]] = {}
    for result in results:
        by_source.setdefault(result.silent_source, []).append(result)
    for source, silent in by_source.items():
        tables = len({check_result.table for check_result in silent})
        yield Text.assemble(_word(Status.UNKNOWN), f"source {source}: {silent[0].outcome.message}")
        yield Text(f"{_INDENT}{count(len(silent), 'check')} of {count(tables, 'table')} could not be evaluated")


def result_lines(results: Sequence[CheckResult]) -> Iterator[Text]:
    """Yield a line for each check, and below one that did not pass, why."""
    for check_result in results:
        yield from _result_lines(check_result)


def _result_lines(check_result: CheckResult) -> Iterator[Text]:
    is_risk = check_result.check.kind is Kind.DISCLOSURE and check_result.outcome.status is Status.FAIL
    word = _word(check_result.outcome.status, "RISK" if is_risk else None)
    yield Text.assemble(word, check_result.check_id, (f"  {check_result.duration_s:.2f} s", "dim"))
    if check_result.outcome.status is Status.PASS:
        return
    severity = check_result.check.severity
    if check_result.outcome.status is Status.WARN:
        severity = softer(severity)
    parts = [str(check_result.outcome.message), str(check_result.outcome.reason or severity)]
    if check_result.incident is not None:
        parts.append(f"incident #{check_result.incident}")
    if check_result.owner is not None:
        parts.append(f"owner {check_result.owner}")
    yield Text(_INDENT + " · ".join(parts))
    for part in check_result.segments:
        if part.outcome.status is not Status.PASS:
            number = [] if part.incident is None else [f"incident #{part.incident}"]
            yield Text.assemble(_INDENT, _word(part.outcome.status), " · ".join([str(part.outcome.message), *number]))


def _why_lines(failed: Sequence[CheckResult]) -> Iterator[Text]:
    explained = [check_result for check_result in failed if check_result.check.why or check_result.check.runbook]
    if explained:
        yield Text("")
        yield Text("Why it matters", "bold")
    for check_result in explained:
        parts = [check_result.check_id, check_result.check.why or ""]
        if check_result.check.runbook:
            parts.append(f"runbook: {check_result.check.runbook.strip()}".replace("\n", f"\n{_INDENT}"))
        yield Text("  " + "  ".join(part for part in parts if part))
    if explained:
        yield Text("")


def _word(status: Status, word: str | None = None) -> tuple[str, str]:
    return f"{word or status.value.upper():<8}", _STYLES[status]


def result_as_json(check_result: CheckResult) -> dict[str, Any]:
    """Return a result in the published shape `tablewatch.check/1`."""
    return {
        "check_id": check_result.check_id,
        "table": check_result.table,
        "type": check_result.check.type,
        "kind": check_result.check.kind.value,
        "status": check_result.outcome.status.value,
        "severity": check_result.check.severity.value,
        "observed": dict(check_result.outcome.observed),
        "expected": dict(check_result.outcome.expected),
        "message": str(check_result.outcome.message),
        "reason": check_result.outcome.reason.value if check_result.outcome.reason else None,
        "incident": check_result.incident,
        "owner": check_result.owner,
        "duration_s": round(check_result.duration_s, 4),
        **({"segments": [_segment_as_json(part) for part in check_result.segments]} if check_result.rest else {}),
    }


def _segment_as_json(check_result: CheckResult) -> dict[str, Any]:
    return {
        "segment": check_result.segment,
        "series": check_result.series,
        "status": check_result.outcome.status.value,
        "observed": dict(check_result.outcome.observed),
        "message": str(check_result.outcome.message),
        "reason": check_result.outcome.reason.value if check_result.outcome.reason else None,
        "incident": check_result.incident,
    }


def violation_lines(
    project: Project, results: Iterable[CheckResult], *, rows: int, sql: bool
) -> Iterator[Text | Table]:
    """Yield, of each check that did not pass, the SELECT of what breaks it, and a table of up to so many rows or keys.

    Where there is none, the reason. Rows are data: for the terminal only, never stored and never written to a file.
    """
    if not (rows or sql):
        return
    from monitor.scan.violations import NoRows, violating_rows, violations_sql  # imports Ibis

    for result in results:
        if result.outcome.status not in {Status.FAIL, Status.WARN}:
            continue
        try:
            if sql:
                select = violations_sql(project, result.table, result.check, result.measured_at)
                yield Text(f"\n-- {result.check_id}\n{select}\n;")
            if rows:
                (target,) = targets_of(project, {result.table: [result.check.name]})
                yield _row_table(result, violating_rows(target, result.check, result.measured_at, limit=rows))
        except NoRows as error:
            yield Text(f"{result.check_id}: {error}")


def _row_table(result: CheckResult, rows: Sequence[Mapping[str, Any]]) -> Table:
    table = Table(title=visible(result.check_id), title_justify="left")
    for name in rows[0] if rows else ():
        table.add_column(visible(name))
    for row in rows:
        table.add_row(*("NULL" if value is None else visible(str(value)) for value in row.values()))
    return table
