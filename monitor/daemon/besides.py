"""Do what is done besides the work, each thing in its time. APScheduler is the clock, in memory only.

Each thing has a thread of its own, is never run twice at once, and is run late rather than not at all.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any

from apscheduler.events import EVENT_JOB_ERROR, EVENT_JOB_EXECUTED, JobExecutionEvent
from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.jobstores.memory import MemoryJobStore
from apscheduler.schedulers.background import BackgroundScheduler

from monitor.clock import Clock
from monitor.daemon.journal import LOG
from store import StoreError


@dataclass(frozen=True, slots=True)
class Chore:
    """Something to do every so many seconds."""

    seconds: int
    do: Callable[[], None]


class Besides:
    """Chores by name, done until it is stopped."""

    def __init__(self, chores: Mapping[str, Chore], clock: Clock) -> None:
        """Take the chores; each is done for the first time when it starts."""
        self._chores, self._clock = chores, clock
        self._stumbles: dict[str, str] = {}
        self._lock = Lock()
        self._scheduler = BackgroundScheduler(
            timezone="UTC",
            jobstores={"default": MemoryJobStore()},
            executors={"default": ThreadPoolExecutor(len(chores))},
            job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None},
        )
        self._scheduler.add_listener(self._hear, EVENT_JOB_ERROR | EVENT_JOB_EXECUTED)

    def start(self) -> None:
        """Begin."""
        for name, chore in self._chores.items():
            self._scheduler.add_job(
                chore.do, "interval", seconds=chore.seconds, id=name, next_run_time=self._clock.now()
            )
        self._scheduler.start()

    def begin_anew(self) -> None:
        """Bring the chores back from the future, after the machine's clock was set back."""
        for name, chore in self._chores.items():
            self._scheduler.reschedule_job(name, trigger="interval", seconds=chore.seconds)

    def stop(self) -> None:
        """Begin nothing new; what is being done is left to its end."""
        self._scheduler.shutdown(wait=False)

    def _hear(self, event: JobExecutionEvent) -> None:
        """Say that a chore failed, and not again until it went well or fails otherwise. It is tried again in its time.

        The text of a bug stays unsaid: it may hold values.
        """
        error: Any = event.exception
        said = None
        if error is not None:
            said = (
                str(error) if isinstance(error, StoreError) else f"stumbled ({type(error).__name__}); please report it"
            )
        with self._lock:
            news = said is not None and self._stumbles.get(event.job_id) != said
            if said is None:
                self._stumbles.pop(event.job_id, None)
            else:
                self._stumbles[event.job_id] = said
        if news:
            LOG.error("%s: %s", event.job_id, said)


def _say(error: BaseException) -> str:
    return str(error) if isinstance(error, StoreError) else f"stumbled ({type(error).__name__}); please report it"
