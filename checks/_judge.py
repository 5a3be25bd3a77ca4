"""Judge one measurement the same way for every check: the empty table first, then the limits, then the softer ones."""

from collections.abc import Sequence
from dataclasses import replace

from checks._contract import Check, Measurement, Outcome, Past, Status, UnknownReason, unknown
from checks._message import Message


def judge(check: Check, measurement: Measurement, history: Sequence[Past] = ()) -> Outcome:
    """Return the outcome of a check: fail when its limits are broken, warn when only those of its `warn:` block are."""
    if not check.judges_empty and "rows" in measurement.values and measurement.number("rows") == 0:
        return without_rows(check)
    outcome = check.judge(measurement, history)
    softer = check.softened()
    if outcome.status is not Status.PASS or softer is None:
        return outcome
    soft = softer.judge(measurement, history)
    return replace(soft, status=Status.WARN, occurrence=None) if soft.status is Status.FAIL else outcome


def without_rows(check: Check) -> Outcome:
    """Return the outcome of a check that has no row to look at, as its `on_empty` says."""
    message = Message("no rows to evaluate")
    if check.on_empty == "unknown":
        return unknown(UnknownReason.NO_DATA, message, {"rows": 0})
    return Outcome(Status.PASS if check.on_empty == "pass" else Status.FAIL, message, {"rows": 0})
