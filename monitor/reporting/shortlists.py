"""The first rows of long lists: what reports show of tables and checks, and how many more there are."""

from itertools import chain
from typing import Final, NamedTuple

from incidents import AnsweredAlarms, Repeats
from monitor.summaries.patterns import RETURNS_WITHIN, IncidentPatterns

_SHOWN: Final = 10


class Offenders(NamedTuple):
    """The tables and checks with the most that came back; `more` counts those left out."""

    rows: list[tuple[str, Repeats]]
    more: int
    days: int


class ShownAlarms(NamedTuple):
    """The alarms of all checks, and of those that have answered ones; `more` counts those left out."""

    all: AnsweredAlarms
    rows: list[tuple[str, AnsweredAlarms]]
    more: int


def first_offenders(patterns: IncidentPatterns) -> Offenders:
    """Return the tables and checks with the most that came back, or the most incidents."""
    rows = list(chain(patterns.tables.items(), patterns.checks.items()))
    ordered = sorted(rows, key=lambda row: (-row[1].returned, -row[1].incidents))
    return Offenders(ordered[:_SHOWN], max(0, len(rows) - _SHOWN), RETURNS_WITHIN.days)


def first_alarms(patterns: IncidentPatterns) -> ShownAlarms:
    """Return the alarms of checks that have answered ones, most false ones first."""
    rows = [(name, alarms) for name, alarms in patterns.alarms.items() if alarms.answered]
    return ShownAlarms(patterns.all_alarms, rows[:_SHOWN], max(0, len(rows) - _SHOWN))
