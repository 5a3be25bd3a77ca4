"""The daemon: a loop that works, a clock that ticks, and what is done besides, until it is told to stop.

The main thread works (`Work`). APScheduler, in memory only, is the clock: it ticks, and does in threads of its own what
may take long: alerts, reports, the look at the configuration's files, pings. Everything that must not be lost is in the
store, so a crash at any moment costs nothing but time.
"""

import os
import secrets
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from threading import Event
from types import FrameType
from typing import Any, Final

from apscheduler.events import EVENT_JOB_ERROR, JobExecutionEvent
from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.jobstores.memory import MemoryJobStore
from apscheduler.schedulers.background import BackgroundScheduler

from checks import Status
from incidents import State
from monitor.alerts.notices import Happened, Operation
from monitor.conclude import CheckResult
from monitor.config import Loaded
from monitor.daemon.journal import LOG
from monitor.daemon.metrics import Metrics, Picture, serve
from monitor.daemon.reach import Reach
from monitor.daemon.signs import ping, tell_systemd
from monitor.daemon.speak import Speaker
from monitor.daemon.watch import ConfigWatch, Refused
from monitor.daemon.work import SIGN_OF_LIFE, Work
from monitor.frame.version import version
from monitor.retire import retire
from monitor.wiring import Project
from monitor.workers import Pool
from store import Daemon as Row
from store import IncidentFilter, Store, StoreError

STOP_WITHIN: Final = timedelta(seconds=8)
"""How long a stopping daemon waits for what its workers are at."""

_STEP_S: Final = 1.0
_CLOCK_STEP_S: Final = 2.0


class Daemon:
    """One running daemon. `run` works until it is told to stop, `run_once` until nothing is due."""

    def __init__(self, project: Project, path: Path, store: Store, *, pool: Pool | None = None) -> None:
        """Prepare to work; `pool`: who looks at tables, by default worker processes."""
        clock = project.clock
        self.project = project
        self._store = store
        self._clock = clock
        self._watch = ConfigWatch(path, project.loaded)
        self._stop, self._reload_asked = Event(), Event()
        self._row = Row(
            id=secrets.token_hex(8),
            host=socket.gethostname(),
            pid=os.getpid(),
            version=version(),
            started_at=clock.now(),
            heartbeat_at=clock.now(),
            config_loaded_at=clock.now(),
        )
        self._metrics = Metrics(version(), self._picture, config_loaded_at=clock.now())
        self._speaker = Speaker(store, clock, holder=self._row.id)
        self._pool = pool or Pool(size=project.config.daemon.workers, clock=clock)
        self._failures = 0
        self._unknowns = 0
        self._reach = Reach()
        self._work = Work(
            store,
            self._pool,
            project,
            holder=self._row.id,
            alone=store.is_file,
            listener=self,
        )
        self._sign_at = clock.monotonic()

    # --- until nothing is due, or for ever ----------------------------------------------------------------------------

    def run_once(self) -> tuple[int, int]:
        """Run what is due now, tell who has to hear of it, and give how many checks failed and were not evaluated.

        Raises:
            StoreError: the store cannot be used.
        """
        with self._working():
            self._work.only_until(self._clock.now())
            self._work.tick()
            while not self._stop.is_set() and not self._work.exhausted and self._work.problem is None:
                self._work.step(_STEP_S)
                self._work.tick()
            self._wind_down()
            if self._work.problem is not None:
                raise StoreError(self._work.problem)
            self._speaker.flush(self.project)
        return self._failures, self._unknowns

    def run(self) -> None:
        """Work until SIGTERM or SIGINT; SIGHUP and changed files load the configuration anew.

        Raises:
            StoreError: the store is damaged, or not ours any more.
            OSError: the metrics address cannot be listened on.
        """
        address = self.project.config.daemon.metrics
        stop_serving = serve(self._metrics, address) if address != "off" else None
        scheduler = self._scheduler()
        try:
            with self._working():
                scheduler.start()
                tell_systemd("READY=1")
                LOG.info("watching %d tables with %d workers", self._work.tables, self.project.config.daemon.workers)
                self._loop(scheduler)
                tell_systemd("STOPPING=1")
                scheduler.shutdown(wait=False)
                self._wind_down()
                self._speaker.finish(self.project)
        finally:
            if stop_serving is not None:
                stop_serving()
        LOG.info("stopped")

    def _loop(self, scheduler: BackgroundScheduler) -> None:
        ahead = self._clock_ahead()
        while not self._stop.is_set():
            self._work.step(_STEP_S)
            if ahead - self._clock_ahead() > _CLOCK_STEP_S:
                _begin_anew(scheduler)
            ahead = self._clock_ahead()
            if self._reload_asked.is_set():
                self._reload_asked.clear()
                self._reload()
            self._give_sign()

    def _clock_ahead(self) -> float:
        return self._clock.now().timestamp() - self._clock.monotonic()

    @contextmanager
    def _working(self) -> Iterator[None]:
        """Listen to signals, and leave no worker and no lease behind."""
        before = {number: signal.signal(number, self._on_signal) for number in _SIGNALS}
        try:
            self._remember_outcomes()
            self._retire()
            yield
        finally:
            self._pool.close(STOP_WITHIN)
            for number, handler in before.items():
                signal.signal(number, handler)

    def _wind_down(self) -> None:
        """Finish what the workers are at, for a while; give the rest back."""
        self._work.stop()
        end = self._clock.monotonic() + STOP_WITHIN.total_seconds()
        while self._work.at_work and self._clock.monotonic() < end:
            self._work.step(min(_STEP_S, end - self._clock.monotonic()))
        self._pool.close(timedelta())
        self._work.give_back()
        with self._store.writing() as book:
            self._row = replace(self._row, stopped_at=book.clock(self._clock.now()))
            book.daemon_is(self._row)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - the signal's signature
        if number == signal.SIGHUP:
            self._reload_asked.set()
        else:
            self._stop.set()
        self._pool.wake()

    # --- besides ------------------------------------------------------------------------------------------------------

    def _scheduler(self) -> BackgroundScheduler:
        scheduler = BackgroundScheduler(
            timezone="UTC",
            jobstores={"default": MemoryJobStore()},
            executors={"default": ThreadPoolExecutor(len(_BESIDES) + 1)},
            job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None},
        )
        scheduler.add_listener(_tell_stumble, EVENT_JOB_ERROR)
        jobs: dict[str, Callable[[], None]] = {
            "tick": self._work.tick,
            "alerts": lambda: self._speaker.speak(self.project),
            "reports": lambda: self._speaker.report(self.project),
            "config": self._look_at_config,
            "ping": self._ping,
            "prune": self._prune,
        }
        for name, seconds in _BESIDES.items():
            scheduler.add_job(jobs[name], "interval", seconds=seconds, id=name, next_run_time=self._clock.now())
        return scheduler

    def _look_at_config(self) -> None:
        if self._watch.has_changed():
            self._reload_asked.set()
            self._pool.wake()

    def _reload(self) -> None:
        """Take over a changed configuration, or go on with the old one and say why."""
        tell_systemd("RELOADING=1")
        try:
            loaded = self._watch.reload()
            if loaded is not None:
                self._adopt(loaded)
        except Refused as error:
            self._config_failed(str(error))
        else:
            self._config_is_well()
        tell_systemd("READY=1")

    def _adopt(self, loaded: Loaded) -> None:
        project = Project(loaded, self._clock)
        self._work.adopt(project)
        self.project = project
        self._retire()
        self._metrics.keep_only(_check_ids(project))
        self._row = replace(self._row, config_loaded_at=self._clock.now())
        self._metrics.config_loaded_at = self._clock.now()
        LOG.info("configuration loaded anew; watching %d tables", self._work.tables)

    def _config_failed(self, problem: str) -> None:
        if problem == self._row.config_error:
            return
        LOG.error("the changed configuration is refused, the old one stays in use: %s", problem)
        first = self._row.config_error is None
        self._row = replace(self._row, config_error=problem)
        self._metrics.config_ok = False
        if first:
            self.on_happened(Happened(Operation.CONFIG_FAILED, why=problem, since=self._clock.now()))
        self._sign_at = self._clock.monotonic()

    def _config_is_well(self) -> None:
        if self._row.config_error is None:
            return
        LOG.info("the configuration on disk is in use again")
        self._row = replace(self._row, config_error=None)
        self._metrics.config_ok = True
        self.on_happened(Happened(Operation.CONFIG_FINE, until=self._clock.now()))
        self._sign_at = self._clock.monotonic()

    def on_happened(self, happened: Happened) -> None:
        """Tell the operators."""
        self._speaker.tell_operators(self.project, happened)

    def _retire(self) -> None:
        closed = retire(self.project, self._store)
        if closed:
            LOG.info("%d incidents closed: their checks are no longer configured", closed)

    def _give_sign(self) -> None:
        """Say that the loop is alive: to systemd, to the metrics, and now and then to the store."""
        tell_systemd("WATCHDOG=1")
        self._metrics.store_ok = self._work.problem is None
        self._metrics.in_hand = self._work.in_hand
        if self._clock.monotonic() < self._sign_at or self._work.problem is not None:
            return
        self._sign_at = self._clock.monotonic() + SIGN_OF_LIFE.total_seconds()
        try:
            with self._store.writing() as book:
                self._row = replace(self._row, heartbeat_at=book.clock(self._clock.now()), leads=self._speaker.leads)
                book.daemon_is(self._row)
        except StoreError as error:
            LOG.warning("%s", error)

    def _ping(self) -> None:
        url = self.project.config.daemon.heartbeat_url
        problem = ping(url, well=self._work.problem is None) if url is not None else None
        if problem is not None:
            LOG.warning("%s", problem)

    def _prune(self) -> None:
        kept = self.project.config.storage
        self._store.prune(
            keep_measurements=kept.keep_measurements, keep_incidents=kept.keep_incidents, now=self._clock.now()
        )

    # --- figures ------------------------------------------------------------------------------------------------------

    def on_results(self, results: Sequence[CheckResult]) -> None:
        """Count what was found, and tell the operators of sources that do not answer."""
        self._metrics.take(results)
        statuses = [one.outcome.status for one in results]
        self._failures += statuses.count(Status.FAIL)
        self._unknowns += statuses.count(Status.UNKNOWN)
        for happened in self._reach.take(results):
            self.on_happened(happened)

    def _remember_outcomes(self) -> None:
        with self._store.reading() as view:
            latest = view.latest_results(_check_ids(self.project))
        self._metrics.begin((one.table, one.check_id, one.status, one.reason or "") for one in latest.values())

    def _picture(self) -> Picture | None:
        """Give what Prometheus asks of the store; None while it cannot be read."""
        try:
            with self._store.reading() as view:
                now = view.clock(self._clock.now())
                waits_since = view.lag(now)
                return Picture(
                    lag_s=0.0 if waits_since is None else (now - waits_since).total_seconds(),
                    lasting=view.incidents(IncidentFilter(states=(State.OPEN, State.ACKNOWLEDGED))),
                    deliveries=view.delivery_counts(),
                )
        except StoreError:
            return None


_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

_BESIDES: Final = {"tick": 1, "alerts": 2, "config": 2, "reports": 30, "ping": 60, "prune": 3600}
"""What is done besides, every so many seconds."""


def _begin_anew(scheduler: BackgroundScheduler) -> None:
    """Bring the clock's jobs back from the future, after the machine's clock was set back."""
    for job in scheduler.get_jobs():
        scheduler.reschedule_job(job.id, trigger="interval", seconds=_BESIDES[job.id])


def _tell_stumble(event: JobExecutionEvent) -> None:
    """Say that something done besides failed; it is tried again at its next time. The text of a bug stays unsaid."""
    error: Any = event.exception
    said = str(error) if isinstance(error, StoreError) else f"stumbled ({type(error).__name__}); please report it"
    LOG.error("%s: %s", event.job_id, said)


def _check_ids(project: Project) -> list[str]:
    return [table.check_id(check) for table in project.config.tables for check in table.checks]
