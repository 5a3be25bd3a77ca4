"""What the store knows of this daemon: who it is, that it lives, and which configuration it refuses."""

import os
import secrets
import socket
from dataclasses import replace

from monitor.clock import Clock
from monitor.daemon.work_loop import SIGN_OF_LIFE
from monitor.terminal.version import version
from store import DaemonRecord as Row
from store import Store


class DaemonPresence:
    """A daemon's row in the store, written now and then. Used by one thread."""

    def __init__(self, store: Store, clock: Clock) -> None:
        """Name the daemon; nothing is written yet."""
        self._store, self._clock = store, clock
        now = clock.now()
        self._row = Row(
            id=secrets.token_hex(8),
            host=socket.gethostname(),
            pid=os.getpid(),
            version=version(),
            started_at=now,
            heartbeat_at=now,
            config_loaded_at=now,
        )
        self._next = clock.monotonic()

    @property
    def id(self) -> str:
        """Return the name under which this daemon holds slots and messages."""
        return self._row.id

    @property
    def config_error(self) -> str | None:
        """Describe why the changed configuration is refused."""
        return self._row.config_error

    @property
    def is_due(self) -> bool:
        """Check whether it is time for the next sign of life."""
        return self._clock.monotonic() >= self._next

    def config_is_loaded(self) -> None:
        """Note that a configuration was just taken over."""
        self._row = replace(self._row, config_loaded_at=self._clock.now())

    def config_is_refused(self, why: str | None) -> None:
        """Note why a changed configuration is refused, or that none is any more; the store hears it at once."""
        self._row = replace(self._row, config_error=why)
        self._next = self._clock.monotonic()

    def sign(self, *, leads: bool) -> None:
        """Write a heartbeat.

        Raises:
            StoreError: it cannot be written.
        """
        self._next = self._clock.monotonic() + SIGN_OF_LIFE.total_seconds()
        with self._store.writing() as tx:
            self._row = replace(self._row, heartbeat_at=tx.schedule.clock(self._clock.now()), leads=leads)
            tx.daemons.save(self._row)

    def goodbye(self) -> None:
        """Report that it stopped.

        Raises:
            StoreError: it cannot be written.
        """
        with self._store.writing() as tx:
            self._row = replace(self._row, stopped_at=tx.schedule.clock(self._clock.now()))
            tx.daemons.save(self._row)
