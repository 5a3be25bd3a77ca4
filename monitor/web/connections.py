"""Connections of the server: half a request holds none of them for ever, and one address not all of them."""

import asyncio
import select
from typing import Any, Final

from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_S: Final = 10.0
"""Seconds until the headers of a request must have arrived. (Its body: `boundary.BODY_TIMEOUT_S`.)"""
_MOST_OF_ADDRESS: Final = 64
_MOST_OF_ALL: Final = 256
"""Connections whose request has not arrived completely, of one address and of all; the oldest is closed for a new one.

A client that sends its request is answered, also beside others of its address that do not: so a proxy needs no other
limit, and needs not be known.
"""


class BoundedProtocol(H11Protocol):
    """A connection that is closed if it waits for a request for too long, or if too many newer ones do."""

    since = 0.0
    """When it began to wait for a request, by the clock of the event loop."""
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Take a connection, in place of the oldest one that waits if there are too many."""
        super().connection_made(transport)
        self._watch()
        self._make_room()

    def data_received(self, data: bytes) -> None:
        """Take a part of a request."""
        super().data_received(data)
        self._watch()
        if self.is_waiting:
            self._make_room()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the waiting."""
        super().connection_lost(exc)
        self._stop_timer()

    @property
    def address(self) -> str:
        """Return the address at the other end."""
        return "" if self.client is None else self.client[0]

    @property
    def _is_answering(self) -> bool:
        return bool(self.cycle) and not self.cycle.response_complete  # None before the first request

    @property
    def is_waiting(self) -> bool:
        """Check whether a part of a request, or all of it, has not arrived."""
        return not self.transport.is_closing() and (not self._is_answering or self.cycle.more_body)

    @property
    def has_unread(self) -> bool:
        """Check whether something arrived that was not read yet."""
        poll = select.poll()
        poll.register(self.transport.get_extra_info("socket").fileno(), select.POLLIN)
        return bool(poll.poll(0))

    def _watch(self) -> None:
        """Let the time run while no request is answered; data that trickles in does not set it back."""
        if self._is_answering:
            self._stop_timer()
        elif self._timer is None:
            self.since = self.loop.time()
            self._timer = self.loop.call_later(REQUEST_S, self.transport.close)

    def _make_room(self) -> None:
        """Close the oldest connections that wait if there are too many.

        A busy server accepts many connections before it reads from the first of them: what arrived and was not read yet
        counts against the limit of all only.
        """
        waiting = [other for other in self.connections if isinstance(other, BoundedProtocol) and other.is_waiting]
        of_address = [other for other in waiting if other.address == self.address]
        silent = [other for other in of_address if not other.has_unread] if len(of_address) > _MOST_OF_ADDRESS else []
        for crowd, excess in ((silent, len(of_address) - _MOST_OF_ADDRESS), (waiting, len(waiting) - _MOST_OF_ALL)):
            if excess > 0:
                for other in sorted(crowd, key=lambda other: other.since)[:excess]:
                    other.transport.abort()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
