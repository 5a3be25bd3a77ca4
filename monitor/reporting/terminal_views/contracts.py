"""Print service levels: promised, measured, and the verdict."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from rich.text import Text

from incidents import Level, LevelResult, LevelVerdict, from_us
from monitor.reporting.figure_sentences import budget_sentences, in_time, observed_sentence
from monitor.reporting.sentences import floor_percent, percentage_points
from monitor.summaries.level_groups import GroupedLevel, LevelGroup
from monitor.summaries.service_levels import JudgedContract
from monitor.terminal.tables import draw_table
from monitor.triage.time_parsing import format_hours, format_time

if TYPE_CHECKING:
    from rich.console import Console

_MOST_NAMED: Final = 8
"""Incidents that are named beside a level; the JSON has all."""


def draw(console: "Console", contracts: Sequence[JudgedContract], *, zone: str) -> None:
    """Print contracts with the levels of their period, by the clock of a zone."""
    for number, contract in enumerate(contracts):
        if number:
            console.print()
        window = contract.window
        start, end = (format_time(from_us(moment), zone) for moment in (window.start_us, window.end_us))
        console.print(Text(f"{contract.name}  {', '.join(contract.tables)}", "bold"))
        console.print(Text(f"{start} to {end} ({zone})"))
        if contract.levels:
            draw_table(console, ("level", ">promised", ">seen", "verdict", "~why"), map(_row, contract.levels))
        for sentence in filter(None, (observed_sentence(contract), *budget_sentences(contract))):
            console.print(str(sentence))
        if contract.is_of_table:
            console.print(Text(f"promised by {_origins(contract.origins)}"))


def draw_groups(console: "Console", groups: Sequence[LevelGroup]) -> None:
    """Print of how many tables of each group each level was kept."""
    columns = (f"~{groups[0].by}", "level", *(f">{verdict}" for verdict in LevelVerdict), "~why")
    rows = [
        (
            group.name or f"(no {group.by})",
            level.level,
            *(str(number) for number in level.tables.values()),
            "; ".join(part for part in (_incidents(level), str(in_time(level) or "")) if part),
        )
        for group in groups
        for level in group.levels
    ]
    draw_table(console, columns, rows)


def _origins(origins: Mapping[str, str]) -> str:
    """Return which keys of the configuration promise what: the most specific of them counts."""
    levels: dict[str, list[str]] = {}
    for level, origin in origins.items():
        levels.setdefault(origin, []).append(level)
    return "; ".join(f"{origin}: {', '.join(names)}" for origin, names in levels.items())


def _row(result: LevelResult) -> tuple[str, str, str, str, str]:
    measured = _value(result.level, result.seen)
    if result.low != result.high:
        measured += f" ({_value(result.level, result.low)} to {_value(result.level, result.high)})"
    sign = "at least" if result.level is Level.AVAILABILITY else "at most"
    return (
        result.level.value,
        f"{sign} {_value(result.level, result.promised)}",
        measured,
        result.verdict.value,
        _why(result),
    )


def _why(result: LevelResult) -> str:
    missed = "" if result.missed_by is None else f"missed by {_difference(result.level, result.missed_by)}"
    about = _incidents(result)
    share = in_time(result)
    return "; ".join(part for part in (": ".join(filter(None, (missed, about))), str(share or "")) if part)


def _incidents(result: LevelResult | GroupedLevel) -> str:
    numbers = result.incidents or result.undecided
    more = f" and {len(numbers) - _MOST_NAMED} more" if len(numbers) > _MOST_NAMED else ""
    names = ", ".join(f"#{number}" for number in numbers[:_MOST_NAMED])
    return f"incidents {names}{more}" if numbers else ""


def _difference(level: Level, value: Fraction) -> str:
    return f"{percentage_points(value):g} percentage points" if level is Level.AVAILABILITY else format_hours(value)


def _value(level: Level, value: Fraction | None) -> str:
    if value is None:
        return "none"
    return f"{floor_percent(value):g} %" if level is Level.AVAILABILITY else format_hours(value)
