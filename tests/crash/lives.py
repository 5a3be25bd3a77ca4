"""What the processes do that are killed: each function is a life, and runs in a forked process of its own.

A life acknowledges what it did only after the store has taken it: a line on standard output, which the one who kills it
reads afterwards, and compares with what the next one finds.
"""

import ctypes
import os
import sqlite3
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

from monitor.cli import main
from monitor.clock import Clock, SystemClock
from monitor.config import load
from monitor.config.project import Project
from monitor.daemon import daemon as daemon_module
from monitor.daemon.background_jobs import BackgroundJobs, PeriodicJob
from monitor.daemon.daemon import DaemonProcess
from monitor.daemon.journal import keep_journal
from monitor.daemon.observer import Observer
from monitor.daemon.periodic_report import report_if_due
from monitor.reporting.period import PERIODS
from monitor.scan.results import CheckResult, targets_of
from monitor.scan.scanner import scan_source
from monitor.workers import Event
from store import backup, daemon_lock, open_store, restore
from tests.crash.acknowledging import acknowledge
from tests.crash.places import Place
from tests.crash.spending import spend
from tests.crash.toil import toil
from tests.monitor.daemon.plant import PlacedPool
from tests.store.later import add_revision

__all__ = [
    "allow_tracing",
    "bring_back",
    "command",
    "copy",
    "report",
    "spend",
    "toil",
    "upgrade",
    "warm_up",
    "watch",
]

_SET_PTRACER: Final = 0x59616D61
_OFTEN: Final = {
    "alerts": 0.1,
    "config": 2,
    "reports": 30,
    "tickets": 0.2,
    "events": 10,
    "ping": 60,
    "log": 0.5,
    "prune": 0.5,
    "tables": 60,
}


class ShiftedClock(SystemClock):
    """The machine's clock, set forward or back before the process began."""

    def __init__(self, shift_s: float) -> None:
        self._shift = timedelta(seconds=shift_s)

    def now(self) -> datetime:
        return super().now() + self._shift


class WaitingPool(PlacedPool):
    """Looks in place, and waits for the daemon's clock as the real pool does."""

    def __init__(self, clock: SystemClock) -> None:
        super().__init__(clock)  # type: ignore[arg-type] - it only asks for the time
        self._bell = threading.Event()

    def events(self, timeout: float) -> list[Event]:
        found = super().events(timeout)
        if not found:
            self._bell.wait(timeout)
            self._bell.clear()
            found = super().events(timeout)
        self.jobs.clear()
        return found

    def wake(self) -> None:
        self._bell.set()

    def close(self, deadline: timedelta = timedelta()) -> None:
        """There are no processes to end."""


class Acknowledging(Observer):
    """Says aloud what the store has taken."""

    def on_results(self, results: Sequence[CheckResult]) -> None:
        acknowledge(results)
        super().on_results(results)


class OftenBesides(BackgroundJobs):
    """Does the chores often, since lives are short, and by the machine's clock, since APScheduler has no other."""

    def __init__(self, chores: Mapping[str, PeriodicJob], _clock: Clock) -> None:
        often = {name: replace(chore, seconds=_OFTEN[name]) for name, chore in chores.items()}
        super().__init__(often, SystemClock())


def watch(folder: Path, *, shift_s: float = 0.0, workers: bool = False, lock_timeout_s: float = 20.0) -> None:
    """Be the daemon, until killed.

    `workers`: scans run in processes, else in this one. `lock_timeout_s`: how long it waits for a locked store.
    """
    daemon_module.Observer, daemon_module.BackgroundJobs = Acknowledging, OftenBesides  # type: ignore[misc] - its seams
    daemon_module.STEP_S = 0.1  # type: ignore[misc] - the third
    path = folder / "tablewatch.yaml"
    project = Project(load(path), ShiftedClock(shift_s))
    keep_journal(project.loaded.redactor, as_json=True)
    url, lock_timeout = project.config.storage.url, timedelta(seconds=lock_timeout_s)
    with daemon_lock(url), open_store(url, checkpoints=True, thorough=True, lock_timeout=lock_timeout) as store:
        pool: Any = None if workers else WaitingPool(ShiftedClock(shift_s))
        DaemonProcess(project, path, store, pool=pool).run()


def allow_tracing() -> None:
    """Let any process of this user trace this one, where the system is strict about it (see prctl(2))."""
    ctypes.CDLL(None).prctl(_SET_PTRACER, ctypes.c_ulong(-1), 0, 0, 0)


def warm_up() -> None:
    """Import what is imported when a table is first looked at."""
    with tempfile.TemporaryDirectory() as name:
        place = Place(Path(name), tables=("warm",))
        project = Project(load(place.folder / "tablewatch.yaml"))
        list(scan_source(targets_of(project, ["warm"]), clock=project.clock, plans={}))
        with project.open_store():
            pass
        with closing(sqlite3.connect(place.store)) as connection:
            connection.execute("SELECT 1")


def report(folder: Path, *, now: str) -> None:
    """Make the reports that are due at a moment."""
    project = Project(load(folder / "tablewatch.yaml"))
    with project.open_store() as store:
        for kind in PERIODS:
            report_if_due(project, store, datetime.fromisoformat(now), kind)


def upgrade(folder: Path, *, url: str) -> None:
    """Open a store as a later release does, bringing it up to date."""
    add_revision(folder)
    open_store(url).close()
    os.write(1, b"ACK upgraded\n")


def copy(_folder: Path, *, url: str, to: str, force: bool = False) -> None:
    """Make a backup."""
    made = backup(url, Path(to), force=force)
    os.write(1, f"ACK {made.rows}\n".encode())


def bring_back(_folder: Path, *, url: str, file: str) -> None:
    """Restore a backup."""
    found = restore(url, Path(file), now=SystemClock().now())
    os.write(1, f"ACK {found.backup.rows}\n".encode())


def command(_folder: Path, *, words: Sequence[str]) -> None:
    """Run a command, as users type it."""
    sys.argv = ["tablewatch", *words]
    main()
