"""Say what was watched in a window, and what was not."""

from collections.abc import Mapping
from typing import Final

from checks import Message, Status
from incidents import Unobserved, Window, unobserved
from monitor.reports.evidence import Evidence
from monitor.reports.value import BlindSpot, Coverage
from monitor.reports.words import REASONS

_SHOWN: Final = 5


def coverage_of(evidence: Evidence, window: Window) -> Coverage:
    """Give the coverage of a window."""
    config = evidence.config
    checks = [table.check_id(check) for table in config.tables for check in table.checks]
    unseen = unobserved(evidence.gaps, window)
    results = evidence.results
    total = None if results is None else sum(results.values())
    return Coverage(
        tables=len(config.tables),
        checks=len(checks),
        results=total,
        evaluated=None if total is None or results is None else total - results.get(Status.UNKNOWN, 0),
        silent=sum(1 for check in checks if check not in evidence.watches),
        unobserved_us=sum(one.time for one in unseen.values()),
        blind=_blind(unseen)[:_SHOWN],
        blind_more=max(0, len(unseen) - _SHOWN),
        without_owner=tuple(table.name for table in config.tables if evidence.owners[table.name] is None),
        without_checks=tuple(table.name for table in config.tables if not table.checks),
    )


def _blind(unseen: Mapping[str, Unobserved]) -> tuple[BlindSpot, ...]:
    worst_first = sorted(unseen.items(), key=lambda item: (-item[1].time, item[0]))
    return tuple(BlindSpot(table, one.time, _reasons(one)) for table, one in worst_first)


def _reasons(one: Unobserved) -> tuple[Message, ...]:
    longest_first = sorted(one.by_reason, key=lambda reason: (-one.by_reason[reason], reason))
    return tuple(REASONS[reason] for reason in longest_first)
