"""Spread the messages of a channel so that it never gets more than its cap in any hour, and still hears soon.

Most of the cap may be used at once. The rest is handed out one by one, evenly over the hour, so that in a storm a
channel gets a message that sums up what waits every ten minutes, instead of nothing for an hour.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

HOUR: Final = timedelta(hours=1)
_MOST_KEPT: Final = 6


@dataclass(frozen=True, slots=True)
class RateLimit:
    """How many messages a channel may get now; if none, `until` is the first moment at which it may get one."""

    free: int
    until: datetime | None = None


def rate_limit(given: Sequence[datetime], cap: int, now: datetime) -> RateLimit:
    """Give how many messages a channel may get.

    Args:
        given: when it was given messages in the last hour, in any order; older ones do not matter.
        cap: the most messages in any hour, at least 1.
        now: the present, UTC.
    """
    recent = sorted(moment for moment in given if now - HOUR < moment <= now)
    kept = min(_MOST_KEPT, cap // 2)
    at_once = cap - kept
    if len(recent) < at_once:
        return RateLimit(at_once - len(recent))
    earliest = recent[-at_once] + HOUR  # then fewer than `at_once` are left in the hour
    if kept and len(recent) >= cap:
        earliest = min(earliest, max(recent[-cap] + HOUR, recent[-1] + HOUR / kept))
    elif kept:
        earliest = min(earliest, recent[-1] + HOUR / kept)
    return RateLimit(1) if earliest <= now else RateLimit(0, earliest)
