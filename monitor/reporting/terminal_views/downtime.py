"""The downtime of a window, as tables with the recommendation."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from rich.text import Text

from checks import PlainEnglish
from incidents import (
    Statistics,
    from_us,
    lever,
)
from monitor.config.project import Project
from monitor.reporting.charts import time_rows
from monitor.reporting.model import Diagnosis
from monitor.reporting.sentences import diagnosis_sentences
from monitor.reporting.terminal_views.patterns import NO_CAUSE, draw_patterns
from monitor.reporting.timeline import Timeline
from monitor.reporting.words import TIME_SIGNS, TIME_STATES
from monitor.summaries.downtime import DAY, DowntimeFigures, DowntimePart
from monitor.summaries.incident import title_of
from monitor.terminal.output import count
from monitor.terminal.tables import draw_table
from monitor.triage.time_parsing import format_hours, format_time

if TYPE_CHECKING:
    from rich.console import Console

_NO_KEY: Final = {"check": "(reported by a person)", "root-owner": "(no owner)", "cause": NO_CAUSE}
_STATISTICS: Final = ("min", "mean", "median", "p90", "max")
_SHOWN: Final = 10
_COSTLY: Final = 3


def draw(
    console: "Console", project: Project, downtime_figures: DowntimeFigures, drawn: Timeline | None = None
) -> None:
    """Print the downtime of a window for a person, perhaps with its days as a picture."""
    whole = downtime_figures.whole
    for line in _top(project, downtime_figures):
        console.print(line)
    rows = [
        _spread("TTD, time to detection", whole.ttd),
        *([_spread("TTA, time to acknowledge", whole.tta)] if whole.n_acknowledged else []),
        *([] if whole.ttr is None else [_spread("TTR, time to resolution", whole.ttr)]),
    ]
    console.print()
    draw_table(console, ("of an incident", *(f">{name}" for name in _STATISTICS)), rows)
    if downtime_figures.parts:
        console.print()
        _draw_parts(console, project, downtime_figures)
    if drawn is not None and drawn.lanes:
        console.print()
        draw_table(console, ("table", "time"), time_rows(drawn))
        legend = (f"{TIME_SIGNS[state]} {name.render(PlainEnglish())}" for state, name in TIME_STATES.items())
        console.print(Text("  ".join(legend), "dim"))
    draw_patterns(console, project, downtime_figures.patterns, causes=downtime_figures.by != "cause")
    rest = list(_rest(project, downtime_figures))
    if rest:
        console.print()
    for line in rest:
        console.print(line)


def _top(project: Project, downtime_figures: DowntimeFigures) -> Iterator[Text]:
    whole, zone = downtime_figures.whole, project.config.timezone
    text = "" if whole.as_of_us >= whole.window.end_us else f", as of {_when(whole.as_of_us, zone)}"
    window = f"{_when(whole.window.start_us, zone)} to {_when(whole.window.end_us, zone)}"
    yield Text(f"data downtime  {window}{text} ({zone})", "dim")
    if not downtime_figures.known:
        yield Text(_unknown(project, downtime_figures), "bold")
        return
    cost = "" if downtime_figures.cost is None else f", {project.currency.text(downtime_figures.cost.amount)}"
    yield Text(f"{format_hours(whole.downtime)} in {count(whole.n, 'incident')}{cost}", "bold")
    if whole.downtime:
        yield _line("undetected", f"{format_hours(whole.undetected)}  {_share(whole.undetected, whole.downtime)}")
        yield _line("repair", f"{format_hours(whole.repair)}  {_share(whole.repair, whole.downtime)}")
        if whole.low < whole.high:
            yield _line(
                "range",
                f"{format_hours(whole.low)} to {format_hours(whole.high)}, depending on the actual start of the "
                "problems",
            )
        at_once = (
            ""
            if downtime_figures.cost is None
            else f", {project.currency.text(downtime_figures.cost.table_hours_amount)}"
        )
        yield _line("table hours", f"{format_hours(whole.table_time)}{at_once}, overlapping incidents counted once")
    yield from _watched(project, downtime_figures)


def _unknown(project: Project, downtime_figures: DowntimeFigures) -> str:
    first, end = (
        downtime_figures.watching.first,
        from_us(min(downtime_figures.whole.window.end_us, downtime_figures.whole.as_of_us)),
    )
    if end <= from_us(downtime_figures.whole.window.start_us):
        return "no data for this period yet"
    if (
        downtime_figures.watching.had_begun(end)
        and from_us(downtime_figures.whole.window.end_us) <= downtime_figures.kept_since
    ):
        return "incidents of this period are past retention, so downtime is unknown"
    if downtime_figures.watching.had_begun(end):
        return "no check was evaluated in this period, so downtime is unknown"
    if first is None:
        return "monitoring had not started; no check had run by then"
    return f"monitoring had not started; the first check ran on {format_time(first, project.config.timezone)}"


def _watched(project: Project, downtime_figures: DowntimeFigures) -> Iterator[Text]:
    """Return the part of the window in which only incidents reported by people are known."""
    whole, first, zone = downtime_figures.whole, downtime_figures.watching.first, project.config.timezone
    start, end = from_us(whole.window.start_us), from_us(min(whole.window.end_us, whole.as_of_us))
    if first is None or first >= end:
        yield _line("monitored", "no checks ran in this period; these incidents were reported")
        return
    if not downtime_figures.observed:
        yield _line("monitored", "no check was evaluated in this period; these incidents are recorded")
        return
    if first > start:
        yield _line("monitored", f"since {format_time(first, zone)}; before that, only reported incidents are known")
    elif later := downtime_figures.watching.partly(project.config.tables, start, end):
        yield _line("monitored", f"for part of this period only: {_some(later)}")
    if missing := downtime_figures.watching.not_yet(project.config.tables, end):
        yield _line("not monitored", f"{_some(missing)}; no check had run by then")
    if start < downtime_figures.kept_since:
        yield _line(
            "kept", f"incidents resolved before {format_time(downtime_figures.kept_since, zone)} may be past retention"
        )


def _some(names: Sequence[str]) -> str:
    more = "" if len(names) <= _SHOWN else f" and {len(names) - _SHOWN} more"
    return f"{', '.join(names[:_SHOWN])}{more}"


def _spread(name: str, statistics: Statistics | None) -> Sequence[str | None]:
    return name, *(None if statistics is None else format_hours(getattr(statistics, item)) for item in _STATISTICS)


def _draw_parts(console: "Console", project: Project, downtime_figures: DowntimeFigures) -> None:
    columns = [f"~{downtime_figures.by}", ">incidents", ">undetected", ">repair", ">downtime", "?>table hours"]
    columns += [] if downtime_figures.cost is None else [">cost"]
    shown = downtime_figures.parts if downtime_figures.by == DAY else downtime_figures.parts[:_SHOWN]
    draw_table(console, columns, (list(_cells(project, downtime_figures.by, part)) for part in shown))
    if len(downtime_figures.parts) > len(shown):
        console.print(f"and {len(downtime_figures.parts) - len(shown)} more; --format json has all")


def _cells(project: Project, by: str, part: DowntimePart) -> Iterator[str | None]:
    item = part.downtime
    yield part.key if part.key is not None else _NO_KEY.get(by, f"(no {by})")
    if not part.known:
        yield from (None,) * (5 if part.cost is None else 6)
        return
    yield f"{item.n:,}"
    for time in (item.undetected, item.repair, item.downtime, item.table_time):
        yield format_hours(time)
    if part.cost is not None:
        yield project.currency.text(part.cost.amount)


def _rest(project: Project, downtime_figures: DowntimeFigures) -> Iterator[Text]:
    whole = downtime_figures.whole
    if whole.downtime:
        yield from _reading(project, downtime_figures)
    oldest = sorted(whole.open, key=lambda open_incident: open_incident.occurred_us)
    for open_incident in oldest[:_SHOWN]:
        since = format_time(from_us(open_incident.occurred_us), project.config.timezone)
        table, age = downtime_figures.table_of[open_incident.id], format_hours(open_incident.age)
        yield _line("open", f"#{open_incident.id} {table} since {since}, {age}")
    if len(oldest) > _SHOWN:
        yield _line("", f"and {len(oldest) - _SHOWN} more; see 'tablewatch incident list'")
    left = [
        f"{name} {count(tally.n, 'incident')}, {format_hours(tally.time)}" for name, tally in whole.excluded.items()
    ]
    if left:
        yield _line("not counted", "; ".join(left))
    if whole.exposure.n:
        text = f"{count(whole.exposure.n, 'incident')}, {format_hours(whole.exposure.time)}; not counted as downtime"
        yield _line("disclosure", text)
    if downtime_figures.cost is not None and downtime_figures.cost.unpriced:
        yield _line("no rate", f"{format_hours(downtime_figures.cost.unpriced)} before the first rate was valid")
    if downtime_figures.unobserved:
        worst = sorted(downtime_figures.unobserved.items(), key=lambda item: (-item[1], item[0]))
        names = ", ".join(f"{table} {format_hours(time)}" for table, time in worst[:_COSTLY])
        more = "" if len(worst) <= _COSTLY else f" and {count(len(worst) - _COSTLY, 'more table')}"
        yield _line("not observed", f"{format_hours(sum(downtime_figures.unobserved.values()))}: {names}{more}")


def _reading(project: Project, downtime_figures: DowntimeFigures) -> Iterator[Text]:
    whole = downtime_figures.whole
    share = Fraction(whole.undetected, whole.downtime)
    title = None if downtime_figures.advised is None else title_of(downtime_figures.advised)
    diagnosis = Diagnosis(
        lever(whole),
        share,
        downtime_figures.found_by_person,
        whole.n,
        costliest=None,
        advice=downtime_figures.advice,
        title=title,
    )
    for label, text in zip_longest(("reading",), diagnosis_sentences(diagnosis), fillvalue=""):
        yield _line(label, str(text))
    if downtime_figures.cost is not None and downtime_figures.cost.amount:
        total = downtime_figures.cost.amount
        costly = [part for part in downtime_figures.tables if part.cost is not None and part.cost.amount][:_COSTLY]
        names = (f"{item.key} {_share(item.cost.amount, total)}" for item in costly if item.cost is not None)
        yield _line("highest cost", f"{', '.join(names)} of {project.currency.text(total)}")


def _share(part: Fraction | int, whole: Fraction | int) -> str:
    return PlainEnglish().format(Fraction(part) / Fraction(whole), "ratio")


def _when(moment_us: int, zone: str) -> str:
    return format_time(from_us(moment_us), zone)


def _line(label: str, text: str) -> Text:
    return Text.assemble((f"{label:<14}", "dim"), text)
