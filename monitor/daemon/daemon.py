"""The daemon: a loop that works, a clock that ticks, and what is done besides, until it is told to stop.

The main thread works (`Work`). APScheduler, in memory only, is the clock: it ticks, and does in threads of its own what
may take long: alerts, reports, the look at the configuration's files, pings. Everything that must not be lost is in the
store, so a crash at any moment costs nothing but time.
"""

import signal
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from datetime import timedelta
from pathlib import Path
from threading import Event
from types import FrameType
from typing import Final

from checks import Status
from checks.gx.caller import PRELOAD
from monitor.config.project import Project
from monitor.daemon.background_jobs import BackgroundJobs, PeriodicJob
from monitor.daemon.config_reload import ConfigWatch, Reloader, check_ids
from monitor.daemon.journal import LOG
from monitor.daemon.metrics import serve
from monitor.daemon.notifier import Notifier
from monitor.daemon.observer import Observer
from monitor.daemon.presence import DaemonPresence, notify_systemd, ping
from monitor.daemon.web_process import WebProcess
from monitor.daemon.work_loop import DaemonIdentity, WorkLoop
from monitor.workers import ENGINES, Pool
from store import DaemonLock, Store, StoreBusy, StoreError, StoreUnavailable

STOP_WITHIN: Final = timedelta(seconds=9)
"""How long a stopping daemon waits for what its workers are at, and for messages on their way."""

_STEP_S: Final = 1.0
_CLOCK_STEP_S: Final = 2.0
_SENDING_S: Final = 3.0
"""So much of the time to stop is kept for messages on their way."""
_STUCK_S: Final = 60.0
"""A loop that did not come round for so long is not well: it waits for the store 20 s at most."""
_MUTE_S: Final = 120.0
"""A daemon that could not decide on alerts for so long is not well, however much it finds."""
_RELOAD: Final = getattr(signal, "SIGHUP", None)
"""The signal to load the configuration anew, on systems that have it."""
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, *([] if _RELOAD is None else [_RELOAD]))


class DaemonProcess:
    """One running daemon. `run` works until it is told to stop, `run_once` until nothing is due."""

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
            store: the store it uses.
            lock: the lock of that store, to see that nobody takes it away.
            once: work at what is due now only.
            pool: who looks at tables, by default worker processes.
        """
        clock = project.clock
        self._store, self._lock, self._clock = store, lock, clock
        self._watch = ConfigWatch(path, project.loaded)
        self._stop, self._reload_asked = Event(), Event()
        self._presence = DaemonPresence(store, clock, project.loaded)
        self._speaker = Notifier(store, clock, holder=self._presence.id)
        self._observer = Observer(
            store,
            lambda: self.project,
            clock,
            lambda happened: self._speaker.notify_operators(self.project, happened),
        )
        self._pool = pool or Pool(size=project.config.daemon.workers, clock=clock, preload=_preload(project))
        me = DaemonIdentity(self._presence.id, store.is_file, clock.now() if once else None)
        self._work = WorkLoop(store, self._pool, project, me=me, listener=self._observer)
        self._configured = Reloader(
            project,
            self._watch,
            store,
            work=self._work,
            observer=self._observer,
            presence=self._presence,
        )
        self._stepped_at = clock.monotonic()
        self._besides: BackgroundJobs | None = None

    @property
    def project(self) -> Project:
        """Return the configuration in use."""
        return self._configured.project

    @property
    def statistics(self) -> Mapping[str, int]:
        """Return how many slots of scheduled queries were answered since the start, and how many were not.

        What a spent budget does not cover is not counted: that is no failure.
        """
        questions = self._work.questions
        return {"answered": questions.answered, "not_answered": questions.unanswered}

    @property
    def is_well(self) -> bool:
        """Check whether the loop runs, workers work, the store takes their results, and alerts are decided on."""
        steps = self._clock.monotonic() - self._stepped_at < _STUCK_S
        speaks = self._besides is None or self._besides.failing_for("alerts") < _MUTE_S
        return steps and speaks and self._work.problem is None and self._pool.state.trouble is None

    # --- until nothing is due, or for ever ----------------------------------------------------------------------------

    def run_once(self) -> Counter[Status]:
        """Run what is due now, tell who has to hear of it, and give how many checks came out how.

        Raises:
            StoreError: the store cannot be used.
        """
        with self._working():
            self._work.tick()
            while not self._stop.is_set() and not self._work.exhausted and self._work.problem is None:
                self._work.step(_STEP_S)
                self._work.tick()
            self._wind_down(self._clock.monotonic() + STOP_WITHIN.total_seconds())
            if self._work.problem is not None:
                raise StoreError(self._work.problem)
            self._speaker.flush(self.project)
        return self._observer.counts

    def run(self, web: WebProcess | None = None) -> None:
        """Work until SIGTERM or SIGINT; SIGHUP and changed files load the configuration anew.

        Args:
            web: the web application that runs beside it.

        Raises:
            StoreError: the store is damaged, or not ours any more.
            MetricsAddressRefused: the metrics address cannot be listened on.
        """
        address = self.project.config.daemon.metrics
        stop_serving = serve(self._observer.metrics, address) if address != "off" else None
        besides = self._besides = BackgroundJobs(self._jobs(), self._clock)
        try:
            with self._working(), web or nullcontext():
                besides.start()
                notify_systemd("READY=1")
                self._loop(besides, web)
                notify_systemd("STOPPING=1")
                self._leave(besides)
        except StoreError as error:
            LOG.error("daemon stopping: %s", error)
            raise
        finally:
            besides.stop()
            if stop_serving is not None:
                stop_serving()
        LOG.info("stopped")

    def _loop(self, besides: BackgroundJobs, web: WebProcess | None) -> None:
        ahead = self._clock_ahead()
        while not self._stop.is_set():
            self._work.step(_STEP_S)
            self._stepped_at = self._clock.monotonic()
            if ahead - self._clock_ahead() > _CLOCK_STEP_S:
                besides.begin_anew()
            ahead = self._clock_ahead()
            if self._reload_asked.is_set():
                self._reload_asked.clear()
                before = self.project
                self._configured.reload()
                if web is not None and self.project is not before:
                    web.restart()
            self._give_sign()

    def _clock_ahead(self) -> float:
        return self._clock.now().timestamp() - self._clock.monotonic()

    @contextmanager
    def _working(self) -> Iterator[None]:
        """Listen to signals, and leave no worker and no lease behind."""
        before = {number: signal.signal(number, self._on_signal) for number in _SIGNALS}
        try:
            self._observer.begin(check_ids(self.project))
            self._configured.begin()
            yield
        finally:
            self._pool.close(timedelta())
            for number, handler in before.items():
                signal.signal(number, handler)

    def _leave(self, besides: BackgroundJobs) -> None:
        """Stop within a time, whatever hangs: workers, a message on its way, a job."""
        end = self._clock.monotonic() + STOP_WITHIN.total_seconds()
        besides.stop()
        self._wind_down(end - _SENDING_S)
        if besides.wait_for("alerts", end - self._clock.monotonic()):
            self._speaker.finish(self.project, seconds=end - self._clock.monotonic())

    def _wind_down(self, end: float) -> None:
        """Finish what the workers are at, until a time; give the rest back."""
        self._work.stop()
        while self._work.at_work and self._clock.monotonic() < end:
            self._work.step(min(_STEP_S, end - self._clock.monotonic()))
        self._pool.close(timedelta())
        self._work.give_up_leases()
        self._presence.goodbye()

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        if number == _RELOAD:
            self._reload_asked.set()
        else:
            self._stop.set()
        self._pool.wake()

    # --- besides ------------------------------------------------------------------------------------------------------

    def _jobs(self) -> dict[str, PeriodicJob]:
        return {
            "tick": PeriodicJob(1, self._work.tick),
            "alerts": PeriodicJob(2, lambda: self._speaker.speak(self.project)),
            "config": PeriodicJob(2, self._look_at_config),
            "reports": PeriodicJob(30, lambda: self._speaker.report(self.project)),
            "tickets": PeriodicJob(15, lambda: self._speaker.pull(self.project)),
            "events": PeriodicJob(10, lambda: self._speaker.push_events(self.project)),
            "ping": PeriodicJob(60, self._ping),
            "log": PeriodicJob(5, self._store.shorten_log),
            "prune": PeriodicJob(3600, self._prune),
        }

    def _look_at_config(self) -> None:
        if self._watch.has_changed():
            self._reload_asked.set()
            self._pool.wake()

    def _give_sign(self) -> None:
        """Report that the loop is alive: to systemd, to the metrics, and now and then to the store.

        Raises:
            StoreError: the store or its lock was deleted or replaced.
        """
        notify_systemd("WATCHDOG=1")
        self._observer.look_at(self._work, self._pool)
        self._store.check_place()  # at every step: between two signs of life is more than the ten seconds promised
        if self._lock is not None:
            self._lock.check()
        if not self._presence.is_due or self._work.problem is not None:
            return
        try:
            self._presence.sign(leads=self._speaker.leads)
        except (StoreBusy, StoreUnavailable) as error:
            LOG.warning("%s", error)
        else:
            self._configured.do_owed()

    def _ping(self) -> None:
        url = self.project.config.daemon.heartbeat_url
        if url is None:
            return
        problem = ping(url, well=self.is_well)
        if problem is not None:
            LOG.warning("%s", problem)

    def _prune(self) -> None:
        storage = self.project.config.storage
        self._store.prune(
            keep_measurements=storage.keep_measurements, keep_incidents=storage.keep_incidents, now=self._clock.now()
        )


def _preload(project: Project) -> Sequence[str]:
    """Name what workers need; of an expectation that is added later, each imports Great Expectations itself."""
    types = {check.type for table in project.config.tables for check in table.checks}
    return (*ENGINES, *PRELOAD) if "expectation" in types else ENGINES
