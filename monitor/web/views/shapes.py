"""What the models of pages share: totals, service levels, and opaque, checked places in a list."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from fractions import Fraction
from typing import Annotated, Final, Literal, NamedTuple, Self, TypeAlias

from annotated_types import Ge, Le, MaxLen
from pydantic import AfterValidator, Field

from incidents import Downtime, Level, LevelVerdict, Statistics, from_us, to_us
from monitor.config.project import Project
from monitor.summaries.shapes import Amount, Moment, Shape, as_hours
from monitor.terminal.problem import ExitCode, Problem, Stop
from store import IncidentPlace

LARGEST_PAGE: Final = 100
Size: TypeAlias = Annotated[int, Ge(1), Le(LARGEST_PAGE)]
Name: TypeAlias = Annotated[str, MaxLen(500)]
_INCIDENT_PLACE: Final = re.compile(r"(newer|older)\.(\d{1,17})\.(\d{1,18})")
_NAME_PLACE: Final = re.compile(r"(after|before)\.(.+)", re.DOTALL)


class TimeDistribution(Shape):
    """How long whole incidents took, in hours."""

    min: float
    mean: float
    median: float
    p90: float
    max: float

    @classmethod
    def of(cls, statistics: Statistics | None) -> "TimeDistribution | None":
        """Return statistics as a model; None without any incident."""
        if statistics is None:
            return None
        return cls(**{part: as_hours(getattr(statistics, part)) for part in cls.model_fields})


class DowntimeTotals(Shape):
    """The downtime of a time: hours, with its range by when the data may have gone bad; null where unknown."""

    start: Moment
    end: Moment
    n: int | None
    undetected_h: float | None
    repair_h: float | None
    downtime_h: float | None
    downtime_h_low: float | None
    downtime_h_high: float | None
    cost: Amount


def totals_of(project: Project, downtime: Downtime, cost: Fraction | None, *, is_known: bool = True) -> DowntimeTotals:
    """Return figures as a model."""
    figures = {
        "undetected_h": downtime.undetected,
        "repair_h": downtime.repair,
        "downtime_h": downtime.downtime,
        "downtime_h_low": downtime.low,
        "downtime_h_high": downtime.high,
    }
    return DowntimeTotals(
        start=from_us(downtime.window.start_us),
        end=from_us(downtime.window.end_us),
        n=downtime.n if is_known else None,
        **{name: as_hours(value) if is_known else None for name, value in figures.items()},
        cost=Amount.of(project, cost if is_known else None),
    )


def not_there(code: str, message: str) -> Stop:
    """Return the error of something that a query names and that is not there."""
    return Stop(ExitCode.NOTHING_SELECTED, Problem(code, message))


class LevelLine(Shape):
    """A promised service level and the worst that was seen, between `low` and `high`: hours, or a share (0 to 1).

    `incidents` broke it, of the `undecided` it is not known, or not known yet. Of the `judged` episodes so many kept a
    time, and so many broke it; the share that kept it is between two ends, null where there is none.
    """

    level: Level
    unit: Literal["h", "share"]
    promised: float
    seen: float | None
    low: float | None
    high: float | None
    missed_by: float | None
    verdict: LevelVerdict
    judged: int
    kept: int
    broken: int
    share_kept_low: float | None
    share_kept_high: float | None
    incidents: tuple[int, ...]
    undecided: tuple[int, ...]


class BurnRateLine(Shape):
    """Downtime of the last hours relative to the allowed rate: above 1 the budget does not last."""

    window_h: float
    rate: float
    rate_low: float
    rate_high: float


class ErrorBudgetLine(Shape):
    """Downtime allowed in a rolling period, spent, left, and in how many hours it is used up: null is never."""

    allowed_h: float
    per_h: float
    start: Moment = Field(alias="from")
    to: Moment
    spent_h: float
    spent_h_low: float
    spent_h_high: float
    left_h: float
    left_h_low: float
    left_h_high: float
    verdict: LevelVerdict
    burn_rates: tuple[BurnRateLine, ...]
    used_up_in_h: float | None
    used_up_in_h_soonest: float | None
    used_up_in_h_latest: float | None


class ContractLine(Shape):
    """The service levels of a contract in a period, or of a table (`slo:TABLE`); `origins`: by which key, by level.

    `labels`: the table, owner, domain and tier of `slo:TABLE`, else empty. `observed_h`: hours of the period that all
    checks of its tables saw.
    """

    contract: str
    tables: tuple[str, ...]
    start: Moment = Field(alias="from")
    to: Moment
    observed_h: float
    levels: tuple[LevelLine, ...]
    error_budget: ErrorBudgetLine | None
    origins: dict[str, str]
    labels: dict[str, str | None]


class IncidentCursor(NamedTuple):
    """Where a page of incidents begins: next to a place, on its newer or its older side."""

    place: IncidentPlace
    newer: bool

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a cursor.

        Raises:
            ValueError: it is none.
        """
        match = _INCIDENT_PLACE.fullmatch(text)
        if match is None:
            raise ValueError("the cursor is none that a page has given; begin again without one")
        return cls(IncidentPlace(from_us(int(match[2])), int(match[3])), match[1] == "newer")

    def __str__(self) -> str:
        """Return it as an address has it."""
        return f"{'newer' if self.newer else 'older'}.{to_us(self.place.detected_at)}.{self.place.id}"


class NameCursor(NamedTuple):
    """Where a page of names begins: after or before a name, which need not be there any more."""

    name: str
    before: bool

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a cursor.

        Raises:
            ValueError: it is none.
        """
        match = _NAME_PLACE.fullmatch(text)
        if match is None:
            raise ValueError("the cursor is none that a page has given; begin again without one")
        return cls(match[2], match[1] == "before")

    def __str__(self) -> str:
        """Return it as an address has it."""
        return f"{'before' if self.before else 'after'}.{self.name}"


class NamePage(NamedTuple):
    """Some names in order, and the cursors of the pages beside; None where nothing is beyond."""

    names: Sequence[str]
    previous: str | None
    following: str | None


def page_of_names(names: Sequence[str], cursor: str | None, size: int) -> NamePage:
    """Return at most `size` of some names, in their order, next to a cursor."""
    ordered = sorted(names)
    at = None if cursor is None else NameCursor.parse(cursor)
    if at is not None and at.before:
        beyond = [name for name in ordered if name < at.name]
        shown = beyond[-size:]
    else:
        beyond = ordered if at is None else [name for name in ordered if name > at.name]
        shown = beyond[:size]
    if not shown:
        return NamePage((), None, None)
    previous = str(NameCursor(shown[0], before=True)) if ordered[0] < shown[0] else None
    following = str(NameCursor(shown[-1], before=False)) if shown[-1] < ordered[-1] else None
    return NamePage(shown, previous, following)


def _stored(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError("a time needs its offset: 2026-11-20T18:00:00+09:00")
    if not 1970 < moment.year < 9000:
        raise ValueError("a time lies between 1971 and 8999")
    return moment.astimezone(UTC)


def _checked_incident_cursor(text: str) -> str:
    IncidentCursor.parse(text)
    return text


def _checked_name_cursor(text: str) -> str:
    NameCursor.parse(text)
    return text


IncidentCursorText: TypeAlias = Annotated[str, MaxLen(60), AfterValidator(_checked_incident_cursor)]
Since: TypeAlias = Annotated[Moment, AfterValidator(_stored)]
"""A time in a query, with its offset."""
NameCursorText: TypeAlias = Annotated[str, MaxLen(520), AfterValidator(_checked_name_cursor)]
