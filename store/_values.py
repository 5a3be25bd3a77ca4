"""What goes into the store and comes out of it, where it is no value of `incidents`. Imports no database."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import Final, Self

from checks import NOTHING_TOLD, Json, Kind, Message, ReadVolume, Severity, Status, UnknownReason
from incidents import State

BACKFILL: Final = "backfill-"
"""What the id of a run begins with that was made for a past time."""


class NamedThing(StrEnum):
    """What can be renamed."""

    TABLE = "table"
    CHECK = "check"
    DOMAIN = "domain"
    OWNER = "owner"


@dataclass(frozen=True, slots=True)
class NameChange:
    """A rename of a table, a check (its whole id), a domain or an owner."""

    kind: NamedThing
    old: str
    new: str
    actor: str
    recorded_at: datetime

    def renamed(self, name: str) -> str:
        """Return what a name becomes: that of a table, or the id of a check or of a segment of one."""
        rest = name.removeprefix(self.old)
        if rest == name or not self.old:
            return name
        of_table = self.kind is NamedThing.TABLE and rest[:1] == "." and "." not in rest[1:]
        of_check = self.kind is NamedThing.CHECK and rest[:1] == "["
        return f"{self.new}{rest}" if not rest or of_table or of_check else name


def current_name(name: str, changes: Iterable[NameChange]) -> str:
    """Return what became of a name by renames, the oldest first."""
    for change in changes:
        name = change.renamed(name)
    return name


@dataclass(frozen=True, slots=True)
class RunCost:
    """The cost of a run to its source, and its day in the project's zone."""

    source: str
    day: date
    seconds: float
    volume: ReadVolume = NOTHING_TOLD


@dataclass(frozen=True, slots=True)
class Spending:
    """The number of runs and their total cost; `volume` is of those whose engine reports it."""

    runs: int = 0
    seconds: float = 0.0
    volume: ReadVolume = NOTHING_TOLD

    def __add__(self, other: Self) -> "Spending":
        """Add two."""
        return Spending(self.runs + other.runs, self.seconds + other.seconds, self.volume + other.volume)


@dataclass(frozen=True, slots=True)
class Run:
    """One look at one table. `id` is unique for ever; that of a backfilled one begins with `BACKFILL`.

    `cost`: None where the source was not read, and of runs before costs were remembered.
    """

    id: str
    table: str
    started_at: datetime
    ended_at: datetime
    cost: RunCost | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one check in a run; `reason` if and only if it is unknown."""

    run_id: str
    check_id: str
    table: str
    measured_at: datetime
    status: Status
    reason: UnknownReason | None
    observed: Mapping[str, Json]
    message: Message
    duration_s: float


@dataclass(frozen=True, slots=True)
class Sample:
    """One of the results of a check in a short time, for all of them: the newest of the worst status.

    `n`: how many there were. `counts`: how many of each status, none that is 0.
    """

    result: Result
    n: int
    counts: Mapping[Status, int]


@dataclass(frozen=True, slots=True)
class CheckRunTime:
    """The last `n` runs of a check: seconds that they took together, and when the first and the last of them was."""

    n: int
    seconds: float
    first_at: datetime
    last_at: datetime


@dataclass(frozen=True, slots=True)
class IncidentFilter:
    """A filter of incidents, newest detection first. An empty tuple and None filter nothing.

    `since` and `until`: an episode began before `until` and did not end before `since`. `text`: part of the table,
    check id, title or the title's values, whatever the case of its letters.
    """

    states: tuple[State, ...] = ()
    tables: tuple[str, ...] = ()
    check_ids: tuple[str, ...] = ()
    severities: tuple[Severity, ...] = ()
    kinds: tuple[Kind, ...] = ()
    assignees: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    text: str | None = None
    merged_into: int | None = None
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class IncidentChange:
    """That an incident was changed: `number` grows with each change of any incident, in the order of recording."""

    number: int
    incident_id: int
    table: str
    kind: str


class LoggedEventKind(StrEnum):
    """What happened: a removal is of an event that was logged by mistake."""

    DEPLOY = "deploy"
    MIGRATION = "migration"
    BACKFILL = "backfill"
    CONFIGURATION = "configuration"
    OTHER = "other"
    REMOVAL = "removal"


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """Something that happened to a table, to all of a source, or (neither is named) to any table. `note`: by people.

    `job`: the name of the job that failed, where that is what happened.
    """

    kind: LoggedEventKind
    happened_at: datetime
    table: str | None
    source: str | None
    note: str
    actor: str
    recorded_at: datetime
    id: int = 0
    job: str | None = None


@dataclass(frozen=True, slots=True)
class Counts:
    """The number of rows in the store; `open_incidents` are those not resolved."""

    runs: int
    measurements: int
    checks: int
    incidents: int
    open_incidents: int
    episodes: int
    events: int
    gaps: int


class ReleaseEventKind(StrEnum):
    """Events of a release: approved by a user, held by a user or a check, exported to a file."""

    APPROVED = "approved"
    HELD = "held"
    EXPORTED = "exported"


@dataclass(frozen=True, slots=True)
class ReleaseEvent:
    """A fact about a release. `body`: what it is about, as plain data; no value of the table is in it."""

    release: str
    kind: ReleaseEventKind
    actor: str
    note: str
    body: Mapping[str, Json]
    recorded_at: datetime
    id: int = 0


@dataclass(frozen=True, slots=True)
class StoredComparison:
    """The last comparison of the remedies of a release. `digest`: of the release as it was configured then.

    `body`: rounded figures as plain data; no value of the table is in it.
    """

    release: str
    digest: str
    body: Mapping[str, Json]
    compared_at: datetime
