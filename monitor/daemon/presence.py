"""Record in the store that this daemon is alive, and its configuration; notify systemd and a heartbeat URL."""

import os
import secrets
import socket
import urllib.error
import urllib.request
from dataclasses import replace
from http.client import HTTPException
from typing import Final
from urllib.parse import urlsplit

from monitor.clock import Clock
from monitor.config import Loaded
from monitor.terminal.version import version
from store import DaemonConfig, Store
from store import DaemonRecord as Row

_TIMEOUT_S: Final = 10.0
_BEAT_S: Final = 20.0
"""Seconds between two heartbeats in the store: a daemon counts as silent after a minute without one."""


def notify_systemd(state: str) -> None:
    """Send a state (`READY=1`, `WATCHDOG=1`, `STOPPING=1`, `RELOADING=1`) to systemd, where it started us.

    See sd_notify(3). Where it did not, nothing happens.
    """
    address = os.environ.get("NOTIFY_SOCKET")
    if not address:
        return
    if address.startswith("@"):
        address = f"\0{address[1:]}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as channel:
        try:
            channel.sendto(state.encode(), address)
        except OSError:
            return  # no receiver any more; monitoring goes on


def ping(url: str, *, well: bool) -> str | None:
    """Call a heartbeat address, or the one below it that reports a failure (`/fail`, as Healthchecks has it).

    Return None, or the problem, without the address, which is a secret.
    """
    target = url if well else _of_failure(url)
    request = urllib.request.Request(target, headers={"User-Agent": "tablewatch"})  # noqa: S310 - http(s) by the configuration's pattern
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:  # noqa: S310 - as above
            answer.read(1024)
    except urllib.error.HTTPError as error:
        return f"the heartbeat URL answered {error.code}"
    except (OSError, ValueError, HTTPException) as error:  # HTTPException: the answer is no HTTP
        return f"the heartbeat URL cannot be reached ({type(error).__name__})"
    return None


def _of_failure(url: str) -> str:
    """Return the address that reports a failure: `/fail` at the end of the path, before a query."""
    parts = urlsplit(url)
    return parts._replace(path=f"{parts.path.rstrip('/')}/fail").geturl()


class DaemonPresence:
    """The row of a daemon in the store, written every few seconds. Not thread-safe."""

    def __init__(self, store: Store, clock: Clock, loaded: Loaded) -> None:
        """Prepare the row; nothing is written yet."""
        self._store, self._clock = store, clock
        self._unwritten: DaemonConfig | None = _config(loaded)
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

    def config_is_loaded(self, loaded: Loaded) -> None:
        """Note that a configuration was just taken over; the next sign of life writes it."""
        self._unwritten = _config(loaded)
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
        self._next = self._clock.monotonic() + _BEAT_S
        with self._store.writing() as tx:
            self._row = replace(self._row, heartbeat_at=tx.schedule.clock(self._clock.now()), leads=leads)
            tx.daemons.save(self._row)
            if self._unwritten is not None:
                tx.daemons.save_config(self._row.id, self._unwritten)
        self._unwritten = None

    def goodbye(self) -> None:
        """Report that it stopped.

        Raises:
            StoreError: it cannot be written.
        """
        with self._store.writing() as tx:
            self._row = replace(self._row, stopped_at=tx.schedule.clock(self._clock.now()))
            tx.daemons.save(self._row)


def _config(loaded: Loaded) -> DaemonConfig:
    return DaemonConfig(loaded.values_digest, loaded.values())
