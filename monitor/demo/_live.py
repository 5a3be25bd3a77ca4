"""The live demo: the shop goes on, its tables are checked every minute, and every four minutes something breaks.

It begins where the six weeks end. The loads that are missing up to the present are made up for, then orders come every
ten seconds. A daemon checks them as it would check others; its clock is that of the machine (ADR 86).
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from threading import Event, Thread
from typing import Final

from monitor.clock import Clock
from monitor.daemon.journal import LOG
from monitor.demo import _plan as plan
from monitor.demo._build import Demo, DemoError, mark_end
from monitor.summaries.monitoring import DEMO_ENDED

EVERY_S: Final = 10.0
"""How often orders are loaded."""
_FAULTS: Final = (plan.LATE_LOAD, plan.DUPLICATES, plan.NULLS)
_TURN: Final = timedelta(minutes=4)
"""Time from one fault to the next, of which it lasts the second half."""
_FASTER: Final = (
    ("    schedule: every 2h\n", "    schedule: every 1m\n"),
    ("column: loaded_at, max_age: 2h", "column: loaded_at, max_age: 60s"),
)


class LiveShop:
    """The shop of a demo that was built, as it goes on."""

    def __init__(self, demo: Demo, now: datetime) -> None:
        """Check orders every minute from now on, and make up for the loads since the six weeks ended.

        Raises:
            DemoError: the configuration of the demo was changed.
        """
        self._demo, self._begun, self._synced = demo, now, now
        self._shop = demo.shop
        file = demo.folder / "tablewatch.yaml"
        text = file.read_text(encoding="utf-8")
        for slow, fast in _FASTER:
            if slow not in text:
                raise DemoError(f"{file} has no {slow.strip()!r} any more; build the demo again with --force")
            text = text.replace(slow, fast)
        file.write_text(text, encoding="utf-8")
        self._make_up(now)
        (demo.folder / DEMO_ENDED).unlink(missing_ok=True)

    def step(self, now: datetime) -> None:
        """Load the orders of the last seconds, with the fault of this time, or repair the one that is over."""
        turn, within = divmod(now - self._begun, _TURN)
        fault = _FAULTS[turn % len(_FAULTS)] if within >= _TURN / 2 else None
        if self._shop.fault is not fault:
            self._shop.repair_duplicates(now)
            self._shop.repair_nulls(now)
            self._shop.fault = fault
        self._shop.load_orders(self._local(now))
        if now - self._synced >= _TURN:
            self._synced = now
            self._shop.sync_customers(self._local(now))

    @contextmanager
    def going_on(self, clock: Clock) -> Iterator[None]:
        """Load orders beside the block; at its end, mark when the data ended."""
        stop = Event()
        thread = Thread(target=partial(self._go_on, clock, stop), name="shop", daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()
            mark_end(self._demo.folder, clock.now())

    def _go_on(self, clock: Clock, stop: Event) -> None:
        while True:
            try:
                self.step(clock.now())
            except (sqlite3.Error, OSError) as error:
                LOG.warning("the shop could not load its orders (%s); it tries again", type(error).__name__)
            if stop.wait(EVERY_S):
                return

    def _make_up(self, now: datetime) -> None:
        for step, first, load in self._shop.loads():
            at = self._shop.start + first
            while at <= now:
                if at >= self._demo.end:
                    load(self._local(at))
                at += step

    def _local(self, now: datetime) -> datetime:
        return now.astimezone(self._shop.start.tzinfo)
