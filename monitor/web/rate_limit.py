"""Limits of what clients may do: tries in a time, and requests of one kind at once.

Both count before they act, so that requests side by side never get more than is allowed.
"""

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from typing import TypeVar

from anyio import CapacityLimiter
from anyio.to_thread import run_sync

from monitor.terminal.problem import Problem
from monitor.web.problems import WebError

_Result = TypeVar("_Result")


class TryLimit:
    """Rate limit of tries for each key, a name or an address: those that fail, such as wrong passwords, or all."""

    def __init__(
        self, clock: Callable[[], float], *, most: int = 10, window_s: float = 900, entries: int = 10_000
    ) -> None:
        """Allow `most` failures in `window_s` seconds for each key; `entries` bounds the number of keys."""
        self._clock = clock
        self._most = most
        self._window_s = window_s
        self._entries = entries
        self._tries: OrderedDict[str, list[float]] = OrderedDict()
        self._lock = threading.Lock()

    def begin(self, *keys: str) -> int | None:
        """Count a try for each key before it is judged; it stays a failure until `take_back`.

        Returns:
            None if the try is allowed, else the seconds until the next one is, and nothing is counted.
        """
        with self._lock:
            now = self._clock()
            recent = {key: [at for at in self._tries.get(key, ()) if at > now - self._window_s] for key in keys}
            full = [tries[-self._most] for tries in recent.values() if len(tries) >= self._most]
            if full:
                return max(int(max(full) + self._window_s - now), 0) + 1
            for key, tries in recent.items():
                self._tries[key] = [*tries, now]
                self._tries.move_to_end(key)
            while len(self._tries) > self._entries:
                self._tries.popitem(last=False)
            return None

    def take_back(self, *keys: str) -> None:
        """Take back a try that succeeded."""
        with self._lock:
            for key in keys:
                if self._tries.get(key):
                    self._tries[key].pop()


class Gate:
    """Places for requests of one kind: some run at once, some wait, further ones are refused with `Retry-After`.

    It is used in the event loop only, which is why looking and taking a place are one step.
    """

    def __init__(self, kind: str, *, at_once: int, waiting: int, each: int) -> None:
        """Allow `at_once` and `waiting` requests together, of which one client has at most `each`."""
        self._kind = kind
        self._threads = CapacityLimiter(at_once)
        self._places = at_once + waiting
        self._each = each
        self._taken: Counter[str] = Counter()

    @contextmanager
    def place(self, client: str | None) -> Iterator[None]:
        """Hold a place of a client for the block; None is many clients behind one proxy.

        Raises:
            WebError: 429 if the client has all its places, 503 if there is none left.
        """
        client = client or ""
        if client and self._taken[client] >= self._each:
            raise _busy(429, f"you have {self._each} {self._kind} at once, which is the limit; try again later")
        if self._taken.total() >= self._places:
            raise _busy(503, f"there are {self._places} {self._kind} at once; try again later")
        self._taken[client] += 1
        try:
            yield
        finally:
            self._taken[client] -= 1
            if not self._taken[client]:
                del self._taken[client]

    async def run(self, function: Callable[[], _Result], client: str | None) -> _Result:
        """Return what a function returns in a thread of this gate.

        Raises:
            WebError: as `place`.
        """
        with self.place(client):
            return await run_sync(function, limiter=self._threads)


class RequestCost(StrEnum):
    """What a request costs, by which it is limited. `none` answers in the event loop: it waits for nothing."""

    NONE = "none"
    PAGE = "page"
    WRITE = "write"
    VIEW = "view"
    HEAVY_VIEW = "heavy-view"
    OTHER_SYSTEM = "other-system"
    SIGN_IN = "sign-in"
    STREAM = "stream"


def make_gates(connections: int) -> Mapping[RequestCost, Gate]:
    """Return the gate of each load, for a server of so many connections.

    Python computes one thing at a time: more threads would only make each of them, and the event loop, wait longer.
    Who writes may wait for the store, and readers do not wait for that. A password takes 64 MiB to judge.
    """
    return {
        RequestCost.PAGE: Gate("requests", at_once=4, waiting=connections, each=connections),
        RequestCost.WRITE: Gate("changes", at_once=4, waiting=connections, each=64),
        RequestCost.VIEW: Gate("pages to compute", at_once=2, waiting=connections, each=64),
        RequestCost.HEAVY_VIEW: Gate("large pages to compute", at_once=1, waiting=9, each=4),
        RequestCost.OTHER_SYSTEM: Gate("requests to other systems", at_once=4, waiting=16, each=4),
        RequestCost.SIGN_IN: Gate("sign-ins", at_once=1, waiting=8, each=4),
        RequestCost.STREAM: Gate("streams of changes", at_once=200, waiting=0, each=20),
    }


def _busy(status: int, message: str) -> WebError:
    return WebError(status, Problem("request.busy", message))
