"""Show a simulation: as JSON (the published shape), and to a person, what is now beside what would have been."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from checks import PlainEnglish
from incidents import from_us, hours
from monitor.config.project import Project
from monitor.simulation.compare import AlarmCount, PricedDowntime, SimulatedProblem, Simulation
from monitor.terminal.output import count
from monitor.terminal.tables import draw_table
from monitor.triage.time_parsing import format_hours, format_time

if TYPE_CHECKING:
    from rich.console import Console

_SHOWN: Final = 20
_NAMED: Final = 3
_MOST: Final = 1_000


def as_json(project: Project, result: Simulation) -> dict[str, Any]:
    """Return the published shape `tablewatch.simulation/1`."""
    low, high = (_bounds(project, result, pick) for pick in (min, max))
    return {
        "schema": "tablewatch.simulation/1",
        "from": from_us(result.window.start_us).isoformat(),
        "to": from_us(result.window.end_us).isoformat(),
        "as_of": result.as_of.isoformat(),
        "checks": [_check(result, change.check_id, change.changed) for change in result.changes],
        "cover": {
            "share": _share(result),
            "runs": result.cover.runs,
            "recorded": result.cover.recorded,
            "bounded": result.cover.bounded,
            "unknown": result.cover.unknown,
        },
        "compared": {
            "checks": len(result.covers),
            "runs": result.cover.runs,
            "problems": len(result.problems),
            "messages": result.messages,
        },
        "differs": result.differs,
        "reproduced": {"recorded": result.recorded, "same": result.reproduced},
        "acts_without_incident": result.dropped,
        "now": _figures(project, result.now),
        "then": {"low": low, "high": high},
        "not_noticed": _figures(project, result.unnoticed),
        "currency": project.currency.code,
        "problems": [_problem(item) for item in result.problems if item.effect != "same"][:_MOST],
        "problems_total": len(result.problems),
        "alerts": [
            {
                "channel": channel,
                "now": _alarm_count(now),
                "then": {"low": _alarm_count(best), "high": _alarm_count(worst)},
            }
            for channel, (now, best, worst) in result.alarms.items()
        ],
        "messages": {
            name: [
                {"at": item.at.isoformat(), "channel": item.channel, "reason": item.reason, "check_id": item.check_id}
                for item in log[:_MOST]
            ]
            for name, log in zip(("now", "then"), result.alarm_log, strict=True)
        },
    }


def _check(result: Simulation, check_id: str, changed: Sequence[str]) -> dict[str, Any]:
    cover = result.covers.get(check_id)
    return {
        "check_id": check_id,
        "changed": list(changed),
        "skipped": result.skipped.get(check_id),
        "runs": None if cover is None else cover.runs,
        "recorded": None if cover is None else cover.recorded,
        "bounded": None if cover is None else cover.bounded,
        "unknown": None if cover is None else cover.unknown,
    }


def _share(result: Simulation) -> float | None:
    """Return the share of runs of which something is known; None where there are none."""
    cover = result.cover
    return (cover.runs - cover.unknown) / cover.runs if cover.runs else None


def _figures(project: Project, figures: PricedDowntime) -> dict[str, Any]:
    part = figures.downtime
    return {
        "n": part.n,
        "undetected_h": float(hours(part.undetected)),
        "repair_h": float(hours(part.repair)),
        "downtime_h": float(hours(part.downtime)),
        "cost": project.currency.number(figures.cost),
    }


def _bounds(project: Project, result: Simulation, pick: Any) -> dict[str, Any]:
    figures = [_figures(project, item) for item in result.then.every]
    return {name: None if figures[0][name] is None else pick(item[name] for item in figures) for name in figures[0]}


def _problem(item: SimulatedProblem) -> dict[str, Any]:
    return {
        "table": item.table,
        "check_id": item.check_id,
        "segment": item.segment,
        "effect": item.effect,
        "occurred_at": item.occurred_at.isoformat(),
        "resolved_at": _iso(item.resolved_at),
        "detected_at": _iso(item.now),
        "then_detected_at": {"earliest": _iso(item.earliest), "latest": _iso(item.latest)},
    }


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def _alarm_count(part: AlarmCount) -> dict[str, int]:
    return {"messages": part.messages, "problems": part.problems}


# --- to a person ------------------------------------------------------------------------------------------------------


def draw(console: "Console", project: Project, result: Simulation) -> None:
    """Print what is now beside what would have been, then what differs and what could not be known."""
    zone = project.config.timezone
    start, end = (format_time(from_us(edge), zone) for edge in (result.window.start_us, result.window.end_us))
    console.print(f"Simulated {start} to {end}: {count(len(result.covers), 'check')}")
    console.print()
    draw_table(console, ["", ">now", ">then"], rows_of(project, result))
    changed = [item for item in result.problems if item.effect != "same"]
    if changed:
        console.print()
        columns = ["~check", "noticed", "then, at the earliest", "at the latest"]
        draw_table(console, columns, (_cells(item, zone) for item in changed[:_SHOWN]))
        if len(changed) > _SHOWN:
            console.print(f"and {len(changed) - _SHOWN} more; --format json has all")
    console.print()
    for label, text in notes_of(project, result):
        console.print(Text.assemble((f"{label:<14}", "dim"), text))


def rows_of(project: Project, result: Simulation) -> Iterator[tuple[str, str | None, str | None]]:
    """Yield each figure with its present value, and between which values it lies in the proposal."""
    now, then = result.now.downtime, result.then
    every = [item.downtime for item in then.as_ended]
    yield "incidents", f"{now.n:,}", _range([f"{item.n:,}" for item in every])
    yield "undetected", format_hours(now.undetected), _hours(item.undetected for item in every)
    yield "downtime, ended when it did", format_hours(now.downtime), _hours(item.downtime for item in every)
    repaired = [item.downtime.downtime for item in then.as_long]
    yield "downtime, repair as long", format_hours(now.downtime), _hours(repaired)
    if result.now.cost is not None:
        amount = project.currency.text(result.now.cost)
        yield "cost, ended when it did", amount, _money(project, then.as_ended)
        yield "cost, repair as long", amount, _money(project, then.as_long)
    for channel, (before, best, worst) in result.alarms.items():
        yield f"messages to {channel}", f"{before.messages:,}", _range(sorted({best.messages, worst.messages}), ",")


def _range(ends: Sequence[Any], form: str = "") -> str:
    texts = [format(end, form) for end in ends]
    return texts[0] if len(set(texts)) == 1 else f"{texts[0]} to {texts[-1]}"


def _hours(times: Any) -> str:
    return _range([format_hours(time) for time in sorted(times)])


def _money(project: Project, figures: Sequence[PricedDowntime]) -> str:
    amounts = sorted(item.cost or Fraction() for item in figures)
    return _range([project.currency.text(amount) for amount in amounts])


def _cells(item: SimulatedProblem, zone: str) -> tuple[str, ...]:
    moments = (item.now, item.earliest, item.latest)
    name = " ".join(filter(None, (item.check_id, item.segment)))
    return (name, *("never" if moment is None else format_time(moment, zone) for moment in moments))


def notes_of(project: Project, result: Simulation) -> Iterator[tuple[str, str]]:
    """Yield what the figures leave out and rest on, each with a label."""
    if not result.differs:
        yield "no difference", _compared(result)
    missed = result.unnoticed
    if missed.downtime.n:
        cost = "" if missed.cost is None else f", {project.currency.text(missed.cost)}"
        yield "not noticed", f"{count(missed.downtime.n, 'incident')}, {format_hours(missed.downtime.downtime)}{cost}"
    cover, share = result.cover, _share(result)
    if share is not None:
        between = cover.runs - cover.recorded - cover.bounded - cover.unknown
        parts = {"stored": cover.recorded, "between results that agree": between}
        parts |= {"between results that differ": cover.bounded, "unknown": cover.unknown}
        text = ", ".join(f"{number:,} {name}" for name, number in parts.items() if number)
        yield "runs", f"{count(cover.runs, 'run')}: {text}; {PlainEnglish().format(share, 'ratio')} replayed"
    if result.recorded:
        yield (
            "as recorded",
            f"{result.reproduced:,} of {count(result.recorded, 'incident')} with the present configuration",
        )
    elif result.covers:
        yield "as recorded", "no incidents were recorded in this time"
    for why in sorted({*result.skipped.values()}):
        names = sorted(check_id for check_id, reason in result.skipped.items() if reason == why)
        more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
        yield "not replayed", f"{count(len(names), 'check')}, {why}: {', '.join(names[:_NAMED])}{more}"


def _compared(result: Simulation) -> str:
    """Describe what was compared where nothing differs."""
    if not result.covers:
        return "no check was replayed"
    numbers = {
        "check": len(result.covers),
        "run": result.cover.runs,
        "problem": len(result.problems),
        "message": result.messages,
    }
    parts = [count(number, name) for name, number in numbers.items()]
    return f"{', '.join(parts)} compared: noticed at the same times, with the same downtime, cost and messages"
