"""Metrics of the store for Prometheus: lag, incidents and alerts now; downtime, cost, ages, releases and budgets.

The daemon and the web application answer with the same figures. Names follow Prometheus' rules: base units, `_total`
for counters only. Downtime is a gauge of the last 28 days: a corrected incident makes it smaller, which a counter must
not become. Labels are words and names, never values.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Final

from prometheus_client.core import GaugeHistogramMetricFamily, GaugeMetricFamily, Metric

from checks import Status
from incidents import Window, hours, measure_by, price_by, response_times, to_us
from monitor.config.alerts_model import OTHER
from monitor.config.project import Project
from monitor.releases.overview import ReleaseWord, releases_of
from monitor.summaries.health import states_of
from monitor.summaries.patterns import RETURNS_WITHIN, UNLISTED, IncidentPatterns, PatternSurvey
from monitor.summaries.scan_costs import today
from monitor.summaries.service_levels import judge_contracts
from monitor.terminal.redaction import visible
from remedies.differential_privacy import Accounting
from store import DeliveryState, ReadTransaction

RECENT: Final = timedelta(days=28)
_SOURCE: Final = ("source",)
_OF_TABLES: Final = ("owner", "domain", "tier")
BUCKETS_S: Final = (60, 300, 900, 3600, 4 * 3600, 12 * 3600, 86_400, 3 * 86_400, 7 * 86_400)
"""Upper bounds (seconds) of the classes into which times to detection and to resolution fall."""


@dataclass(frozen=True, slots=True)
class StoreMetrics:
    """Scheduler lag; open incidents by state, severity and kind; alerts by state."""

    lag_s: float
    open_incidents: Mapping[tuple[str, str, str], int]
    deliveries: Mapping[DeliveryState, int]

    @classmethod
    def of(cls, tx: ReadTransaction, now: datetime) -> "StoreMetrics":
        """Read the store."""
        now = tx.schedule.clock(now)
        waits_since = tx.schedule.lag(now)
        return cls(
            lag_s=0.0 if waits_since is None else (now - waits_since).total_seconds(),
            open_incidents=tx.incidents.count_open(),
            deliveries=tx.deliveries.count_by_state(),
        )

    def families(self) -> Iterator[Metric]:
        """Yield them as Prometheus reads them."""
        name = "tablewatch_scheduler_lag_seconds"
        yield gauge(name, "Longest time that a due table has waited to be checked.", [((), self.lag_s)])
        labels = ("state", "severity", "kind")
        yield gauge("tablewatch_incidents", "Open incidents.", self.open_incidents.items(), labels)
        deliveries = [((state.value,), number) for state, number in self.deliveries.items()]
        yield gauge("tablewatch_deliveries", "Alerts by delivery state.", deliveries, ("state",))


def project_metrics(project: Project, tx: ReadTransaction, now: datetime, *, budgets: bool) -> Sequence[Metric]:
    """Return the figures of a project: of the last 28 days where they are of a time, else of now.

    `budgets`: whether the reader may see what is left of privacy budgets.
    """
    families = [
        *_downtime(project, tx, now),
        *_promises(project, tx, now),
        _ages(project, tx, now),
        _releases(project, tx),
    ]
    families += _scans(project, tx, now)
    return [*families, _budgets(tx)] if budgets else families


def _downtime(project: Project, tx: ReadTransaction, now: datetime) -> Iterator[Metric]:
    window, as_of_us = Window.of(now - RECENT, now), to_us(now)
    spans = tx.incidents.spans(to_us(now - RECENT - RETURNS_WITHIN), window.end_us)
    maintenance = project.maintenance(spans.names)
    downtimes = measure_by(spans, window, as_of_us=as_of_us, group=spans.table, maintenance=maintenance)
    parts = [
        ((spans.names[code], part), float(hours(microseconds) * 3600))
        for code, downtime in downtimes.items()
        for part, microseconds in (("undetected", downtime.undetected), ("repair", downtime.repair))
    ]
    about = "Data downtime of the last 28 days, N x (TTD + TTR), by table and part."
    yield gauge("tablewatch_downtime_seconds", about, parts, ("table", "part"))
    if project.priced:
        costs = price_by(
            spans, window, pricing=project.pricing, as_of_us=as_of_us, group=spans.table, maintenance=maintenance
        )
        amounts = [((spans.names[code], project.currency.code), float(cost.amount)) for code, cost in costs.items()]
        about = "Cost of the data downtime of the last 28 days, by table."
        yield gauge("tablewatch_downtime_cost", about, amounts, ("table", "currency"))
    yield from _patterns(project, PatternSurvey(spans, as_of_us, project.config.incidents, maintenance).of(window))
    times = response_times(spans, window, as_of_us=as_of_us, maintenance=maintenance)
    ttd, tta, ttr = ([*of_incident.values()] for of_incident in times)
    about = "Time to {} of the incidents {} in the last 28 days."
    yield _histogram("tablewatch_time_to_detection_seconds", about.format("detection", "detected"), ttd)
    yield _histogram("tablewatch_time_to_acknowledge_seconds", about.format("acknowledge", "acknowledged"), tta)
    yield _histogram("tablewatch_time_to_resolution_seconds", about.format("resolution", "resolved"), ttr)


def _patterns(project: Project, patterns: IncidentPatterns) -> Iterator[Metric]:
    """Yield downtime by cause, and alarms and returns by check; only causes of the configuration have names."""
    listed = {*project.config.incidents.causes, OTHER} if project.config.incidents.causes else set()
    causes: dict[tuple[str], Fraction] = {}
    for share in patterns.causes:
        name = share.key if share.key in listed else "" if share.key is None else UNLISTED
        causes[name,] = causes.get((name,), Fraction()) + hours(share.time) * 3600
    about = "Data downtime of the last 28 days by cause; empty where none was given."
    yield gauge(
        "tablewatch_downtime_by_cause_seconds", about, ((key, float(time)) for key, time in causes.items()), ("cause",)
    )
    answers = [
        ((name, answer), getattr(alarms, answer))
        for name, alarms in patterns.alarms.items()
        for answer in ("real", "expected", "false", "unanswered")
    ]
    about = "Alarms of the last 28 days, by check and by what people answered."
    yield gauge("tablewatch_alarms", about, answers, ("check", "answer"))
    returns = [((name,), repeats.returned) for name, repeats in patterns.checks.items()]
    about = f"Episodes of the last 28 days that came back within {RETURNS_WITHIN.days} days, by check."
    yield gauge("tablewatch_returned_episodes", about, returns, ("check",))


def _histogram(name: str, about: str, microseconds: Sequence[int]) -> Metric:
    times = sorted(microseconds)
    buckets = [(str(float(bound)), float(bisect_right(times, bound * 1_000_000))) for bound in BUCKETS_S]
    family = GaugeHistogramMetricFamily(name, about)
    family.add_metric([], [*buckets, ("+Inf", float(len(times)))], sum(times) / 1_000_000)
    return family


def _promises(project: Project, tx: ReadTransaction, now: datetime) -> Iterator[Metric]:
    """Yield which promises were kept, what is left of error budgets, and how fast they are spent."""
    contracts = judge_contracts(project, tx, Window.of(now - RECENT, now), as_of=now)
    budgets = [(contract.name, contract.budget) for contract in contracts if contract.budget is not None]
    verdicts = [
        (contract.name, level, verdict.value, *(contract.labels.get(label) or "" for label in _OF_TABLES))
        for contract in contracts
        for level, verdict in contract.verdicts
    ]
    if verdicts:
        about = "Service levels of the last 28 days: 1 for the verdict of each."
        labels = ("contract", "level", "verdict", *_OF_TABLES)
        yield gauge("tablewatch_service_level", about, [(key, 1) for key in verdicts], labels)
    if not budgets:
        return
    about = "What is left of the error budget of a contract; negative if more was spent."
    left = [((name,), budget.left.seen / 1e6) for name, budget in budgets]
    yield gauge("tablewatch_error_budget_left_seconds", about, left, ("contract",))
    about = "Downtime of a contract in the last so many seconds relative to the allowed rate."
    rates = [
        ((name, str(rate.length_us // 1_000_000)), float(rate.seen))
        for name, budget in budgets
        for rate in budget.rates
    ]
    yield gauge("tablewatch_error_budget_burn_rate", about, rates, ("contract", "window_seconds"))


def _ages(project: Project, tx: ReadTransaction, now: datetime) -> Metric:
    """Return how old the newest row of each table with a freshness check is now, if nothing arrived since its run."""
    checks = {
        table.check_id(check): table.name
        for table in project.config.tables
        for check in table.checks
        if check.type == "freshness"
    }
    samples = []
    for check_id, result in tx.results.latest(checks).items() if checks else ():
        newest = result.observed.get("newest")
        if result.status is not Status.UNKNOWN and isinstance(newest, str):
            samples.append(((checks[check_id], check_id), (now - datetime.fromisoformat(newest)).total_seconds()))
    about = "Age of the newest row, as far as the last run of a freshness check saw."
    return gauge("tablewatch_data_age_seconds", about, samples, ("table", "check"))


def _scans(project: Project, tx: ReadTransaction, now: datetime) -> Iterator[Metric]:
    """Yield what checks cost today by source, and how many tables the daily limits of sources delay."""
    day = today(project, now)
    spent = {name: tx.costs.of_source(name, day) for name in project.config.sources}
    about = "Seconds that statements of checks took today, by source (a day of the project)."
    yield gauge(
        "tablewatch_scan_seconds_today", about, [((name,), cost.seconds) for name, cost in spent.items()], _SOURCE
    )
    rows = [((name,), float(cost.volume.rows)) for name, cost in spent.items() if cost.volume.rows is not None]
    about = "Rows that checks read today, by source, where the engine tells."
    yield gauge("tablewatch_scan_rows_today", about, rows, _SOURCE)
    limits = [
        ((name,), float(source.daily_limit.seconds))
        for name, source in project.config.sources.items()
        if source.daily_limit is not None and source.daily_limit.seconds is not None
    ]
    yield gauge("tablewatch_daily_limit_seconds", "Daily limit of a source in seconds.", limits, _SOURCE)
    sources = {table.name: table.source for table in project.config.tables}
    delayed = Counter(sources[row.table] for row in tx.schedule.delayed() if row.table in sources)
    about = "Tables that the daily limit of their source delays."
    yield gauge("tablewatch_tables_delayed", about, [((name,), number) for name, number in delayed.items()], _SOURCE)


def _releases(project: Project, tx: ReadTransaction) -> Metric:
    named = {release.table for release in project.config.releases.values()}
    tables = [table for table in project.config.tables if table.name in named]
    states = releases_of(project, tx, states_of(project, tx, tables)) if tables else ()
    samples = [((state.name, state.release.table), float(state.word is ReleaseWord.HOLD)) for state in states]
    return gauge("tablewatch_release_hold", "Whether a release is on hold.", samples, ("release", "table"))


def _budgets(tx: ReadTransaction) -> Metric:
    """Return what is left of each budget in its own unit: epsilon, or rho where it counts in that."""
    samples = []
    for stored in tx.ledger.budgets():
        balance = tx.ledger.balance(stored)
        unit = "epsilon" if balance.budget.accounting is Accounting.PURE else "rho"
        samples.append(((balance.budget.data_set, unit), balance.left / 1e9))
    about = "What is left of a privacy budget, in epsilon or in rho."
    return gauge("tablewatch_budget_remaining", about, samples, ("table", "unit"))


def gauge(
    name: str, text: str, samples: Iterable[tuple[Sequence[str], float]], labels: Sequence[str] = ()
) -> GaugeMetricFamily:
    """Return a gauge with its samples; control characters of labels are shown as text."""
    family = GaugeMetricFamily(name, text, labels=labels)
    for values, number in samples:
        family.add_metric([visible(value) for value in values], float(number))
    return family
