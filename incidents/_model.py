"""What an incident is: episodes of bad data; and the facts between two runs.

Everything here is a frozen value. An incident is the fold of its events (`incidents.events`).

    IncidentError
    ├── ImpossibleOrder     times that cannot follow one another; the message names them
    ├── NotAllowed          a verb that the incident's state does not allow; the message names those it allows
    │   └── NotForced       one that is probably a mistake, and can be forced
    └── BrokenHistory       events that no incident can have had, such as a first one that does not open it
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final

from checks import Kind, OccurrenceMethod, Severity, Status, UnknownReason

AGENT: Final = "tablewatch"
"""The actor of what Tablewatch itself records."""
NO_VALUES: Final[Mapping[str, Any]] = MappingProxyType({})
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def to_us(moment: datetime) -> int:
    """Return an aware time as integer microseconds since 1970 UTC, exactly."""
    delta = moment - _EPOCH
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


def from_us(microseconds: int) -> datetime:
    """Return the aware time in UTC of integer microseconds since 1970, exactly."""
    return _EPOCH + timedelta(microseconds=microseconds)


class IncidentError(Exception):
    """The root of this package's errors."""


class ImpossibleOrder(IncidentError):
    """Times that cannot follow one another."""


class NotAllowed(IncidentError):
    """A verb that the incident's state does not allow."""


class NotForced(NotAllowed):
    """A verb that is probably a mistake; `force` allows it."""


class BrokenHistory(IncidentError):
    """Events that no incident can have had."""


class State(StrEnum):
    """Where an incident stands."""

    OPEN = "open"
    ACKNOWLEDGED = "acknowledged"
    RESOLVED = "resolved"


class Resolution(StrEnum):
    """How an incident ended. Only some count as downtime."""

    FIXED = "fixed"
    NO_ACTION = "no-action"
    EXPECTED = "expected"
    FALSE_POSITIVE = "false-positive"
    DUPLICATE = "duplicate"

    @property
    def counts(self) -> bool:
        """Check whether an incident that ended so is data downtime."""
        return self in {Resolution.FIXED, Resolution.NO_ACTION}


class FoundBy(StrEnum):
    """How it was detected."""

    CHECK = "check"
    PERSON = "person"


@dataclass(frozen=True, slots=True)
class Onset:
    """When data went bad: the best estimate, the interval it lies in, and how it was found."""

    at: datetime
    earliest: datetime
    latest: datetime
    method: OccurrenceMethod


@dataclass(frozen=True, slots=True)
class Episode:
    """One stretch of bad data, `[onset.at, detected_at, resolved_at)`; `resolved_at` is None while it lasts.

    `acknowledged_at`: when a user first took care of it; None without an acknowledgement.
    """

    onset: Onset
    detected_at: datetime
    resolved_at: datetime | None = None
    first_failed_at: datetime | None = None
    acknowledged_at: datetime | None = None

    @property
    def repair(self) -> timedelta | None:
        """Return how long its repair took, planned maintenance included; None while it lasts."""
        return None if self.resolved_at is None else self.resolved_at - self.detected_at

    def unacknowledged(self, now: datetime) -> timedelta:
        """Return how long it was unacknowledged: from its detection to that, its end or the present."""
        ends = [moment for moment in (self.acknowledged_at, self.resolved_at) if moment is not None]
        return unacknowledged_for(self.detected_at, min(ends, default=None), now)


def unacknowledged_for(detected_at: datetime, until: datetime | None, now: datetime) -> timedelta:
    """Return how long it was unacknowledged; `until`: when it was acknowledged or ended, None for up to now.

    A correction may have moved the detection after that: then the length is 0.
    """
    return max(timedelta(), (until or now) - detected_at)


@dataclass(frozen=True, slots=True)
class Incident:
    """One or more episodes of bad data on one table with one fingerprint.

    `title` is a message's text with its values (see `checks.Message`). `root` is the incident that caused this one
    (lineage), `merged_into` the one it duplicates. `assignee` is who repairs; the owner comes from the catalogue.
    `answered`: a person (or a service in which people work, such as tickets) acknowledged, assigned, merged or
    resolved it.
    """

    id: int
    fingerprint: str
    table: str
    check_id: str | None
    kind: Kind
    severity: Severity
    title: str
    title_values: Mapping[str, Any]
    found_by: FoundBy
    state: State
    episodes: tuple[Episode, ...]
    resolution: Resolution | None = None
    cause: str | None = None
    assignee: str | None = None
    snoozed_until: datetime | None = None
    regressed: bool = False
    flapping: bool = False
    root: int | None = None
    merged_into: int | None = None
    answered: bool = False

    @property
    def series(self) -> str | None:
        """Return what the measurements that decide on it are kept under: its check, or one segment of it."""
        is_segment = self.check_id is not None and self.fingerprint.startswith(f"{self.check_id}[")
        return self.fingerprint if is_segment else self.check_id

    @property
    def last(self) -> Episode:
        """Return the newest episode."""
        return self.episodes[-1]

    @property
    def acknowledged_at(self) -> datetime | None:
        """Return when its newest episode was acknowledged."""
        return self.last.acknowledged_at

    @property
    def counts(self) -> bool:
        """Check whether its hours are data downtime (its kind apart)."""
        return self.resolution is None or self.resolution.counts


# --- between two runs -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Watch:
    """What is known of one check, or of one segment that it judges for itself, between two runs.

    `recent` are the last 21 evaluated outcomes, oldest first, `P` or `F`, for the flapping rule, and `W` for a warn
    where it opens incidents. `monitored_since` is the first run of the check, `last_pass_ended_at` the end of the last
    run in which the fail limit held (a `pass` or a `warn`), `failing_since` and `passing_since` the first run of the
    present streak. `last_status` is `pass`, `warn`, `fail`, or unknown with its reason, `unknown(timeout)`. `place`
    identifies the source and relation in which it was evaluated last; None: not recorded.
    """

    check_id: str
    monitored_since: datetime
    last_run_at: datetime
    last_status: str
    last_pass_ended_at: datetime | None = None
    failing_since: datetime | None = None
    fail_streak: int = 0
    passing_since: datetime | None = None
    pass_streak: int = 0
    recent: str = ""
    flapping: bool = False
    place: str | None = None

    @property
    def last_unknown(self) -> UnknownReason | None:
        """Return why the last run could not be evaluated; None if it could."""
        reason = self.last_status.removeprefix(f"{Status.UNKNOWN}(").removesuffix(")")
        return UnknownReason(reason) if reason != self.last_status else None


@dataclass(frozen=True, slots=True)
class Policy:
    """How many runs it takes to open and to resolve, and how long a relapse still belongs to the same incident.

    `confirm_after`: a failing run opens once another, at least so much later, fails too, and has then detected it;
    `open_after` is not asked. `warn_opens`: a run that warns breaks a limit of severity `warning`, as a fail its own.
    `warn_notifies`: warnings that open no incident are followed, since a route is for them.
    """

    open_after: int = 1
    resolve_after: int = 2
    regressed_within: timedelta = timedelta(days=7)
    confirm_after: timedelta | None = None
    warn_opens: bool = False
    warn_notifies: bool = False


@dataclass(frozen=True, slots=True)
class RunTimes:
    """When a run measured (its time) and when it ended, both UTC."""

    at: datetime
    ended_at: datetime
