"""The JSON form of a report: `tablewatch.weekly/2`, `monthly` and `quarterly` alike; adding a key is compatible.

Lengths of time are hours, times are ISO 8601 in UTC, money is a number with the currency's decimals, rounded once. What
is not known is null, never 0.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from checks import MessageFormatter
from incidents.downtime import HOUR_US
from monitor.config.prices import Currency
from monitor.reporting import sentences
from monitor.reporting.domains import DomainSection
from monitor.reporting.figures import Figures
from monitor.reporting.filters import format_title
from monitor.reporting.model import (
    Coverage,
    Diagnosis,
    IncidentLine,
    MethodNotes,
    PartBar,
    PeriodReport,
    Releases,
    Share,
    TrendBar,
)
from monitor.reporting.scope import scope_as_json
from monitor.summaries.incident import TEXTS
from monitor.summaries.level_groups import groups_in_report
from monitor.summaries.patterns import PatternLists, RepeatRow
from monitor.summaries.products import ProductLine
from monitor.summaries.promises import NamedPromise
from monitor.summaries.ranking import Advice
from monitor.summaries.scan_costs import ScanCostList
from monitor.summaries.service_levels import ContractLine
from monitor.summaries.shapes import TimeDistribution, or_nulls
from monitor.terminal.localizer import Localizer
from monitor.terminal.redaction import json_text


def as_text(value: Mapping[str, Any]) -> str:
    """Write a JSON value down."""
    return json_text(value) + "\n"


def as_json(report: PeriodReport, localizer: Localizer) -> dict[str, Any]:
    """Return the report as a JSON value; its few sentences are in the localizer's language."""
    currency = Currency.of(report.currency)
    comparison, period = report.figures, report.period
    return {
        "schema": f"tablewatch.{period.frequency}/2",
        "project": report.project,
        **scope_as_json(report.scope),
        "locale": localizer.language,
        period.unit: str(period),
        "from": period.start.isoformat(),
        "to": period.end.isoformat(),
        "timezone": period.zone,
        "as_of": report.as_of.isoformat(),
        "complete": report.complete,
        "currency": report.currency,
        "headline": report.headline.render(localizer),
        "coverage": _coverage(report.coverage, localizer),
        "figures": {
            f"this_{period.unit}": _figures(comparison.this, currency),
            f"last_{period.unit}": _figures(comparison.before, currency),
            f"median_4_{period.unit}s": _figures(comparison.median, currency),
        },
        "change": None
        if report.change is None
        else {
            "n_h": _hours(report.change.n),
            "ttd_h": _hours(report.change.ttd),
            "ttr_h": _hours(report.change.ttr),
            "total_h": _hours(report.change.total),
        },
        "diagnosis": _diagnosis(report, localizer),
        f"by_{period.part_unit}": [_bar(bar, {"date": bar.date.isoformat()}) for bar in report.parts],
        "by_owner": {"shown": [_share(share, currency) for share in report.owners], "more": report.owners_more},
        "trend": [_bar(bar, {period.unit: str(bar.period)}) for bar in report.trend],
        "tables": {"shown": [_share(share, currency) for share in report.tables], "more": report.tables_more},
        "incidents": {
            "shown": [_incident(row, currency, localizer) for row in report.incidents.rows],
            "more": report.incidents.more,
        },
        "method": _method(report.method),
        "releases": _releases(report.releases, localizer),
        "contracts": [ContractLine.of(contract).plain() for contract in report.contracts],
        "level_groups": [group.as_json() for group in groups_in_report(report.contracts)],
        "domains": report.domains.as_json(),
        "by_domain": [_domain(section, currency) for section in report.by_domain],
        "products": [ProductLine.of(state).plain() for state in report.products],
        "scan_costs": ScanCostList.of(report.scan_costs).plain(),
        "audit": None if report.audit is None else report.audit.plain(),
        **PatternLists.listed(report.patterns, currency).plain(),
    }


def _hours(us: Fraction | int | None) -> float | None:
    return None if us is None else float(Fraction(us) / HOUR_US)


def _count(value: Fraction) -> int | float:
    return int(value) if value.denominator == 1 else float(value)


def _figures(figures: Figures | None, currency: Currency) -> dict[str, Any] | None:
    if figures is None:
        return None
    return {
        "n": _count(figures.n),
        "n_occurred": _count(figures.n_occurred),
        "undetected_h": _hours(figures.undetected_us),
        "repair_h": _hours(figures.repair_us),
        "downtime_h": _hours(figures.downtime_us),
        "downtime_h_low": _hours(figures.low_us),
        "downtime_h_high": _hours(figures.high_us),
        "ttd_h": or_nulls(TimeDistribution.of(figures.ttd)),
        "tta_h": or_nulls(TimeDistribution.of(figures.tta)),
        "ttr_h": or_nulls(TimeDistribution.of(figures.ttr)),
        "table_hours": _hours(figures.table_us),
        "by_severity": {str(severity): _hours(part) for severity, part in figures.by_severity.items()},
        "cost": {
            "amount": currency.number(figures.cost),
            "table_hours_amount": currency.number(figures.cost_by_table_hours),
            "currency": currency.code,
        },
    }


def _coverage(coverage: Coverage, localizer: MessageFormatter) -> dict[str, Any]:
    return {
        "tables": coverage.tables,
        "checks": coverage.checks,
        "watched_since": None if coverage.since is None else coverage.since.isoformat(),
        "watched_partly": list(coverage.partly),
        "not_watched_yet": list(coverage.not_yet),
        "results": coverage.results,
        "evaluated": coverage.evaluated,
        "checks_never_run": coverage.silent,
        "unobserved_h": _hours(coverage.unobserved_us),
        "unobserved": [
            {
                "table": spot.table,
                "unobserved_h": _hours(spot.unobserved_us),
                "reasons": [reason.render(localizer) for reason in spot.reasons],
            }
            for spot in coverage.unobserved
        ],
        "unobserved_more": coverage.unobserved_more,
        "without_owner": list(coverage.without_owner),
        "without_checks": list(coverage.without_checks),
        "unchecked": [line.plain() for line in coverage.unchecked],
        "promises": [
            NamedPromise.measured(promise, check_id=promise.check_id).plain() for promise in coverage.promises
        ],
    }


def _diagnosis(report: PeriodReport, localizer: MessageFormatter) -> dict[str, Any] | None:
    diagnosis: Diagnosis | None = report.diagnosis
    if diagnosis is None:
        return None
    messages = sentences.diagnosis_sentences(diagnosis)
    return {
        "lever": str(diagnosis.lever),
        "undetected_share": float(diagnosis.undetected_share),
        "found_by_person": diagnosis.found_by_person,
        "costliest": None if diagnosis.costliest is None else diagnosis.costliest.id,
        "advice": None if diagnosis.advice is None else _advice(diagnosis.advice),
        "sentences": [sentence.render(localizer) for sentence in messages],
    }


def _advice(advice: Advice) -> dict[str, Any]:
    return {
        "step": advice.step.value,
        "table": advice.table,
        "incident": advice.incident,
        "check_id": advice.check_id,
        "share": float(advice.share),
        "of": "cost" if advice.by_cost else "downtime",
        "incidents": advice.n,
        "reported_by_person": advice.by_person,
        "unnoticed_share": float(advice.unnoticed),
        "unnoticed_share_low": float(advice.low),
        "unnoticed_share_high": float(advice.high),
    }


def _bar(bar: PartBar | TrendBar, key: Mapping[str, str]) -> dict[str, Any]:
    parts = (bar.undetected_us, bar.repair_us)
    total = None if parts[0] is None or parts[1] is None else parts[0] + parts[1]
    return {**key, "undetected_h": _hours(parts[0]), "repair_h": _hours(parts[1]), "downtime_h": _hours(total)}


def _share(share: Share, currency: Currency) -> dict[str, Any]:
    return {
        "key": share.name,
        "owner": share.owner,
        "n": share.n,
        "undetected_h": _hours(share.undetected_us),
        "repair_h": _hours(share.repair_us),
        "downtime_h": _hours(share.downtime_us),
        "table_hours": _hours(share.table_us),
        "cost": currency.number(share.cost),
        "share": float(share.part),
    }


def _domain(section: DomainSection, currency: Currency) -> dict[str, Any]:
    return {
        "key": section.name,
        "title": section.title,
        "owner": section.owner,
        "tables": section.tables,
        "figures": _figures(section.figures, currency),
        "open_incidents": list(section.open),
        "repeats": [RepeatRow.of(name, item).plain() for name, item in section.repeats.items()],
        "contracts": {contract.name: contract.verdict.value for contract in section.contracts},
        "without_owner": list(section.without_owner),
    }


def _incident(row: IncidentLine, currency: Currency, localizer: MessageFormatter) -> dict[str, Any]:
    return {
        "id": row.id,
        "table": row.table,
        "title": format_title(row.title, localizer),
        "severity": str(row.severity),
        "state": str(row.state),
        "resolution": None if row.resolution is None else str(row.resolution),
        "occurred_at": row.occurred_at.isoformat(),
        "occurred_earliest": row.earliest.isoformat(),
        "occurred_latest": row.latest.isoformat(),
        "ttd_h": _hours(row.ttd_us),
        "ttr_h": _hours(row.ttr_us),
        "undetected_h": _hours(row.undetected_us),
        "repair_h": _hours(row.repair_us),
        "cost": currency.number(row.cost),
        "owner": row.owner,
        **{name: row.texts.get(name) for name in TEXTS},
        "found_by": str(row.found_by),
        "regressed": row.regressed,
        "began_before": row.began_before,
        "goes_on": row.continues,
    }


def _method(method: MethodNotes) -> dict[str, Any]:
    return {
        "excluded": {
            str(left.resolution): {"n": left.n, "hours": _hours(left.downtime_us)} for left in method.excluded
        },
        "maintenance": [
            {"reason": work.reason, "start": work.start.isoformat(), "end": work.end.isoformat()}
            for work in method.maintenance
        ],
        "maintenance_h": _hours(method.maintenance_us),
        "rate_notes": list(method.rate_notes),
        "unpriced_h": _hours(method.unpriced_us),
        "disclosure_incidents": method.disclosure,
    }


def _releases(releases: Releases, localizer: MessageFormatter) -> dict[str, Any]:
    return {
        "shown": [
            {
                "release": row.name,
                "table": row.table,
                "audience": row.audience,
                "state": row.word.value,
                "why": [item.render(localizer) for item in row.why],
                "since": None if row.since is None else row.since.isoformat(),
                "until": None if row.until is None else row.until.isoformat(),
            }
            for row in releases.rows
        ],
        "more": releases.more,
        "at_risk": releases.at_risk,
        "exports": [
            {
                "release": row.release,
                "at": row.at.isoformat(),
                "by": row.by,
                "file": row.file,
                "remedy": row.remedy,
                "rows": row.rows,
                "k": row.k,
                "epsilon": row.epsilon,
            }
            for row in releases.exports
        ],
        "exports_more": releases.exports_more,
    }
