"""Changes of incidents as they happen: one reader of the store, once a second, for all streams.

It reads only while a stream is open, and keeps the last 500 changes for clients that reconnect.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from anyio import CapacityLimiter
from anyio.to_thread import run_sync

from store import IncidentChange, Store, StoreError

LOG: Final = logging.getLogger("tablewatch")
_MOST_KEPT: Final = 500


@dataclass(frozen=True, slots=True)
class FeedTiming:
    """Seconds between two reads, between two keep-alive comments on an idle stream, and until a stream ends.

    A stream ends so that the client reconnects and is authenticated again; never before it has sent what was new when
    it began.
    """

    read_s: float = 1.0
    alive_s: float = 15.0
    stream_s: float = 120.0


TIMING: Final = FeedTiming()


@dataclass(frozen=True, slots=True)
class ChangeBatch:
    """The changes since the last batch of a stream, up to a number.

    `is_complete` is false if more happened than is kept, or the numbers restarted: everything has to be read again.
    """

    last: int
    changes: Sequence[IncidentChange] = ()
    is_complete: bool = True


class ChangeFeed:
    """The changes of a store's incidents, for many streams in one event loop."""

    def __init__(self, store: Store, on_change: Callable[[], None], timing: FeedTiming = TIMING) -> None:
        """Read a store; `on_change` is called before the streams hear of changes."""
        self._store, self._on_change, self._timing = store, on_change, timing
        self._recent: list[IncidentChange] | None = None
        self._last = 0
        self._followers = 0
        self._reader: asyncio.Task[None] | None = None
        self._news = asyncio.Event()
        self._stopped = False
        self._is_failing = False

    @property
    def followers(self) -> int:
        """Return how many streams are open."""
        return self._followers

    def stop(self) -> None:
        """End all streams: the process stops."""
        self._stopped = True
        self._announce()

    @contextmanager
    def following(self) -> Iterator[None]:
        """Count a stream for the block; the first one starts the reader, the last one ends it."""
        self._followers += 1
        if self._reader is None or self._reader.done():
            self._reader = asyncio.create_task(self._read_on())
        try:
            yield
        finally:
            self._followers -= 1
            if not self._followers:
                self._reader.cancel()
                self._reader, self._recent = None, None

    async def batches(self, after: int | None) -> AsyncIterator[ChangeBatch | None]:
        """Yield what happens after a number, or from now on; None where nothing did for some seconds."""
        loop = asyncio.get_running_loop()
        end = loop.time() + self._timing.stream_s
        while not self._stopped:
            news = self._news
            batch = self._batch(after)
            if batch is not None:
                after = batch.last
                yield batch
                continue
            left = end - loop.time()
            if self._recent is not None and left <= 0:
                return
            try:
                await asyncio.wait_for(news.wait(), min(self._timing.alive_s, left) if left > 0 else None)
            except TimeoutError:
                yield None

    def _batch(self, after: int | None) -> ChangeBatch | None:
        """Return what is after a number; None if that is nothing, or was not read yet."""
        if self._recent is None or after == self._last:
            return None
        if after is None:
            return ChangeBatch(self._last)
        is_lost = len(self._recent) == _MOST_KEPT and self._recent[0].number > after + 1
        if after > self._last or is_lost:
            return ChangeBatch(self._last, is_complete=False)
        return ChangeBatch(self._last, [change for change in self._recent if change.number > after])

    async def _read_on(self) -> None:
        limiter = CapacityLimiter(1)  # its own: it does not wait for the threads of pages
        while True:
            try:
                changes = await run_sync(self._read, limiter=limiter)
            except StoreError as error:
                if not self._is_failing:
                    LOG.warning("changes of incidents cannot be read now: %s", error)
                self._is_failing = True
            else:
                self._is_failing = False
                self._take(changes)
            await asyncio.sleep(self._timing.read_s)

    def _read(self) -> Sequence[IncidentChange]:
        with self._store.reading() as tx:
            after = 0 if self._recent is None else self._last
            return tx.incidents.changes(after=after, limit=_MOST_KEPT)

    def _take(self, changes: Sequence[IncidentChange]) -> None:
        is_first = self._recent is None
        if not changes and not is_first:
            return
        last = changes[-1].number if changes else 0
        self._recent = [*(self._recent or ()), *changes][-_MOST_KEPT:]
        if last != self._last:
            self._on_change()
        self._last = last
        self._announce()

    def _announce(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()
