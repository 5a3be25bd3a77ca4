"""Processes that look at tables, so that one that hangs, crashes or grows touches nobody else.

    daemon ── Pool ──┬── Spawner ── control socket ── forkserver ──fork──┬── worker
                     └───────────── a socket each ───────────────────────┘

Importing this is cheap: engines are loaded in the forkserver, once, and shared with the workers it forks.
"""

from monitor.workers.job import Began, Died, Ended, Event, Found, Job, Overdue
from monitor.workers.pool import Pool, PoolState

__all__ = ["Began", "Died", "Ended", "Event", "Found", "Job", "Overdue", "Pool", "PoolState"]
