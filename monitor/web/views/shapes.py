"""What the models of pages share: totals, and opaque, checked places in a list."""

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime
from fractions import Fraction
from typing import Annotated, Final, NamedTuple, Self, TypeAlias

from annotated_types import Ge, Le, MaxLen
from pydantic import AfterValidator, BeforeValidator, Field

from incidents import Downtime, from_us, to_us
from monitor.config.project import Project
from monitor.summaries.shapes import Amount, DowntimeHours, Moment, Shape
from monitor.terminal.problem import ExitCode, Problem, Stop
from monitor.verbs.verb import Query
from store import IncidentPlace

LARGEST_PAGE: Final = 100
Size: TypeAlias = Annotated[int, Ge(1), Le(LARGEST_PAGE)]
Name: TypeAlias = Annotated[str, MaxLen(500)]
_INCIDENT_PLACE: Final = re.compile(r"(newer|older)\.(\d{1,17})\.(\d{1,18})")
_NAME_PLACE: Final = re.compile(r"(after|before)\.(.+)", re.DOTALL)


class DowntimeTotals(DowntimeHours):
    """The downtime of a time, and its cost."""

    start: Moment
    end: Moment
    cost: Amount


def totals_of(project: Project, downtime: Downtime, cost: Fraction | None, *, is_known: bool = True) -> DowntimeTotals:
    """Return figures as a model."""
    return DowntimeTotals.of(
        downtime,
        is_known=is_known,
        start=from_us(downtime.window.start_us),
        end=from_us(downtime.window.end_us),
        cost=Amount.of(project, cost if is_known else None),
    )


def not_there(code: str, message: str) -> Stop:
    """Return the error of something that a query names and that is not there."""
    return Stop(ExitCode.NOTHING_SELECTED, Problem(code, message))


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


IncidentCursorText: TypeAlias = Annotated[
    str,
    MaxLen(60),
    AfterValidator(_checked_incident_cursor),
    Field(json_schema_extra={"pattern": "^(newer|older)[.][0-9]{1,16}[.][0-9]{1,18}$"}),
]
NameCursorText: TypeAlias = Annotated[
    str, MaxLen(520), AfterValidator(_checked_name_cursor), Field(json_schema_extra={"pattern": "^(after|before)[.]."})
]


def _iso_only(value: object) -> object:
    """Check that a time is written as ISO 8601: pydantic takes numbers, also as texts."""
    if isinstance(value, str) and "-" not in value[1:]:
        raise ValueError("expected a date or time such as 2026-11-11 or 2026-11-11T10:10:00Z")
    return value


Day: TypeAlias = Annotated[date, BeforeValidator(_iso_only)]
Instant: TypeAlias = Annotated[datetime, BeforeValidator(_iso_only)]
Since: TypeAlias = Annotated[Moment, BeforeValidator(_iso_only), AfterValidator(_stored)]
"""A time in a query, with its offset."""


class NameListQuery(Query):
    """Which page of a list of names to show."""

    cursor: NameCursorText | None = None
    size: Size = 50


class NameListPage(Shape):
    """A page of a list of names: `n` counts all that meet the query; the cursors are of the pages beside."""

    as_of: Moment
    n: int
    previous: str | None
    following: str | None
