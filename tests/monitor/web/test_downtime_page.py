"""The page of downtime: its figures are those of `incidents`, computed here by hand."""

import re
from datetime import timedelta
from html import unescape
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from incidents import Corrected, ReportedIncident, Resolution, Window
from monitor.summaries.downtime import DowntimeReport, measure_downtime
from monitor.summaries.shapes import DowntimeGroup
from monitor.triage.incident_editor import IncidentEditor
from monitor.web.pictures import split_bars
from store import WebRole
from tests.monitor.web.site import Site


def test_downtime_is_split_by_incident(site: Site) -> None:
    """Each with its number, its title and its part of the whole; the page leads to it."""
    numbers = [site.incident("late"), site.incident("wrong", table="refunds")]
    client = site.signed_in()
    page = client.get("/api/v1/downtime?by=incident").json()
    assert sorted((int(group["key"]), group["title"]) for group in page["groups"]) == [
        (numbers[0], "late"),
        (numbers[1], "wrong"),
    ]
    assert sum(group["downtime_h"] for group in page["groups"]) == page["total"]["downtime_h"]
    assert {group["n"] for group in page["groups"]} == {1}
    assert f'<a href="/incidents/{numbers[1]}">#{numbers[1]} · wrong</a>' in client.get("/downtime?by=incident").text
    assert {group["title"] for group in client.get("/api/v1/downtime?by=table").json()["groups"]} == {None}


@pytest.fixture
def reported(site: Site) -> int:
    """Log an incident of `orders` that occurred 10 h ago, was reported 6 h ago and resolved 2 h ago; of 100 an hour."""
    now = site.clock.now()
    at = {name: now - timedelta(hours=ago) for name, ago in (("occurred", 10), ("detected", 6), ("resolved", 2))}
    desk = IncidentEditor(site.project, site.store, actor="test")
    told = ReportedIncident("orders", "late", at["detected"], occurred_at=at["occurred"], resolved_at=at["resolved"])
    return desk.log(told)[0].id


def _page(site: Site, query: str = "") -> dict[str, Any]:
    page: dict[str, Any] = site.signed_in().get(f"/api/v1/downtime{query}").json()
    return page


def test_downtime_is_ttd_and_ttr(site: Site, reported: int) -> None:
    """4 h before detection, 4 h after; it is certain when it occurred."""
    del reported
    page = _page(site)
    total = page["total"]
    assert (total["n"], total["undetected_h"], total["repair_h"], total["downtime_h"]) == (1, 4.0, 4.0, 8.0)
    assert (total["downtime_h_low"], total["downtime_h_high"]) == (8.0, 8.0)
    assert (page["ttd"]["median"], page["tta"], page["ttr"]["median"]) == (4.0, None, 4.0)
    (group,) = page["groups"]
    assert (group["undetected_h"], group["repair_h"]) == (4.0, 4.0)
    (lane,) = page["calendar"]["shown"]
    bad = {state: end - start for start, end, state in lane["states"] if state in {"undetected", "repair"}}
    assert {state: share * 24 * 28 for state, share in bad.items()} == pytest.approx(
        {"undetected": 4.0, "repair": 4.0}, abs=0.01
    )


@pytest.mark.parametrize(
    ("query", "saved", "left"),
    [
        ("?repair=20", 0.8, (4.0, 3.2)),
        ("?noticed_within=30", 0.0, (4.0, 4.0)),
        ("?noticed_within=30&also_reported=true", 3.5, (0.5, 4.0)),
        ("?also_reported=true", 3.0, (1.0, 4.0)),
        ("?noticed_within=30&also_reported=true&repair=50", 5.5, (0.5, 2.0)),
        ("?noticed_within=600&also_reported=true", 0.0, (4.0, 4.0)),
    ],
)
def test_what_if(site: Site, reported: int, query: str, saved: float, left: tuple[float, float]) -> None:
    """A faster repair, a shorter schedule, a check for what a person reported: what is left, and what that saves.

    A shorter schedule alone changes nothing of what no check found, and a longer one never makes anything worse.
    """
    del reported
    what_if = _page(site, query)["what_if"]
    assert what_if["saved_h"] == pytest.approx(saved)
    assert (what_if["changed"]["undetected_h"], what_if["changed"]["repair_h"]) == pytest.approx(left)


def test_nothing_is_computed_where_nothing_is_changed(site: Site, reported: int) -> None:
    """The page without what-if has none."""
    del reported
    assert _page(site)["what_if"] is None


def test_a_moment_without_a_zone_is_one_of_the_project(site: Site, reported: int) -> None:
    """Browsers send a local time; programs name a zone. The page says of when it is, and leads back to now."""
    del reported
    site.clock.advance(timedelta(hours=1))
    moment = site.clock.now() - timedelta(minutes=30)
    there = f"{moment.astimezone(ZoneInfo(site.project.config.timezone)):%Y-%m-%dT%H:%M}"
    for text in (there, f"{moment:%Y-%m-%dT%H:%M}:00Z"):
        assert _page(site, f"?as_of={text}")["as_of"] == f"{moment:%Y-%m-%dT%H:%M}:00+00:00"
    page = site.signed_in().get(f"/downtime?as_of={there}").text
    assert "As it was known on" in page
    assert f'name="as_of" value="{there}"' in page
    assert '<a href="/downtime?">' in page


def test_the_page_shows_what_was_known_on_a_date(site: Site, reported: int) -> None:
    """A correction, a resolution and an incident that were recorded later are not known yet; the rest is as it is."""
    lasting = site.incident("lasting", table="refunds")
    then = site.clock.now()
    before = _page(site)
    site.clock.advance(timedelta(hours=1))
    desk = IncidentEditor(site.project, site.store, actor="test")
    desk.correct(reported, Corrected(0, occurred_at=then - timedelta(hours=8)))
    desk.resolve(lasting, Resolution.FALSE_POSITIVE)
    desk.log(ReportedIncident("orders", "found later", then - timedelta(hours=2)))
    now, known = _page(site), _page(site, f"?as_of={then:%Y-%m-%dT%H:%M:%S.%f}Z")
    assert now["total"]["undetected_h"] == 2.0
    assert known["total"] == before["total"]
    assert known["groups"] == before["groups"]
    assert known["total"]["n"] == 2


def test_an_incident_is_shown_up_to_the_moment_that_is_asked_for(site: Site, reported: int) -> None:
    """Of one that lasts, what has passed until then."""
    del reported
    site.incident("lasting", table="refunds")
    began = site.clock.now() - timedelta(hours=1)
    site.clock.advance(timedelta(hours=5))
    moment = began + timedelta(hours=3)
    page = _page(site, f"?by=table&as_of={moment:%Y-%m-%dT%H:%M:%S.%f}Z")
    lengths = {group["key"]: group["repair_h"] for group in page["groups"]}
    assert lengths == {"orders": 4.0, "refunds": 3.0}


class TestWithRates:
    """Tables of two tiers."""

    @pytest.fixture
    def web_section(self) -> str:
        """Return rates: an hour of `refunds` costs a hundred times as much."""
        return "cost: {currency: EUR, tables: {orders: {per_hour: 1}, refunds: {per_hour: 100}}}\n"

    def test_groups_are_ordered_by_cost_where_that_is_asked(self, site: Site, reported: int) -> None:
        """The costliest incident is first, however short it was."""
        costly = site.incident("short", table="refunds")
        for order, first in (("downtime", reported), ("cost", costly)):
            groups = _page(site, f"?by=incident&order={order}")["groups"]
            assert [int(group["key"]) for group in groups] == [first, reported + costly - first]
        assert groups[0]["cost"] == 100.0


def _group(undetected: float, repair: float, low: float, high: float) -> DowntimeGroup:
    figures = {"undetected_h": undetected, "repair_h": repair, "downtime_h": undetected + repair}
    rest = {"n": 1, "n_occurred": 1, "table_hours": undetected + repair, "cost": None}
    return DowntimeGroup(key="a", **figures, **rest, downtime_h_low=low, downtime_h_high=high)


def test_bars_are_on_one_scale_with_their_range() -> None:
    """The largest downtime that any group may have had is the end; a range of nothing has no whisker."""
    (_, first), (_, second) = split_bars([_group(1, 2, 2, 4), _group(0, 1, 1, 1)])
    assert first.undetected is not None
    assert first.repair is not None
    assert first.whisker is not None
    assert (first.undetected.width, first.repair.x, first.repair.width) == (25, 25, 50)
    assert (first.whisker.x, first.whisker.width) == (50, 50)
    assert (second.undetected, second.whisker) == (None, None)
    assert split_bars([]) == []


def test_causes_and_alarms_are_those_of_the_downtime_command(site: Site, reported: int) -> None:
    """The page shows the same figures as the command; a cause is a choice of people and is escaped."""
    client = site.signed_in()
    IncidentEditor(site.project, site.store, actor="mia").resolve(reported, Resolution.FIXED, cause="a <b> load")
    page = client.get("/api/v1/downtime").json()
    times = dict.fromkeys(("downtime_h", "downtime_h_low", "downtime_h_high"), 8.0)
    assert page["patterns"]["causes"] == [{"key": "a <b> load", "n": 1, "counts": True, **times, "cost": None}]
    assert page["patterns"]["precision"]["all"]["alarms"] == 0  # no check found it
    window = Window.of(site.clock.now() - timedelta(days=27), site.clock.now())
    with site.store.reading() as tx:
        figures = measure_downtime(site.project, tx, window=window, as_of_us=window.end_us, by="cause")
    command = DowntimeReport.published(site.project, figures).plain()
    assert page["patterns"]["causes"] == command["causes"]
    assert page["patterns"]["resolutions"] == command["resolutions"]
    text = client.get("/downtime").text
    assert "<h2>By cause</h2>" in text
    assert "a &lt;b&gt; load" in text
    japanese = client.get("/downtime", headers={"Accept-Language": "ja"}).text
    assert "原因別" in japanese


def test_the_form_is_in_the_language_of_the_reader(site: Site) -> None:
    """What downtime is split by has a word in each language, and the last day is not called as who is assigned."""
    page = site.signed_in(WebRole.VIEWER).get("/downtime?by=root-owner", headers={"accept-language": "ja"}).text
    assert '<option value="root-owner" selected>根本原因の担当者</option>' in page
    assert "終了日<input" in page
    assert ">owner<" not in page


def test_incidents_are_dots_over_their_quartiles(site: Site, reported: int) -> None:
    """Each with a link and its length as text; the ends are drawn, of many incidents not all; one scale for all."""
    others = [site.incident(f"number {number}") for number in range(40)]
    taken = _page(site)["taken"]
    ttd, _, ttr = taken
    assert (ttd["n"], len(ttd["drawn"]), ttr["n"]) == (41, 30, 1)
    assert (ttd["drawn"][-1]["incident"], ttd["drawn"][-1]["hours"]) == (reported, 4.0)
    assert (ttr["p25"], ttr["median"], ttr["p75"]) == (4.0, 4.0, 4.0)
    text = site.signed_in().get("/downtime", headers={"accept-language": "en"}).text
    assert re.search(rf'<a href="/incidents/{reported}" aria-label="#{reported}: 4\W?h', text)
    assert "drawn: 30 of 41" in text.replace("Drawn", "drawn")
    assert text.count('class="quartiles"') == 2
    assert others


def test_figures_lead_to_the_incidents_behind_them(site: Site) -> None:
    """The number of incidents of a group is a link to the list with the same filter and days."""
    number = site.incident()
    client = site.signed_in()
    for by in ("table", "owner", "severity"):
        page = client.get(f"/downtime?by={by}").text
        (address,) = set(re.findall(rf'href="(/incidents\?{by}=[^"]+)"', page))
        assert f"#{number} " in client.get(unescape(address)).text
    assert f"#{number} " not in client.get("/incidents?cause=none").text
    assert f"#{number} " not in client.get("/incidents?check=orders.none").text
