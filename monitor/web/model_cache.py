"""Models of pages that are kept for a moment: many readers of one page cost what one does.

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
"""Models that are made at the same time: more would only slow down the pages that need no new one."""


@dataclass(slots=True)
class _Entry:
    """A model and who makes it: others wait for the first one, and are shown the last one."""

    making: Lock = field(default_factory=Lock)
    model: BaseModel | None = None
    made_at: float = 0.0


class ModelCache:
    """Models by what makes them and what was asked for; at most 256, the oldest is forgotten first."""

    def __init__(self, monotonic: Callable[[], float], fresh_s: float, old_s: float) -> None:
        """Keep models for some seconds; 0 keeps none."""
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
        """Forget everything: something was changed. What is being made now is not kept for those who ask later."""
        with self._lock:
            self._entries = {}

    def _entry(self, key: Any) -> _Entry:
        with self._lock:
            if key not in self._entries and len(self._entries) >= _MOST:
                del self._entries[next(iter(self._entries))]
            return self._entries.setdefault(key, _Entry())

    def _refresh(self, entry: _Entry, make: Callable[[], BaseModel]) -> None:
        """Make a model anew in the background; what fails here is reported to the next who must wait for it."""
        try:
            self._make(entry, make)
        finally:
            entry.making.release()

    def _make(self, entry: _Entry, make: Callable[[], BaseModel]) -> None:
        with self._at_once:
            began = self._monotonic()
            entry.model, entry.made_at = make(), began
