"""Cache of page models for some seconds: many readers of one page cost as much as one.

A model is fresh for `fresh_s` seconds. Up to `old_s` it is still shown, at once, while a new one is made for those who
ask next; its `as_of` says of when it is. A change that was made by this process empties the cache, so that nobody who
changed something is shown what was before.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import BoundedSemaphore, Lock
from typing import Any, Final

from pydantic import BaseModel

_MOST: Final = 256
_AT_ONCE: Final = 2
"""Models that are computed at the same time: more would slow down the pages that are cached."""


@dataclass(slots=True)
class _Entry:
    """A model and who makes it: others wait for the first one, and are shown the last one."""

    making: Lock = field(default_factory=Lock)
    model: BaseModel | None = None
    made_at: float = 0.0


class ModelCache:
    """Models by view and query; at most 256, the oldest is evicted first."""

    def __init__(self, monotonic: Callable[[], float], fresh_s: float, old_s: float) -> None:
        """Create a cache with a time to live in seconds; 0 caches nothing."""
        self._monotonic, self._fresh_s, self._old_s = monotonic, fresh_s, old_s
        self._lock = Lock()
        self._entries: dict[Any, _Entry] = {}
        self._at_once = BoundedSemaphore(_AT_ONCE)
        self._background = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="models")

    def get(self, key: Any, make: Callable[[], BaseModel]) -> BaseModel:
        """Return the model of a key, which is at most `old_s` seconds old."""
        if not self._old_s:
            return make()
        entry = self._entry(key)
        model, age = entry.model, self._monotonic() - entry.made_at
        if model is not None and age < self._fresh_s:
            return model
        if model is not None and age < self._old_s:
            if entry.making.acquire(blocking=False):
                self._background.submit(self._refresh, entry, make)
            return model
        with entry.making:
            if entry.model is None or self._monotonic() - entry.made_at >= self._old_s:
                self._make(entry, make)
            return entry.model or make()

    def clear(self) -> None:
        """Clear the cache after a change. Models that are being computed now are not cached."""
        with self._lock:
            self._entries = {}

    def _entry(self, key: Any) -> _Entry:
        with self._lock:
            if key not in self._entries and len(self._entries) >= _MOST:
                del self._entries[next(iter(self._entries))]
            return self._entries.setdefault(key, _Entry())

    def _refresh(self, entry: _Entry, make: Callable[[], BaseModel]) -> None:
        """Recompute a model in the background; an error is raised to the next request that waits for it."""
        try:
            self._make(entry, make)
        finally:
            entry.making.release()

    def _make(self, entry: _Entry, make: Callable[[], BaseModel]) -> None:
        with self._at_once:
            began = self._monotonic()
            entry.model, entry.made_at = make(), began
