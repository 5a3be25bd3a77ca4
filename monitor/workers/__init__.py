"""Worker processes that scan tables, so that one that hangs, crashes or grows affects no other.

    daemon ── Pool ──┬── Spawner ── control socket ── forkserver ──fork──┬── worker
                     └───────────── a socket each ───────────────────────┘

In: jobs. Out: events (`Began`, `TableScanned`, `Ended`, `Died`, `Overdue`). Read `job`, `pool`, `task`, then `worker`
(the other side), `messages` (the wire format) and `spawner`, `forkserver`. Importing this package is cheap: engines are
loaded in the forkserver, once, and shared with the workers it forks.
"""

from monitor.workers.job import Began, Died, Ended, Event, Job, Overdue, TableScanned
from monitor.workers.pool import Pool, PoolState

__all__ = ["Began", "Died", "Ended", "Event", "Job", "Overdue", "Pool", "PoolState", "TableScanned"]
