"""Places in a list, as the address of a page has them: opaque, checked, and never a number of rows."""

import re
from collections.abc import Sequence
from typing import Annotated, Final, NamedTuple, Self, TypeAlias

from annotated_types import MaxLen
from pydantic import AfterValidator

from incidents import from_us, to_us
from store import IncidentPlace

_PLACE: Final = re.compile(r"(newer|older)\.(\d{1,17})\.(\d{1,18})")
_NAME: Final = re.compile(r"(after|before)\.(.+)", re.DOTALL)


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
        match = _PLACE.fullmatch(text)
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
        match = _NAME.fullmatch(text)
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


def _checked_incident_cursor(text: str) -> str:
    IncidentCursor.parse(text)
    return text


def _checked_name_cursor(text: str) -> str:
    NameCursor.parse(text)
    return text


IncidentCursorText: TypeAlias = Annotated[str, MaxLen(60), AfterValidator(_checked_incident_cursor)]
NameCursorText: TypeAlias = Annotated[str, MaxLen(520), AfterValidator(_checked_name_cursor)]
