"""Summary."""

from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction

import pytest

from monitor.reporting.figures import ComparedFigure, Figures
from monitor.reporting.headline import period_headline, unknown_period
from monitor.reporting.words import NOT_EVALUATED, NOT_KEPT, NOT_WATCHED
from monitor.terminal.localizer import Localizer
from tests.monitor.reporting.sample import figures

ENGLISH, JAPANESE = Localizer("en", "UTC"), Localizer("ja", "UTC")


def say(
    week: Figures,
    before: Figures | None,
    *,
    complete: bool = True,
    since: datetime | None = None,
    localizer: Localizer = ENGLISH,
) -> str:
    """Format the headline of a week, with plain spaces."""
    said = period_headline(ComparedFigure(week, before, None), currency="JPY", complete=complete, since=since)
    return said.render(localizer).replace("\N{NO-BREAK SPACE}", " ")


def down(hours: float, cost: int | None = None, n: int = 1) -> Figures:
    """Return figures of some downtime."""
    return figures(n if hours else 0, round(hours * 60), 0, cost)


@pytest.mark.parametrize(
    ("week", "before", "change"),
    [
        (10, 20, "50% less than last week"),
        (13.5, 19.6, "31% less than last week"),
        (20, 19.2, "4.2% more than last week"),
        (30, 20, "50% more than last week"),
        (40, 20, "2 times as much as last week"),
        (70, 20, "3.5 times as much as last week"),
        (20, 20, "about as much as last week"),
        (20.05, 20, "about as much as last week"),
        (39.95, 20, ">99% more than last week"),
        (0.02, 20, ">99% less than last week"),
    ],
)
def test_change(week, before, change):
    """The change is a share of last week, a multiple from twice on, and never a percentage of nothing."""
    assert say(down(week), down(before)).endswith(f" of data downtime ({change}) in one incident (as many).")


def test_nothing_to_compare_with():
    """A week after one without downtime is compared with nothing: no figure of it has a percentage."""
    assert say(down(5), down(0)) == "5 h of data downtime in one incident; last week there was none."
    assert say(down(5, 900, n=2), down(0, 0)) == (
        "5 h of data downtime in 2 incidents at a cost of ¥900; last week there was none."
    )
    assert say(down(5, 900), down(5, 0)).endswith("at a cost of ¥900 (none last week).")
    assert say(down(5, 0), down(5, 0)).endswith("at a cost of ¥0 (none last week either).")


def test_forms():
    """The sentence counts incidents, tells the cost where there is one, and says it in Japanese too."""
    assert say(down(2, n=3), down(1)) == (
        "2 h of data downtime (2 times as much as last week) in 3 incidents (2 more)."
    )
    assert say(down(2, 9_000), down(4, 1)) == (
        "2 h of data downtime (50% less than last week) in one incident (as many), "
        "at a cost of ¥9,000 (9,000 times as much)."
    )
    assert (
        say(down(2, 9_000), None)
        == "2 h of data downtime in one incident at a cost of ¥9,000 this week; last week is unknown."
    )
    japanese = (
        "データダウンタイム2時間\uff08先週より50%減\uff09、インシデント1件\uff08同数\uff09、"
        "コスト￥9,000\uff089,000倍\uff09。"
    )
    assert say(down(2, 9_000), down(4, 1), localizer=JAPANESE) == japanese


def test_quiet_weeks():
    """No downtime is said as such; the days before anything was watched are not called quiet."""
    assert say(down(0), down(0)) == "No data downtime this week."
    assert say(down(0), None) == "No data downtime this week; last week is unknown."
    assert (
        say(down(0), None, localizer=JAPANESE) == "今週のデータダウンタイムはありませんでした\uff08先週は不明\uff09。"
    )
    assert say(down(0), down(4)) == "No data downtime this week, after 4 h last week."
    since = datetime(2026, 11, 11, 9, 30, tzinfo=UTC)
    assert say(down(0), None, since=since) == "No data downtime since monitoring started on Wed, Nov 11, 09:30."
    assert say(down(0), None, since=since, complete=False) == say(down(0), None, since=since)
    assert "2 h of data downtime" in say(down(2), None, since=since)


def test_unknown_periods():
    """A week without data is not called quiet, and its sentence says why there is none."""
    since = datetime(2026, 10, 5, 15, 10, tzinfo=UTC)
    tokyo = Localizer("en", "Asia/Tokyo")
    nothing_yet = "Monitoring had not started: the first check ran on Oct 6, 2026."
    assert unknown_period(NOT_WATCHED, since).render(tokyo) == nothing_yet
    assert unknown_period(NOT_WATCHED, None).render(tokyo) == "Monitoring has not started: no check has run yet."
    assert (
        unknown_period(NOT_KEPT, since).render(tokyo).startswith("Incidents of this week are past the retention period")
    )
    assert unknown_period(NOT_EVALUATED, since).render(tokyo).startswith("No check could be evaluated this week")
    japanese = unknown_period(NOT_WATCHED, since).render(JAPANESE)
    assert "2026年10月5日" in japanese
    assert "週" not in japanese, "it may be a month or a quarter"


def test_unfinished_week():
    """A week that is not over is not compared."""
    assert say(down(0), down(4), complete=False) == "No data downtime so far this week."
    assert say(down(2), down(4), complete=False) == "2 h of data downtime in one incident so far this week."


def test_free_downtime_has_a_cost_of_nothing():
    """Where rates are configured but the tables cost nothing, the cost is nothing, not unknown."""
    week = replace(down(2), cost=Fraction(0))
    assert "at a cost of ¥0" in say(week, None)
