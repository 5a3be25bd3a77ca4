"""Plan the schedules of all tables within a budget of seconds a day, so that undetected downtime costs least.

    costs of runs, incidents, prices ─> menus of schedules ─> incidents.knapsack ─> forecast, replay

A menu has the present schedule of a table and the usual ones. An item weighs what its runs cost a day, and leaves an
expected cost of undetected downtime. `plan_schedules` is the flow.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from checks.classes.arrays import np
from incidents import Window, to_us
from incidents.detection_forecast import (
    FaultHistory,
    FaultRate,
    Floats,
    MonthForecast,
    WaitTimes,
    count_faults,
    fault_rates,
    forecast_month,
)
from incidents.knapsack import Frontier, KnapsackChoice, MenuItem
from incidents.spans import Ints
from monitor.config import Config, Table
from monitor.config.cron import Schedule
from monitor.config.project import Project
from monitor.config.promised import promised_contracts
from monitor.config.selector import select
from monitor.simulation.compare import Simulation, simulate
from monitor.simulation.plan import changes_of
from monitor.summaries.coverage import MonitoringStart, kept_since
from monitor.summaries.scan_costs import first_day, today
from monitor.terminal.problem import ExitCode, Stop
from store import ReadTransaction

MONTH: Final = timedelta(days=28)
"""The time of a forecast, and of the replay."""
_STEPS: Final = tuple(
    Schedule.parse(f"every {length}") for length in ("5m", "10m", "15m", "30m", "1h", "2h", "3h", "6h", "12h", "1d")
)
_YEARS: Final = timedelta(days=4 * 366)
"""The time ahead for which business hours are computed."""


class Unplannable(Exception):
    """No schedules can be proposed; the text has the reason."""


@dataclass(frozen=True, slots=True)
class PlannedSchedule:
    """A table, its menu of schedules (the present one first) with their waits, and the place of the proposed one.

    `per_hour`: the price of an hour, or 1 where nothing in the project has a price; 0: this table has none, and one
    schedule. `seconds` of a run: its own, or if not `measured` the mean of the others.
    """

    table: Table
    rate: FaultRate
    per_hour: float
    seconds: float
    measured: bool
    menu: tuple[Schedule, ...]
    waits: tuple[WaitTimes, ...]
    chosen: int = 0

    @property
    def items(self) -> list[MenuItem]:
        """Return for each schedule its seconds a day, and the expected cost of undetected downtime a day."""
        price = self.rate.episodes_a_day * self.per_hour
        return [MenuItem(self.seconds * item.runs_a_day, price * item.mean_charged) for item in self.waits]

    @property
    def saved(self) -> float:
        """Return the cost of a day that the proposed schedule saves."""
        items = self.items
        return items[0].loss - items[self.chosen].loss


class FrontierPoint(NamedTuple):
    """What the choice of a budget costs in runs and in downtime a day, and what one more minute a day saves."""

    seconds_a_day: float
    cost_a_day: float
    minute_a_day_saves: float


@dataclass(frozen=True, slots=True)
class SchedulePlan:
    """Schedules for tables within a budget of seconds a day.

    `skipped`: why the other tables are not planned. `frontier`: budgets by name, none below what the longest schedules
    cost. `now`, `then`: forecasts of 28 days. `replay`: the last 28 days under both, None if no changed table had an
    incident in them.
    """

    as_of: datetime
    budget: float
    priced: bool
    tables: tuple[PlannedSchedule, ...]
    skipped: Mapping[str, str]
    choice: KnapsackChoice
    frontier: Mapping[str, FrontierPoint]
    now: MonthForecast
    then: MonthForecast
    replay: Simulation | None


def plan_schedules(
    project: Project, tx: ReadTransaction, *, tables: Collection[str], budget: float | None, now: datetime
) -> SchedulePlan:
    """Return the schedules that cost least within a budget of seconds a day; None: what the present ones cost.

    Raises:
        Unplannable: nothing is known of the tables, or the budget is below the cost of the longest schedules.
        TooManySlots: a schedule has more runs in the stored time than can be replayed.
    """
    # 1. what is known of each table
    plans, skipped = _tables(project, tx, tables, now)
    # 2. the choice, and what other budgets buy
    frontier = Frontier.of([plan.items for plan in plans])
    present = sum(plan.items[0].weight for plan in plans)
    limit = present if budget is None else budget
    if limit < frontier.least * (1 - 1e-9):
        text = f"{limit:,.3g} s a day is below the cost of the longest schedules of {len(plans):,} tables"
        raise Unplannable(f"{text}: {frontier.least:,.3g} s a day")
    choice = frontier.choose(limit)
    plans = [replace(plan, chosen=place) for plan, place in zip(plans, choice.chosen, strict=True)]
    budgets = {"half of now": present / 2, "now": present, "double of now": present * 2}
    budgets |= {} if budget is None else {"this budget": budget}
    points = {name: _point(frontier, max(seconds, frontier.least)) for name, seconds in budgets.items()}
    # 3. what it means: the next month, and the last one
    before, after = (
        forecast_month([(plan.rate, plan.per_hour, plan.waits[place(plan)]) for plan in plans], MONTH.days)
        for place in (lambda _: 0, lambda plan: plan.chosen)
    )
    replay = _replay(project, tx, {plan.table.name: plan.menu[plan.chosen] for plan in plans if plan.chosen}, now)
    return SchedulePlan(now, limit, project.priced, tuple(plans), skipped, choice, points, before, after, replay)


def _point(frontier: Frontier, seconds: float) -> FrontierPoint:
    choice, more = frontier.choose(seconds), frontier.choose(seconds + 60)
    return FrontierPoint(choice.weight, choice.loss, max(0.0, choice.bound - more.bound))


# --- what is known of each table --------------------------------------------------------------------------------------


def _tables(
    project: Project, tx: ReadTransaction, names: Collection[str], now: datetime
) -> tuple[list[PlannedSchedule], dict[str, str]]:
    """Return the tables that can be planned, and why the others cannot."""
    reasons = {table.name: _reason_to_skip(table) for table in project.config.tables}
    every = [table for table in project.config.tables if reasons[table.name] is None]
    skipped = {name: reason for name, reason in reasons.items() if reason is not None and name in names}
    rates = fault_rates(_histories(project, tx, every, now), {table.name: table.tier for table in every})
    seconds = _seconds_of_runs(project, tx, every, now)
    chosen = [table for table in every if table.name in names]
    if not chosen:
        raise Unplannable("none of the tables has both a schedule and checks that Tablewatch runs")
    if not rates or not seconds:
        raise Unplannable("the cost of runs and the rate of faults are unknown: no run is stored yet")
    usual = sum(seconds.values()) / len(seconds)
    waits, limits = _ScheduleWaits(project, now), _longest_periods(project.config)
    plans = []
    for table in chosen:
        cost = seconds.get(table.name, usual)
        price = project.pricing.per_hour(table.name, to_us(now)) if project.priced else 1
        menu = tuple(_menu(table, cost, waits, limits.get(table.name)))[: None if price else 1]
        times = tuple(waits.of(table, schedule) for schedule in menu)
        plans.append(
            PlannedSchedule(table, rates[table.name], float(price or 0), cost, table.name in seconds, menu, times)
        )
    return plans, skipped


def _reason_to_skip(table: Table) -> str | None:
    if not table.own_checks:
        return "no check that Tablewatch runs"
    if table.schedule is None:
        return "no schedule"
    return None if table.schedule.full_every is None else "it is read when its data changes"


def _menu(table: Table, seconds: float, waits: "_ScheduleWaits", limit: timedelta | None) -> Iterator[Schedule]:
    """Yield the present schedule of a table, then those that may replace it.

    None is longer than a promise or rule allows, unless the present one is, nor shorter than two runs take.
    """
    present = table.schedule
    if present is None:
        return
    yield present
    longest = max(limit or timedelta.max, present.longest_period())
    runs = waits.of(table, present).runs_a_day
    for step in _STEPS:
        is_present = abs(waits.of(table, step).runs_a_day - runs) < runs / 100
        if not is_present and timedelta(seconds=2 * seconds) <= step.longest_period() <= longest:
            yield step


def _longest_periods(config: Config) -> dict[str, timedelta]:
    """Return the promised time to detect, or the time between two runs that a rule requires, by table."""
    promises = [(item.contract.tables, item.contract.time_to_detect) for item in promised_contracts(config)]
    limits: list[tuple[Iterable[str], timedelta | None]] = [*promises]
    for rule in config.rules.values():
        try:
            limits.append((select(rule.tables, config).tables, rule.at_least_every))
        except Stop as stop:
            if stop.code is not ExitCode.NOTHING_SELECTED:
                raise
    result: dict[str, timedelta] = {}
    for names, limit in limits:
        result |= {name: min(limit, result.get(name, limit)) for name in names if limit is not None}
    return result


def _seconds_of_runs(project: Project, tx: ReadTransaction, tables: Sequence[Table], now: datetime) -> dict[str, float]:
    """Return the mean seconds of a table's runs in the last seven days, else on the last day with one."""
    recent = tx.costs.by_table(first_day(project, now), today(project, now))
    spent = tx.costs.expected(table.name for table in tables)
    spent |= {name: spending for (_, name), spending in recent.items()}
    return {table.name: item.seconds / item.runs for table in tables if (item := spent.get(table.name)) and item.runs}


def _histories(
    project: Project, tx: ReadTransaction, tables: Sequence[Table], now: datetime
) -> dict[str, FaultHistory]:
    """Return the faults of tables that checks detected since they are monitored, as far as incidents are kept."""
    begin = kept_since(project.config, now)
    since = MonitoringStart.of(tx.results.watches(), now).since
    counted = count_faults(tx.incidents.shared_spans(to_us(begin)), Window.of(begin, now))
    return {
        name: FaultHistory(*counted.get(name, (0, 0)), (now - max(since.get(name, now), begin)) / timedelta(days=1))
        for name in (table.name for table in tables)
    }


class _ScheduleWaits:
    """The waits under schedules, each computed once, of faults that begin after a moment."""

    def __init__(self, project: Project, now: datetime) -> None:
        self._project, self._now = project, now.replace(minute=0, second=0, microsecond=0)
        self._charge = _charge(project, self._now)
        self._known: dict[tuple[Schedule, str, int], WaitTimes] = {}
        self._opens_after: dict[str, int] = {}

    def of(self, table: Table, schedule: Schedule) -> WaitTimes:
        """Return the waits under a schedule of a table; of its checks, that with most failing runs counts."""
        zone = table.schedule_timezone or self._project.config.timezone
        if table.name not in self._opens_after:
            policies = map(self._project.policy_of, table.own_checks)
            self._opens_after[table.name] = max(1 if item.confirm_after else item.open_after for item in policies)
        key = (schedule, zone, self._opens_after[table.name])
        if key not in self._known:
            self._known[key] = self._computed(*key)
        return self._known[key]

    def _computed(self, schedule: Schedule, zone: str, opens_after: int) -> WaitTimes:
        end = until = self._now + max(MONTH, 4 * schedule.longest_period())
        for _ in range(opens_after):
            until = schedule.next_after(until, zone)
        number = schedule.count_between(self._now, until, zone)
        if schedule.every is None:
            moments = schedule.last_between(self._now, until, zone, most=number)
            slots = np.array([to_us(moment) for moment in moments], dtype=np.int64)
        else:
            slots = to_us(until) - schedule.every // timedelta(microseconds=1) * np.arange(number - 1, -1, -1)
        return WaitTimes.of(slots, Window.of(self._now, end), opens_after=opens_after, charge=self._charge)


def _charge(project: Project, now: datetime) -> Callable[[Ints], Floats] | None:
    """Return how much of the time before moments costs the full rate; None where all of it does."""
    cards = project.pricing.validity()
    card = next((card for card, start, end in cards if start <= to_us(now) < end), None)
    if card is None or card.business_hours is None:
        return None
    inside, factor = card.business_hours.between(to_us(now), to_us(now + _YEARS)), float(card.outside_factor)
    return lambda moments: factor * moments + (1 - factor) * inside(moments)


# --- the last month under both ----------------------------------------------------------------------------------------


def _replay(
    project: Project, tx: ReadTransaction, schedules: Mapping[str, Schedule], now: datetime
) -> Simulation | None:
    """Replay the last month with other schedules of tables: the checks that had an incident or may open another."""
    window = Window.of(now - MONTH, now)
    spans = tx.incidents.shared_spans(window.start_us).touching(window.start_us, window.end_us)
    failed = {spans.names[code] for code in np.unique(spans.check).tolist() if code >= 0}
    chosen = {
        check_id
        for table in project.config.tables
        if table.name in schedules
        for check in table.own_checks
        if (check_id := table.check_id(check)) in failed or project.policy_of(check).open_after > 1
    }
    if not chosen:
        return None
    tables = tuple(
        table.model_copy(update={"schedule": schedules.get(table.name, table.schedule)})
        for table in project.config.tables
    )
    config = project.config.model_copy(update={"tables": tables})
    proposed = Project(replace(project.loaded, config=config), project.clock)
    changes = changes_of(project, proposed, chosen, schedule=None)
    return simulate(project, proposed, tx, changes=changes, window=window, as_of=now)
