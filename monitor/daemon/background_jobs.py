"""Run periodic jobs beside the main loop, by APScheduler in memory.

Each job has a thread of its own, never runs twice at once, and is run late rather than not at all. These threads do not
keep the process from ending, as those of a pool of Python's would.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from queue import SimpleQueue
from threading import Condition, Lock, Thread
from typing import Any

from apscheduler.events import EVENT_JOB_ERROR, EVENT_JOB_EXECUTED, JobExecutionEvent
from apscheduler.executors.base import BaseExecutor, run_job
from apscheduler.job import Job
from apscheduler.jobstores.memory import MemoryJobStore
from apscheduler.schedulers.background import BackgroundScheduler

from monitor.clock import Clock
from monitor.daemon.journal import LOG
from store import StoreError


@dataclass(frozen=True, slots=True)
class PeriodicJob:
    """A function to call every so many seconds."""

    seconds: int
    do: Callable[[], None]


class BackgroundJobs:
    """Jobs by name, run until they are stopped."""

    def __init__(self, jobs: Mapping[str, PeriodicJob], clock: Clock) -> None:
        """Prepare the jobs; each runs first at the start."""
        self._jobs, self._clock = jobs, clock
        self._errors: dict[str, str] = {}
        self._failing_since: dict[str, float] = {}
        self._lock = Lock()
        self._at: dict[str, float] = {}
        self._stopped = False
        self._one_ended = Condition()
        self._scheduler = BackgroundScheduler(
            timezone="UTC",
            jobstores={"default": MemoryJobStore()},
            executors={"default": _Threads()},
            job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None},
        )
        self._scheduler.add_listener(self._on_event, EVENT_JOB_ERROR | EVENT_JOB_EXECUTED)

    def start(self) -> None:
        """Start all jobs, together: those that are due at one moment wake the process once."""
        now = self._clock.now()
        for name, job in self._jobs.items():
            do = partial(self._do, name, job)
            self._scheduler.add_job(do, "interval", seconds=job.seconds, id=name, next_run_time=now)
        self._scheduler.start()

    def restart(self) -> None:
        """Reschedule the jobs after the machine's clock was set back: none stays in the future."""
        for name, job in self._jobs.items():
            self._scheduler.reschedule_job(name, trigger="interval", seconds=job.seconds)

    def stop(self) -> None:
        """Start no more jobs; running ones go on."""
        with self._one_ended:
            self._stopped = True
        if self._scheduler.running:
            self._scheduler.shutdown(wait=False)

    def wait_for(self, name: str, seconds: float) -> bool:
        """Wait at most so many seconds for a running job; return whether it has ended."""
        with self._one_ended:
            return self._one_ended.wait_for(lambda: name not in self._at, max(seconds, 0.0))

    def failing_for(self, name: str) -> float:
        """Return for how many seconds a job has failed each time, or did not end; 0 while it succeeds."""
        with self._one_ended:
            begun = self._at.get(name)
        with self._lock:
            since = [item for item in (begun, self._failing_since.get(name)) if item is not None]
        return self._clock.monotonic() - min(since) if since else 0.0

    def _do(self, name: str, job: PeriodicJob) -> None:
        with self._one_ended:
            if self._stopped:
                return
            self._at[name] = self._clock.monotonic()
        try:
            job.do()
        finally:
            with self._one_ended:
                del self._at[name]
                self._one_ended.notify_all()

    def _on_event(self, event: JobExecutionEvent) -> None:
        """Log that a job failed, and not again until it succeeds or fails otherwise. It runs again at its next time.

        The text of an internal error is not logged: it may hold values.
        """
        error: Any = event.exception
        text = None if error is None else _format(error)
        with self._lock:
            is_new = text is not None and self._errors.get(event.job_id) != text
            if text is None:
                self._errors.pop(event.job_id, None)
                self._failing_since.pop(event.job_id, None)
            else:
                self._errors[event.job_id] = text
                self._failing_since.setdefault(event.job_id, self._clock.monotonic())
        if is_new:
            LOG.error("%s: %s", event.job_id, text)


class _Threads(BaseExecutor):  # type: ignore[misc]  # APScheduler has no types
    """Runs each job in a thread of its own, which lasts and dies with the process; one run of a job at a time."""

    def __init__(self) -> None:
        super().__init__()
        self._runs: dict[str, SimpleQueue[tuple[Job, Sequence[datetime]]]] = {}

    def _do_submit_job(self, job: Job, run_times: Sequence[datetime]) -> None:
        if job.id not in self._runs:
            self._runs[job.id] = SimpleQueue()
            Thread(target=self._work, args=(self._runs[job.id],), name=f"job {job.id}", daemon=True).start()
        self._runs[job.id].put((job, run_times))

    def _work(self, runs: "SimpleQueue[tuple[Job, Sequence[datetime]]]") -> None:
        while True:
            job, run_times = runs.get()
            alias = job._jobstore_alias  # noqa: SLF001 - as APScheduler's own executors do
            self._run_job_success(job.id, run_job(job, alias, run_times, self._logger.name))


def _format(error: BaseException) -> str:
    return str(error) if isinstance(error, StoreError) else f"internal error ({type(error).__name__}); please report it"
