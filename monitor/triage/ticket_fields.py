"""The fields of a ticket: how each is read, kept in a reported incident, compared with an incident and updated."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import lru_cache
from operator import attrgetter
from typing import Any, Final, NamedTuple, TypeVar

from checks import Severity, did_you_mean
from incidents import Change, Escalated, FoundBy, Incident, Resolution
from monitor.triage.create import tidy
from monitor.triage.time_parsing import TimeReader

W = TypeVar("W", bound=StrEnum)


class UnknownWord(ValueError):
    """A text that is none of the words. `reason` does not quote it."""

    def __init__(self, text: str, reason: str) -> None:
        super().__init__(f"'{tidy(text)}' {reason}")
        self.reason = reason


def word_of(words: type[W]) -> Callable[[str], W]:
    """Return a parser of words that ignores case and the difference between hyphens, underscores and spaces."""

    @lru_cache(maxsize=1000)  # a million rows share a few words
    def read(text: str) -> W:
        word = text.strip().lower().replace("_", "-").replace(" ", "-")
        if word not in list(words):
            raise UnknownWord(text, f"is not one of {', '.join(words)}{did_you_mean(word, words)}")
        return words(word)

    return read


class TicketField(NamedTuple):
    """A field of a ticket and of its incident.

    `attribute`: of `ReportedIncident`. `recorded`: its value in an incident. `words`: those that it can be. `stays`:
    why no event can change it; `change`: the event that sets it, where it depends on no other field. `is_text`: it is
    compared, and not shown. `needs_end`: it has a value only with an end.
    """

    attribute: str
    recorded: Callable[[Incident], Any]
    words: type[StrEnum] | None = None
    stays: str | None = None
    change: Callable[[Any], Change] | None = None
    is_needed: bool = False
    is_text: bool = False
    is_time: bool = False
    needs_end: bool = False

    def reader(self, times: TimeReader) -> Callable[[str], Any]:
        """Return what reads a cell that is not empty."""
        if self.words is not None:
            return word_of(self.words)
        return times.read if self.is_time else tidy if self.is_text else str


FIELDS: Final[Mapping[str, TicketField]] = {
    "table": TicketField(
        "table",
        attrgetter("table"),
        stays="the table of an incident cannot be changed, so this row is not applied; log a new incident with "
        "'incident open', and resolve this one with 'incident resolve {id} --as duplicate'",
        is_needed=True,
    ),
    "title": TicketField(
        "title",
        lambda incident: tidy(incident.title),
        stays="the title of an incident cannot be changed",
        is_needed=True,
        is_text=True,
    ),
    "detected": TicketField(
        "detected_at", lambda incident: incident.episodes[0].detected_at, is_needed=True, is_time=True
    ),
    "occurred": TicketField("occurred_at", lambda incident: incident.episodes[0].onset.at, is_time=True),
    "resolved": TicketField("resolved_at", lambda incident: incident.last.resolved_at, is_time=True),
    "resolution": TicketField("resolution", attrgetter("resolution"), Resolution, needs_end=True),
    "severity": TicketField("severity", attrgetter("severity"), Severity, change=Escalated),
    "found_by": TicketField(
        "found_by",
        attrgetter("found_by"),
        FoundBy,
        stays="the source of detection of an incident cannot be changed",
    ),
    "cause": TicketField("cause", lambda incident: tidy(incident.cause or "") or None, is_text=True, needs_end=True),
}
"""The fields in which a ticket and its incident can differ, by name."""

KEY: Final = "id"
"""The number or key of the ticket: it says which incident a row is."""
NAMES: Final = (*FIELDS, KEY)
