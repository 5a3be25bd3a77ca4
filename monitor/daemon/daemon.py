"""The daemon: the main loop and background jobs, until it is stopped.

The main thread runs the loop (`WorkLoop`). APScheduler, in memory only, runs in threads of its own the
jobs that may take long: alerts, reports, changes of the configuration's files, pings. All state is in the store, so
nothing is lost by a crash at any moment.
"""

import signal
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from datetime import timedelta
from functools import partial
from pathlib import Path
from threading import Event
from time import sleep
from types import FrameType
from typing import Final, TypeVar

from checks import Status
from checks.gx.caller import PRELOAD
from monitor.config.project import Project
from monitor.daemon.background_jobs import BackgroundJobs, PeriodicJob
from monitor.daemon.claims import CLOCK_STEP_S
from monitor.daemon.config_reload import ConfigWatch, Reloader, check_ids, rehearse
from monitor.daemon.journal import LOG
from monitor.daemon.metrics import serve
from monitor.daemon.notifier import Notifier
from monitor.daemon.observer import Observer
from monitor.daemon.presence import DaemonPresence, notify_systemd, ping
from monitor.daemon.web_process import TableRefresh, WebProcess
from monitor.daemon.work_loop import DaemonIdentity, WorkLoop
from monitor.scan.recorder import prune
from monitor.workers import ENGINES, Pool
from store import DaemonLock, Postponed, Store, StoreBusy, StoreError, StoreUnavailable

T = TypeVar("T")

START_PATIENCE_S: Final = 60.0
"""How long each step of the start waits for a PostgreSQL server that cannot be reached."""
_LONGEST_PAUSE_S: Final = 5.0
STOP_WITHIN: Final = timedelta(seconds=9)
"""How long a stopping daemon waits for its workers, and for messages that are being sent."""

STEP_S: Final = 1.0
"""After so much the loop looks whether a slot is due or the store was changed; at most twice as long while idle."""
_PLACE_EVERY_S: Final = 4.0
"""Seconds between looks whether the store is still in its place: it is detected within ten seconds."""
_SENDING_S: Final = 3.0
"""The part of it that is reserved for messages that are being sent."""
_TABLES_S: Final = 300
"""Seconds between looks at which tables the patterns of the configuration stand for."""
_STUCK_S: Final = 60.0
"""A loop that made no step for so long is unhealthy: it waits for the store 20 s at most."""
_MUTE_S: Final = 120.0
"""A daemon that could not decide on alerts for so long is unhealthy, even if checks run."""
_RELOAD: Final = getattr(signal, "SIGHUP", None)
"""The signal to reload the configuration, on systems that have it."""
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, *([] if _RELOAD is None else [_RELOAD]))


def patiently(project: Project, step: Callable[[], T], *, once: bool, wait: Callable[[float], object] = sleep) -> T:
    """Do a step of the start; try again while a PostgreSQL server that restarts cannot be reached.

    Args:
        project: names the store.
        step: what needs the store.
        once: whether the process runs for one pass only, and does not wait.
        wait: waits so many seconds; what it returns is true if the process is to stop.

    Raises:
        StoreError: the store cannot be used, or not be reached for a minute.
    """
    end = project.clock.monotonic() + START_PATIENCE_S
    pause = 1.0
    while True:
        try:
            return step()
        except (StoreBusy, StoreUnavailable) as error:
            left = end - project.clock.monotonic()
            if once or project.config.storage.url.startswith("sqlite:") or left <= 0:
                raise
            LOG.warning("%s; trying again for %d s", error, left)
            if wait(min(pause, left)):
                raise
        pause = min(pause * 2, _LONGEST_PAUSE_S)


class DaemonProcess:
    """One running daemon. `run` works until it is stopped, `run_once` until nothing is due."""

    def __init__(
        self,
        project: Project,
        path: Path,
        store: Store,
        *,
        lock: DaemonLock | None = None,
        once: bool = False,
        pool: Pool | None = None,
    ) -> None:
        """Prepare to work.

        Args:
            project: the configuration at the start.
            path: where its files are.
            store: its store.
            lock: the lock of that store, to detect that it is replaced.
            once: run only what is due now.
            pool: runs the checks of tables, by default in worker processes.
        """
        clock = project.clock
        self._store, self._lock, self._clock = store, lock, clock
        self._watch = ConfigWatch(path, project.loaded, use=partial(rehearse, clock=clock))
        self._stop, self._reload_asked = Event(), Event()
        self._presence = DaemonPresence(store, clock, project.loaded)
        self._notifier = Notifier(store, clock, holder=self._presence.id)
        self._observer = Observer(
            store,
            lambda: self.project,
            clock,
            lambda event: self._notifier.notify_operators(self.project, event),
        )
        self._pool = pool or Pool(size=project.config.daemon.workers, clock=clock, preload=_preload(project))
        me = DaemonIdentity(self._presence.id, store.is_file, clock.now() if once else None)
        self._once = once
        self._refresh: TableRefresh | None = None
        """Reads which tables patterns stand for, where there are any."""
        self._work = self._patiently(
            project, lambda: WorkLoop(store, self._pool, project, me=me, listener=self._observer)
        )
        self._reloader = Reloader(
            project,
            self._watch,
            store,
            work=self._work,
            observer=self._observer,
            presence=self._presence,
        )
        self._stepped_at = self._place_checked_at = clock.monotonic()
        self._background: BackgroundJobs | None = None

    @property
    def project(self) -> Project:
        """Return the configuration in use."""
        return self._reloader.project

    @property
    def statistics(self) -> Mapping[str, int]:
        """Return the numbers of slots of scheduled queries that were answered since the start, and that were not.

        Slots without an answer because the budget is spent are not counted: that is no failure.
        """
        questions = self._work.questions
        return {"answered": questions.answered, "not_answered": questions.unanswered}

    @property
    def is_well(self) -> bool:
        """Check whether the loop runs, workers work, the store takes their results, and alerts are decided on."""
        steps = self._clock.monotonic() - self._stepped_at < _STUCK_S
        alerts = self._background is None or self._background.failing_for("alerts") < _MUTE_S
        return steps and alerts and self._work.problem is None and self._pool.state.trouble is None

    # --- run ----------------------------------------------------------------------------------------------------------

    def run_once(self) -> Counter[Status]:
        """Run what is due now, send the alerts, delete by age, and return the number of checks by status.

        Raises:
            StoreError: the store cannot be used.
        """
        with self._working():
            self._work.tick()
            while not self._stop.is_set() and not self._work.exhausted and self._work.problem is None:
                self._work.step(STEP_S)
                self._work.tick()
            self._wind_down(self._clock.monotonic() + STOP_WITHIN.total_seconds())
            if self._work.problem is not None:
                raise StoreError(self._work.problem)
            self._notifier.flush(self.project)
            self._prune()
        return self._observer.counts

    def run(self, web: WebProcess | None = None) -> None:
        """Work until SIGTERM or SIGINT; SIGHUP and changed files reload the configuration.

        Args:
            web: the web application that runs beside it.

        Raises:
            StoreError: the store is damaged, or was replaced.
            MetricsAddressRefused: the metrics address cannot be listened on.
        """
        address = self.project.config.daemon.metrics
        stop_serving = serve(self._observer.metrics, address) if address != "off" else None
        background = self._background = BackgroundJobs(self._jobs(), self._clock)
        try:
            with self._working(), web or nullcontext():
                background.start()
                notify_systemd("READY=1")
                self._loop(background, web)
                notify_systemd("STOPPING=1")
                self._leave(background)
        except StoreError as error:
            LOG.error("daemon stopping: %s", error)
            raise
        finally:
            background.stop()
            if self._refresh is not None:
                self._refresh.stop()
            if stop_serving is not None:
                stop_serving()
        LOG.info("stopped")

    def _loop(self, background: BackgroundJobs, web: WebProcess | None) -> None:
        ahead, tick_at = self._clock_ahead(), self._stepped_at
        while not self._stop.is_set():
            if self._stepped_at >= tick_at:  # a busy loop makes many steps in a second
                tick_at = self._stepped_at + self._work.tick(STEP_S)
            self._work.step(tick_at - self._stepped_at)
            self._stepped_at = self._clock.monotonic()
            if ahead - self._clock_ahead() > CLOCK_STEP_S:
                background.restart()
            ahead = self._clock_ahead()
            if self._reload_asked.is_set():
                self._reload_asked.clear()
                before = self.project
                self._reloader.reload()
                if web is not None and self.project is not before:
                    web.restart()
            self._report_alive()

    def _clock_ahead(self) -> float:
        return self._clock.now().timestamp() - self._clock.monotonic()

    @contextmanager
    def _working(self) -> Iterator[None]:
        """Handle signals, and end all workers afterwards."""
        before = {number: signal.signal(number, self._on_signal) for number in _SIGNALS}
        try:
            if (missing := self._store.missing()) is not None:
                LOG.error("%s; run 'tablewatch doctor'", missing)
            self._patiently(self.project, lambda: self._observer.begin(check_ids(self.project)))
            self._patiently(self.project, self._reloader.begin)
            yield
        finally:
            self._pool.close(timedelta())
            for number, handler in before.items():
                signal.signal(number, handler)

    def _patiently(self, project: Project, step: Callable[[], T]) -> T:
        return patiently(project, step, once=self._once, wait=self._stop.wait)

    def _leave(self, background: BackgroundJobs) -> None:
        """Stop within `STOP_WITHIN`, even if workers, a message or a job hang."""
        end = self._clock.monotonic() + STOP_WITHIN.total_seconds()
        background.stop()
        self._wind_down(end - _SENDING_S)
        if background.wait_for("alerts", end - self._clock.monotonic()):
            self._notifier.finish(self.project, seconds=end - self._clock.monotonic())

    def _wind_down(self, end: float) -> None:
        """Finish the jobs of workers, until a time; release the other leases."""
        self._work.stop()
        while self._work.at_work and self._clock.monotonic() < end:
            self._work.step(min(STEP_S, end - self._clock.monotonic()))
        self._pool.close(timedelta())
        self._work.give_up_leases()
        self._presence.goodbye()

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        if number == _RELOAD:
            self._reload_asked.set()
        else:
            self._stop.set()
        self._pool.wake()

    # --- background jobs ----------------------------------------------------------------------------------------------

    def _jobs(self) -> dict[str, PeriodicJob]:
        return {
            "alerts": PeriodicJob(2, lambda: self._notifier.notify(self.project)),
            "config": PeriodicJob(2, self._check_config_files),
            "reports": PeriodicJob(30, lambda: self._notifier.report(self.project)),
            "tickets": PeriodicJob(15, lambda: self._notifier.pull(self.project)),
            "events": PeriodicJob(10, lambda: self._notifier.push_events(self.project)),
            "ping": PeriodicJob(60, self._ping),
            "log": PeriodicJob(5, self._store.shorten_log),
            "prune": PeriodicJob(3600, self._prune),
            "tables": PeriodicJob(_TABLES_S, self._refresh_tables),
        }

    def _check_config_files(self) -> None:
        if self._watch.has_changed():
            self._reload_asked.set()
            self._pool.wake()

    def _refresh_tables(self) -> None:
        if self.project.loaded.texts.expansion is not None:
            self._refresh = self._refresh or TableRefresh(self.project.loaded.path)
            self._refresh()

    def _report_alive(self) -> None:
        """Report that the loop is alive: to systemd, to the metrics, and every 20 seconds to the store.

        Raises:
            StoreError: the store or its lock was deleted or replaced.
        """
        notify_systemd("WATCHDOG=1")
        self._observer.update(self._work, self._pool)
        if self._stepped_at >= self._place_checked_at + _PLACE_EVERY_S:
            self._place_checked_at = self._stepped_at
            self._store.check_place()
            if self._lock is not None:
                self._lock.check()
        if not self._presence.is_due or self._work.problem is not None:
            return
        try:
            self._presence.sign(leads=self._notifier.leads)
            self._store.save_last()
            if self._lock is not None:
                self._lock.record_log(self._store.log)
        except (StoreBusy, StoreUnavailable) as error:
            LOG.warning("%s", error)
        else:
            self._reloader.retry()

    def _ping(self) -> None:
        url = self.project.config.daemon.heartbeat_url
        if url is None:
            return
        problem = ping(url, well=self.is_well)
        if problem is not None:
            LOG.warning("%s", problem)

    def _prune(self) -> None:
        """Delete what is past its retention; log what was deleted, and once a day why it is not."""
        result = prune(self.project, self._store)
        if isinstance(result, Postponed):
            if result.is_news:
                LOG.warning("%s", result.text)
        elif result is not None and result.text:
            LOG.info("deleted by age: %s", result.text)


def _preload(project: Project) -> Sequence[str]:
    """Return the modules that workers preload; for an expectation added later each imports Great Expectations."""
    types = {check.type for table in project.config.tables for check in table.checks}
    return (*ENGINES, *PRELOAD) if "expectation" in types else ENGINES
