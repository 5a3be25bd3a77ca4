"""What to look at: a table with its checks, and where it lives. Importing this is cheap."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from checks import Check, ColumnClass, Zones
from checks._counts import KnownCounts
from sources import SourceSpec

if TYPE_CHECKING:
    from monitor.private.question import PrivateQuestion


@dataclass(frozen=True, slots=True)
class Subject:
    """A table and the checks to plan: what the configuration says of it."""

    name: str
    relation: str
    checks: tuple[tuple[str, Check], ...]
    """The check ids with their checks."""
    zones: Zones = field(default_factory=Zones)
    loaded_at: str | None = None
    relations: Mapping[str, str] = field(default_factory=dict)
    """Names of configured tables to their names within this source, for references."""
    frame_rows: int = 1_000_000
    """The most rows to hand to a Great Expectations expectation."""
    classified: Mapping[str, ColumnClass] = field(default_factory=dict)
    """What columns say of persons, where the configuration says it."""


@dataclass(frozen=True, slots=True)
class CountState:
    """What a look needs to count into the store: the key of signatures, and what is known by check id.

    `problem` says why there is no key.
    """

    key: bytes = field(default=b"", repr=False)
    known: Mapping[str, KnownCounts] = field(default_factory=dict)
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """A table to look at in a pass, where it lives and who answers for it.

    `period` is the longest time between two scheduled runs, None without a schedule. `keeper` is for checks whose
    counts are kept; None where nothing is kept: then they count everything, and keep nothing. `question`: what is asked
    about a protected table, which has no checks here then. `maintenance`: planned work, as `[start, end)`.
    """

    subject: Subject
    source: SourceSpec
    owner: str | None = None
    period: timedelta | None = None
    keeper: CountState | None = field(default=None, compare=False, repr=False)
    question: "PrivateQuestion | None" = field(default=None, compare=False, repr=False)
    maintenance: tuple[tuple[datetime, datetime], ...] = ()
