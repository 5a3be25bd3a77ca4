"""Compute what was monitored in a period and what was not, and why the downtime of a period is unknown."""

from collections.abc import Mapping
from typing import Final

from checks import Message, Status
from incidents import Downtime, Unobserved, Window, unobserved
from monitor.reporting.evidence import Evidence
from monitor.reporting.model import Coverage, UnobservedTable
from monitor.reporting.period import Period
from monitor.reporting.words import NOT_EVALUATED, NOT_KEPT, NOT_WATCHED, REASONS
from monitor.summaries.coverage import TableCoverage
from monitor.summaries.promises import POOLED, MeasuredPromise

_SHOWN: Final = 5


def why_unknown(evidence: Evidence, period: Period, downtime: Downtime) -> Message | None:
    """Return why the downtime of a period is unknown, None where it is known.

    It is known where an incident is on record. Without one it is known (to be 0) only if a check had begun, if
    incidents of that time are still kept, and if some check could be evaluated.
    """
    if downtime.is_reported:
        return None
    if not evidence.watching.had_begun(min(period.end, evidence.as_of)):
        return NOT_WATCHED
    if period.end <= evidence.kept_since:
        return NOT_KEPT
    return NOT_EVALUATED if period.first in evidence.unevaluated_periods else None


def coverage_of(evidence: Evidence, period: Period) -> Coverage:
    """Return the coverage of a period, as far as it has come."""
    tables, watching, end = evidence.tables, evidence.watching, min(period.end, evidence.as_of)
    checks = [table.check_id(check) for table in tables for check in table.checks]
    unseen = unobserved(evidence.gaps, Window.of(period.start, period.end))
    results = evidence.results
    total = None if results is None else sum(results.values())
    return Coverage(
        tables=len(tables),
        checks=len(checks),
        since=watching.first,
        begun=watching.had_begun(end),
        from_start=watching.first is not None and watching.first <= period.start,
        partly=watching.partly(tables, period.start, end),
        not_yet=watching.not_yet(tables, end),
        results=total,
        evaluated=None if total is None or results is None else total - results.get(Status.UNKNOWN, 0),
        silent=sum(1 for check in checks if check not in evidence.watches),
        unobserved_us=sum(item.time for item in unseen.values()),
        unobserved=_worst_first(unseen)[:_SHOWN],
        unobserved_more=max(0, len(unseen) - _SHOWN),
        without_owner=tuple(table.name for table in tables if evidence.owners[table.name] is None),
        without_checks=tuple(table.name for table in tables if not table.checks),
        promises=most_broken(evidence),
        unchecked=_of_scope(evidence)[:_SHOWN],
    )


def _of_scope(evidence: Evidence) -> tuple[TableCoverage, ...]:
    names = {table.name for table in evidence.tables}
    return tuple(line for line in evidence.unchecked if line.table in names)


def most_broken(evidence: Evidence) -> tuple[MeasuredPromise, ...]:
    """Return the few promises of learned limits that are shown: those of pooled checks, then the most broken first."""

    def order(promise: MeasuredPromise) -> tuple[bool, float, str]:
        return promise.check_id != POOLED, -promise.share, promise.check_id

    return tuple(sorted(evidence.promises, key=order)[:_SHOWN])


def _worst_first(unseen: Mapping[str, Unobserved]) -> tuple[UnobservedTable, ...]:
    worst_first = sorted(unseen.items(), key=lambda item: (-item[1].time, item[0]))
    return tuple(UnobservedTable(table, entry.time, _reasons(entry)) for table, entry in worst_first)


def _reasons(unobserved: Unobserved) -> tuple[Message, ...]:
    longest_first = sorted(unobserved.by_reason, key=lambda reason: (-unobserved.by_reason[reason], reason))
    return tuple(REASONS[reason] for reason in longest_first)
