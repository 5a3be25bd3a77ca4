"""Notify others that the daemon lives: systemd, and whoever calls when a ping stays away."""

import os
import socket
import urllib.error
import urllib.request
from http.client import HTTPException
from typing import Final
from urllib.parse import urlsplit

_PATIENCE_S: Final = 10.0


def tell_systemd(state: str) -> None:
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
            return  # nobody listens any more; that is no reason to stop watching


def ping(url: str, *, well: bool) -> str | None:
    """Call a heartbeat address, or the one below it that reports a failure (`/fail`, as Healthchecks has it).

    Gives None when it was heard, else what went wrong, without the address: it is a secret.
    """
    target = url if well else _of_failure(url)
    request = urllib.request.Request(target, headers={"User-Agent": "tablewatch"})  # noqa: S310 - http(s) by the configuration's pattern
    try:
        with urllib.request.urlopen(request, timeout=_PATIENCE_S) as answer:  # noqa: S310 - as above
            answer.read(1024)
    except urllib.error.HTTPError as error:
        return f"the heartbeat URL answered {error.code}"
    except (OSError, ValueError, HTTPException) as error:  # HTTPException: whoever answers speaks no HTTP
        return f"the heartbeat URL cannot be reached ({type(error).__name__})"
    return None


def _of_failure(url: str) -> str:
    """Return the address below a heartbeat address: `/fail` ends the path, and a query stays behind it."""
    parts = urlsplit(url)
    return parts._replace(path=f"{parts.path.rstrip('/')}/fail").geturl()
