"""The closed word sets as messages to translate, with a shape beside each colour."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from checks import Message, Severity, UnknownReason
from incidents import NOT_RUN, FoundBy, Level, LevelVerdict, State
from incidents.causes import Likelihood
from monitor.config.alerts_model import OTHER
from monitor.releases.overview import ReleaseWord
from monitor.reporting.period import Month, Period, Quarter, Week
from monitor.reporting.timeline import TimeState
from monitor.summaries.patterns import UNLISTED

SEVERITIES: Final[Mapping[Severity, Message]] = {
    Severity.CRITICAL: Message("critical"),
    Severity.ERROR: Message("error"),
    Severity.WARNING: Message("warning"),
    Severity.INFO: Message("info"),
}
SEVERITY_SHAPES: Final[Mapping[Severity, str]] = {
    Severity.CRITICAL: "◆",
    Severity.ERROR: "▲",
    Severity.WARNING: "■",
    Severity.INFO: "●",
}
STATES: Final[Mapping[State, Message]] = {
    State.OPEN: Message("open"),
    State.ACKNOWLEDGED: Message("acknowledged"),
    State.RESOLVED: Message("resolved"),
}
STATE_SHAPES: Final[Mapping[State, str]] = {State.OPEN: "●", State.ACKNOWLEDGED: "◎", State.RESOLVED: "○"}
CAUSES: Final[Mapping[str | None, Message]] = {
    None: Message("no cause given"),
    OTHER: Message("other cause"),
    UNLISTED: Message("not in the list of causes"),
}
"""Causes that stand in no configuration."""
FOUND_BY: Final[Mapping[FoundBy, Message]] = {
    FoundBy.CHECK: Message("detected by a check"),
    FoundBy.PERSON: Message("reported by a person"),
}
TIME_STATES: Final[Mapping[TimeState, Message]] = {
    TimeState.GOOD: Message("good"),
    TimeState.UNDETECTED: Message("bad, before detection"),
    TimeState.REPAIR: Message("bad, after detection"),
    TimeState.UNKNOWN: Message("unknown"),
    TimeState.NOT_MONITORED: Message("not monitored"),
    TimeState.MAINTENANCE: Message("planned maintenance"),
    TimeState.NOT_YET: Message("not known yet"),
}
"""The legend of every picture and table of time."""
TIME_SIGNS: Final[Mapping[TimeState, str]] = {
    TimeState.GOOD: ".",
    TimeState.UNDETECTED: "!",
    TimeState.REPAIR: "#",
    TimeState.UNKNOWN: "?",
    TimeState.NOT_MONITORED: "-",
    TimeState.MAINTENANCE: "m",
    TimeState.NOT_YET: "_",
}
"""The same states where only letters can be drawn."""
LEVELS: Final[Mapping[Level, Message]] = {
    Level.TIME_TO_DETECT: Message("time to detect"),
    Level.TIME_TO_NOTIFY: Message("time to notify"),
    Level.TIME_TO_REPAIR: Message("time to repair"),
    Level.AVAILABILITY: Message("availability"),
}
LEVEL_VERDICTS: Final[Mapping[LevelVerdict, Message]] = {
    LevelVerdict.KEPT: Message("kept"),
    LevelVerdict.PENDING: Message("may still be kept"),
    LevelVerdict.UNKNOWN: Message("not known"),
    LevelVerdict.BROKEN: Message("broken"),
}
LEVEL_VERDICT_SHAPES: Final[Mapping[LevelVerdict, str]] = {
    LevelVerdict.KEPT: "●",
    LevelVerdict.PENDING: "○",
    LevelVerdict.UNKNOWN: "△",
    LevelVerdict.BROKEN: "▲",
}
LIKELIHOODS: Final[Mapping[Likelihood, Message]] = {
    Likelihood.STRONG: Message("a strong candidate"),
    Likelihood.MODERATE: Message("a moderate candidate"),
    Likelihood.WEAK: Message("a weak candidate"),
}
LIKELIHOOD_SHAPES: Final[Mapping[Likelihood, str]] = {
    Likelihood.STRONG: "●",
    Likelihood.MODERATE: "◎",
    Likelihood.WEAK: "○",
}
RELEASES: Final[Mapping[ReleaseWord, Message]] = {
    ReleaseWord.HOLD: Message("on hold"),
    ReleaseWord.EXPIRED: Message("expired"),
    ReleaseWord.APPROVED: Message("approved"),
    ReleaseWord.CLEAR: Message("within its limits"),
}
RELEASE_SHAPES: Final[Mapping[ReleaseWord, str]] = {
    ReleaseWord.HOLD: "▲",
    ReleaseWord.EXPIRED: "△",
    ReleaseWord.APPROVED: "●",
    ReleaseWord.CLEAR: "○",
}
NOT_WATCHED: Final = Message("monitoring had not started")
NOT_KEPT: Final = Message("past retention")
NOT_EVALUATED: Final = Message("could not be evaluated")
"""Why the downtime of a week is unknown."""
REASONS: Final[Mapping[str, Message]] = {
    NOT_RUN: Message("not run"),
    UnknownReason.NO_DATA: Message("no data to evaluate"),
    UnknownReason.TIMEOUT: Message("the query timed out"),
    UnknownReason.UNREACHABLE: Message("the source could not be reached"),
    UnknownReason.PERMISSION: Message("permission denied"),
    UnknownReason.MISCONFIGURED: Message("the check is not applicable to the table"),
    UnknownReason.BUG: Message("the check failed with an internal error"),
}


@dataclass(frozen=True, slots=True)
class PeriodWords:
    """The names of a period and its neighbours: within a sentence, and (`heading`) at the beginning of one.

    `part` is what its parts are called, `per_part` and `per_period` what the charts show, `trend` how many periods.
    """

    unit: Message
    this: Message
    last: Message
    median: Message
    this_heading: Message
    last_heading: Message
    median_heading: Message
    unit_heading: Message
    compared: Message
    part: Message
    by_part: Message
    per_part: Message
    per_period: Message
    trend: Message


_BY_WEEK: Final = (
    Message("Week from"),
    Message("By week"),
    Message("Hours of data downtime per week; the first and the last may be cut off by the end of the period"),
)
PERIOD_WORDS: Final[Mapping[type[Period], PeriodWords]] = {
    Week: PeriodWords(
        Message("week"),
        Message("this week"),
        Message("last week"),
        Message("median of 4 weeks"),
        Message("This week"),
        Message("Last week"),
        Message("Median of 4 weeks"),
        Message("Week"),
        Message("The week, the week before, and the median of the four weeks before"),
        Message("Day"),
        Message("By day"),
        Message("Hours of data downtime per day"),
        Message("Hours of data downtime per week (week starting Monday)"),
        Message("12-week trend"),
    ),
    Month: PeriodWords(
        Message("month"),
        Message("this month"),
        Message("last month"),
        Message("median of 4 months"),
        Message("This month"),
        Message("Last month"),
        Message("Median of 4 months"),
        Message("Month"),
        Message("The month, the month before, and the median of the four months before"),
        *_BY_WEEK,
        Message("Hours of data downtime per month"),
        Message("6-month trend"),
    ),
    Quarter: PeriodWords(
        Message("quarter"),
        Message("this quarter"),
        Message("last quarter"),
        Message("median of 4 quarters"),
        Message("This quarter"),
        Message("Last quarter"),
        Message("Median of 4 quarters"),
        Message("Quarter"),
        Message("The quarter, the quarter before, and the median of the four quarters before"),
        *_BY_WEEK,
        Message("Hours of data downtime per quarter"),
        Message("5-quarter trend"),
    ),
}
"""The names of the periods of reports."""
