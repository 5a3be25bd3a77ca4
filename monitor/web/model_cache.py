"""Cache of page models for some seconds: many readers of one page cost as much as one.

A model is fresh for `fresh_s` seconds. Up to `old_s` it is still shown, at once, while a new one is made for those who
ask next; its `as_of` says of when it is. Who changed something is shown no model that was begun before; to others it
counts as any other model, so that a client that writes all the time costs its readers nothing.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeAlias

from pydantic import BaseModel

_MOST: Final = 256
Make: TypeAlias = Callable[[], Awaitable[BaseModel]]


@dataclass(slots=True)
class _Entry:
    """A model, when and after how many changes it was begun, and the event that ends the making of the next one."""

    model: BaseModel | None = None
    made_at: float = 0.0
    changes: int = 0
    making: asyncio.Event | None = None

    def end(self) -> None:
        """Let those who wait look again."""
        if self.making is not None:
            self.making.set()
            self.making = None


class ModelCache:
    """Models by view and query, for one event loop; at most 256, the oldest is evicted first."""

    def __init__(self, monotonic: Callable[[], float], fresh_s: float, old_s: float) -> None:
        """Create a cache with a time to live in seconds; 0 caches nothing."""
        self._monotonic, self._fresh_s, self._old_s = monotonic, fresh_s, old_s
        self._entries: dict[Any, _Entry] = {}
        self._changes = 0
        self._seen_by_all = 0
        self._seen_by: dict[str, int] = {}
        self._refreshing: set[asyncio.Task[None]] = set()

    async def get(self, key: Any, make: Make, reader: str = "") -> BaseModel:
        """Return the model of a key, at most `old_s` seconds old and begun after all that its reader has changed."""
        if not self._old_s:
            return await make()
        entry, now = self._entry(key), self._monotonic()
        changes = max(self._seen_by_all, self._seen_by.get(reader, 0))
        while entry.model is None or now - entry.made_at >= self._old_s or entry.changes < changes:
            if entry.making is None:
                entry.making = asyncio.Event()
                await self._make(entry, make)
            else:
                await entry.making.wait()
        if now - entry.made_at >= self._fresh_s and entry.making is None:
            entry.making = asyncio.Event()
            task = asyncio.create_task(self._make(entry, make))
            self._refreshing.add(task)
            task.add_done_callback(partial(self._refreshed, entry))
        return entry.model

    def change(self, reader: str | None = None) -> None:
        """Note that a reader changed something; without one, that all are to be shown what changed."""
        self._changes += 1
        if reader is None or len(self._seen_by) >= _MOST:
            self._seen_by_all = self._changes
            self._seen_by.clear()
        else:
            self._seen_by[reader] = self._changes

    def _refreshed(self, entry: _Entry, task: asyncio.Task[None]) -> None:
        """Forget a task; its error is raised to the next request that has to wait for a model."""
        self._refreshing.discard(task)
        if task.cancelled():
            entry.end()
        else:
            task.exception()

    def _entry(self, key: Any) -> _Entry:
        if key not in self._entries and len(self._entries) >= _MOST:
            del self._entries[next(iter(self._entries))]
        return self._entries.setdefault(key, _Entry())

    async def _make(self, entry: _Entry, make: Make) -> None:
        began, changes = self._monotonic(), self._changes
        try:
            entry.model, entry.made_at, entry.changes = await make(), began, changes
        finally:
            entry.end()
