"""Show proposed schedules: as JSON (the published shape), and to a person, what changes, what it buys, and how sure."""

from collections.abc import Iterator
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from incidents.detection_forecast import COVERED, Forecast, MonthForecast
from incidents.spans import HOUR_US
from monitor.config.project import Project
from monitor.simulation.schedules import MONTH, PlannedSchedule, SchedulePlan
from monitor.simulation.view import as_json as simulation_as_json
from monitor.simulation.view import notes_of, rows_of
from monitor.terminal.output import count
from monitor.terminal.tables import draw_table
from monitor.triage.time_parsing import format_hours

if TYPE_CHECKING:
    from rich.console import Console

_SHOWN: Final = 20
_NAMED: Final = 3


def as_json(project: Project, plan: SchedulePlan) -> dict[str, Any]:
    """Return the published shape `tablewatch.plan/1`."""
    return {
        "schema": "tablewatch.plan/1",
        "as_of": plan.as_of.isoformat(),
        "budget_seconds_a_day": plan.budget,
        "currency": project.currency.code if plan.priced else None,
        "gap": plan.choice.gap,
        "now": {"days": MONTH.days, "covered": COVERED, **_month(plan.now)},
        "then": {"days": MONTH.days, "covered": COVERED, **_month(plan.then)},
        "frontier": [{"budget": name, **point._asdict()} for name, point in plan.frontier.items()],
        "tables": [_table(item) for item in plan.tables],
        "skipped": [{"table": name, "reason": reason} for name, reason in plan.skipped.items()],
        "replay": None if plan.replay is None else simulation_as_json(project, plan.replay),
    }


def _month(month: MonthForecast) -> dict[str, Any]:
    parts = {"undetected_h": month.undetected, "ttd_h": month.ttd, "cost": month.cost}
    return {name: part._asdict() for name, part in parts.items()}


def _table(item: PlannedSchedule) -> dict[str, Any]:
    def side(place: int) -> dict[str, Any]:
        waits, (seconds, cost) = item.waits[place], item.items[place]
        ttd = {"expected": waits.mean, "high": float(waits.waits[-1])}
        return {"schedule": str(item.menu[place]), "seconds_a_day": seconds, "cost_a_day": cost, "ttd_h": ttd}

    return {
        "table": item.table.name,
        "changed": item.chosen != 0,
        "now": side(0),
        "then": side(item.chosen),
        "faults": item.rate.own.faults,
        "days": item.rate.own.days,
        "incidents_a_day": item.rate.episodes_a_day,
        "cost_per_hour": item.per_hour or None,
        "seconds_measured": item.measured,
    }


def draw(console: "Console", project: Project, plan: SchedulePlan) -> None:
    """Print the changes, the next and the last month, what other budgets buy, and what the figures rest on."""
    changed = sorted((item for item in plan.tables if item.chosen), key=lambda item: -item.saved)
    console.print(f"{count(len(plan.tables), 'table')}, {count(len(changed), 'schedule')} to change\n")
    if changed:
        head = ["~table", "now", "then", ">s a day", ">then", ">TTD", ">then", ">cost a day", ">then"]
        draw_table(console, head, (_cells(project, plan, item) for item in changed[:_SHOWN]))
        console.print("" if len(changed) <= _SHOWN else f"and {len(changed) - _SHOWN:,} more; --format json has all\n")
    draw_table(console, [f"in {MONTH.days} days", ">now", ">then"], _months(project, plan))
    console.print()
    if plan.replay is not None:
        draw_table(console, [f"last {MONTH.days} days, replayed", ">now", ">then"], rows_of(project, plan.replay))
        console.print()
    head = ["budget", ">s a day", ">undetected downtime a day", ">one more minute a day saves"]
    points = (
        (name, _seconds(point.seconds_a_day), *(_amount(project, plan, cost) for cost in point[1:]))
        for name, point in plan.frontier.items()
    )
    draw_table(console, head, points)
    console.print()
    notes = [*_notes(plan), *(() if plan.replay is None else notes_of(project, plan.replay))]
    for label, text in notes:
        console.print(Text.assemble((f"{label:<14}", "dim"), text))


def _cells(project: Project, plan: SchedulePlan, item: PlannedSchedule) -> tuple[str, ...]:
    places = (0, item.chosen)
    return (
        item.table.name,
        *(str(item.menu[place]) for place in places),
        *(_seconds(item.items[place].weight) for place in places),
        *(_length(item.waits[place].mean) for place in places),
        *(_amount(project, plan, item.items[place].loss) for place in places),
    )


def _months(project: Project, plan: SchedulePlan) -> Iterator[tuple[str, ...]]:
    weights = (sum(item.items[0].weight for item in plan.tables), plan.choice.weight)
    yield ("seconds of runs", *(_seconds(weight * MONTH.days) for weight in weights))
    months = (plan.now, plan.then)
    yield ("undetected downtime", *(_range(month.undetected, _length) for month in months))
    yield ("mean time to detect", *(_range(month.ttd, _length) for month in months))
    if plan.priced:
        yield ("its cost", *(_range(month.cost, lambda cost: _amount(project, plan, cost)) for month in months))


def _range(part: Forecast, text: Any) -> str:
    return f"{text(part.expected)} ({text(part.low)} to {text(part.high)})"


def _seconds(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def _length(number: float) -> str:
    return format_hours(Fraction(number) * HOUR_US)


def _amount(project: Project, plan: SchedulePlan, number: float) -> str:
    """Return a cost; without any price it is in hours."""
    return project.currency.text(Fraction(number)) if plan.priced else _length(number)


def _notes(plan: SchedulePlan) -> Iterator[tuple[str, str]]:
    every = [item.rate.own for item in plan.tables]
    days = sum(own.days for own in every)
    yield "history", f"{count(sum(own.faults for own in every), 'fault')} in {days:,.0f} days of tables"
    gap = ceil(plan.choice.gap * 10_000) / 10_000
    yield "gap", f"at most {gap:.2%} above the smallest cost of any choice within the budget"
    yield "bounds", f"of {COVERED:.0%} of months; a fault lasts until it is detected, repair is not counted"
    if not plan.priced:
        yield "no prices", "no rate is configured (`cost`): hours of undetected downtime count, not money"
    groups = (
        ("no price", "counts 0, and its schedule stays", [item for item in plan.tables if not item.per_hour]),
        ("no history", "as often as tables of its tier", [item for item in plan.tables if not item.rate.own.days]),
        ("no run", "the mean seconds of a run of the others", [item for item in plan.tables if not item.measured]),
    )
    for label, meaning, items in groups:
        if items:
            yield label, f"{_names([item.table.name for item in items])}: {meaning}"
    for reason in sorted({*plan.skipped.values()}):
        yield "not planned", f"{_names([name for name, why in plan.skipped.items() if why == reason])}: {reason}"


def _names(names: list[str]) -> str:
    return ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else "")
