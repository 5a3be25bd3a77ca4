"""Worker processes that scan tables, so that one that hangs, crashes or grows affects no other.

    daemon ── Pool ──┬── Spawner ── control socket ── forkserver ──fork──┬── worker
                     └───────────── a socket each ───────────────────────┘

In: jobs. Out: events (`Began`, `Found`, `Ended`, `Died`, `Overdue`). Read `job`, `pool`, `task`, then `worker` (the
other side), `messages` (the wire format) and `spawner`, `forkserver`. Importing this package is cheap: engines are
loaded in the forkserver, once, and shared with the workers it forks.
"""

from monitor.workers.job import Began, Died, Ended, Event, Found, Job, Overdue
from monitor.workers.pool import Pool, PoolState

__all__ = ["Began", "Died", "Ended", "Event", "Found", "Job", "Overdue", "Pool", "PoolState"]
