"""The report in one sentence: how long, how many, how costly, each with its own change against the period before."""

from collections.abc import Mapping
from datetime import datetime
from fractions import Fraction
from typing import Final

from checks import Message
from monitor.reporting.figures import ComparedFigure, Figures
from monitor.reporting.period import Period, Week
from monitor.reporting.sentences import length
from monitor.reporting.words import NOT_EVALUATED, NOT_KEPT, PERIOD_WORDS
from monitor.terminal.localizer import Money

_ALIKE: Final = Fraction(5, 1000)
"""Smaller changes are not shown."""


def unknown_period(why: Message, since: datetime | None, *, kind: type[Period] = Week) -> Message:
    """Return the headline of a period without known downtime: not monitored, not evaluated or past retention.

    Args:
        why: `NOT_WATCHED`, `NOT_EVALUATED` or `NOT_KEPT`.
        since: when the first check ran, None if none ever did.
        kind: what the report is of.
    """
    values = {"this": PERIOD_WORDS[kind].this}
    if why is NOT_KEPT:
        return Message("Incidents of {this} are past the retention period, so downtime is unknown.", values)
    if why is NOT_EVALUATED:
        return Message("No check could be evaluated {this}, so downtime is unknown.", values)
    if since is None:
        return Message("Monitoring has not started: no check has run yet.")
    return Message("Monitoring had not started: the first check ran on {since:full_date}.", {"since": since})


def period_headline(
    figures: ComparedFigure,
    *,
    currency: str,
    complete: bool,
    since: datetime | None = None,
    kind: type[Period] = Week,
) -> Message:
    """Return the headline of a period with known downtime; a change from 0 has no percentage.

    Args:
        figures: the period beside others.
        currency: of its cost.
        complete: whether it is over.
        since: when watching began, if that was in the period; then the time before is not called a good one.
        kind: what the report is of.
    """
    names = {"this": PERIOD_WORDS[kind].this, "last": PERIOD_WORDS[kind].last}
    if figures.this is None or figures.this.n == 0:
        return _quiet(figures, names, complete=complete, since=since)
    values = {**names, "what": _what(figures.this, currency)}
    if not complete:
        return Message("{what} so far {this}.", values)
    if figures.before is None:
        return Message("{what} {this}; {last} is unknown.", values)
    if figures.before.downtime_us == 0:
        return Message("{what}; {last} there was none.", values)
    return _compared(figures.this, figures.before, currency, names)


def _quiet(figures: ComparedFigure, names: Mapping[str, Message], *, complete: bool, since: datetime | None) -> Message:
    if since is not None:
        return Message("No data downtime since monitoring started on {since:time}.", {"since": since})
    if not complete:
        return Message("No data downtime so far {this}.", names)
    if figures.before is None:
        return Message("No data downtime {this}; {last} is unknown.", names)
    if figures.before.n == 0:
        return Message("No data downtime {this}.", names)
    values = {**names, "before": length(figures.before.downtime_us)}
    return Message("No data downtime {this}, after {before:hours} {last}.", values)


def _what(current: Figures, currency: str) -> Message:
    values = {"downtime": length(current.downtime_us), "n": int(current.n)}
    if current.cost is None:
        return Message(
            "{downtime:hours} of data downtime in {n:count} incidents",
            values,
            one="{downtime:hours} of data downtime in one incident",
            counted="n",
        )
    return Message(
        "{downtime:hours} of data downtime in {n:count} incidents at a cost of {cost:money}",
        {**values, "cost": Money(current.cost, currency)},
        one="{downtime:hours} of data downtime in one incident at a cost of {cost:money}",
        counted="n",
    )


def _compared(current: Figures, before: Figures, currency: str, names: Mapping[str, Message]) -> Message:
    """Return the sentence in which each figure carries its own change."""
    values = {
        "downtime": length(current.downtime_us),
        "change": _against_last(before.downtime_us, current.downtime_us, names),
        "n": int(current.n),
        "n_change": _counted(int(before.n), int(current.n)),
    }
    if current.cost is None or before.cost is None:
        return Message(
            "{downtime:hours} of data downtime ({change}) in {n:count} incidents ({n_change}).",
            values,
            one="{downtime:hours} of data downtime ({change}) in one incident ({n_change}).",
            counted="n",
        )
    cost = {"cost": Money(current.cost, currency), "cost_change": _change(before.cost, current.cost, names)}
    return Message(
        "{downtime:hours} of data downtime ({change}) in {n:count} incidents ({n_change}), "
        "at a cost of {cost:money} ({cost_change}).",
        {**values, **cost},
        one="{downtime:hours} of data downtime ({change}) in one incident ({n_change}), "
        "at a cost of {cost:money} ({cost_change}).",
        counted="n",
    )


def _against_last(before: Fraction, now: Fraction, names: Mapping[str, Message]) -> Message:
    ratio = now / before
    if ratio >= 2:
        return Message("{times:number} times as much as {last}", {**names, "times": round(float(ratio), 1)})
    part = abs(ratio - 1)
    if part < _ALIKE:
        return Message("about as much as {last}", names)
    if ratio > 1:
        return Message("{part:ratio} more than {last}", {**names, "part": part})
    return Message("{part:ratio} less than {last}", {**names, "part": part})


def _change(before: Fraction, now: Fraction, names: Mapping[str, Message]) -> Message:
    """Return the change of another figure of the same sentence, which names the period before already."""
    if before == 0:
        return Message("none {last}", names) if now else Message("none {last} either", names)
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
