"""Decide when a delivery that failed is tried again: the schedule of Standard Webhooks 1.0, with jitter.

The jitter is a function of the delivery, so that the same history always gives the same times and deliveries that
failed together do not come back together.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Final, TypeAlias

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
LONGEST_WAIT: Final = timedelta(hours=24)
"""The most that the other side may ask for with Retry-After."""


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


def read_retry_after(value: str | None, now: datetime) -> timedelta | None:
    """Read a Retry-After header (RFC 9110, 10.2.3): seconds or a date; between nothing and `LONGEST_WAIT`.

    None when there is none, or when it cannot be understood.
    """
    text = (value or "").strip()
    if text.isascii() and text.isdigit():
        seconds = int(text) if len(text) < 10 else LONGEST_WAIT.total_seconds()
        return min(timedelta(seconds=seconds), LONGEST_WAIT)
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError):
        return None
    if moment.tzinfo is None:  # what RFC 5322 writes as -0000: UTC, from an unknown place
        moment = moment.replace(tzinfo=UTC)
    return min(max(moment - now, timedelta(0)), LONGEST_WAIT)


@dataclass(frozen=True, slots=True)
class DeliverySucceeded:
    """The other side took it."""


@dataclass(frozen=True, slots=True)
class DeliveryFailed:
    """It did not arrive, as far as anybody knows; it may have, when only the answer was lost.

    `retry_after`: how long the other side asked to be left alone. `gone`: it wants no message ever again, so the
    channel is disabled. `permanent`: trying again changes nothing, so it is not tried again by itself.
    """

    why: str
    retry_after: timedelta | None = None
    gone: bool = False
    permanent: bool = False


Attempt: TypeAlias = DeliverySucceeded | DeliveryFailed
