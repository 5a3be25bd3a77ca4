"""Jobs of the workers, and their replies."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar, TypeAlias

from monitor.scan.results import TableResult, Target


@dataclass(frozen=True, slots=True)
class Job:
    """Tables of one source to look at, one after the other.

    `id` is the caller's, and unique among the jobs that are under way. `deadline` is the most time for one table,
    opening the source included. `alone`: one check at a time, each announced before it begins, so that a check that
    ends its worker is known; it costs an opened source per check.

    Raises:
        ValueError: there is no table, or they live in different sources.
    """

    id: int
    targets: tuple[Target, ...]
    deadline: timedelta
    alone: bool = False

    def __post_init__(self) -> None:
        if len({target.source.name for target in self.targets}) != 1:
            raise ValueError("a job has one or more tables, all of one source")

    @property
    def source(self) -> str:
        """Return the source."""
        return self.targets[0].source.name


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A function to call in a worker, once. It, its arguments and its answer travel as pickles.

    `id` as in a job. `deadline` is the most time for it, the start of its worker not included.
    """

    id: int
    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()
    deadline: timedelta = timedelta.max

    source: ClassVar = ""


@dataclass(frozen=True, slots=True)
class TableBegan:
    """A table was begun; in a job that goes check by check, a check of it."""

    job: int
    table: str
    check_id: str | None = None


@dataclass(frozen=True, slots=True)
class TableScanned:
    """A table was looked at, all checks of it."""

    job: int
    table_result: TableResult


@dataclass(frozen=True, slots=True)
class Ended:
    """Each table of the job was found; nothing more is heard of it."""

    job: int


@dataclass(frozen=True, slots=True)
class WorkerDied:
    """The worker ended amid a table: by a signal, or by itself.

    Without a `check_id` the job is over: what was not found of it is the caller's to submit again, this table `alone`.
    With one the check is to blame: it is found as `unknown(bug)`, and the job goes on with the next check.
    `cause` says how the worker ended, in our words.
    """

    job: int
    table: str
    check_id: str | None
    cause: str


@dataclass(frozen=True, slots=True)
class Overdue:
    """A table took longer than the deadline and was stopped.

    Without a `check_id` the job is over; `table_result` says `unknown(timeout)` for each check of the table, and what
    comes after it is the caller's to submit again. With one, that check took too long; only it is given up, and the job
    goes on.
    """

    job: int
    table: str
    check_id: str | None
    table_result: TableResult | None = None


@dataclass(frozen=True, slots=True)
class Returned:
    """A call came to its end: the pickle of what the function returned, or of a `Raised`."""

    job: int
    answer: bytes


@dataclass(frozen=True, slots=True)
class CallFailed:
    """A call has no answer: its worker ended, or was ended at the deadline. `cause` says how, in our words."""

    job: int
    cause: str
    overdue: bool = False


Event: TypeAlias = TableBegan | TableScanned | Ended | WorkerDied | Overdue | Returned | CallFailed
