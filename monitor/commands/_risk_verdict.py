"""Describe what checks found that were asked ad hoc, and leave with the exit code it means."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from monitor.terminal.console import activity
from monitor.terminal.output import Invocation
from monitor.terminal.problem import ExitCode, Problem, Stop

if TYPE_CHECKING:
    from rich.console import Console

    from checks import Check, Outcome
    from monitor.releases.disclosure.assessment import RiskAssessment
    from monitor.releases.disclosure.table_ref import TableRef
    from monitor.scan.results import CheckResult


def ask(place: "TableRef", kind: str, given: dict[str, Any]) -> "CheckResult":
    """Ask a table one check.

    Raises:
        Stop: a limit is out of range.
    """
    from checks import load_catalog
    from monitor.clock import SystemClock

    with limits_in_words():
        model: Any = load_catalog()[kind]
        check: Check = model(**given)
    with activity(f"assessing {place.name}"):
        (result,) = place.ask([check], SystemClock())
    return result


def conclude(
    invocation: Invocation, check_result: "CheckResult", schema: str, draw: "Callable[[Console, CheckResult], None]"
) -> None:
    """Show what one check found, and leave with its exit code."""
    from checks import Status

    code = _code(check_result.outcome)
    if check_result.outcome.status is Status.UNKNOWN:
        unasked = _could_not_be_asked(check_result)
        hint = f"'tablewatch risk suggest {check_result.table}' lists the columns of the table" if unasked else None
        raise Stop(code, Problem("risk.unknown", str(check_result.outcome.message), hint=hint))
    result = {"schema": schema, "ok": code is ExitCode.OK, "exit_code": int(code), "table": check_result.table}
    invocation.emit({**result, **_as_json(check_result)}, lambda console: draw(console, check_result))
    raise Stop(code)


def conclude_assessment(invocation: Invocation, risk_assessment: "RiskAssessment") -> None:
    """Show what several checks found, and leave with the exit code of the worst."""
    from monitor.reporting.terminal_views.risk import draw_assessment

    code = _code(risk_assessment.results[0].outcome)
    unfit = dict.fromkeys(
        str(result.outcome.message) for result in risk_assessment.results if _could_not_be_asked(result)
    )
    if not unfit and code is ExitCode.USAGE:
        unfit = {str(risk_assessment.results[0].outcome.message): None}
    if unfit:
        hint = f"'tablewatch risk suggest {risk_assessment.name}' lists the columns of the table"
        raise Stop(ExitCode.USAGE, *(Problem("risk.misconfigured", item, hint=hint) for item in unfit))
    result = {
        "schema": "tablewatch.risk/1",
        "ok": code is ExitCode.OK,
        "exit_code": int(code),
        "table": risk_assessment.name,
        "quasi_identifiers": list(risk_assessment.question.quasi_identifiers),
        "sensitive": list(risk_assessment.question.sensitive),
        "verdict": risk_assessment.status.value,
        "results": [_as_json(result) for result in risk_assessment.results],
    }
    invocation.emit(result, lambda console: draw_assessment(console, risk_assessment))
    raise Stop(code)


def _could_not_be_asked(result: "CheckResult") -> bool:
    """Check whether a question did not fit the table, so that nothing was measured: a column that it does not have."""
    from checks import UnknownReason

    return result.outcome.reason is UnknownReason.MISCONFIGURED and not result.outcome.observed


@contextmanager
def limits_in_words(together: str = "limits: ") -> Iterator[None]:
    """Turn what pydantic says of a limit into a problem. `together`: stands before what it says of several of them.

    Raises:
        Stop: a limit is out of range.
    """
    from pydantic import ValidationError

    try:
        yield
    except ValidationError as error:
        problems = [
            Problem("risk.limit", f"{_place(item['loc']) or together}{_said(item['msg'])}")
            for item in error.errors(include_url=False, include_input=False)
        ]
        raise Stop(ExitCode.USAGE, *problems) from None


def _place(path: Sequence[str | int]) -> str:
    return f"{'.'.join(map(str, path))}: " if path else ""


def _said(message: str) -> str:
    text = message.removeprefix("Value error, ")
    return text[:1].lower() + text[1:]  # what follows may name a column


def names_in(text: str | None) -> Sequence[str]:
    """Read `a,b`."""
    return [part.strip() for part in (text or "").split(",") if part.strip()]


def pairs_in(text: str | None) -> dict[str, str]:
    """Read `a,b=c` as {a: a, b: c}."""
    pairs = (part.partition("=") for part in names_in(text))
    return {name.strip(): (other or name).strip() for name, _, other in pairs}


def number_in(text: str) -> int | float | str:
    """Read a number; give what is none, such as `3d`, as it is."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _code(outcome: "Outcome") -> ExitCode:
    """Return the exit code; a question that does not fit the table is wrong usage."""
    from checks import Status, UnknownReason

    if outcome.reason is UnknownReason.MISCONFIGURED:
        return ExitCode.USAGE
    return {Status.FAIL: ExitCode.FAILED, Status.UNKNOWN: ExitCode.NOT_EVALUATED}.get(outcome.status, ExitCode.OK)


def _as_json(check_result: "CheckResult") -> dict[str, Any]:
    return {
        "type": check_result.check.type,
        "status": check_result.outcome.status.value,
        "message": str(check_result.outcome.message),
        "reason": check_result.outcome.reason.value if check_result.outcome.reason else None,
        "observed": dict(check_result.outcome.observed),
        "expected": dict(check_result.outcome.expected),
    }
