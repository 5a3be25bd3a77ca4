"""The week in one sentence."""

from dataclasses import replace
from fractions import Fraction

import pytest

from monitor.reports.headline import headline
from monitor.reports.value import Comparison, Figures
from monitor.voice import BabelVoice
from tests.monitor.reports.sample import figures

ENGLISH, JAPANESE = BabelVoice("en", "UTC"), BabelVoice("ja", "UTC")


def say(
    week: Figures, before: Figures | None, *, seen: bool = True, complete: bool = True, voice: BabelVoice = ENGLISH
) -> str:
    """Say the headline of a week, with plain spaces."""
    said = headline(Comparison(week, before, None), currency="JPY", seen=seen, complete=complete)
    return said.render(voice).replace("\N{NO-BREAK SPACE}", " ")


def down(hours: float, cost: int | None = None, n: int = 1) -> Figures:
    """Give figures of some downtime."""
    return figures(n if hours else 0, round(hours * 60), 0, cost)


@pytest.mark.parametrize(
    ("week", "before", "change"),
    [
        (10, 20, "50% less than last week."),
        (13.5, 19.6, "31% less than last week."),
        (20, 19.2, "4.2% more than last week."),
        (30, 20, "50% more than last week."),
        (40, 20, "2 times as much as last week."),
        (70, 20, "3.5 times as much as last week."),
        (20, 20, "about as much as last week."),
        (20.05, 20, "about as much as last week."),
        (5, 0, "new, there was none last week."),
    ],
)
def test_change(week, before, change):
    """The change is a share of last week, a multiple from twice on, and never a percentage of nothing."""
    assert say(down(week), down(before)).endswith(f"in one incident: {change}")


def test_forms():
    """The sentence counts incidents, tells the cost where there is one, and says it in Japanese too."""
    assert say(down(2, n=3), down(1)) == "2 h of data downtime in 3 incidents: 2 times as much as last week."
    assert (
        say(down(2, 9_000), down(4, 1))
        == "2 h of data downtime in one incident at a cost of ¥9,000: 50% less than last week."
    )
    assert say(down(2, 9_000), None) == "2 h of data downtime in one incident at a cost of ¥9,000 this week."
    japanese = "データダウンタイム2時間、インシデント1件、推定損失額￥9,000\uff08先週より50%減\uff09。"
    assert say(down(2, 9_000), down(4, 1), voice=JAPANESE) == japanese


def test_quiet_weeks():
    """No downtime is said as such; a week that nobody looked at is not called quiet."""
    assert say(down(0), down(0)) == "No data downtime this week."
    assert say(down(0), None) == "No data downtime this week."
    assert say(down(0), down(4)) == "No data downtime this week, after 4 h last week."
    assert (
        say(down(0), down(4), seen=False)
        == "Nothing could be evaluated this week, so nothing is known of its downtime."
    )
    assert "2 h of data downtime" in say(down(2), None, seen=False)


def test_unfinished_week():
    """A week that is not over is not compared."""
    assert say(down(0), down(4), complete=False) == "No data downtime so far this week."
    assert say(down(2), down(4), complete=False) == "2 h of data downtime in one incident so far this week."


def test_free_downtime_has_a_cost_of_nothing():
    """Where rates are configured but the tables cost nothing, the cost is nothing, not unknown."""
    week = replace(down(2), cost=Fraction(0))
    assert "at a cost of ¥0" in say(week, None)
