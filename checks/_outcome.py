"""The verdict of a check: what it found, how much it matters, and since when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias

from checks._message import Message

Json: TypeAlias = "str | int | float | bool | Sequence[Json] | Mapping[str, Json] | None"


class Status(StrEnum):
    """What a check found. `unknown` is neither good nor bad: the question could not be answered."""

    PASS = "pass"  # noqa: S105 - a verdict, not a password
    WARN = "warn"
    FAIL = "fail"
    UNKNOWN = "unknown"


class Severity(StrEnum):
    """How much a broken limit matters; ranks incidents and alerts, never decides whether a check fails."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
    CRITICAL = "critical"

    @property
    def rank(self) -> int:
        """Return 0 for info up to 3 for critical."""
        return tuple(Severity).index(self)


class UnknownReason(StrEnum):
    """Why a check could not be evaluated."""

    NO_DATA = "no-data"
    TIMEOUT = "timeout"
    UNREACHABLE = "unreachable"
    PERMISSION = "permission"
    MISCONFIGURED = "misconfigured"
    BUG = "bug"


class Kind(StrEnum):
    """What an incident of this check is about: data that is wrong, or a release that would disclose."""

    QUALITY = "quality"
    DISCLOSURE = "disclosure"


class OccurrenceMethod(StrEnum):
    """How the time at which data went bad was found."""

    LAST_GOOD_RUN = "last-good-run"
    FRESHNESS_DEADLINE = "freshness-deadline"
    BAD_ROWS = "bad-rows"
    FIRST_OBSERVATION = "first-observation"
    PERSON = "person"


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A sharper time of occurrence than the last passing run, seen in the data itself."""

    at: datetime
    method: OccurrenceMethod


@dataclass(frozen=True, slots=True)
class Outcome:
    """The verdict. Holds numbers and names, never a data value of the table."""

    status: Status
    message: Message
    observed: Mapping[str, Json] = field(default_factory=dict)
    expected: Mapping[str, Json] = field(default_factory=dict)
    reason: UnknownReason | None = None
    occurrence: Occurrence | None = None

    def __post_init__(self) -> None:
        if (self.status is Status.UNKNOWN) != (self.reason is not None):
            raise ValueError("an outcome has a reason if and only if it is unknown")


def unknown(reason: UnknownReason, message: Message, observed: Mapping[str, Json] | None = None) -> Outcome:
    """Return the outcome of a question that could not be answered."""
    return Outcome(Status.UNKNOWN, message, observed or {}, reason=reason)
