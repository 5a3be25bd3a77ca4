"""Build the view model of a report from the evidence; the arithmetic is that of `incidents`."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from fractions import Fraction
from typing import Final

from checks import Message
from incidents import (
    MAINTENANCE,
    Downtime,
    DowntimeCost,
    Incident,
    Resolution,
    Spans,
    Watch,
    Window,
    changes,
    from_us,
    lever,
    to_us,
)
from monitor.config import Config, Rates
from monitor.config.project import Project
from monitor.config.promised import contract_of_product, promised_contracts
from monitor.releases.record import states_now
from monitor.reporting.breakdown import BarScale, by_owner, by_table, listed, part_bar, standout
from monitor.reporting.coverage import coverage_of, most_broken, why_unknown
from monitor.reporting.domains import (
    DowntimeByDomain,
    domain_grid,
    domain_sections,
    domains_seen,
    downtime_by_domain,
    measure_domains,
)
from monitor.reporting.evidence import Evidence
from monitor.reporting.figures import ComparedFigure, figures_of, median_of
from monitor.reporting.headline import period_headline, unknown_period
from monitor.reporting.model import (
    Coverage,
    Diagnosis,
    ExcludedIncidents,
    Maintained,
    MethodNotes,
    PeriodReport,
    TrendBar,
)
from monitor.reporting.period import Period, Quarter
from monitor.reporting.releases import releases_in
from monitor.reporting.scope import ReportScope
from monitor.reporting.timeline import timeline
from monitor.summaries.audit import audit_promises
from monitor.summaries.coverage import Observed, lasting_gaps, silent_tables, table_of
from monitor.summaries.grouping import by_domain
from monitor.summaries.incident import title_of
from monitor.summaries.products import product_states
from monitor.summaries.promises import MeasuredPromise, pooled_promises, promises_of
from monitor.summaries.ranking import Ranking, advise, rank
from monitor.summaries.scan_costs import ScanCosts
from monitor.summaries.service_levels import judge_contract, survey_of
from store import IncidentFilter, ReadTransaction, ReleaseEventKind

_MEDIAN: Final = 4
_TABLES_SHOWN: Final = 10
_OWNERS_SHOWN: Final = 12
_COSTS_SHOWN: Final = 5


def build_report(evidence: Evidence, period: Period) -> PeriodReport:
    """Return the report of a period as known at the evidence's moment.

    All periods are computed from the current records, so a back-dated correction changes the periods it touches.
    """
    config, window = evidence.config, window_of(period)
    periods = [period.back(i) for i in range(period.trend)]
    measured = [evidence.measure(window_of(period)) for period in periods]
    prices = [evidence.price(window_of(period)) for period in periods[: _MEDIAN + 1]]
    coverage = coverage_of(evidence, period)
    if coverage.evaluated == 0:  # None: it is no longer known
        evidence = replace(evidence, unevaluated_periods=evidence.unevaluated_periods | {period.first})
    unknown = [why_unknown(evidence, period, result) for period, result in zip(periods, measured, strict=True)]
    complete = evidence.as_of >= period.end
    scale = BarScale.of(measured[0], prices[0])
    comparison = _comparison(measured, prices, [message is None for message in unknown])
    reports_only = evidence.watching.first is None and measured[0].n > 0
    ranking = rank(
        evidence.spans,
        window,
        as_of_us=evidence.as_of_us,
        maintenance=evidence.maintenance,
        costs=evidence.price_incidents(window),
    )
    domains = _by_domain(evidence, periods)
    patterns = evidence.patterns.of(window)
    tables = by_table(evidence, window, scale, most=_TABLES_SHOWN)
    owners = by_owner(evidence, window, scale)
    return PeriodReport(
        project=config.project,
        period=period,
        as_of=evidence.as_of,
        currency=config.cost.currency,
        headline=_headline(
            comparison, coverage, currency=config.cost.currency, complete=complete, why=unknown[0], kind=type(period)
        ),
        coverage=coverage,
        figures=comparison,
        change=changes(measured[1], measured[0]) if complete and _differ(comparison) else None,
        diagnosis=_diagnosis(evidence, measured[0], ranking),
        parts=tuple(part_bar(evidence, period, part, reports_only=reports_only) for part in period.parts),
        owners=owners[:_OWNERS_SHOWN],
        owners_more=max(0, len(owners) - _OWNERS_SHOWN),
        trend=tuple(_trend(periods, measured, unknown))[::-1],
        tables=tables,
        tables_more=(ranking.tables if ranking else 0) - len(tables),
        incidents=listed(ranking, evidence, window),
        domains=domain_grid(config, periods, domains),
        by_domain=domain_sections(evidence, window, domains, patterns.tables),
        timeline=timeline(
            ranking,
            period.parts,
            as_of_us=evidence.as_of_us,
            config=config,
            watching_of=lambda _: (evidence.watching, evidence.gaps),
        ),
        method=_method(evidence, period, measured[0], prices[0] or DowntimeCost()),
        releases=releases_in(evidence, window),
        contracts=tuple(evidence.contracts),
        owner_names=config.owner_names,
        products=tuple(evidence.products),
        patterns=patterns,
        scan_costs=ScanCosts.of(evidence.scan_costs, most=_COSTS_SHOWN),
        scope=evidence.scope,
        audit=evidence.audit,
    )


def window_of(period: Period) -> Window:
    """Return the period as a window."""
    return Window.of(period.start, period.end)


def _headline(
    comparison: ComparedFigure,
    coverage: Coverage,
    *,
    currency: str,
    complete: bool,
    why: Message | None,
    kind: type[Period],
) -> Message:
    if why is not None and not coverage.tables:
        return Message("There are no tables to report on.")
    if why is not None:
        return unknown_period(why, coverage.since, kind=kind)
    since = coverage.since if coverage.begun and not coverage.from_start else None
    return period_headline(comparison, currency=currency, complete=complete, since=since, kind=kind)


def _differ(figures: ComparedFigure) -> bool:
    return figures.this is not None and figures.before is not None and bool(figures.this.n or figures.before.n)


def _comparison(
    measured: Sequence[Downtime], prices: Sequence[DowntimeCost | None], entries: Sequence[bool]
) -> ComparedFigure:
    periods = zip(measured, prices, entries, strict=False)  # only as many as have a price
    figures = [figures_of(result, cost) if is_known else None for result, cost, is_known in periods]
    earlier = [figure for figure in figures[1:] if figure is not None]
    return ComparedFigure(this=figures[0], before=figures[1], median=median_of(earlier))


def _trend(
    periods: Sequence[Period], measured: Sequence[Downtime], unknown: Sequence[Message | None]
) -> Iterator[TrendBar]:
    for period, downtime, why in zip(periods, measured, unknown, strict=True):
        yield TrendBar(period, None, None, why) if why else TrendBar(period, downtime.undetected, downtime.repair)


def _by_domain(evidence: Evidence, periods: Sequence[Period]) -> DowntimeByDomain:
    if evidence.scope is not None:
        return {}
    config, as_of = evidence.config, evidence.as_of_us
    domain_of = {table.name: table.domain for table in config.tables}
    observed = Observed.by_group(evidence.watches, evidence.gaps, config, evidence.as_of, group_of=domain_of.get)
    evaluated = (period for period in periods if not why_unknown(evidence, period, Downtime(window_of(period), as_of)))
    spans, maintenance = evidence.spans, evidence.maintenance
    grouped = by_domain(spans, config)
    measured = measure_domains(spans, periods, as_of_us=as_of, grouped=grouped, maintenance=maintenance)
    observed_domains = domains_seen(observed, evaluated)
    return downtime_by_domain(measured, periods, config=config, as_of_us=as_of, seen=observed_domains)


def _diagnosis(evidence: Evidence, current: Downtime, ranking: Ranking | None) -> Diagnosis | None:
    if ranking is None:
        return None
    advice = advise(ranking)
    titles = [] if advice.incident is None else [title_of(incident) for incident in evidence.look_up([advice.incident])]
    return Diagnosis(
        lever=lever(current),
        undetected_share=Fraction(current.undetected, current.downtime),
        found_by_person=ranking.reported,
        n=current.n,
        costliest=standout(ranking, advice),
        advice=advice,
        title=titles[0] if titles else None,
    )


def _method(evidence: Evidence, period: Period, current: Downtime, cost: DowntimeCost) -> MethodNotes:
    config = evidence.config
    excluded = [
        ExcludedIncidents(item, current.excluded[item.value].n, current.excluded[item.value].time)
        for item in Resolution
        if item.value in current.excluded
    ]
    planned = current.excluded.get(MAINTENANCE)
    return MethodNotes(
        excluded=tuple(excluded),
        maintenance=tuple(_maintained(evidence, period)),
        maintenance_us=planned.time if planned else 0,
        rate_notes=tuple(_notes(config, period)),
        priced=evidence.pricing is not None,
        unpriced_us=cost.unpriced,
        disclosure=current.exposure.n,
        powers=tuple(message for promise in most_broken(evidence) for message in promise.power_messages),
    )


def _maintained(evidence: Evidence, period: Period) -> Iterator[Maintained]:
    for work in evidence.config.maintenance:
        start, end = work.span(period.zone)
        concerned = evidence.scope is None or any(work.concerns(table.name, table.domain) for table in evidence.tables)
        if concerned and start < period.end and end > period.start:
            yield Maintained(work.reason, start, end)


def _notes(config: Config, period: Period) -> Iterator[str]:
    """Yield the notes of the rates that hold at some time of the period, oldest first."""
    by_age = sorted((config.cost, *config.cost.history), key=_valid_from)
    for rates, following in zip(by_age, [*by_age[1:], None], strict=True):
        over = date.max if following is None else _valid_from(following)
        if rates.note and _valid_from(rates) <= period.last and over > period.first:
            yield rates.note


def _valid_from(rates: Rates) -> date:
    return rates.valid_from or date.min


def gather(
    project: Project, tx: ReadTransaction, period: Period, now: datetime, *, scope: ReportScope | None = None
) -> Evidence:
    """Read what is known of a period and of those before it that its trend shows. Call it inside the transaction.

    `scope`: of its tables alone; None is everything.
    """
    config = project.config
    tables = None if scope is None else scope.tables
    since_us, until_us = to_us(period.back(period.trend - 1).start), to_us(period.end)
    spans = tx.incidents.spans(since_us, until_us)
    watches = tx.results.watches()
    kept_since = now - config.storage.keep_measurements
    earlier = [period.back(number) for number in range(1, period.trend)]

    def look_up(ids: Sequence[int]) -> Sequence[Incident]:
        return [tx.incidents.get(item) for item in ids]

    def read(_: Collection[str], start_us: int, end_us: int) -> Spans:
        if since_us <= start_us <= end_us <= until_us:
            return spans.touching(start_us, end_us)
        return tx.incidents.spans(start_us, end_us)  # a promise about a longer time than the trend's

    promises, products = list(promised_contracts(config)), list(config.products)
    surveyed = [*promises, *(contract_of_product(config, name) for name in products)]
    survey = survey_of(project, tx, surveyed, window_of(period), as_of=now, read=read) if surveyed else None
    evidence = Evidence(
        config=config,
        as_of=now,
        spans=spans,
        maintenance=project.maintenance(spans.names),
        pricing=project.pricing if project.priced else None,
        gaps=(*tx.results.gaps(from_us(since_us), period.end), *lasting_gaps(project.config, watches, now)),
        watches=watches,
        results=tx.results.count_by_status(period.start, period.end, tables) if period.start >= kept_since else None,
        look_up=look_up,
        unevaluated_periods=frozenset(
            item.first
            for item in earlier
            if item.start >= kept_since and not tx.results.any_evaluated(item.start, item.end, tables)
        ),
        releases=states_now(project, tx),
        exports=tx.release_events.matching(kind=ReleaseEventKind.EXPORTED),
        promises=_promises(config, tx, watches, now),
        contracts=[] if survey is None else [judge_contract(promise, survey) for promise in promises],
        products=product_states(project, tx, products, window_of(period), as_of=now, survey=survey),
        scan_costs=tx.costs.by_table(period.first, period.last),
        unchecked=silent_tables(project, watches, now),
        audit=audit_promises(project, tx, now, window_of(period))
        if isinstance(period, Quarter) and not scope
        else None,
    )
    return evidence if scope is None else evidence.within(scope)


def _promises(
    config: Config, tx: ReadTransaction, watches: Mapping[str, Watch], now: datetime
) -> Sequence[MeasuredPromise]:
    """Return how the promises of all learned limits were kept; of those that are pooled, together."""
    learning = {
        table.check_id(check): check
        for table in config.tables
        for check in table.checks
        if getattr(check, "limits", None) is not None
    }
    pooled = {check_id: check for check_id, check in learning.items() if check.is_pooled}
    incidents = tx.incidents.matching(IncidentFilter(check_ids=tuple(learning))) if learning else []
    results = tx.results.latest(learning) if learning else {}
    tables = {table_of(check_id) for check_id in learning.keys() - pooled.keys()}
    by_table = [
        promises_of(table, incidents, watches, results, now=now) for table in config.tables if table.name in tables
    ]
    own = [promise for promises in by_table for key, promise in promises.items() if key not in pooled]
    return [*pooled_promises(pooled, incidents, watches, results, now=now), *own]
