"""The report in one sentence: how long, how costly, how many, and how that compares with last week."""

from checks import Message
from monitor.reports.sentences import length
from monitor.reports.value import Comparison
from monitor.voice import Money


def headline(figures: Comparison, *, currency: str, seen: bool, complete: bool) -> Message:
    """Say the week in one sentence.

    A week in which nothing was `seen` is never called a good one, and a percentage is never taken of nothing.
    """
    if not seen and figures.week.n == 0:
        return Message("Nothing could be evaluated this week, so nothing is known of its downtime.")
    if figures.week.n == 0:
        return _quiet(figures, complete=complete)
    if not complete:
        return Message("{what} so far this week.", {"what": _what(figures, currency)})
    change = _change(figures)
    if change is None:
        return Message("{what} this week.", {"what": _what(figures, currency)})
    return Message("{what}: {change}.", {"what": _what(figures, currency), "change": change})


def _quiet(figures: Comparison, *, complete: bool) -> Message:
    if not complete:
        return Message("No data downtime so far this week.")
    if figures.before is None or figures.before.n == 0:
        return Message("No data downtime this week.")
    return Message(
        "No data downtime this week, after {before:hours} last week.", {"before": length(figures.before.downtime_us)}
    )


def _what(figures: Comparison, currency: str) -> Message:
    week = figures.week
    values = {"downtime": length(week.downtime_us), "n": int(week.n)}
    if week.cost is None:
        return Message(
            "{downtime:hours} of data downtime in {n:count} incidents",
            values,
            one="{downtime:hours} of data downtime in one incident",
            counted="n",
        )
    return Message(
        "{downtime:hours} of data downtime in {n:count} incidents at a cost of {cost:money}",
        {**values, "cost": Money(week.cost, currency)},
        one="{downtime:hours} of data downtime in one incident at a cost of {cost:money}",
        counted="n",
    )


def _change(figures: Comparison) -> Message | None:
    if figures.before is None:
        return None
    before, now = figures.before.downtime_us, figures.week.downtime_us
    if before == 0:
        return Message("new, there was none last week")
    ratio = now / before
    if ratio >= 2:
        return Message("{times:number} times as much as last week", {"times": round(float(ratio), 1)})
    part = abs(float(ratio - 1))
    if part < 0.005:
        return Message("about as much as last week")
    if ratio > 1:
        return Message("{part:ratio} more than last week", {"part": part})
    return Message("{part:ratio} less than last week", {"part": part})
