"""A weekly report made by hand, so that rendering is tested apart from counting."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any

from checks import Message, ReadVolume, Severity
from incidents import (
    DownTime,
    FoundBy,
    Level,
    LevelResult,
    LevelVerdict,
    Lever,
    Repeats,
    Resolution,
    Shares,
    State,
    Statistics,
    Window,
)
from monitor.config.contracts_model import Product
from monitor.reporting.domains import DomainCell, DomainGrid, DomainRow, DomainSection
from monitor.reporting.figures import ComparedFigure, Figures
from monitor.reporting.headline import period_headline
from monitor.reporting.model import (
    Coverage,
    Diagnosis,
    DominantIncident,
    ExcludedIncidents,
    IncidentLine,
    IncidentList,
    Maintained,
    MethodNotes,
    PartBar,
    PeriodReport,
    Share,
    TrendBar,
    UnobservedTable,
)
from monitor.reporting.period import Week
from monitor.reporting.timeline import Timeline, TimelineBand, TimelineBar, TimelineLane, TimelinePart, TimelineStretch
from monitor.reporting.words import NOT_WATCHED
from monitor.summaries.health import TableHealth
from monitor.summaries.products import ProductPorts, ProductState
from monitor.summaries.ranking import Advice, AdviceStep
from monitor.summaries.scan_costs import ScanCosts
from monitor.summaries.service_levels import JudgedContract
from store import Spending

HOUR = 3_600_000_000
MINUTE = HOUR // 60
WEEK = Week.parse("2026-W46", "Asia/Tokyo")
NOW = datetime(2026, 11, 16, 0, 12, tzinfo=UTC)


ADVICE = Advice(
    step=AdviceStep.ADD_CHECK,
    table="sales.orders",
    incident=41,
    check_id=None,
    n=1,
    by_person=1,
    share=Fraction(7, 10),
    by_cost=True,
    unnoticed=Fraction(8, 9),
    low=Fraction(8, 9),
    high=Fraction(8, 9),
)
"""Incident 41, which a person reported, makes 70 % of the cost."""


def spread(*minutes: int) -> Statistics:
    """Return a spread by its five values in minutes: min, mean, median, p90, max."""
    return Statistics(*(Fraction(value * MINUTE) for value in minutes))


def figures(n: int, undetected: int, repair: int, cost: int | None, **more: Any) -> Figures:
    """Return figures; lengths in minutes."""
    values = {
        "n": Fraction(n),
        "n_occurred": Fraction(n),
        "undetected_us": Fraction(undetected * MINUTE),
        "repair_us": Fraction(repair * MINUTE),
        "downtime_us": Fraction((undetected + repair) * MINUTE),
        "low_us": Fraction((undetected // 2 + repair) * MINUTE),
        "high_us": Fraction((undetected + repair) * MINUTE),
        "table_us": Fraction((undetected + repair - 40) * MINUTE) if n else Fraction(0),
        "by_severity": {
            Severity.ERROR: Fraction(undetected * MINUTE),
            Severity.CRITICAL: Fraction(repair * MINUTE),
        }
        if n
        else {},
        "ttd": spread(5, 66, 24, 190, 336) if n else None,
        "tta": spread(2, 11, 6, 25, 40) if n else None,
        "ttr": spread(12, 69, 42, 150, 221) if n else None,
        "cost": None if cost is None else Fraction(cost),
        "cost_by_table_hours": None if cost is None else Fraction(cost) * 9 / 10,
    }
    return Figures(**{**values, **more})


def row(number: int, table: str, title: Message, **more: Any) -> IncidentLine:
    """Return an incident of the list."""
    values: dict[str, Any] = {
        "id": number,
        "table": table,
        "title": title,
        "severity": Severity.ERROR,
        "state": State.RESOLVED,
        "resolution": Resolution.FIXED,
        "occurred_at": datetime(2026, 11, 11, 1, 10, tzinfo=UTC),
        "earliest": datetime(2026, 11, 11, 1, 10, tzinfo=UTC),
        "latest": datetime(2026, 11, 11, 1, 10, tzinfo=UTC),
        "ttd_us": 336 * MINUTE,
        "ttr_us": 42 * MINUTE,
        "undetected_us": 336 * MINUTE,
        "repair_us": 42 * MINUTE,
        "cost": Fraction(756_000),
        "owner": "Commerce data team",
        "texts": {},
        "found_by": FoundBy.CHECK,
        "regressed": False,
        "began_before": False,
        "continues": False,
    }
    return IncidentLine(**{**values, **more})


def rows() -> tuple[IncidentLine, ...]:
    """Return five incidents, one of each sort."""
    nulls = Message(
        "{column}: {nulls:count} of {rows:count} rows are NULL ({ratio:ratio})",
        {"column": "email", "nulls": 1204, "rows": 26115, "ratio": 0.0461},
    )
    lasting = {"state": State.OPEN, "resolution": None, "ttr_us": None}
    return (
        row(
            45,
            "sales.orders",
            Message(
                "the newest row is {age:duration} old, limit {limit:duration}",
                {"age": timedelta(hours=5, minutes=12), "limit": timedelta(hours=2)},
            ),
            severity=Severity.CRITICAL,
            ttd_us=12 * MINUTE,
            undetected_us=12 * MINUTE,
            repair_us=50 * MINUTE,
            cost=Fraction(62_000),
            continues=True,
            **lasting,
        ),
        row(
            44,
            "crm.customers",
            nulls,
            state=State.ACKNOWLEDGED,
            resolution=None,
            ttr_us=None,
            owner="CRM data team",
            cost=Fraction(24_500),
            regressed=True,
            continues=True,
        ),
        row(
            41,
            "sales.orders",
            Message("amount scaled x100"),
            severity=Severity.CRITICAL,
            found_by=FoundBy.PERSON,
            texts={"cause": "currency field read as cents after release 2026.11.2"},
        ),
        row(
            40,
            "web.events",
            Message("{rows:count} rows, at least {limit:count} expected", {"rows": 41_203, "limit": 90_000}),
            severity=Severity.WARNING,
            owner=None,
            latest=datetime(2026, 11, 11, 2, 10, tzinfo=UTC),
            cost=Fraction(9_800),
            began_before=True,
        ),
        row(
            39,
            "finance.在庫_日次",
            Message("{rows:count} rows", {"rows": 1}),
            severity=Severity.INFO,
            owner="経理データ",
            resolution=Resolution.NO_ACTION,
            cost=Fraction(6_000),
        ),
    )


def timeline() -> Timeline:
    """Return a picture with what may be on one: an uncertain onset, an overlap, bars that go beyond the week.

    The first table was not observed twice, and work on it was planned once; the second was not watched at first.
    """

    def band(*shares: tuple[float, float]) -> TimelineBand:
        week = timedelta(days=7)
        stretches = (
            TimelineStretch(start, end, WEEK.start + week * start, WEEK.start + week * end) for start, end in shares
        )
        return TimelineBand(tuple(stretches), sum(round((end - start) * 168) * HOUR for start, end in shares))

    def bar(incident: int, *times: float, began_before: bool = False, continues: bool = False) -> TimelineBar:
        earliest, latest, occurred, detected, end = times
        began = WEEK.start + timedelta(days=7 * occurred)
        ended = None if continues else WEEK.start + timedelta(days=7 * end)
        beyond = {"began_before": began_before, "continues": continues}
        return TimelineBar(
            incident, earliest, latest, occurred, detected, end, began_at=began, ended_at=ended, **beyond
        )

    orders = (
        (bar(41, 0.2, 0.3, 0.25, 0.3, 0.45), 0),
        (bar(43, 0.4, 0.4, 0.4, 0.41, 1.0, continues=True), 1),
        (bar(44, 0.7, 0.7, 0.7, 0.7, 0.7001), 0),
    )
    events = ((bar(40, 0.0, 0.0, 0.0, 0.0, 0.1, began_before=True), 0),)
    days = tuple(TimelinePart(day.date, at / 7, (at + 1) / 7) for at, day in enumerate(WEEK.parts))
    marked = TimelineLane("sales.orders", orders, 2, band((0.0, 1 / 14), (0.4, 0.5)), band((0.5, 0.625)))
    since = WEEK.start + timedelta(hours=42)
    late = TimelineLane("web.events", events, 0, unwatched=band((0.0, 0.25)), since=since)
    return Timeline((marked, late), days, 1, 29)


def domains() -> DomainGrid:
    """Return two domains over twelve weeks, the first of which has no data."""
    cells = [None, *(DomainCell(at % 3, (at % 3) * HOUR, (at % 3) * 2) for at in range(11))]
    calm = (None, *(DomainCell(0, 0, 0) for _ in range(11)))
    rows = (DomainRow("sales", tuple(cells)), DomainRow(None, calm))
    return DomainGrid(tuple(WEEK.back(11 - at) for at in range(12)), rows, 1)


def by_domain() -> tuple[DomainSection, ...]:
    """Return three domains: one with all figures, one without data, and tables without one."""
    availability = LevelResult(Level.AVAILABILITY, Fraction(99, 100), LevelVerdict.BROKEN, Fraction(9, 10))
    kept = replace(availability, verdict=LevelVerdict.KEPT)
    week = Window.of(WEEK.start, WEEK.end)
    sales = DomainSection(
        name="sales",
        title="Sales and orders",
        owner="Commerce data team",
        tables=9,
        figures=figures(5, 380, 330, 848_500),
        open=(44, 45),
        repeats={"sales.orders": Repeats(3, 0, 1)},
        contracts=(
            JudgedContract("orders", ("sales.orders",), week, [availability]),
            JudgedContract("items", ("sales.items",), week, [kept]),
        ),
        without_owner=("sales.returns",),
    )
    other = DomainSection(None, None, None, tables=4, figures=figures(1, 20, 80, 9_800, low_us=Fraction(100 * MINUTE)))
    return (sales, other, DomainSection("web", None, "Web team", tables=1, figures=None))


def products() -> tuple[ProductState, ...]:
    """Return two data products: one that was down and broke a promise, one without data."""
    week = Window.of(WEEK.start, WEEK.end)
    tables = ("sales.orders", "crm.customers")
    consumers = ("finance dashboard", "pricing model")
    product = Product(tables=tables, title="Orders 360", owner="shop", consumers=consumers)
    broken = LevelResult(Level.TIME_TO_DETECT, Fraction(HOUR), LevelVerdict.BROKEN, Fraction(6 * HOUR))
    whole = ProductState(
        name="orders-360",
        product=product,
        owner="Commerce data team",
        tables=tables,
        health=TableHealth.DEGRADED,
        incidents=(),
        window=week,
        down=DownTime(12 * HOUR, 10 * HOUR, 12 * HOUR),
        contract=JudgedContract("product:orders-360", tables, week, [broken]),
        ports=ProductPorts(inputs=(), outputs=()),
    )
    quiet = replace(whole, name="web", product=Product(tables=("web.events",)), owner=None, tables=("web.events",))
    return (whole, replace(quiet, down=None, contract=JudgedContract("product:web", ("web.events",), week, [])))


def report(**more: Any) -> PeriodReport:
    """Return a full report: six incidents, less than last week, one blind table."""
    comparison = ComparedFigure(
        figures(6, 400, 410, 858_300), figures(9, 690, 486, 1_243_000), figures(7, 500, 420, 990_000)
    )
    coverage = Coverage(
        tables=14,
        checks=61,
        since=datetime(2026, 9, 7, tzinfo=UTC),
        begun=True,
        from_start=True,
        partly=(),
        not_yet=(),
        results=20_496,
        silent=0,
        evaluated=20_291,
        unobserved_us=310 * MINUTE,
        unobserved=(
            UnobservedTable("web.events", 250 * MINUTE, (Message("the source could not be reached"),)),
            UnobservedTable(
                "finance.ledger",
                60 * MINUTE,
                (Message("the query timed out"), Message("the check is not applicable to the table")),
            ),
        ),
        unobserved_more=0,
        without_owner=("web.events",),
        without_checks=("staging.tmp_orders", "staging.old_orders"),
    )
    some = rows()
    trend = [
        (None, None),
        (None, None),
        (700, 300),
        (420, 600),
        (300, 310),
        (0, 0),
        (890, 460),
        (260, 330),
        (610, 420),
        (320, 330),
        (690, 486),
        (400, 410),
    ]
    values: dict[str, Any] = {
        "project": "retail-demo",
        "period": WEEK,
        "as_of": NOW,
        "currency": "JPY",
        "headline": period_headline(comparison, currency="JPY", complete=True),
        "coverage": coverage,
        "figures": comparison,
        "change": Shares(n=Fraction(-398 * MINUTE), ttd=Fraction(-75 * MINUTE), ttr=Fraction(107 * MINUTE)),
        "diagnosis": Diagnosis(
            Lever.DETECT,
            Fraction(64, 100),
            found_by_person=1,
            n=6,
            costliest=DominantIncident(41, "sales.orders"),
            advice=ADVICE,
            title=Message("amounts x100"),
        ),
        "parts": tuple(
            PartBar(day.date, undetected * MINUTE, repair * MINUTE)
            for day, (undetected, repair) in zip(
                WEEK.parts, [(20, 60), (0, 0), (336, 42), (12, 180), (20, 70), (0, 3), (12, 55)], strict=True
            )
        ),
        "owners": (
            Share(
                "Commerce data team",
                None,
                3,
                350 * MINUTE,
                200 * MINUTE,
                540 * MINUTE,
                Fraction(818_000),
                Fraction(95, 100),
            ),
            Share(
                "CRM data team", None, 2, 40 * MINUTE, 130 * MINUTE, 170 * MINUTE, Fraction(30_500), Fraction(4, 100)
            ),
            Share(None, None, 1, 10 * MINUTE, 80 * MINUTE, 90 * MINUTE, Fraction(9_800), Fraction(1, 100)),
        ),
        "owners_more": 0,
        "trend": tuple(
            TrendBar(
                WEEK.back(11 - i),
                None if undetected is None else undetected * MINUTE,
                None if repair is None else repair * MINUTE,
                NOT_WATCHED if repair is None else None,
            )
            for i, (undetected, repair) in enumerate(trend)
        ),
        "tables": (
            Share(
                "sales.orders",
                "Commerce data team",
                3,
                350 * MINUTE,
                200 * MINUTE,
                540 * MINUTE,
                Fraction(818_000),
                Fraction(953, 1000),
            ),
            Share(
                "crm.customers",
                "CRM data team",
                2,
                40 * MINUTE,
                130 * MINUTE,
                170 * MINUTE,
                Fraction(30_500),
                Fraction(36, 1000),
            ),
            Share("web.events", None, 1, 10 * MINUTE, 80 * MINUTE, 90 * MINUTE, Fraction(9_800), Fraction(11, 1000)),
        ),
        "tables_more": 0,
        "incidents": IncidentList(some, 23),
        "timeline": timeline(),
        "domains": domains(),
        "by_domain": by_domain(),
        "products": products(),
        "scan_costs": ScanCosts.of(
            {
                ("shop", "sales.orders"): Spending(84, 512.3, ReadVolume(2_204_112_000, 41_200_000_000)),
                ("shop", "crm.customers"): Spending(7, 3.4, ReadVolume()),
                ("lake", "web.events"): Spending(28, 61.0, ReadVolume(980_400_000)),
            },
            most=2,
        ),
        "method": MethodNotes(
            excluded=(
                ExcludedIncidents(Resolution.FALSE_POSITIVE, 2, 75 * MINUTE),
                ExcludedIncidents(Resolution.EXPECTED, 1, 600 * MINUTE),
            ),
            maintenance=(
                Maintained(
                    "warehouse upgrade", datetime(2026, 11, 14, 15, tzinfo=UTC), datetime(2026, 11, 14, 19, tzinfo=UTC)
                ),
            ),
            maintenance_us=240 * MINUTE,
            rate_notes=("Rates agreed with finance.",),
            priced=True,
            unpriced_us=0,
            disclosure=1,
        ),
    }
    return PeriodReport(**{**values, **more})


def quiet_report() -> PeriodReport:
    """Return a week without any downtime."""
    nothing = figures(0, 0, 0, 0)
    comparison = ComparedFigure(nothing, figures(2, 30, 60, 12_000), figures(1, 20, 40, 9_000))
    full = report()
    coverage = replace(
        full.coverage,
        evaluated=full.coverage.results,
        unobserved_us=0,
        unobserved=(),
        without_owner=(),
        without_checks=(),
    )
    return report(
        headline=period_headline(comparison, currency="JPY", complete=True),
        coverage=coverage,
        figures=comparison,
        change=Shares(Fraction(-90 * MINUTE), Fraction(0), Fraction(0)),
        diagnosis=None,
        parts=tuple(PartBar(day.date, 0, 0) for day in WEEK.parts),
        owners=(),
        tables=(),
        incidents=IncidentList((), 0),
    )
