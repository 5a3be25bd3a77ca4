"""The state of one worker, as the pool sees it."""

from dataclasses import dataclass
from enum import Enum, auto

from monitor.workers.messages import WorkerChannel
from monitor.workers.task import CallTask, Task


class Phase(Enum):
    """Where a worker is in its life."""

    STARTING = auto()
    IDLE = auto()
    BUSY = auto()
    ENDING = auto()
    """It was asked to end; `kill_at` is when it is killed if it has not."""


@dataclass
class WorkerState:
    """A worker of the pool. Times are seconds of the pool's own clock."""

    number: int
    channel: WorkerChannel
    phase: Phase = Phase.STARTING
    pid: int | None = None
    task: Task | CallTask | None = None
    source: str | None = None
    """The source of the job it holds, also while it is being ended for that job."""
    heard: float = 0.0
    kill_at: float | None = None
    runs: int = 0
    worn: bool = False
    """It has done enough, or grown too much; it works on until a successor is there."""
    succeeded: bool = False
    """A successor is there, or on its way."""
    asked_to_end: bool = False
    """The pool ended it; no fault of a job."""
    listens_for: int = 0
    """The selector's events that are waited for."""

    @property
    def holds_job(self) -> bool:
        """Check whether a source has it."""
        return self.source is not None
