"""Print causes and resolutions of incidents, recurrences, and how many alarms were real."""

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final

from checks import PlainEnglish
from incidents import AnsweredAlarms, Repeats, Resolution
from monitor.config.project import Project
from monitor.summaries.patterns import RETURNS_WITHIN, DowntimeShare, IncidentPatterns
from monitor.terminal.output import count
from monitor.terminal.tables import draw_table
from monitor.triage.time_parsing import format_hours

if TYPE_CHECKING:
    from rich.console import Console

NO_CAUSE: Final = "(none given)"
_SHOWN: Final = 5
_USUAL: Final = {None, Resolution.FIXED.value}
"""Resolutions that need no table: none, or fixed."""


def draw_patterns(console: "Console", project: Project, patterns: IncidentPatterns, *, causes: bool) -> None:
    """Print the tables that have rows, each after an empty line; `causes`: also that of causes."""
    if causes and (patterns.has_causes or (project.config.incidents.causes and patterns.causes)):
        _draw_shares(console, project, patterns.causes, head="cause", nothing=NO_CAUSE)
    if any(share.key not in _USUAL for share in patterns.resolutions):
        _draw_shares(console, project, patterns.resolutions, head="resolution", nothing="(lasts)")
    for head, repeats in (("came back: check", patterns.checks), ("came back: table", patterns.tables)):
        _draw_repeats(console, repeats, head=head)
    if patterns.all_alarms.answered:
        _draw_alarms(console, patterns)


def _draw_shares(
    console: "Console", project: Project, shares: Sequence[DowntimeShare], *, head: str, nothing: str
) -> None:
    priced = any(share.cost is not None for share in shares)
    columns = (f"~{head}", ">incidents", ">downtime", "?>range", *((">cost",) if priced else ()))
    console.print()
    draw_table(
        console,
        columns,
        (
            (
                share.key or nothing,
                f"{share.n:,}",
                format_hours(share.time) if share.counts else f"({format_hours(share.time)})",
                None if share.low == share.high else f"{format_hours(share.low)} to {format_hours(share.high)}",
                *((None if share.cost is None else project.currency.text(share.cost),) if priced else ()),
            )
            for share in shares
        ),
    )
    if not all(share.counts for share in shares):
        console.print("in parentheses: not counted as downtime")


def _draw_repeats(console: "Console", repeats: Mapping[str, Repeats], *, head: str) -> None:
    repeats = {name: item for name, item in repeats.items() if item.returned}
    if not repeats:
        return
    console.print()
    columns = (f"~{head}", ">incidents", f">back within {RETURNS_WITHIN.days} d", ">of these reopened")
    rows = ((name, f"{item.incidents:,}", f"{item.returned:,}", f"{item.reopened:,}") for name, item in repeats.items())
    draw_table(console, columns, islice(rows, _SHOWN))
    _more(console, len(repeats))


def _draw_alarms(console: "Console", patterns: IncidentPatterns) -> None:
    alarms = [(name, item) for name, item in patterns.alarms.items() if item.answered]
    total = [("all checks", patterns.all_alarms)]
    console.print()
    columns = ("~alarms of", ">real", ">expected", ">false", ">unanswered", ">not false", ">95 %", "?>of all alarms")
    draw_table(console, columns, (_alarm_cells(name, item) for name, item in (*alarms[:_SHOWN], *total)))
    _more(console, len(alarms))
    silent = len(patterns.alarms) - len(alarms)
    if silent:
        console.print(f"{count(silent, 'check')} more: their alerts were not answered")


def _alarm_cells(name: str, alarms: AnsweredAlarms) -> Sequence[str | None]:
    share = PlainEnglish()
    numbers = (alarms.real, alarms.expected, alarms.false, alarms.unanswered)
    shares = (alarms.precision, alarms.interval, (alarms.least, alarms.most))
    precision, interval, of_all = shares
    return (
        name,
        *(f"{number:,}" for number in numbers),
        None if precision is None else share.format(precision, "ratio"),
        None if interval is None else " to ".join(share.format(end, "ratio") for end in interval),
        " to ".join("" if end is None else share.format(end, "ratio") for end in of_all),
    )


def _more(console: "Console", number: int) -> None:
    if number > _SHOWN:
        console.print(f"and {number - _SHOWN} more; --format json has all")
