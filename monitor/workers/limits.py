"""Decide whether a job of a source may be started: sources that hang must not hold up those that answer.

Each source has its limit. The last free worker is kept for sources that are not suspect. When each worker is held by a
job that is silent, such a source gets one more, up to twice the size of the pool: then the bound is the limit of the
sources, not the size of the pool. The very last one is kept for sources that have answered before: many new sources
that all hang cannot take it.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

SILENCE: Final = timedelta(seconds=1)
"""A job of which nothing is heard for longer makes its source suspect."""
_STRETCH: Final = 2


@dataclass(frozen=True, slots=True)
class SourceLoad:
    """What is known of a source.

    `running` counts its jobs that hold a worker. `proven`: it has answered. `suspect`: one of its jobs is silent, or
    the last that ended had to be stopped.
    """

    running: int
    concurrency: int
    proven: bool
    suspect: bool

    @property
    def trusted(self) -> bool:
        """Say whether it answers, as far as is known."""
        return self.proven and not self.suspect


@dataclass(frozen=True, slots=True)
class PoolLoad:
    """What is known of the pool: how many jobs hold a worker, and of how many of these nothing is heard."""

    size: int
    running: int
    silent: int


def admits(pool: PoolLoad, source: SourceLoad) -> bool:
    """Say whether another job of the source may be started."""
    if source.running >= source.concurrency:
        return False
    free = pool.size - pool.running
    if free > 0:
        return free > 1 or pool.running == 0 or not source.suspect
    most = _STRETCH * pool.size - (0 if source.trusted else 1)
    return not source.suspect and pool.silent >= pool.running and pool.running < most
