"""The daemon: a loop that works, a clock that ticks, and what is done besides, until it is told to stop.

The main thread works (`Work`). APScheduler, in memory only, is the clock: it ticks, and does in threads of its own what
may take long: alerts, reports, the look at the configuration's files, pings. Everything that must not be lost is in the
store, so a crash at any moment costs nothing but time.
"""

import os
import secrets
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from threading import Event
from types import FrameType
from typing import Final

from monitor.alerts.notices import Happened, Operation
from monitor.config import Loaded
from monitor.daemon.besides import Besides, Chore
from monitor.daemon.journal import LOG
from monitor.daemon.metrics import serve
from monitor.daemon.observer import Observer
from monitor.daemon.signs import ping, tell_systemd
from monitor.daemon.speak import Speaker
from monitor.daemon.watch import ConfigWatch, Refused
from monitor.daemon.work import SIGN_OF_LIFE, Me, Work
from monitor.frame.output import count
from monitor.frame.version import version
from monitor.retire import retire
from monitor.wiring import Project
from monitor.workers import Pool
from store import Daemon as Row
from store import Store, StoreBusy, StoreError, StoreUnavailable

STOP_WITHIN: Final = timedelta(seconds=8)
"""How long a stopping daemon waits for what its workers are at."""

_STEP_S: Final = 1.0
_CLOCK_STEP_S: Final = 2.0


class Daemon:
    """One running daemon. `run` works until it is told to stop, `run_once` until nothing is due."""

    def __init__(
        self, project: Project, path: Path, store: Store, *, once: bool = False, pool: Pool | None = None
    ) -> None:
        """Prepare to work; `once`: at what is due now only; `pool`: who looks, by default worker processes."""
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
        self._speaker = Speaker(store, clock, holder=self._row.id)
        self._observer = Observer(store, clock, self._tell)
        self._pool = pool or Pool(size=project.config.daemon.workers, clock=clock)
        me = Me(self._row.id, store.is_file, clock.now() if once else None)
        self._work = Work(store, self._pool, project, me=me, listener=self._observer)
        self._sign_at = clock.monotonic()

    # --- until nothing is due, or for ever ----------------------------------------------------------------------------

    def run_once(self) -> tuple[int, int]:
        """Run what is due now, tell who has to hear of it, and give how many checks failed and were not evaluated.

        Raises:
            StoreError: the store cannot be used.
        """
        with self._working():
            self._work.tick()
            while not self._stop.is_set() and not self._work.exhausted and self._work.problem is None:
                self._work.step(_STEP_S)
                self._work.tick()
            self._wind_down()
            if self._work.problem is not None:
                raise StoreError(self._work.problem)
            self._speaker.flush(self.project)
        return self._observer.failed, self._observer.not_evaluated

    def run(self) -> None:
        """Work until SIGTERM or SIGINT; SIGHUP and changed files load the configuration anew.

        Raises:
            StoreError: the store is damaged, or not ours any more.
            AddressRefused: the metrics address cannot be listened on.
        """
        address = self.project.config.daemon.metrics
        stop_serving = serve(self._observer.metrics, address) if address != "off" else None
        besides = Besides(self._chores(), self._clock)
        try:
            with self._working():
                besides.start()
                tell_systemd("READY=1")
                LOG.info("watching %s with %s", *self._size())
                self._loop(besides)
                tell_systemd("STOPPING=1")
                besides.stop()
                self._wind_down()
                self._speaker.finish(self.project)
        finally:
            if stop_serving is not None:
                stop_serving()
        LOG.info("stopped")

    def _loop(self, besides: Besides) -> None:
        ahead = self._clock_ahead()
        while not self._stop.is_set():
            self._work.step(_STEP_S)
            if ahead - self._clock_ahead() > _CLOCK_STEP_S:
                besides.begin_anew()
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
            self._observer.begin(_check_ids(self.project))
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

    def _chores(self) -> dict[str, Chore]:
        return {
            "tick": Chore(1, self._work.tick),
            "alerts": Chore(2, lambda: self._speaker.speak(self.project)),
            "config": Chore(2, self._look_at_config),
            "reports": Chore(30, lambda: self._speaker.report(self.project)),
            "ping": Chore(60, self._ping),
            "prune": Chore(3600, self._prune),
        }

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
        except (StoreBusy, StoreUnavailable) as error:
            LOG.warning("the changed configuration is not used yet: %s", error)
            self._reload_asked.set()
        else:
            self._config_is_well()
        tell_systemd("READY=1")

    def _adopt(self, loaded: Loaded) -> None:
        project = Project(loaded, self._clock)
        self._work.adopt(project)
        self._watch.loaded, self.project = loaded, project
        self._retire()
        self._observer.metrics.keep_only(_check_ids(project))
        self._row = replace(self._row, config_loaded_at=self._clock.now())
        self._observer.metrics.config_loaded_at = self._clock.now()
        LOG.info("configuration loaded anew; watching %s with %s", *self._size())

    def _config_failed(self, problem: str) -> None:
        if problem == self._row.config_error:
            return
        LOG.error("the changed configuration is refused, the old one stays in use: %s", problem)
        first = self._row.config_error is None
        self._row = replace(self._row, config_error=problem)
        self._observer.metrics.config_ok = False
        if first:
            self._tell(Happened(Operation.CONFIG_FAILED, why=problem, since=self._clock.now()))
        self._sign_at = self._clock.monotonic()

    def _config_is_well(self) -> None:
        if self._row.config_error is None:
            return
        LOG.info("the configuration on disk is in use again")
        self._row = replace(self._row, config_error=None)
        self._observer.metrics.config_ok = True
        self._tell(Happened(Operation.CONFIG_FINE, until=self._clock.now()))
        self._sign_at = self._clock.monotonic()

    def _tell(self, happened: Happened) -> None:
        self._speaker.tell_operators(self.project, happened)

    def _size(self) -> tuple[str, str]:
        return count(self._work.tables, "table"), count(self.project.config.daemon.workers, "worker")

    def _retire(self) -> None:
        closed = retire(self.project, self._store)
        if closed:
            LOG.info("%s closed: the check is no longer configured", count(closed, "incident"))

    def _give_sign(self) -> None:
        """Say that the loop is alive: to systemd, to the metrics, and now and then to the store."""
        tell_systemd("WATCHDOG=1")
        self._observer.metrics.store_ok = self._work.problem is None
        self._observer.metrics.in_hand = self._work.in_hand
        self._look_at_workers()
        if self._clock.monotonic() < self._sign_at or self._work.problem is not None:
            return
        self._sign_at = self._clock.monotonic() + SIGN_OF_LIFE.total_seconds()
        try:
            with self._store.writing() as book:
                self._row = replace(self._row, heartbeat_at=book.clock(self._clock.now()), leads=self._speaker.leads)
                book.daemon_is(self._row)
        except StoreError as error:
            LOG.warning("%s", error)

    def _look_at_workers(self) -> None:
        """Say when no worker can be made, and when one can again."""
        state, before = self._pool.state, self._observer.metrics.workers
        self._observer.metrics.workers = state
        if state.trouble != (before.trouble if before is not None else None):
            if state.trouble is None:
                LOG.info("workers can be made again")
            else:
                LOG.error("no worker can be made: %s", state.trouble)

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


_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def _check_ids(project: Project) -> list[str]:
    return [table.check_id(check) for table in project.config.tables for check in table.checks]
