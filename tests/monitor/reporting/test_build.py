"""From what is known to the value of a report."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from checks import Kind, OccurrenceMethod, Severity, Status, UnknownReason
from checks.not_null import NotNull
from incidents import (
    Episode,
    FoundBy,
    Gap,
    Incident,
    Lever,
    Onset,
    Resolution,
    Spans,
    State,
    Watch,
    changes,
    measure,
    to_us,
)
from monitor.config import Config
from monitor.config.prices import is_priced, maintenance_of, pricing_of
from monitor.reporting.breakdown import collapsed
from monitor.reporting.build import build_report, window_of
from monitor.reporting.domains import DomainGrid
from monitor.reporting.evidence import Evidence
from monitor.reporting.model import ExcludedIncidents, PeriodReport
from monitor.reporting.period import Week
from monitor.reporting.scope import ReportScope, ScopeKind
from monitor.reporting.words import NOT_EVALUATED, NOT_KEPT, NOT_WATCHED
from monitor.summaries.service_levels import JudgedContract
from tests.tiers import examples

ZONE = "Asia/Tokyo"
WEEK = Week.parse("2026-W46", ZONE)
HOUR = 3_600_000_000
NOW = WEEK.end + timedelta(hours=8)
TABLES = ("sales.orders", "crm.customers", "web.events")


def config(**more: Any) -> Config:
    """Return a configuration of three tables: gold, silver, and one without owner, tier and checks."""
    tables = [
        {"name": "sales.orders", "source": "db", "tier": "gold", "owner": "shop", "checks": []},
        {"name": "crm.customers", "source": "db", "tier": "silver", "domain": "customer"},
        {"name": "web.events", "source": "db"},
    ]
    values = {
        "version": 1,
        "project": "retail",
        "timezone": ZONE,
        "sources": {"db": {"url": "sqlite:///x.db"}},
        "domains": {"customer": {"owner": "crm"}},
        "owners": {"shop": {"name": "Commerce data team"}},
        "cost": {
            "currency": "JPY",
            "tiers": {"gold": {"per_hour": 120000}, "silver": {"per_hour": 30000}},
            "note": "agreed",
        },
        "tables": tables,
    }
    return Config.model_validate({**values, **more})


def at(hours: float) -> datetime:
    """Return a moment so many hours after the week began."""
    return WEEK.start + timedelta(hours=hours)


def episode(occurred: float, detected: float, resolved: float | None, *, slack: float = 0) -> Episode:
    """Return an episode by hours after the week began; it began at most `slack` hours earlier or later."""
    latest = min(at(occurred + slack), at(detected))
    onset = Onset(at(occurred), at(occurred - slack), latest, OccurrenceMethod.LAST_GOOD_RUN)
    return Episode(onset, at(detected), None if resolved is None else at(resolved))


def incident(number: int, table: str, *episodes: Episode, **more: Any) -> Incident:
    """Return an incident; it is fixed where its last episode ended."""
    over = episodes[-1].resolved_at is not None
    values = {
        "id": number,
        "fingerprint": f"{table}:{number}",
        "table": table,
        "check_id": f"{table}.check",
        "kind": Kind.QUALITY,
        "severity": Severity.ERROR,
        "title": "rows: {rows:count}",
        "title_values": {"rows": 1234},
        "found_by": FoundBy.CHECK,
        "state": State.RESOLVED if over else State.OPEN,
        "episodes": episodes,
        "resolution": Resolution.FIXED if over else None,
    }
    return Incident(**{**values, **more})


def evidence(
    incidents: Sequence[Incident], *, now: datetime = NOW, since: float | None = -2000, **more: Any
) -> Evidence:
    """Return what is known when these incidents are all there is; a check has run since `since`, hours of the week."""
    configured = config(**more.pop("config", {}))
    spans = Spans.of(incidents)
    by_id = {incident.id: incident for incident in incidents}
    watch = Watch("sales.orders.check", at(since or 0), NOW, "pass")
    values: dict[str, Any] = {
        "config": configured,
        "as_of": now,
        "spans": spans,
        "maintenance": maintenance_of(configured, spans.names),
        "pricing": pricing_of(configured) if is_priced(configured) else None,
        "gaps": (),
        "watches": {} if since is None else {watch.check_id: watch},
        "results": {Status.PASS: 100},
        "look_up": lambda ids: [by_id[one] for one in ids],
    }
    return Evidence(**{**values, **more})


def build(incidents: Sequence[Incident], **more: Any) -> PeriodReport:
    """Return the report of the week."""
    return build_report(evidence(incidents, **more), WEEK)


SIX = (
    incident(1, "sales.orders", episode(2, 4, 7)),  # 2 h + 3 h
    incident(2, "sales.orders", episode(5, 6, 9)),  # 1 h + 3 h, of which 2 h overlap
    incident(3, "crm.customers", episode(-10, -8, 3)),  # began the week before: 3 h of repair
    incident(4, "web.events", episode(160, 166, None), found_by=FoundBy.PERSON, check_id=None),  # 6 h + 2 h, lasts
    incident(5, "crm.customers", episode(20, 21, 22), resolution=Resolution.FALSE_POSITIVE),
    incident(6, "crm.customers", episode(-100, -99, -96)),  # all of it the week before
)


def test_figures():
    """The figures are those of `incidents`: clipped parts, unclipped statistics, overlaps once, exact cost."""
    report = build(SIX)
    week = report.figures.this
    assert (week.n, week.n_occurred) == (4, 3)
    assert (week.undetected_us, week.repair_us, week.downtime_us) == (9 * HOUR, 11 * HOUR, 20 * HOUR)
    assert week.table_us == 18 * HOUR
    assert week.ttd is not None
    assert (week.ttd.min, week.ttd.median, week.ttd.max) == (HOUR, 2 * HOUR, 6 * HOUR)
    assert week.cost == 9 * 120_000 + 3 * 30_000
    assert week.cost_by_table_hours == 7 * 120_000 + 3 * 30_000
    before = report.figures.before
    assert before is not None
    assert (before.n, before.downtime_us) == (2, 14 * HOUR)


def test_domains_share_the_downtime_of_each_week():
    """Each incident counts for the domain of its table, so the cells of a week add up to its downtime."""
    grid = build(SIX).domains
    trend = build(SIX).trend
    assert [row.name for row in grid.rows] == ["customer", None]
    assert list(grid.periods) == [bar.period for bar in trend]
    for number, bar in enumerate(trend):
        cells = [row.cells[number] for row in grid.rows]
        if bar.undetected_us is None:
            assert cells == [None, None]
        else:
            assert sum(cell.downtime_us for cell in cells if cell) == bar.undetected_us + bar.repair_us
    customer, other = (row.cells[-1] for row in grid.rows)
    assert (other.n, other.downtime_us, other.level) == (3, 17 * HOUR, 4)
    assert (customer.n, customer.downtime_us, customer.level) == (1, 3 * HOUR, 1)


def test_a_domain_that_nobody_watched_is_unknown():
    """A domain whose tables no check had looked at is no good one; one with an incident is known."""
    quiet = build(SIX[:2]).domains
    assert {row.name: row.cells[-1] is None for row in quiet.rows} == {None: False, "customer": True}


def test_a_domain_is_unknown_while_its_checks_see_nothing():
    """A domain whose checks could not be evaluated in a week is no good one, whatever happened in others then."""
    watch = Watch("crm.customers.check", at(-2000), NOW, "pass")
    watches = {watch.check_id: watch}
    blind = [gap(-400, -100, table="crm.customers")]  # the week before last, and more
    grid = build([incident(1, "sales.orders", episode(-250, -240, -230))], watches=watches, gaps=blind).domains
    cells = {row.name: [None if cell is None else cell.n for cell in row.cells[-4:]] for row in grid.rows}
    assert cells == {None: [None, 1, None, None], "customer": [0, None, 0, 0]}
    partly = [gap(-400, -180, table="crm.customers")]
    assert build(SIX[:1], watches=watches, gaps=partly).domains.rows[1].cells[-3] is not None
    all_unevaluated = {"watches": watches, "unevaluated_periods": frozenset({WEEK.back(2).first})}
    grid = build([incident(1, "sales.orders", episode(-250, -240, -230))], **all_unevaluated).domains
    assert [row.cells[-3] is None for row in grid.rows] == [False, True]


def test_a_domain_tells_what_asks_for_somebody():
    """A domain has the figures of its tables, what lasts and came back, service levels, and tables without owner."""
    everywhere = JudgedContract("both", ("web.events", "crm.customers"), window_of(WEEK), [])
    own = replace(everywhere, name="own", tables=("crm.customers",))
    other, customer = build(SIX, contracts=(everywhere, own)).by_domain
    assert (other.name, other.tables, other.open, other.without_owner) == (None, 2, (4,), ("web.events",))
    assert (customer.name, customer.owner, customer.tables, customer.without_owner) == ("customer", "crm", 1, ())
    assert [contract.name for contract in customer.contracts] == ["own"]
    assert (customer.figures.n, customer.figures.downtime_us, customer.figures.cost) == (1, 3 * HOUR, 90_000)
    assert customer.figures.cost_by_table_hours is None
    assert list(other.repeats) == ["sales.orders"]
    assert (other.figures.ttd.median, other.figures.ttd.max) == (2 * HOUR, 6 * HOUR)


def test_a_domain_of_which_nobody_knows_has_no_figures():
    """A domain that no check looked at has no figures, and comes last; so does one without tables."""
    domains = {"customer": {"owner": "crm"}, "empty": {"title": "Nothing yet"}}
    sections = build(SIX[:2], config={"domains": domains}).by_domain
    assert [(section.name, section.figures is None) for section in sections] == [
        (None, False),
        ("customer", True),
        ("empty", True),
    ]
    assert (sections[-1].title, sections[-1].tables) == ("Nothing yet", 0)


def test_a_domain_of_an_incident_without_length_is_known():
    """An incident that a user logged as one moment counts for its domain, though no check saw anything."""
    report = build([incident(1, "crm.customers", episode(0, 0, 0))])
    section = next(section for section in report.by_domain if section.name == "customer")
    assert section.figures.n_occurred == report.figures.this.n_occurred == 1


def test_domains_have_their_titles_and_unknown_ones_come_last():
    """A row has the title of its domain; calm monitored tables come before unmonitored ones."""
    grid = build(SIX[:2], config={"domains": {"customer": {"owner": "crm", "title": "Customers"}}}).domains
    assert [(row.name, row.title) for row in grid.rows] == [(None, None), ("customer", "Customers")]


def test_without_domains_there_is_no_grid():
    """Where no table has a domain, the grid would repeat the trend."""
    tables = [{"name": "sales.orders", "source": "db"}]
    assert build(SIX, config={"tables": tables, "domains": {}}).domains == DomainGrid()


def test_severities():
    """Downtime is split by severity, the worst first; a week without one of them had none of it in the median."""
    report = build((*SIX, incident(9, "web.events", episode(40, 41, 43), severity=Severity.CRITICAL)))
    assert report.figures.severities == (Severity.CRITICAL, Severity.ERROR)
    assert report.figures.this.by_severity == {Severity.CRITICAL: 3 * HOUR, Severity.ERROR: 20 * HOUR}
    assert report.figures.median is not None
    assert report.figures.median.by_severity == {Severity.ERROR: 0}


def test_parts_add_up():
    """Days, owners and tables each add up to the week, and the shares of the change to the change."""
    report = build(SIX)
    total = report.figures.this.downtime_us
    assert sum(bar.undetected_us + bar.repair_us for bar in report.parts) == total
    assert sum(share.downtime_us for share in report.owners) == total
    assert sum(share.downtime_us for share in report.tables) == total
    assert sum(share.part for share in report.tables) == 1
    assert sum(report.figures.this.by_severity.values()) == total
    assert report.figures.before is not None
    assert report.change is not None
    assert report.change.total == total - report.figures.before.downtime_us
    assert report.trend[-1].undetected_us + report.trend[-1].repair_us == total


def test_owners():
    """Downtime falls to the owner of the root cause; a domain's owner counts, and without an owner there is none."""
    caused = incident(7, "web.events", episode(30, 31, 35), root=1)
    report = build((*SIX, caused))
    assert [(share.name, share.n) for share in report.owners] == [("Commerce data team", 3), ("crm", 1), (None, 1)]


def test_owners_of_one_name():
    """Two owners with one name are two rows, distinguished by key; the key of each is in `owner`."""
    owners = {"shop": {"name": "Data team"}, "crm": {"name": "Data team"}}
    report = build(SIX, config={"owners": owners})
    rows = [(share.name, share.owner) for share in report.owners]
    assert rows == [("Data team (shop)", "shop"), ("Data team (crm)", "crm"), (None, None)]


def test_tables_most_costly_first():
    """Tables come by cost, with their share of it."""
    report = build(SIX)
    assert [share.name for share in report.tables] == ["sales.orders", "crm.customers", "web.events"]
    assert [share.cost for share in report.tables] == [1_080_000, 90_000, 0]
    assert report.tables[0].part == Fraction(108, 117)
    assert report.tables[2].owner is None


def test_list_of_incidents():
    """Open incidents come first, then the costly ones; what crosses the week's ends says so; the rest is counted."""
    report = build(SIX)
    assert [row.id for row in report.incidents.rows] == [4, 1, 2, 3]
    lasting, _, _, crossing = report.incidents.rows
    assert (lasting.ttr_us, lasting.continues, lasting.found_by) == (None, True, FoundBy.PERSON)
    assert (crossing.began_before, crossing.ttd_us, crossing.undetected_us) == (True, 2 * HOUR, 0)
    assert crossing.cost == 90_000
    many = build([incident(n, "sales.orders", episode(n, n + 1, n + 2)) for n in range(1, 40)])
    assert len(many.incidents.rows) == 25
    assert many.incidents.more == 14


def test_timeline():
    """Lanes are tables by weight; each bar is an episode, clipped to the week; overlaps have their own rows."""
    report = build([
        incident(1, "sales.orders", episode(0, 24, 48)),
        incident(2, "sales.orders", episode(36, 40, 60)),
        incident(3, "crm.customers", episode(-10, -5, 12)),
        incident(4, "web.events", episode(160, 165, None)),
        incident(5, "web.events", episode(-30, -20, -10)),
    ])  # fmt: skip
    lanes = {lane.table: lane for lane in report.timeline.lanes}
    assert {"sales.orders", "crm.customers", "web.events"} == set(lanes)
    assert [row for _, row in lanes["sales.orders"].bars] == [0, 1]
    first = lanes["sales.orders"].bars[0][0]
    assert (first.occurred, first.detected, first.end) == (0.0, 24 / 168, 48 / 168)
    before = lanes["crm.customers"].bars[0][0]
    assert (before.began_before, before.occurred, before.detected, before.end) == (True, 0.0, 0.0, 12 / 168)
    (open_bar, _) = lanes["web.events"].bars[0]
    assert (open_bar.incident, open_bar.continues, open_bar.ended_at, open_bar.end) == (4, True, None, 1.0)
    assert [day.start for day in report.timeline.parts] == [at / 7 for at in range(7)]


def test_timeline_of_a_week_that_is_not_over():
    """Nothing is drawn after the moment of the report."""
    report = build([incident(1, "sales.orders", episode(0, 24, None))], now=at(84))
    ((bar, _),) = report.timeline.lanes[0].bars
    assert (bar.end, bar.continues) == (0.5, True)


def gap(start: float, end: float, *, check: str = "check", table: str = "sales.orders") -> Gap:
    """Return a time, in hours after the week began, in which a check of a table saw nothing."""
    return Gap(f"{table}.{check}", table, at(start), at(end), "not-run")


def test_timeline_marks_unobserved_time_and_planned_work():
    """A lane has the unobserved time of its table, over all checks, and the work planned on it; clipped to the week."""
    planned = [
        {"tables": ["sales.orders"], "start": at(160), "end": at(200), "reason": "disks"},
        {"domains": ["customer"], "start": at(0), "end": at(12), "reason": "move"},
        {"start": at(400), "end": at(401), "reason": "later"},
    ]
    gaps = [gap(-5, 6), gap(4, 8, check="other"), gap(84, 85), gap(1, 2, table="web.events")]
    report = build(
        [incident(1, "sales.orders", episode(0, 24, 48)), incident(2, "crm.customers", episode(0, 24, 48))],
        config={"maintenance": planned},
        gaps=gaps,
    )
    orders, customers = (
        next(lane for lane in report.timeline.lanes if lane.table == name) for name in ("sales.orders", "crm.customers")
    )
    marked = [(stretch.start, stretch.end) for stretch in orders.unobserved.stretches]
    assert marked == [(0.0, 8 / 168), (0.5, 85 / 168)]
    assert (orders.unobserved.stretches[0].began_at, orders.unobserved.stretches[0].ended_at) == (at(0), at(8))
    assert orders.unobserved.length_us == 9 * HOUR
    assert [(stretch.start, stretch.end) for stretch in orders.maintenance.stretches] == [(160 / 168, 1.0)]
    assert (orders.maintenance.length_us, customers.maintenance.length_us) == (8 * HOUR, 12 * HOUR)
    assert customers.unobserved.stretches == ()


@pytest.mark.parametrize("since", [-100, 0, 30, 100, None])
def test_timeline_marks_the_time_before_the_first_check_of_a_table(since):
    """Up to its first run, of whichever check, or up to now, a table was not watched; the coverage has the rest."""
    starts = {} if since is None else {"old": since, "new": since + 20}
    watches = {
        f"sales.orders.{name}": Watch(f"sales.orders.{name}", at(start), NOW, "pass") for name, start in starts.items()
    }
    watches["crm.customers.check"] = Watch("crm.customers.check", at(-50), NOW, "pass")
    gaps = [gap(60, 63)] if since == 30 else []
    logged = [incident(1, "sales.orders", episode(2, 24, 48)), incident(2, "crm.customers", episode(2, 3, 4))]
    report = build(logged, now=at(84), watches=watches, gaps=gaps)
    orders, customers = sorted(report.timeline.lanes, key=lambda lane: lane.table, reverse=True)
    until = 84 if since is None else min(max(since, 0), 84)
    marks = [(mark.start, mark.end) for mark in orders.unwatched.stretches]
    assert marks == ([(0.0, until / 168)] if until else [])
    assert orders.unwatched.length_us == until * HOUR
    assert customers.unwatched.length_us == 0
    assert orders.unobserved.length_us == report.coverage.unobserved_us == 3 * HOUR * len(gaps)


def test_timeline_marks_nothing_that_lies_ahead():
    """Of a week that goes on, neither unobserved time nor planned work is marked after the moment of the report."""
    planned = [{"start": at(80), "end": at(100), "reason": "disks"}]
    report = build(
        [incident(1, "sales.orders", episode(0, 24, None))],
        now=at(84),
        config={"maintenance": planned},
        gaps=[gap(80, 90)],
    )
    (lane,) = report.timeline.lanes
    assert (lane.unobserved.length_us, lane.maintenance.length_us) == (4 * HOUR, 4 * HOUR)
    assert lane.unobserved.stretches[0].end == lane.maintenance.stretches[0].end == 0.5


def test_timeline_marks_what_can_be_told_apart():
    """A thousand short gaps are few stretches, and their length together is exact."""
    gaps = [gap(number / 10, number / 10 + 0.01) for number in range(1000)]
    (lane,) = build([incident(1, "sales.orders", episode(0, 24, 48))], gaps=gaps).timeline.lanes
    assert len(lane.unobserved.stretches) == 1
    assert lane.unobserved.length_us == 10 * HOUR


@settings(max_examples=examples(50))
@given(st.lists(st.tuples(st.integers(-100, 250), st.integers(1, 100), st.sampled_from("ab")), max_size=12))
def test_marked_time_is_the_unobserved_time(times):
    """The marked time of a table is its unobserved time, computed by counting hours, and the marks do not overlap."""
    gaps = [gap(start, start + length, check=check) for start, length, check in times]
    (lane,) = build([incident(1, "sales.orders", episode(0, 24, 48))], gaps=gaps).timeline.lanes
    hours = {hour for start, length, _ in times for hour in range(start, start + length)} & set(range(168))
    assert lane.unobserved.length_us == len(hours) * HOUR
    marks = lane.unobserved.stretches
    assert sum(mark.end - mark.start for mark in marks) == pytest.approx(len(hours) / 168)
    assert all(first.end < second.start for first, second in pairwise(marks))


def test_timeline_is_bounded():
    """Twelve tables, three rows and what is left out is counted."""
    many = [incident(n, f"sales.t{n}", episode(n, n + 1, n + 2)) for n in range(1, 20)]
    many += [incident(100 + n, "sales.t1", episode(1, 2, 150)) for n in range(10)]
    timeline = build(many).timeline
    assert (len(timeline.lanes), timeline.more_tables, timeline.incidents) == (12, 7, 29)
    assert timeline.lanes[0].table == "sales.t1"
    assert max(row for _, row in timeline.lanes[0].bars) == 2
    assert timeline.lanes[0].more == 11 - len(timeline.lanes[0].bars)


def test_equal_incidents_are_one_row():
    """Incidents that are shown alike but for number and time collapse; one that differs stays."""
    rows = build([incident(n, "sales.orders", episode(3 * n, 3 * n + 1, 3 * n + 2)) for n in range(1, 6)]
                 + [incident(9, "sales.orders", episode(90, 92, 93))]).incidents.rows  # fmt: skip
    groups = {group.row.id: group for group in collapsed(rows)}
    alike = next(group for group in groups.values() if group.others)
    assert sorted((alike.row.id, *alike.others)) == [1, 2, 3, 4, 5]
    assert alike.last == at(15)
    assert groups[9].others == ()


def test_diagnosis():
    """The diagnosis counts what people found and names an incident that outweighs all others."""
    report = build(SIX)
    assert report.diagnosis is not None
    assert (report.diagnosis.found_by_person, report.diagnosis.n) == (1, 4)
    assert report.diagnosis.lever is Lever.BOTH_ALIKE
    assert report.diagnosis.costliest is not None
    assert (report.diagnosis.costliest.id, report.diagnosis.costliest.table) == (1, "sales.orders")


def test_lever_needs_both_ends():
    """The lever is named only if it is the same whether data went bad as late or as early as possible."""
    unsure = build([incident(1, "sales.orders", episode(10, 16, 18, slack=5))])
    assert unsure.diagnosis is not None
    assert unsure.diagnosis.lever is Lever.NONE
    sure = build([incident(1, "sales.orders", episode(10, 16, 18))])
    assert sure.diagnosis is not None
    assert sure.diagnosis.lever is Lever.DETECT


def test_not_counted():
    """What ended as a false positive, planned work and releases at risk are reported, not counted."""
    planned = {"tables": ["sales.orders"], "start": at(3).isoformat(), "end": at(5).isoformat(), "reason": "upgrade"}
    risky = incident(8, "crm.customers", episode(1, 2, 3), kind=Kind.DISCLOSURE)
    report = build((*SIX, risky), config={"maintenance": [planned]})
    assert report.method.excluded == (ExcludedIncidents(Resolution.FALSE_POSITIVE, 1, 2 * HOUR),)
    assert report.method.maintenance_us == 2 * HOUR
    assert [work.reason for work in report.method.maintenance] == ["upgrade"]
    assert report.method.disclosure == 1
    assert report.figures.this.downtime_us == 18 * HOUR


def test_without_rates():
    """Without a rate there is no cost anywhere, and tables come by downtime."""
    report = build(SIX, config={"cost": {}})
    assert report.figures.this.cost is None
    assert {share.cost for share in report.tables} == {None}
    assert [share.name for share in report.tables] == ["sales.orders", "web.events", "crm.customers"]
    assert not report.method.priced
    assert report.diagnosis is not None
    assert report.diagnosis.costliest is None


def test_notes_of_valid_rates():
    """The notes of all rates that hold at some time of the week are reported, oldest first."""
    history = [
        {"valid_from": "2025-01-01", "tiers": {"gold": {"per_hour": 1}}, "note": "old"},
        {"valid_from": "2026-11-12", "note": "new"},
    ]
    report = build(SIX, config={"cost": {"valid_from": "2027-01-01", "note": "to come", "history": history}})
    assert report.method.rate_notes == ("old", "new")


def test_quiet_week():
    """A week without downtime has figures of nothing, no diagnosis and no list; its change is all N."""
    report = build(SIX[5:])
    assert (report.figures.this.n, report.figures.this.downtime_us) == (0, 0)
    assert (report.figures.this.ttd, report.diagnosis, report.owners, report.tables) == (None, None, (), ())
    assert report.incidents.rows == ()
    assert report.change is not None
    assert (report.change.n, report.change.ttd, report.change.ttr) == (-4 * HOUR, 0, 0)
    assert str(report.headline) == "No data downtime this week, after 4 h last week."


def test_before_monitoring():
    """Weeks before the first run are not good weeks: no comparison, no median, no bar."""
    report = build(SIX[:2], since=-1)
    assert report.figures.before is not None  # the last hour of the week before was watched
    report = build(SIX[:2], since=0)
    assert (report.figures.before, report.figures.median, report.change) == (None, None, None)
    assert [bar.undetected_us for bar in report.trend] == [None] * 11 + [3 * HOUR]


def test_nothing_watched_yet():
    """A week before the first check has no figures, says since when there are some, and shows no day as a good one."""
    later = build((), since=400, now=at(500), results={})
    assert str(later.headline).startswith("Monitoring had not started: the first check ran on ")
    assert (later.figures.this, later.figures.before, later.change) == (None, None, None)
    assert {bar.undetected_us for bar in later.parts} == {None}
    assert later.trend[-1].why == NOT_WATCHED
    never = build((), since=None, results={})
    assert str(never.headline) == "Monitoring has not started: no check has run yet."
    assert never.figures.this is None


def test_reported_before_anything_was_watched():
    """What a person reported of a time before the first check counts in that week; the other days stay unknown."""
    reported = incident(1, "web.events", episode(26, 28, 30), found_by=FoundBy.PERSON, check_id=None)
    report = build([reported], since=400, now=at(500), results={})
    assert report.figures.this is not None
    assert (report.figures.this.n, report.figures.this.downtime_us) == (1, 4 * HOUR)
    assert "4 h of data downtime in one incident" in str(report.headline)
    assert [bar.undetected_us is None for bar in report.parts] == [True, False, True, True, True, True, True]
    assert (report.coverage.begun, report.coverage.since) == (False, at(400))
    only_people = build([reported], since=None, results={})
    assert [bar.undetected_us for bar in only_people.parts] == [0, 2 * HOUR, 0, 0, 0, 0, 0]


def test_watched_in_part():
    """In the week in which watching began the headline says since when, and the days before are unknown."""
    report = build((), since=60)
    assert str(report.headline).startswith("No data downtime since monitoring started on ")
    assert [bar.undetected_us is None for bar in report.parts] == [True, True, False, False, False, False, False]
    assert report.figures.this is not None
    assert (report.coverage.begun, report.coverage.from_start) == (True, False)


def test_tables_watched_later():
    """A table whose first check came in the week or after it is named; one with an earlier check of any id is not."""
    checks = [NotNull(columns=("x",), id="a")]
    tables = [{"name": name, "source": "db", "checks": checks} for name in ("s.old", "s.new", "s.later", "s.never")]
    begins = {"s.old.former-id": -100, "s.old.a": 20, "s.new.a": 30, "s.later.a": 180}
    watches = {name: Watch(name, at(hours), at(200), "pass") for name, hours in begins.items()}
    coverage = build((), config={"tables": tables, "owners": {}}, watches=watches, now=at(200)).coverage
    assert (coverage.from_start, coverage.partly, coverage.not_yet) == (True, ("s.new",), ("s.later", "s.never"))


def test_nothing_evaluated():
    """A week in which checks ran and none could be evaluated has no figures either."""
    report = build(SIX[5:], results={Status.UNKNOWN: 4})
    assert "No check could be evaluated" in str(report.headline)
    assert (report.figures.this, report.change) == (None, None)
    assert report.figures.before is not None
    assert {(bar.undetected_us, bar.repair_us) for bar in report.parts} == {(None, None)}
    assert (report.trend[-1].undetected_us, report.trend[-1].why) == (None, NOT_EVALUATED)


def test_nothing_evaluated_but_a_report():
    """What a person reported of such a week counts; the other days stay unknown."""
    reported = incident(1, "web.events", episode(26, 28, 30), found_by=FoundBy.PERSON, check_id=None)
    report = build([reported], results={Status.UNKNOWN: 4})
    assert (report.figures.this.n, report.trend[-1].why) == (1, None)
    assert [bar.undetected_us is None for bar in report.parts] == [True, False, True, True, True, True, True]


def test_after_a_week_of_which_nothing_is_known():
    """A week compares with no week in which could not be evaluated, and its sentence says so."""
    blind = {"unevaluated_periods": frozenset({WEEK.back(1).first})}
    quiet, down = build((), **blind), build(SIX[:2], **blind)
    assert str(quiet.headline) == "No data downtime this week; last week is unknown."
    assert str(down.headline).endswith(" this week; last week is unknown.")
    for report in (quiet, down):
        assert (report.figures.before, report.change) == (None, None)
        assert report.figures.median is not None  # of the three weeks before
        assert [bar.why for bar in report.trend] == [None] * 10 + [NOT_EVALUATED, None]
    assert build(SIX[2:3], **blind).figures.before is not None  # an incident of that week is on record


def test_days_that_nobody_saw():
    """A day on which every check was unknown or did not run has no figures, in a week that has some."""
    gap = Gap("sales.orders.check", "sales.orders", at(20), at(80), UnknownReason.UNREACHABLE)
    report = build((), gaps=[gap])
    assert [bar.undetected_us for bar in report.parts] == [0, None, None, 0, 0, 0, 0]


def test_only_false_alarms_and_nothing_evaluated():
    """Incidents that do not count make no week known."""
    report = build(SIX[4:5], results={Status.UNKNOWN: 1})
    assert "No check could be evaluated" in str(report.headline)
    assert (report.figures.this, report.method.excluded[0].n) == (None, 1)


def test_incidents_no_longer_kept():
    """A week older than incidents are kept is not called a good one; an incident that is still there counts."""
    kept = {"storage": {"keep_incidents": "10d"}}
    gone = build((), config=kept, now=at(168 + 240))
    assert str(gone.headline).startswith("Incidents of this week are past the retention period")
    assert gone.figures.this is None
    assert [bar.why for bar in gone.trend] == [NOT_KEPT] * 12
    assert {bar.undetected_us for bar in gone.parts} == {None}
    there = build(SIX, config=kept, now=at(168 + 240))
    assert there.figures.this is not None
    assert there.figures.this.n == 4


def test_onset_of_the_list_is_that_of_the_figures():
    """A listed incident began where its downtime begins; the low and high figures lie at the ends of its range."""
    report = build([incident(1, "sales.orders", episode(10, 16, 18, slack=3))])
    (row,) = report.incidents.rows
    week = report.figures.this
    assert week is not None
    assert (row.occurred_at, row.earliest, row.latest) == (at(10), at(7), at(13))
    assert week.downtime_us == to_us(at(18)) - to_us(row.occurred_at) == row.undetected_us + row.repair_us
    assert week.high_us == to_us(at(18)) - to_us(row.earliest)
    assert week.low_us == to_us(at(18)) - to_us(row.latest)


def test_unfinished_week():
    """In a week that is not over, days to come have no bar, and there is no explanation of a change."""
    report = build(SIX[:2], now=at(30))
    assert not report.complete
    assert report.change is None
    assert [bar.undetected_us is None for bar in report.parts] == [False] * 2 + [True] * 5
    assert "so far" in str(report.headline)


def test_coverage():
    """Coverage tells tables, checks, results, blind spots with their reasons, and what has no owner or no check."""
    checks = [NotNull(columns=("x",), id=name) for name in ("a", "b")]
    tables = [
        {"name": "t", "source": "db", "checks": checks},
        {"name": "u", "source": "db", "owner": "nobody-configured"},
    ]
    gaps = [
        Gap("t.a", "t", at(-5), at(2), UnknownReason.UNREACHABLE),
        Gap("t.b", "t", at(1), at(3), "not-run"),
        Gap("t.a", "t", at(400), at(500), UnknownReason.TIMEOUT),
    ]
    watches = {"t.a": Watch("t.a", at(-100), at(100), "pass")}
    results = {Status.PASS: 5, Status.FAIL: 2, Status.UNKNOWN: 1}
    known = evidence((), config={"tables": tables, "owners": {}}, gaps=gaps, watches=watches, results=results)
    coverage = build_report(known, WEEK).coverage
    assert (coverage.tables, coverage.checks, coverage.silent) == (2, 2, 1)
    assert (coverage.results, coverage.evaluated) == (8, 7)
    assert coverage.unobserved_us == 3 * HOUR
    assert [(spot.table, len(spot.reasons)) for spot in coverage.unobserved] == [("t", 2)]
    assert (coverage.without_owner, coverage.without_checks) == (("t",), ("u",))


MOMENT = st.floats(-2200, 180, allow_nan=False).map(lambda hours: round(hours, 2))


@st.composite
def histories(draw):
    """Return some incidents of the past three months, with reopenings, open ones and ones that do not count."""
    incidents = []
    for number in range(1, draw(st.integers(0, 8)) + 1):
        begin, episodes = draw(MOMENT), []
        for _ in range(draw(st.integers(1, 3))):
            noticed = begin + draw(st.floats(0, 60))
            end = noticed + draw(st.floats(0, 90))
            if to_us(at(noticed)) > to_us(NOW):
                break
            episodes.append(episode(begin, noticed, end, slack=draw(st.floats(0, 3))))
            begin = end + draw(st.floats(0.1, 50))
        if not episodes:
            continue
        if draw(st.booleans()):
            last = episodes[-1]
            episodes[-1] = Episode(last.onset, last.detected_at, None)
        more = {} if episodes[-1].resolved_at is None else {"resolution": draw(st.sampled_from(Resolution))}
        incidents.append(incident(number, draw(st.sampled_from(TABLES)), *episodes, **more))
    return incidents


@settings(max_examples=examples(60), deadline=None)
@given(histories())
@example([incident(1, "crm.customers", episode(0, 0, 0))])
def test_identities(incidents):
    """Whatever happened, breakdowns add up to the week exactly, and the week is what the incidents package measures."""
    known = evidence(incidents)
    report = build_report(known, WEEK)
    week = report.figures.this
    found = measure(known.spans, window_of(WEEK), as_of_us=known.as_of_us)
    assert (week.n, week.downtime_us, week.low_us, week.high_us) == (found.n, found.downtime, found.low, found.high)
    assert week.low_us <= week.downtime_us <= week.high_us
    assert week.table_us <= week.downtime_us
    assert sum(bar.undetected_us + bar.repair_us for bar in report.parts) == week.downtime_us
    for shares in (report.owners, report.tables):
        assert sum(share.downtime_us for share in shares) == week.downtime_us
        assert sum(share.cost or 0 for share in shares) == week.cost
        assert sum(share.part for share in shares) in {0, 1}
    assert len(report.incidents.rows) + report.incidents.more == week.n
    domains = [section.figures for section in report.by_domain if section.figures is not None]
    for name in ("n", "n_occurred", "undetected_us", "repair_us", "low_us", "high_us", "table_us", "cost"):
        assert sum(getattr(figures, name) for figures in domains) == getattr(week, name), name
    for section in report.by_domain:
        own = [item for item in incidents if (item.table == "crm.customers") == (section.name == "customer")]
        alone = measure(Spans.of(own), window_of(WEEK), as_of_us=known.as_of_us)
        assert section.open == tuple(incident.id for incident in alone.open)
        assert section.figures is None or section.figures.n == alone.n
        if section.figures is not None and alone.ttd is not None:
            assert section.figures.ttd.p90 == alone.ttd.p90
    assert sum(row.undetected_us + row.repair_us for row in report.incidents.rows) == week.downtime_us
    assert sum(row.cost or 0 for row in report.incidents.rows) == week.cost
    last = measure(known.spans, window_of(WEEK.back(1)), as_of_us=known.as_of_us)
    if report.change is not None:
        assert report.change == changes(last, found)


@settings(max_examples=examples(40), deadline=None)
@given(histories())
def test_an_hour_that_does_not_count_is_told_once(incidents):
    """The table of resolutions and the notes agree; with downtime and planned work they are all hours of incidents."""
    works = [{"tables": [name], "start": at(10), "end": at(70), "reason": "move"} for name in TABLES]
    known = evidence(incidents, config={"maintenance": works})
    report = build_report(known, WEEK)
    left = {str(item.resolution): (item.n, item.downtime_us) for item in report.method.excluded}
    assert left == {share.key: (share.n, share.time) for share in report.patterns.resolutions if not share.counts}
    episodes = [episode for incident in incidents for episode in incident.episodes if episode.detected_at <= NOW]
    ends = [min(episode.resolved_at or NOW, NOW, WEEK.end) for episode in episodes]
    lasted = [end - max(item.onset.at, WEEK.start) for item, end in zip(episodes, ends, strict=True)]
    counted = sum(share.time for share in report.patterns.resolutions)
    whole = sum(max(length, timedelta()) // timedelta(microseconds=1) for length in lasted)
    assert counted + report.method.maintenance_us == whole


SUMS = ("n", "n_occurred", "undetected_us", "repair_us", "downtime_us", "low_us", "high_us", "table_us", "cost")


@settings(max_examples=examples(40), deadline=None)
@given(histories(), st.sampled_from(ScopeKind))
@example([incident(1, "crm.customers", episode(0, 0, 0))], ScopeKind.DOMAIN)
def test_reports_of_domains_owners_or_products_add_up(incidents, kind):
    """The reports of all domains add up to that of everything: figures, parts, trend, list, what was not counted.

    So do those of owners, where each table has one, and of products that have no table in common.
    """
    names = {name: name.partition(".")[0] for name in TABLES}
    tables = [{"name": name, "source": "db", "domain": key, "owner": key} for name, key in names.items()]
    domains = {key: {} for key in names.values()}
    products = {key: {"tables": [name for name in TABLES if names[name] == key]} for key in domains}
    config = {"tables": tables, "domains": domains, "owners": domains, "products": products}
    known = evidence(incidents, config=config)
    whole = build_report(known, WEEK)
    scopes = [ReportScope.of(known.config, kind, key) for key in domains]
    parts = [build_report(known.within(scope), WEEK) for scope in scopes]
    figures = [part.figures.this for part in parts if part.figures.this is not None]
    for name in SUMS:
        assert sum(getattr(item, name) for item in figures) == getattr(whole.figures.this, name), name
    for bars in ("parts", "trend"):
        for number, bar in enumerate(getattr(whole, bars)):
            own = [getattr(part, bars)[number] for part in parts]
            assert sum((item.undetected_us or 0) + (item.repair_us or 0) for item in own) == (
                (bar.undetected_us or 0) + (bar.repair_us or 0)
            )
    ids = [row.id for part in parts for row in part.incidents.rows]
    assert sorted(ids) == sorted(row.id for row in whole.incidents.rows)
    assert sum(part.timeline.incidents for part in parts) == whole.timeline.incidents
    assert sum(item.n for part in parts for item in part.method.excluded) == sum(
        item.n for item in whole.method.excluded
    )
    sections = {section.name: section.figures for section in whole.by_domain}
    for name, part in zip(domains, parts, strict=True):
        mine = part.figures.this
        if mine is not None and sections[name] is not None:
            assert replace(mine, cost_by_table_hours=None) == sections[name]


def test_the_report_of_a_domain_is_about_its_tables_alone():
    """Coverage, planned work, promises and unobserved time are those of its tables; there is no table of domains."""
    everywhere = JudgedContract("everywhere", TABLES, window_of(WEEK), ())
    own = JudgedContract("own", ("crm.customers",), window_of(WEEK), ())
    gaps = [Gap(f"{table}.check", table, at(1), at(3), "timeout") for table in TABLES]
    works = [
        {"tables": [table], "start": at(30), "end": at(31), "reason": table} for table in ("sales.orders", "web.events")
    ]
    works.append({"domains": ["customer"], "start": at(40), "end": at(41), "reason": "move"})
    known = evidence(SIX, config={"maintenance": works}, contracts=(everywhere, own), gaps=gaps)
    scope = ReportScope.of(known.config, ScopeKind.DOMAIN, "customer")
    report = build_report(known.within(scope), WEEK)
    assert (scope.name, report.scope, report.by_domain, report.domains) == ("customer", scope, (), DomainGrid())
    assert (report.coverage.tables, report.coverage.unobserved_us) == (1, 2 * HOUR)
    assert [spot.table for spot in report.coverage.unobserved] == ["crm.customers"]
    assert (report.contracts, [work.reason for work in report.method.maintenance]) == ((own,), ["move"])
    assert [share.name for share in report.tables] == ["crm.customers"]
    assert [lane.table for lane in report.timeline.lanes] == ["crm.customers"]
    assert report.coverage.since is None  # no check of it ever ran: what was reported is all that is known
    assert report.figures.this.n == 1


def test_clock_change_week():
    """In a week of 169 hours an incident that lasts all week is down for 169 hours."""
    week = Week.parse("2026-W44", "America/New_York")
    earlier = week.start - timedelta(days=8)
    lasting = Episode(Onset(earlier, earlier, earlier, OccurrenceMethod.FIRST_OBSERVATION), earlier)
    known = evidence([incident(1, "sales.orders", lasting)], config={"timezone": "America/New_York"})
    report = build_report(known, week)
    assert report.figures.this.downtime_us == 169 * HOUR
    assert report.parts[6].repair_us == 25 * HOUR


def test_as_known_now():
    """A week is reported as it is known now: what was detected later is in it."""
    late = incident(1, "sales.orders", episode(100, 170, None))
    assert build([late]).figures.this.n == 1
    assert build([late], now=datetime(2026, 11, 15, 15, 30, tzinfo=UTC)).figures.this.n == 0
