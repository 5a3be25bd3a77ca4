"""Say the downtime of a window: as JSON (the published shape), and to a person with the reading rule."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from checks import PlainEnglish
from incidents import MAINTENANCE, Cost, Downtime, ExcludedCount, Lever, Resolution, Statistics, from_us, hours, lever
from monitor.config.prices import Currency
from monitor.config.project import Project
from monitor.reporting.model import Diagnosis
from monitor.reporting.sentences import diagnosis_sentences, title_of
from monitor.summaries.downtime import DAY, DowntimeFigures, DowntimePart
from monitor.terminal.output import count
from monitor.terminal.tables import draw_table
from monitor.triage.time_parsing import format_hours, format_time

if TYPE_CHECKING:
    from rich.console import Console

_NO_KEY: Final = {"check": "(found by a person)", "root-owner": "(no owner)"}
_STATISTICS: Final = ("min", "mean", "median", "p90", "max")
_EXCLUDED: Final = (*(one.value for one in Resolution if not one.counts), MAINTENANCE)
_SHOWN: Final = 10
_COSTLY: Final = 3


def as_json(project: Project, found: DowntimeFigures) -> dict[str, Any]:
    """Give the published shape `tablewatch.downtime/1`. Hours are exact up to floating point, money is rounded once.

    The figures of a window of which nobody knows are null.
    """
    whole, currency = found.whole, project.currency
    figures = {
        "n": whole.n,
        "n_occurred": whole.n_occurred,
        "undetected_h": _h(whole.undetected),
        "repair_h": _h(whole.repair),
        "downtime_h": _h(whole.downtime),
        "downtime_h_low": _h(whole.low),
        "downtime_h_high": _h(whole.high),
        "ttd_h": _statistics(whole.ttd),
        "ttr_h": _statistics(whole.ttr),
        "table_hours": _h(whole.table_time),
    }
    return {
        "schema": "tablewatch.downtime/1",
        "from": _iso(whole.window.start_us),
        "to": _iso(whole.window.end_us),
        "as_of": _iso(whole.as_of_us),
        **(figures if found.known else _none_of(figures)),
        "open": [
            {
                "id": one.id,
                "table": found.table_of[one.id],
                "occurred_at": _iso(one.occurred_us),
                "detected_at": _iso(one.detected_us),
                "age_h": _h(one.age),
            }
            for one in whole.open
        ],
        "excluded": {name: _tally(whole.excluded.get(name, ExcludedCount())) for name in _EXCLUDED},
        "watched_since": None if found.watching.first is None else found.watching.first.isoformat(),
        "unobserved_h": _h(sum(found.unobserved.values())) if found.known else None,
        "cost": {**_amounts(found.cost if found.known else None, currency), "currency": currency.code},
        "unpriced_h": None if found.cost is None or not found.known else _h(found.cost.unpriced),
        "exposure": _tally(whole.exposure),
        "found_by_person": found.found_by_person,
        "lever": _lever(whole),
        "by_severity": {
            severity.value: {"n": part.n, "undetected_h": _h(part.undetected), "repair_h": _h(part.repair)}
            for severity, part in whole.by_severity.items()
        },
        "grouped_by": found.by,
        "by": [_part(part, currency) for part in found.parts],
    }


def _none_of(figures: dict[str, Any]) -> dict[str, Any]:
    return {name: value if isinstance(value, dict) else None for name, value in figures.items()}


def _part(part: DowntimePart, currency: Currency) -> dict[str, Any]:
    figures = {
        "n": part.downtime.n,
        "n_occurred": part.downtime.n_occurred,
        "undetected_h": _h(part.downtime.undetected),
        "repair_h": _h(part.downtime.repair),
        "downtime_h": _h(part.downtime.downtime),
        "table_hours": _h(part.downtime.table_time),
        "cost": currency.number(None if part.cost is None else part.cost.amount),
    }
    return {"key": part.key, **(figures if part.known else _none_of(figures))}


def _amounts(cost: Cost | None, currency: Currency) -> dict[str, Any]:
    return {
        "amount": currency.number(None if cost is None else cost.amount),
        "table_hours_amount": currency.number(None if cost is None else cost.table_hours_amount),
    }


def _statistics(statistics: Statistics | None) -> dict[str, float | None]:
    return {name: None if statistics is None else _h(getattr(statistics, name)) for name in _STATISTICS}


def _tally(tally: ExcludedCount) -> dict[str, Any]:
    return {"n": tally.n, "hours": _h(tally.time)}


def _lever(whole: Downtime) -> str | None:
    found = lever(whole)
    return None if found is Lever.NONE else found.value


def _iso(moment_us: int) -> str:
    return from_us(moment_us).isoformat()


def _h(microseconds: Fraction | int) -> float:
    return float(hours(microseconds))


def draw(console: "Console", project: Project, found: DowntimeFigures) -> None:
    """Print the downtime of a window for a person."""
    whole = found.whole
    for line in _top(project, found):
        console.print(line)
    rows = [_spread("TTD, until noticed", whole.ttd), _spread("TTR, until repaired", whole.ttr)]
    console.print()
    draw_table(console, ("of an incident", *(f">{name}" for name in _STATISTICS)), rows)
    if found.parts:
        console.print()
        _draw_parts(console, project, found)
    rest = list(_rest(project, found))
    if rest:
        console.print()
    for line in rest:
        console.print(line)


def _top(project: Project, found: DowntimeFigures) -> Iterator[Text]:
    whole, zone = found.whole, project.config.timezone
    known = "" if whole.as_of_us >= whole.window.end_us else f", as of {_when(whole.as_of_us, zone)}"
    window = f"{_when(whole.window.start_us, zone)} to {_when(whole.window.end_us, zone)}"
    yield Text(f"data downtime  {window}{known} ({zone})", "dim")
    if not found.known:
        yield Text(_unknown(project, found), "bold")
        return
    cost = "" if found.cost is None else f", {project.currency.text(found.cost.amount)}"
    yield Text(f"{format_hours(whole.downtime)} in {count(whole.n, 'incident')}{cost}", "bold")
    if whole.downtime:
        yield _line("unnoticed", f"{format_hours(whole.undetected)}  {_share(whole.undetected, whole.downtime)}")
        yield _line("repair", f"{format_hours(whole.repair)}  {_share(whole.repair, whole.downtime)}")
        if whole.low < whole.high:
            yield _line(
                "range", f"{format_hours(whole.low)} to {format_hours(whole.high)}, by when data really went bad"
            )
        at_once = "" if found.cost is None else f", {project.currency.text(found.cost.table_hours_amount)}"
        yield _line("table hours", f"{format_hours(whole.table_time)}{at_once}, incidents at once counted once")
    yield from _watched(project, found)


def _unknown(project: Project, found: DowntimeFigures) -> str:
    first, end = found.watching.first, from_us(min(found.whole.window.end_us, found.whole.as_of_us))
    if end <= from_us(found.whole.window.start_us):
        return "nothing is known of this time yet"
    if found.watching.had_begun(end) and from_us(found.whole.window.end_us) <= found.kept_since:
        return "incidents of this time are no longer kept, so nothing is known of its downtime"
    if found.watching.had_begun(end):
        return "no check saw anything in this time, so nothing is known of its downtime"
    if first is None:
        return "nothing was watched yet; no check had run by then"
    return f"nothing was watched yet; the first check ran on {format_time(first, project.config.timezone)}"


def _watched(project: Project, found: DowntimeFigures) -> Iterator[Text]:
    """Say of which part of the window only those incidents are known that people reported."""
    whole, first, zone = found.whole, found.watching.first, project.config.timezone
    start, end = from_us(whole.window.start_us), from_us(min(whole.window.end_us, whole.as_of_us))
    if first is None or first >= end:
        yield _line("watched", "nothing yet in this time; these incidents were reported")
        return
    if not found.observed:
        yield _line("watched", "no check saw anything in this time; these incidents are on record")
        return
    if first > start:
        yield _line(
            "watched", f"since {format_time(first, zone)}; of what was before, only reported incidents are known"
        )
    elif later := found.watching.partly(project.config, start, end):
        yield _line("watched", f"for a part of this time only: {_some(later)}")
    if missing := found.watching.not_yet(project.config, end):
        yield _line("not watched", f"{_some(missing)}; no check had run by then")
    if start < found.kept_since:
        yield _line("kept", f"what was over before {format_time(found.kept_since, zone)} may be forgotten")


def _some(names: Sequence[str]) -> str:
    more = "" if len(names) <= _SHOWN else f" and {len(names) - _SHOWN} more"
    return f"{', '.join(names[:_SHOWN])}{more}"


def _spread(name: str, statistics: Statistics | None) -> Sequence[str | None]:
    return name, *(None if statistics is None else format_hours(getattr(statistics, one)) for one in _STATISTICS)


def _draw_parts(console: "Console", project: Project, found: DowntimeFigures) -> None:
    columns = [f"~{found.by}", ">incidents", ">unnoticed", ">repair", ">downtime", ">table hours"]
    columns += [] if found.cost is None else [">cost"]
    shown = found.parts if found.by == DAY else found.parts[:_SHOWN]
    draw_table(console, columns, (list(_cells(project, found.by, part)) for part in shown))
    if len(found.parts) > len(shown):
        console.print(f"and {len(found.parts) - len(shown)} more; --format json has all")


def _cells(project: Project, by: str, part: DowntimePart) -> Iterator[str | None]:
    one = part.downtime
    yield part.key if part.key is not None else _NO_KEY.get(by, f"(no {by})")
    if not part.known:
        yield from (None,) * (5 if part.cost is None else 6)
        return
    yield f"{one.n:,}"
    for time in (one.undetected, one.repair, one.downtime, one.table_time):
        yield format_hours(time)
    if part.cost is not None:
        yield project.currency.text(part.cost.amount)


def _rest(project: Project, found: DowntimeFigures) -> Iterator[Text]:
    whole = found.whole
    if whole.downtime:
        yield from _reading(project, found)
    oldest = sorted(whole.open, key=lambda one: one.occurred_us)
    for one in oldest[:_SHOWN]:
        since = format_time(from_us(one.occurred_us), project.config.timezone)
        yield _line("open", f"#{one.id} {found.table_of[one.id]} since {since}, {format_hours(one.age)}")
    if len(oldest) > _SHOWN:
        yield _line("", f"and {len(oldest) - _SHOWN} more; see 'tablewatch incident list'")
    left = [
        f"{name} {count(tally.n, 'incident')}, {format_hours(tally.time)}" for name, tally in whole.excluded.items()
    ]
    if left:
        yield _line("not counted", "; ".join(left))
    if whole.exposure.n:
        said = f"{count(whole.exposure.n, 'incident')}, {format_hours(whole.exposure.time)}; never counted as downtime"
        yield _line("disclosure", said)
    if found.cost is not None and found.cost.unpriced:
        yield _line("no price", f"{format_hours(found.cost.unpriced)} before the first rate was valid")
    if found.unobserved:
        worst = sorted(found.unobserved.items(), key=lambda item: (-item[1], item[0]))
        names = ", ".join(f"{table} {format_hours(time)}" for table, time in worst[:_COSTLY])
        more = "" if len(worst) <= _COSTLY else f" and {count(len(worst) - _COSTLY, 'more table')}"
        yield _line("not observed", f"{format_hours(sum(found.unobserved.values()))}: {names}{more}")


def _reading(project: Project, found: DowntimeFigures) -> Iterator[Text]:
    whole = found.whole
    share = Fraction(whole.undetected, whole.downtime)
    title = None if found.advised is None else title_of(found.advised)
    diagnosis = Diagnosis(
        lever(whole), share, found.found_by_person, whole.n, costliest=None, advice=found.advice, title=title
    )
    for label, said in zip_longest(("reading",), diagnosis_sentences(diagnosis), fillvalue=""):
        yield _line(label, str(said))
    if found.cost is not None and found.cost.amount:
        total = found.cost.amount
        costly = [part for part in found.tables if part.cost is not None and part.cost.amount][:_COSTLY]
        names = (f"{one.key} {_share(one.cost.amount, total)}" for one in costly if one.cost is not None)
        yield _line("costliest", f"{', '.join(names)} of {project.currency.text(total)}")


def _share(part: Fraction | int, whole: Fraction | int) -> str:
    return PlainEnglish().format(Fraction(part) / Fraction(whole), "ratio")


def _when(moment_us: int, zone: str) -> str:
    return format_time(from_us(moment_us), zone)


def _line(label: str, said: str) -> Text:
    return Text.assemble((f"{label:<14}", "dim"), said)
