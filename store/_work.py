"""Values about the work of daemons: when tables are due, and which daemon checks them.

A slot is a nominal time at which a table is due. Every slot is run, retried under a new attempt, or kept as skipped.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any


class SkipReason(StrEnum):
    """Why slots were not run."""

    LATE = "late"
    """No process could run them: the daemon was down, the machine asleep, or its clock set forward."""
    OVERRUN = "overrun"
    """The run before them took longer than the period."""
    LIMIT = "daily-limit"
    """The daily limit of the source delayed the table beyond them."""
    POLICY = "policy"
    """The configuration wants missed slots left out."""
    CHANGED = "changed"
    """The schedule was changed, or the table taken out of the configuration, when they were due already."""


class SlotState(StrEnum):
    """The state of a slot."""

    RUNNING = "running"
    DONE = "done"
    GIVEN_UP = "given-up"


@dataclass(frozen=True, slots=True)
class Scheduled:
    """The next time a table is due: its nominal `next_slot`, spread over time as `due_at`.

    `schedule` and `zone` are the texts that these times were computed from. `delayed_since`: since when the daily limit
    of its source delays it, until `due_at` at first; None while nothing does.
    """

    table: str
    schedule: str
    zone: str
    next_slot: datetime
    due_at: datetime
    delayed_since: datetime | None = None


@dataclass(frozen=True, slots=True)
class Skip:
    """Slots of a table that were not run: how many, from the first to the last of them, and why."""

    table: str
    first: datetime
    last: datetime
    count: int
    reason: SkipReason


@dataclass(frozen=True, slots=True)
class SlotDecision:
    """The decision on a table that is due.

    `due` is its row as it was seen: a claim holds only if it is still so. `slot` is the one to run, None to run none;
    `skip` are those left out. `next_slot` and `due_at` are when the table is due after that.
    """

    due: Scheduled
    slot: datetime | None
    next_slot: datetime
    due_at: datetime
    skip: Skip | None = None


@dataclass(frozen=True, slots=True)
class Lease:
    """A claimed slot. It is valid for its `attempt`: after a later attempt began, no longer."""

    id: int
    table: str
    slot: datetime
    attempt: int
    epoch: int


@dataclass(frozen=True, slots=True)
class Slot:
    """The outcome of a slot. `started_at` is the first attempt's; `run_id` is None without a run."""

    id: int
    table: str
    slot: datetime
    epoch: int
    state: SlotState
    attempt: int
    holder: str
    started_at: datetime
    heartbeat_at: datetime | None
    lease_until: datetime
    ended_at: datetime | None
    run_id: str | None


@dataclass(frozen=True, slots=True)
class Quarantine:
    """The number of workers that a check has killed, and until when it is suspended; None: it is not."""

    check_id: str
    crashes: int
    until: datetime | None
    last_crash_at: datetime


@dataclass(frozen=True, slots=True)
class DaemonConfig:
    """The configuration that a daemon uses: as it was read, with secrets masked, and its digest."""

    digest: str
    values: Any


@dataclass(frozen=True, slots=True)
class DaemonRecord:
    """A process that runs checks. `id` is random, of one start; `config_error` is text without secrets."""

    id: str
    host: str
    pid: int
    version: str
    started_at: datetime
    heartbeat_at: datetime
    config_loaded_at: datetime
    stopped_at: datetime | None = None
    config_error: str | None = None
    leads: bool = False
