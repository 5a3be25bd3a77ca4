"""Half a request holds no connection for ever, and no address holds all of them."""

import http.client
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import pytest

from monitor.web import connections, reports
from tests.monitor.web.site import Site
from tests.monitor.web.test_rate_limit import Hold

HALF = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Half: "
BODY = (
    b"POST /sign-out HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: same-origin\r\n"
    b"Content-Length: 99\r\nContent-Type: application/x-www-form-urlencoded\r\n\r\nnext"
)
REFUSED = b"POST /channels/hook/test HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\nhalf"


@contextmanager
def _connected(host: str, count: int, text: bytes, *, source: str = "127.0.0.1") -> Iterator[list[socket.socket]]:
    """Open connections for the block, each with a part of a request."""
    address, port = host.split(":")
    with ExitStack() as stack:
        opened = []
        for _ in range(count):
            made = socket.create_connection((address, int(port)), timeout=60, source_address=(source, 0))
            opened.append(stack.enter_context(made))
            made.sendall(text)
        yield opened


def _is_answered(host: str) -> bool:
    connection = http.client.HTTPConnection(host)
    connection.request("GET", "/healthz")
    status = connection.getresponse().status
    connection.close()
    return status == 200


def _is_open(connection: socket.socket) -> bool:
    """Check whether a connection was not closed by the server."""
    connection.settimeout(0)
    try:
        return connection.recv(1) != b""
    except BlockingIOError:
        return True
    except ConnectionError:
        return False


@pytest.mark.parametrize("part", [b"", HALF, BODY], ids=["nothing", "headers", "body"])
def test_one_address_never_holds_all_connections(site: Site, part: bytes) -> None:
    """Of 520 that send a part of a request the newest stay open, and a whole one is answered."""
    with site.served() as host, _connected(host, 520, part) as opened:
        assert _is_answered(host)
        left = [_is_open(connection) for connection in opened]
        assert sum(left) == 63
        assert all(left[-63:])


@pytest.mark.parametrize("part", [b"", HALF, REFUSED], ids=["nothing", "headers", "body of a refused request"])
def test_a_request_that_does_not_arrive_ends_its_connection(
    site: Site, monkeypatch: pytest.MonkeyPatch, part: bytes
) -> None:
    """Its time is not set back by what trickles in; a request that is being answered has no such limit."""
    hold = Hold(reports.gather)
    monkeypatch.setattr(reports, "gather", hold)
    monkeypatch.setattr(connections, "REQUEST_S", 0.2)
    asked = f"GET /reports/2026-W46 HTTP/1.1\r\nHost: localhost\r\nCookie: {site.cookie()}\r\n\r\n".encode()
    with site.served() as host, _connected(host, 1, asked) as slow, hold.held():
        assert hold.calls.acquire(timeout=60)
        with _connected(host, 3, part) as opened:
            for connection in opened:
                with suppress(ConnectionError):
                    while connection.recv(65_536):
                        connection.sendall(b"x")
        hold._released.set()
        assert slow[0].recv(15) == b"HTTP/1.1 200 OK"


def test_the_oldest_of_all_addresses_makes_room(site: Site) -> None:
    """Many addresses together hold no more than the half of the connections with parts of requests."""
    with site.served() as host, ExitStack() as stack:
        opened = [
            connection
            for number in range(2, 8)
            for connection in stack.enter_context(_connected(host, 50, HALF, source=f"127.0.0.{number}"))
        ]
        assert _is_answered(host)
        left = [_is_open(connection) for connection in opened]
        assert sum(left) == 255
        assert all(left[-255:])
