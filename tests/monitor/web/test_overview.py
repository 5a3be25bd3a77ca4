"""The pictures of the first page, compared with what the rows of the store say."""

import re
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

import pytest
from jinja2.meta import find_referenced_templates, find_undeclared_variables
from starlette.testclient import TestClient

from incidents import Corrected, ReportedIncident, Resolution, Watch
from monitor.config.selector import select
from monitor.config.web_model import cookie_name
from monitor.reporting.build import build_report, gather
from monitor.reporting.period import Week
from monitor.scan.run import run_checks
from monitor.triage.incident_editor import IncidentEditor
from monitor.verbs.account_secrets import start_session
from monitor.web.pages import Pages
from monitor.web.server import SERVED, asgi, make_application
from monitor.web.views.overview_pictures import DAYS
from store import Grant, SignInMethod, WebRole
from tests.monitor.web.site import Site

_BAR: Final = re.compile(
    r"<g><title>#(\d+) ([\w.]+): [^<]*</title>\s*"
    r'(?:<rect [^>]*class="uncertain"/>\s*)?<rect x="([\d.]+)%"[^>]* width="([\d.]+)%"[^>]*class="repair"/>'
)
_NARROWEST: Final = 0.4
"""Percent of the picture that a bar has at least."""

Hours = tuple[float, float, float | None]
"""How many hours ago an incident occurred, was detected, and was resolved."""


def _log(site: Site, times: Iterable[tuple[str, Hours]], **more: Resolution) -> list[int]:
    now, desk, numbers = site.clock.now(), IncidentEditor(site.project, site.store, actor="test"), []
    for at, (table, hours) in enumerate(times):
        occurred, detected, resolved = (None if ago is None else now - timedelta(hours=ago) for ago in hours)
        assert detected is not None
        result = ReportedIncident(table, f"fault {at}", detected, occurred_at=occurred, resolved_at=resolved, **more)
        numbers.append(desk.log(result)[0].id)
    return numbers


def _rows(site: Site) -> list[tuple[int, str, datetime, datetime, datetime]]:
    """Return number, table, and when each incident that counts occurred, was detected and ended, or now, from rows."""
    now = site.clock.now()
    with closing(sqlite3.connect(site.project.config.storage.url.removeprefix("sqlite:///"))) as connection:
        rows = connection.execute(
            "SELECT i.id, i.table_name, e.occurred_us, e.detected_us, e.resolved_us FROM incident i "
            "JOIN episode e ON e.incident_id = i.id WHERE coalesce(i.resolution, 'fixed') IN ('fixed', 'no-action')"
        ).fetchall()
    return [
        (number, table, *(now if us is None else datetime.fromtimestamp(us / 1_000_000, UTC) for us in times))
        for number, table, *times in rows
    ]


def _midnight(site: Site) -> datetime:
    """Return when today began in the project's zone."""
    zone = ZoneInfo(site.project.config.timezone)
    return site.clock.now().astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0)


def _drawn_by_hand(site: Site) -> dict[tuple[int, str], tuple[float, float]]:
    """Return where each incident in repair begins and how long that takes, in percent of seven days, from the rows."""
    start, share = _midnight(site) - timedelta(days=DAYS - 1), timedelta(days=DAYS) / 100
    drawn = {}
    for number, table, _, detected, resolved in _rows(site):
        if resolved > start:
            begin, end = (max(moment, start) for moment in (detected, resolved))
            drawn[number, table] = ((begin - start) / share, max((end - begin) / share, _NARROWEST))
    return drawn


def test_the_last_seven_days_are_those_of_the_rows(site: Site) -> None:
    """Each incident of the days is drawn where its times are, in both languages and in JSON; no other one is."""
    _log(
        site,
        [
            ("orders", (8 * 24, 7 * 24, 6 * 24)),
            ("orders", (100, 98, 97.5)),
            ("orders", (60, 20, 5)),
            ("orders", (3, 2, None)),
            ("refunds", (90, 80, 10)),
            ("refunds", (85, 70, 1)),
            ("refunds", (30 * 24, 29 * 24, None)),
            ("orders", (30 * 24, 29 * 24, 20 * 24)),
        ],
    )
    _log(site, [("orders", (50, 40, 30))], resolution=Resolution.FALSE_POSITIVE)
    expected = _drawn_by_hand(site)
    assert len(expected) == 7
    client = site.signed_in()
    for language in ("en", "ja"):
        text = client.get("/", headers={"accept-language": language}).text
        drawn = {(int(number), table): (float(x), float(width)) for number, table, x, width in _BAR.findall(text)}
        assert drawn.keys() == expected.keys()
        for key, (x, width) in expected.items():
            assert drawn[key] == pytest.approx((x, width), abs=0.01), key
        for number, table in expected:
            assert f'<a href="/incidents/{number}">#{number}</a>' in text
            assert f'<a href="/tables/{table}">{table}</a></strong>' in text
    shown = client.get("/api/v1/overview").json()["last_days"]
    assert {(item["incident"], lane["table"]) for lane in shown["shown"] for item in lane["episodes"]} == set(expected)
    assert (shown["incidents"], shown["more"]) == (len(expected), 0)


def test_what_is_not_known_is_never_drawn_as_good(site: Site) -> None:
    """Before the first check of a table its time is not monitored, also between incidents; good only afterwards."""
    _log(site, [("orders", (60, 20, 5)), ("refunds", (50, 20, 5))])
    start = _midnight(site) - timedelta(days=DAYS - 1)
    began = site.clock.now()
    for ran in (False, True):
        if ran:
            run_checks(site.project, select(["orders"], site.project.config), store=site.store)
            site.clock.advance(timedelta(hours=1))
        client = site.signed_in()
        shown = client.get("/api/v1/overview").json()["last_days"]["shown"]
        states = {lane["table"]: lane["states"] for lane in shown}
        first, now = ((moment - start) / timedelta(days=DAYS) for moment in (began, site.clock.now()))
        expected = ["not-monitored", "undetected", "repair", "not-monitored"]
        assert [state for *_, state in states["refunds"]] == [*expected, "not-yet"]
        assert [state for *_, state in states["orders"]] == [*expected, *(["good"] if ran else []), "not-yet"]
        assert states["orders"][3][1] == pytest.approx(first, abs=1e-6)
        assert [lane[-1][0] for lane in states.values()] == pytest.approx([now, now], abs=1e-6)
        text = client.get("/").text
        drawn = re.findall(r'<rect x="([\d.]+)%"[^>]* width="([\d.]+)%"[^>]*class="ground not-monitored"', text)
        assert sum(float(width) for _, width in drawn) == pytest.approx(
            100
            * sum(end - begin for lane in states.values() for begin, end, state in lane if state == "not-monitored"),
            abs=0.01,
        )
    for since in (began, start - timedelta(days=9)):
        with site.store.writing() as tx:  # of a check that is no longer configured
            tx.results.save_watches([Watch("orders.gone", since, site.clock.now(), "pass")])
        shown = site.signed_in().get("/api/v1/overview").json()["last_days"]["shown"]
        starts = {lane["table"]: lane["watched_since"] for lane in shown}
        assert starts == {"orders": since.astimezone(UTC).isoformat(), "refunds": None}


def test_a_quiet_week_has_no_timeline(site: Site) -> None:
    """Without an incident in the last seven days nothing is drawn; other parts of the page stay."""
    _log(site, [("orders", (30 * 24, 29 * 24, 8 * 24))])
    text = site.signed_in().get("/").text
    assert "Last seven days" not in text
    assert "No open incidents." in text


def _shown_domains(site: Site) -> dict[tuple[str | None, str], tuple[int, float] | None]:
    """Return incidents and hours by domain and week, as the JSON of the page has them."""
    page = site.signed_in().get("/api/v1/overview").json()["domains"]
    return {
        (row["key"], cell["week"]): None if cell["n"] is None else (cell["n"], cell["downtime_h"])
        for row in page["shown"]
        for cell in row["cells"]
    }


def test_domains_have_the_hours_of_the_rows(site: Site) -> None:
    """The hours of each domain and week are those of the rows between its Mondays; weeks without are unknown."""
    week = 7 * 24
    _log(
        site,
        [
            ("refunds", (3, 2, None)),
            ("orders", (week + 9, week + 5, week - 30)),
            ("refunds", (5 * week, 5 * week - 4, 3 * week)),
            ("refunds", (5 * week - 1, 5 * week - 2, 5 * week - 3)),
            ("refunds", (20 * week, 20 * week - 1, 11 * week - 2)),
        ],
    )
    monday = _midnight(site) - timedelta(days=_midnight(site).weekday())
    shown, expected = _shown_domains(site), {}
    for back in range(12):
        start = monday - timedelta(weeks=back)
        for domain, table in (("sales", "refunds"), (None, "orders")):
            hours = [
                (min(resolved, start + timedelta(weeks=1)) - max(occurred, start)) / timedelta(hours=1)
                for _, name, occurred, _, resolved in _rows(site)
                if name == table and occurred < start + timedelta(weeks=1) and resolved > start
            ]
            year, number, _ = start.isocalendar()
            expected[domain, f"{year}-W{number:02}"] = (len(hours), pytest.approx(sum(hours))) if hours else None
    assert shown == expected
    assert sum(cell is not None for cell in shown.values()) == 6
    text = site.signed_in().get("/").text
    assert text.count('class="heat ') == 24
    assert '<a href="/tables?domain=sales">sales</a>' in text


def test_domains_are_those_of_the_report_whatever_changes(site: Site) -> None:
    """Checks run for weeks, an incident is corrected, another one merged: the page always draws what a report does."""

    def assert_same() -> None:
        week = Week.containing(site.clock.now(), site.project.config.timezone)
        with site.store.reading() as tx:
            report = build_report(gather(site.project, tx, week, site.clock.now()), week)
        assert site.signed_in().get("/api/v1/overview").json()["domains"] == report.domains.as_json()

    numbers = _log(site, [("refunds", (400, 380, 300)), ("orders", (60, 50, None)), ("refunds", (70, 60, 50))])
    assert_same()
    for days in (0, 3, 5, 9, 16):
        site.clock.advance(timedelta(days=days))
        run_checks(site.project, select(["orders"] if days else [], site.project.config), store=site.store)
        assert_same()
    desk = IncidentEditor(site.project, site.store, actor="test")
    desk.correct(numbers[0], Corrected(0, occurred_at=site.clock.now() - timedelta(weeks=7)))
    assert_same()
    desk.merge(numbers[2], numbers[0], force=True)
    desk.resolve(numbers[1], Resolution.FALSE_POSITIVE)
    assert_same()
    assert None in _shown_domains(site).values()
    assert (0, 0.0) in _shown_domains(site).values()


def test_readers_share_what_the_page_shows_but_not_who_they_are(site: Site) -> None:
    """Every role reads the same content, made once while its model is shown; name, role and menu are the reader's."""
    site.incident("late load")
    application = asgi(make_application(site.project, site.store, freshness=SERVED))
    pages = {}
    for name, role, limits in (
        ("ann", WebRole.VIEWER, {}),
        ("bob", WebRole.OWNER, {"owners": ("others",)}),
        ("mia", WebRole.STEWARD, {}),
    ):
        with site.store.writing() as tx:
            secret = start_session(tx, name, SignInMethod.FORM, Grant(role, **limits), now=site.clock.now())
        client = TestClient(application, base_url="http://localhost", headers={"sec-fetch-site": "same-origin"})
        client.cookies.set(cookie_name(site.project.config.web), secret)
        pages[name] = client.get("/").text
    heads, contents = zip(*(page.split("<main", 1) for page in pages.values()), strict=True)
    assert len(set(contents)) == 1
    assert "late load" in contents[0]
    for name, head in zip(pages, heads, strict=True):
        assert [other for other in pages if f'<a href="/account">{other} · ' in pages[name]] == [name]
        assert ('href="/budgets"' in head) is (name == "mia")
    site.incident("another fault", table="refunds")
    site.clock.advance(timedelta(seconds=11))
    assert "another fault" in client.get("/").text


def test_content_that_readers_share_cannot_ask_who_reads(site: Site) -> None:
    """The template of what readers share, and all that it takes from others, names neither the reader nor the path."""
    made = Pages(site.project)._environments["en"]
    waiting, names = ["web/_overview.html.j2"], set()
    while waiting:
        name = waiting.pop()
        tree = made.parse(made.loader.get_source(made, name)[0])
        names.add(name)
        assert not find_undeclared_variables(tree) & {"principal", "path", "allowed"}, name
        waiting += set(find_referenced_templates(tree)) - names
    assert len(names) == 3
