"""Decide when a delivery that failed is tried again: the schedule of Standard Webhooks 1.0, with jitter.

The jitter is a function of the delivery, so that the same history always gives the same times and deliveries that
failed together do not come back together.
"""

import hashlib
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from monitor.channels import LONGEST_WAIT

SCHEDULE: Final[Sequence[timedelta]] = (
    timedelta(0),
    timedelta(seconds=5),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=5),
    timedelta(hours=10),
    timedelta(hours=14),
    timedelta(hours=20),
    timedelta(hours=24),
)
"""How long to wait before each attempt, counted from the one before; ten attempts over 75 h 35 min in all."""

JITTER: Final = 0.1
"""The most that is added to a wait, as a share of it."""


def next_try(
    delivery_id: str, *, attempts: int, now: datetime, retry_after: timedelta | None = None
) -> datetime | None:
    """Return when to try again after so many failed attempts (1 or more); None when that was the last one.

    Never earlier than the schedule says, and never earlier than the other side asked for.
    """
    if attempts >= len(SCHEDULE):
        return None
    wait = SCHEDULE[attempts] * (1 + JITTER * _share(delivery_id, attempts))
    asked = min(retry_after or timedelta(0), LONGEST_WAIT)
    return now + max(wait, asked)


def _share(delivery_id: str, attempts: int) -> float:
    """Return a number in [0, 1) that depends on the delivery and the attempt only."""
    digest = hashlib.blake2b(f"{delivery_id}/{attempts}".encode(), digest_size=6).digest()
    return int.from_bytes(digest) / 2**48
