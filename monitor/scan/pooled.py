"""The distances of tables that learn their limits together, read once for many passes."""

from datetime import datetime, timedelta
from threading import Lock
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from checks import Status
from store import Store

if TYPE_CHECKING:
    from checks.limits import DistancePool

_SPAN: Final = timedelta(weeks=4)
_MOST_LOOKS: Final = 100_000
"""Looks that are ranked: of more the newest are."""
_LASTS: Final = timedelta(hours=6)
_POOLS: Final[WeakKeyDictionary[Store, tuple[datetime, "DistancePool"]]] = WeakKeyDictionary()
_LOCK: Final = Lock()


def pool_at(now: datetime, store: Store) -> "DistancePool":
    """Return the pool by which runs of a moment are judged.

    It is at most six hours old, and at the first run of the day has what was measured until then.

    Raises:
        StoreError: the store cannot be read.
    """
    with _LOCK:
        known = _POOLS.get(store)
        if known is None or abs(now - known[0]) >= _LASTS:
            known = _POOLS[store] = (now, _read(store, now))
    return known[1]


def _read(store: Store, now: datetime) -> "DistancePool":
    from checks.limits import DistancePool, PooledLook

    looks: list[PooledLook] = []
    with store.reading() as tx:
        pasts = tx.results.pooled(now - _SPAN, now, most=_MOST_LOOKS)
    for check_id, own in pasts.items():
        for past in own:
            pool = (past.observed.get("learned") or {}).get("pool")
            if pool is not None and not past.expected:
                place = (pool["group"], pool["band"], float(pool["distance"]))
                is_alarm = past.unanswered or past.status is Status.WARN  # a line of a digest has no answer
                looks.append(PooledLook(check_id, past.measured_at, *place, is_alarm))
    return DistancePool(looks, numbers=len(pasts))
