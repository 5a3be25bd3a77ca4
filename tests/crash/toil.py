"""A short piece of a daemon's work in one thread, step by step, for faults that are injected into its system calls.

A fault may stop it (it was killed), or fail a write: then what was found is kept and tried again, as the daemon does.
"""

import os
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Final

from monitor.alerts.dispatch import dispatch
from monitor.alerts.notify import notify
from monitor.alerts.operational import OperationalEvent
from monitor.channels import DeliverySucceeded
from monitor.clock import SimulatedClock
from monitor.config import load
from monitor.config.project import Project
from monitor.daemon.work_loop import DaemonIdentity, WorkLoop
from monitor.scan.results import CheckResult
from store import Delivery, Store, StoreBusy, StoreError, StoreUnavailable, daemon_lock, open_store
from tests.crash.acknowledging import acknowledge
from tests.monitor.daemon.plant import PlacedPool
from tests.monitor.shop import NOW

REFUSED: Final = 3
"""The exit code of a life that could not use the store at all."""

_LOCK_TIMEOUT: Final = timedelta(milliseconds=200)
_KEPT: Final = timedelta(minutes=30)


class _Heard:
    def on_results(self, results: Sequence[CheckResult]) -> None:
        acknowledge(results)

    def on_event(self, happened: OperationalEvent) -> None:
        """Operators are no part of this."""


def toil(folder: Path, *, shift_s: float = 0.0, pause_s: float = 2.0) -> int:
    """Look at tables that go bad and get well, remember, announce, send, forget; give the exit code.

    `shift_s`: how much later than another life it begins; `pause_s`: how much time passes between two looks.
    """
    clock = SimulatedClock(NOW + timedelta(seconds=shift_s))
    project = Project(load(folder / "tablewatch.yaml"), clock)
    url = project.config.storage.url
    try:
        with daemon_lock(url), open_store(url, checkpoints=True, lock_timeout=_LOCK_TIMEOUT) as store:
            _toil(project, store, clock, timedelta(seconds=pause_s))
    except StoreError as error:
        os.write(2, f"{type(error).__name__}: {error}\n".encode())
        return REFUSED
    return 0


def _toil(project: Project, store: Store, clock: SimulatedClock, pause: timedelta) -> None:
    pool = PlacedPool(clock)
    work = WorkLoop(store, pool, project, me=DaemonIdentity("me", alone=True), listener=_Heard())  # type: ignore[arg-type] - it looks in place
    for turn in range(2):
        clock.advance(pause)
        work.tick()
        work.step(0.0)
        for path in (
            lambda: notify(project, store, clock.now()),
            lambda: dispatch(project, store, holder="me", sender=_send),
            lambda: store.prune(keep_measurements=_KEPT, keep_incidents=_KEPT, now=clock.now()),
        ):
            _once_more_later(path)
        if turn == 0:
            with closing(sqlite3.connect("shop.sqlite")) as connection, connection:
                connection.execute("DELETE FROM t0 WHERE who = 'twin'")


def _once_more_later(do: Callable[[], object]) -> None:
    """Do a second task; what fails is done the next time, and everything else goes on."""
    try:
        do()
    except (StoreBusy, StoreUnavailable) as error:
        os.write(2, f"{type(error).__name__}: {error}\n".encode())


def _send(_project: Project, delivery: Delivery) -> DeliverySucceeded:
    os.write(1, f"SENT {delivery.id}\n".encode())
    return DeliverySucceeded()
