"""The pictures of the first page, compared with what the rows of the store say."""

import re
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

import pytest

from incidents import ReportedIncident, Resolution
from monitor.triage.desk import IncidentDesk
from monitor.web.views.overview import DAYS
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
    now, desk, numbers = site.clock.now(), IncidentDesk(site.project, site.store, actor="test"), []
    for at, (table, hours) in enumerate(times):
        occurred, detected, resolved = (None if ago is None else now - timedelta(hours=ago) for ago in hours)
        assert detected is not None
        told = ReportedIncident(table, f"fault {at}", detected, occurred_at=occurred, resolved_at=resolved, **more)
        numbers.append(desk.log(told)[0].id)
    return numbers


def _drawn_by_hand(site: Site) -> dict[tuple[int, str], tuple[float, float]]:
    """Return where each incident in repair begins and how long that takes, in percent of seven days, from the rows."""
    zone = ZoneInfo(site.project.config.timezone)
    today = site.clock.now().astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0)
    start, now = today - timedelta(days=DAYS - 1), site.clock.now()
    with closing(sqlite3.connect(site.project.config.storage.url.removeprefix("sqlite:///"))) as connection:
        rows = connection.execute(
            "SELECT i.id, i.table_name, e.occurred_us, e.detected_us, e.resolved_us FROM incident i "
            "JOIN episode e ON e.incident_id = i.id WHERE coalesce(i.resolution, 'fixed') IN ('fixed', 'no-action')"
        ).fetchall()
    drawn = {}
    for number, table, *micros in rows:
        occurred, detected, resolved = (
            now if us is None else datetime.fromtimestamp(us / 1_000_000, UTC) for us in micros
        )
        if resolved > start and occurred < now:
            begin, end = (max(moment, start) for moment in (detected, resolved))
            share = timedelta(days=DAYS) / 100
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
    shown = client.get("/overview.json").json()["last_days"]
    assert {(item["incident"], lane["table"]) for lane in shown["shown"] for item in lane["episodes"]} == set(expected)
    assert (shown["incidents"], shown["more"]) == (len(expected), 0)


def test_a_quiet_week_has_no_timeline(site: Site) -> None:
    """Without an incident in the last seven days nothing is drawn; other parts of the page stay."""
    _log(site, [("orders", (30 * 24, 29 * 24, 8 * 24))])
    text = site.signed_in().get("/").text
    assert "Last seven days" not in text
    assert "No open incidents." in text
