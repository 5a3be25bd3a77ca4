"""What reports show of the patterns of incidents: the first rows of long lists, and a sentence about alarms."""

from itertools import chain
from typing import Final, NamedTuple

from checks import Message
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


def alarms_sentence(alarms: AnsweredAlarms) -> Message:
    """Return how many alarms were real: of those that people answered, and of all of them."""
    if alarms.precision is None or alarms.interval is None:
        return Message(
            "Nobody answered any of {n:count} alarms, so that it is not known how many were real.",
            {"n": alarms.alarms},
            one="Nobody answered the one alarm, so that it is not known whether it was real.",
            counted="n",
        )
    low, high = alarms.interval
    values = {"n": alarms.answered, "alarms": alarms.alarms, "share": alarms.precision, "low": low, "high": high}
    return Message(
        "People answered {n:count} of {alarms:count} alarms; {share:ratio} of these were not false (95 % interval "
        "{low:ratio} to {high:ratio}). Of all alarms between {least:ratio} and {most:ratio} were not false.",
        {**values, "least": alarms.least, "most": alarms.most},
    )
