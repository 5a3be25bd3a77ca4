"""The filters of templates: values formatted by one localizer, the geometry of charts, and the first rows of lists."""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from fractions import Fraction
from itertools import chain
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from checks import Message, MessageFormatter, Severity
from incidents import AnsweredAlarms, Level, LevelVerdict, Repeats, Resolution, State
from monitor.releases.overview import ReleaseWord
from monitor.reporting import charts, figure_sentences, sentences
from monitor.reporting.breakdown import collapsed
from monitor.reporting.model import PartBar, TrendBar
from monitor.reporting.period import Period, Quarter, Week
from monitor.reporting.words import (
    CAUSES,
    LEVEL_VERDICT_SHAPES,
    LEVEL_VERDICTS,
    LEVELS,
    RELEASE_SHAPES,
    RELEASES,
    SEVERITIES,
    SEVERITY_SHAPES,
    STATE_SHAPES,
    STATES,
    TIME_SIGNS,
    TIME_STATES,
)
from monitor.summaries.incident import RESOLUTIONS
from monitor.summaries.level_groups import LevelGroup, groups_in_report
from monitor.summaries.patterns import RETURNS_WITHIN, IncidentPatterns
from monitor.summaries.scan_costs import format_bytes
from monitor.summaries.service_levels import JudgedContract
from monitor.terminal.localizer import Money

NOTHING: Final = "\N{EN DASH}"
"""Shown where there is no figure: a dash, never a zero."""

_HOUR: Final = 3_600_000_000
_IN_WHOLE_HOURS: Final = 1_999 * _HOUR // 20
"""Microseconds from which hours have no tenths: 99.95 hours, which round to 100."""


def filters(localizer: MessageFormatter, currency: str) -> Mapping[str, Callable[..., Any]]:
    """Return the filters of the report's templates."""

    def show(value: Any, kind: str) -> str:
        if value is None:
            return NOTHING
        match kind:
            case "hours":
                return localizer.format(sentences.length(value), "hours")
            case "short_hours":
                return _short(value, localizer)
            case "money":
                return localizer.format(Money(value, currency), "money")
            case "number":
                return localizer.format(int(value) if value == int(value) else float(value), "number")
            case _:
                return localizer.format(value, kind)

    def say(message: Message) -> str:
        return message.render(localizer)

    def signed_hours(value: Fraction) -> str:
        text = show(abs(value), "hours")
        return text if not value else f"{'+' if value > 0 else chr(0x2212)}{text}"

    kinds = ("hours", "number", "ratio", "time", "moment", "date", "day", "weekday")
    return {
        **{kind: lambda value, kind=kind: show(value, kind) for kind in kinds},
        "show": show,
        "in_bytes": lambda value: show(None, "count") if value is None else format_bytes(value),
        "say": say,
        "missed": lambda value, level: _missed(value, level, localizer),
        "points": sentences.percentage_points,
        "cause": lambda key: say(CAUSES[key]) if key in CAUSES else key,
        "resolution": lambda key: say(Message("not resolved") if key is None else RESOLUTIONS[Resolution(key)]),
        "offenders": first_offenders,
        "alarms": first_alarms,
        "alarms_sentence": figure_sentences.alarms_sentence,
        "first_contracts": first_contracts,
        "tables_sentence": figure_sentences.tables_sentence,
        "group_name": figure_sentences.group_name,
        "in_time": figure_sentences.in_time,
        "observed_sentence": figure_sentences.observed_sentence,
        "level_value": lambda value, level: _level_value(value, level, localizer),
        "signed_hours": signed_hours,
        "as_length": sentences.length,
        "over": lambda total, n: Fraction(total) / n if n else None,
        "word": lambda word: say(_WORDS[type(word)][word]),
        "shape": lambda word: _SHAPES[type(word)][word],
        "incident_title": lambda message: format_title(message, localizer),
        "notes": lambda row, report: sentences.notes(row, type(report.period), complete=report.complete),
        "onset_range": sentences.onset_range,
        "budget_sentences": figure_sentences.budget_sentences,
        "coverage_sentences": lambda report: sentences.coverage_sentences(report.coverage, type(report.period)),
        "diagnosis_sentences": lambda report: sentences.diagnosis_sentences(report.diagnosis),
        "method_sentences": lambda report: sentences.method_sentences(report.method, currency, type(report.period)),
        "parts_label": lambda report: say(sentences.parts_label(report.parts, type(report.period))),
        "trend_label": lambda trend: say(sentences.trend_label(trend)),
        "title": sentences.title,
        "domain_name": lambda domain: say(figure_sentences.domain_name(domain)),
        "domain_anchor": lambda name: "no-domain" if name is None else f"domain-{quote(name, safe='')}",
        "domain_sentences": figure_sentences.domain_sentences,
        "domain_label": lambda row, periods: say(figure_sentences.domain_label(row, periods)),
        "period_name": lambda period: _period_name(period, localizer),
        "columns": _columns,
        "timeline_lanes": charts.timeline_lanes,
        "time_rows": charts.time_rows,
        "time_state": lambda state: say(TIME_STATES[state]),
        "grid_columns": charts.grid_columns,
        "collapsed": collapsed,
        "signed_bar": charts.signed_bar,
        "paired_bars": lambda bars: charts.paired_bars([(bar.before, bar.after) for bar in bars]),
        "heat_cells": charts.heat_cells,
        "darkest": lambda pair: max(
            (share or 0.0 for row in (*pair.before, *pair.after) for share in row), default=0.0
        ),
        "range_marks": lambda changes: charts.range_marks([(item.mean, item.largest) for item in changes]),
        "percent": charts.percent,
    }


def texts(localizer: MessageFormatter) -> Mapping[str, Any]:
    """Return `_` and `ngettext`, which take the values of the places in their texts, and the states of time."""

    def text(message: str, **values: Any) -> str:
        return Message(message, values).render(localizer)

    def plural(name: str, many: str, n: int, **values: Any) -> str:
        return Message(many, {**values, "n": n}, one=name, counted="n").render(localizer)

    return {"_": text, "ngettext": plural, "time_states": tuple(TIME_STATES), "time_signs": TIME_SIGNS}


def format_title(title: Message, localizer: MessageFormatter) -> str:
    """Return an incident's title; one that a person wrote is returned unchanged, braces included."""
    if not title.values:
        return localizer.text(title.text)
    try:
        return title.render(localizer)
    except (KeyError, ValueError, IndexError):
        return title.text


def _level_value(value: Fraction | None, level: Level, localizer: MessageFormatter) -> str:
    """Return a promised or measured value: a length of time, or the percentage of a period."""
    if value is None:
        return NOTHING
    if level is Level.AVAILABILITY:
        return f"{localizer.format(sentences.floor_percent(value), 'number')}%"
    return localizer.format(sentences.length(value), "hours")


def _missed(value: Fraction, level: Level, localizer: MessageFormatter) -> str:
    """Return by how much a promise was missed."""
    if level is Level.AVAILABILITY:
        points = sentences.percentage_points(value)
        return Message("missed by {points:number} percentage points", {"points": points}).render(localizer)
    return Message("missed by {value}", {"value": _level_value(value, level, localizer)}).render(localizer)


def _period_name(period: Period, localizer: MessageFormatter) -> str:
    """Return the short name of a period, below a column."""
    if isinstance(period, Quarter):
        return str(period)
    return localizer.format(period.first, "date" if isinstance(period, Week) else "short_month")


def _short(length_us: Fraction | int, localizer: MessageFormatter) -> str:
    """Return a length of time as short hours, above a column."""
    if 0 < 10 * length_us < _HOUR:
        return f"<{localizer.format(0.1, 'tenths')}"
    hours = Fraction(length_us, _HOUR)
    if not length_us or length_us >= _IN_WHOLE_HOURS:
        return localizer.format(round(hours), "count")
    return localizer.format(hours, "tenths")


_WORDS: Final[Mapping[type[StrEnum], Mapping[Any, Message]]] = {
    Severity: SEVERITIES,
    State: STATES,
    Resolution: RESOLUTIONS,
    ReleaseWord: RELEASES,
    Level: LEVELS,
    LevelVerdict: LEVEL_VERDICTS,
}
_SHAPES: Final[Mapping[type[StrEnum], Mapping[Any, str]]] = {
    Severity: SEVERITY_SHAPES,
    State: STATE_SHAPES,
    ReleaseWord: RELEASE_SHAPES,
    LevelVerdict: LEVEL_VERDICT_SHAPES,
}


def _columns(bars: Sequence[PartBar | TrendBar]) -> charts.ColumnChart:
    return charts.stacked_columns(
        [
            None if bar.undetected_us is None or bar.repair_us is None else (bar.undetected_us, bar.repair_us)
            for bar in bars
        ]
    )


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


class ShownContracts(NamedTuple):
    """All contracts, and the service levels of the tables that are worst off.

    `more` counts the tables left out, `tables` those of each verdict; `groups` has the owners and tiers that are worst
    off, `more_groups` counts those left out.
    """

    rows: list[JudgedContract]
    more: int
    tables: Mapping[LevelVerdict, int]
    groups: list[LevelGroup]
    more_groups: int


def first_contracts(contracts: Sequence[JudgedContract]) -> ShownContracts:
    """Return all contracts, and of the service levels of tables broken first, then unknown."""
    rows = [contract for contract in contracts if not contract.is_of_table]
    tables = [contract for contract in contracts if contract.is_of_table]
    order = tuple(LevelVerdict)
    worst = sorted(tables, key=lambda contract: -order.index(contract.verdict))
    verdicts = [contract.verdict for contract in tables]
    counts = {verdict: verdicts.count(verdict) for verdict in reversed(order)}
    groups = sorted(groups_in_report(tables), key=lambda group: -group.whole.tables[LevelVerdict.BROKEN])
    return ShownContracts(
        rows=[*rows, *worst[:_SHOWN]],
        more=max(0, len(tables) - _SHOWN),
        tables=counts,
        groups=sorted(groups[:_SHOWN], key=lambda group: group.by != "tier"),
        more_groups=max(0, len(groups) - _SHOWN),
    )


def first_offenders(patterns: IncidentPatterns) -> Offenders:
    """Return the tables and checks with the most that came back, or the most incidents."""
    rows = list(chain(patterns.tables.items(), patterns.checks.items()))
    ordered = sorted(rows, key=lambda row: (-row[1].returned, -row[1].incidents))
    return Offenders(ordered[:_SHOWN], max(0, len(rows) - _SHOWN), RETURNS_WITHIN.days)


def first_alarms(patterns: IncidentPatterns) -> ShownAlarms:
    """Return the alarms of checks that have answered ones, most false ones first."""
    rows = [(name, alarms) for name, alarms in patterns.alarms.items() if alarms.answered]
    return ShownAlarms(patterns.all_alarms, rows[:_SHOWN], max(0, len(rows) - _SHOWN))
