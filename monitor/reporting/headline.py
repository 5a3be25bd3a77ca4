"""The report in one sentence: how long, how many, how costly, each with its own change against last week."""

from datetime import datetime
from fractions import Fraction
from typing import Final

from checks import Message
from monitor.reporting.model import ComparedFigure, Figures
from monitor.reporting.sentences import length
from monitor.reporting.words import NOT_EVALUATED, NOT_KEPT
from monitor.terminal.localizer import Money

_ALIKE: Final = Fraction(5, 1000)
"""A change that is smaller is none that a reader should hear of."""


def unknown_week(why: Message, since: datetime | None) -> Message:
    """Describe that nothing is known of a week: nothing was watched, could be evaluated or is kept.

    Args:
        why: `NOT_WATCHED`, `NOT_EVALUATED` or `NOT_KEPT`.
        since: when the first check ran, None if none ever did.
    """
    if why is NOT_KEPT:
        return Message("Incidents of this week are past the retention period, so downtime is unknown.")
    if why is NOT_EVALUATED:
        return Message("No check could be evaluated this week, so downtime is unknown.")
    if since is None:
        return Message("Monitoring has not started: no check has run yet.")
    return Message("Monitoring had not started: the first check ran on {since:full_date}.", {"since": since})


def weekly_headline(
    figures: ComparedFigure, *, currency: str, complete: bool, since: datetime | None = None
) -> Message:
    """Return a week of which something is known in one sentence; a percentage is never taken of nothing.

    Args:
        figures: the week beside others.
        currency: of its cost.
        complete: whether it is over.
        since: when watching began, if that was in the week; then the time before is not called a good one.
    """
    week = figures.week
    if week is None or week.n == 0:
        return _quiet(figures, complete=complete, since=since)
    what = _what(week, currency)
    if not complete:
        return Message("{what} so far this week.", {"what": what})
    if figures.before is None:
        return Message("{what} this week; last week is unknown.", {"what": what})
    if figures.before.downtime_us == 0:
        return Message("{what}; last week there was none.", {"what": what})
    return _compared(week, figures.before, currency)


def _quiet(figures: ComparedFigure, *, complete: bool, since: datetime | None) -> Message:
    if since is not None:
        return Message("No data downtime since monitoring started on {since:time}.", {"since": since})
    if not complete:
        return Message("No data downtime so far this week.")
    if figures.before is None:
        return Message("No data downtime this week; last week is unknown.")
    if figures.before.n == 0:
        return Message("No data downtime this week.")
    return Message(
        "No data downtime this week, after {before:hours} last week.", {"before": length(figures.before.downtime_us)}
    )


def _what(week: Figures, currency: str) -> Message:
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


def _compared(week: Figures, before: Figures, currency: str) -> Message:
    """Return the sentence in which each figure carries its own change."""
    values = {
        "downtime": length(week.downtime_us),
        "change": _against_last_week(before.downtime_us, week.downtime_us),
        "n": int(week.n),
        "n_change": _counted(int(before.n), int(week.n)),
    }
    if week.cost is None or before.cost is None:
        return Message(
            "{downtime:hours} of data downtime ({change}) in {n:count} incidents ({n_change}).",
            values,
            one="{downtime:hours} of data downtime ({change}) in one incident ({n_change}).",
            counted="n",
        )
    cost = {"cost": Money(week.cost, currency), "cost_change": _change(before.cost, week.cost)}
    return Message(
        "{downtime:hours} of data downtime ({change}) in {n:count} incidents ({n_change}), "
        "at a cost of {cost:money} ({cost_change}).",
        {**values, **cost},
        one="{downtime:hours} of data downtime ({change}) in one incident ({n_change}), "
        "at a cost of {cost:money} ({cost_change}).",
        counted="n",
    )


def _against_last_week(before: Fraction, now: Fraction) -> Message:
    ratio = now / before
    if ratio >= 2:
        return Message("{times:number} times as much as last week", {"times": round(float(ratio), 1)})
    part = abs(ratio - 1)
    if part < _ALIKE:
        return Message("about as much as last week")
    if ratio > 1:
        return Message("{part:ratio} more than last week", {"part": part})
    return Message("{part:ratio} less than last week", {"part": part})


def _change(before: Fraction, now: Fraction) -> Message:
    """Return the change of another figure of the same sentence, which names last week already."""
    if before == 0:
        return Message("none last week") if now else Message("none last week either")
    ratio = now / before
    if ratio >= 2:
        return Message("{times:number} times as much", {"times": round(float(ratio), 1)})
    part = abs(ratio - 1)
    if part < _ALIKE:
        return Message("about as much")
    return Message("{part:ratio} more", {"part": part}) if ratio > 1 else Message("{part:ratio} less", {"part": part})


def _counted(before: int, now: int) -> Message:
    if before == now:
        return Message("as many")
    if now > before:
        return Message("{n:count} more", {"n": now - before})
    return Message("{n:count} fewer", {"n": before - now})
