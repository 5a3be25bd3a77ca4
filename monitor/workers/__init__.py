"""Worker processes that scan tables, so that one that hangs, crashes or grows affects no other.

    daemon ── Pool ──┬── Spawner ── control socket ── forkserver ──fork──┬── worker
                     └───────────── a socket each ───────────────────────┘

In: jobs (tables to scan) and calls (functions). Out: events (`TableBegan`, `TableScanned`, `Ended`, `WorkerDied`,
`Overdue`, `Returned`, `CallFailed`). Read `job`, `pool`, `task`, then `worker` (the other side), `messages` (the wire
format), `spawner` and `forkserver`.
`calls` is for commands: it waits for the answer of Great Expectations, or compares remedies side by side.

Importing this package is cheap: engines are loaded in the forkserver, once, and shared with the workers it forks.
"""

from monitor.workers.calls import WorkerCalls, call_each
from monitor.workers.job import (
    CallFailed,
    Ended,
    Event,
    FunctionCall,
    Job,
    Overdue,
    Returned,
    TableBegan,
    TableScanned,
    WorkerDied,
)
from monitor.workers.pool import Pool, PoolState, WorkerLimits
from monitor.workers.process_control import missing_for_workers
from monitor.workers.spawner import ENGINES

__all__ = [
    "ENGINES",
    "CallFailed",
    "Ended",
    "Event",
    "FunctionCall",
    "Job",
    "Overdue",
    "Pool",
    "PoolState",
    "Returned",
    "TableBegan",
    "TableScanned",
    "WorkerCalls",
    "WorkerDied",
    "WorkerLimits",
    "call_each",
    "missing_for_workers",
]
