"""The process: it listens where it may, serves files that are what we vendored, and ends on request."""

import http.client
import signal
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from hashlib import sha256
from itertools import cycle
from pathlib import Path

import pytest

from monitor.clock import SystemClock
from monitor.verbs.account_secrets import make_token
from monitor.web.pages import assets
from store import Grant, WebRole
from tests.monitor.shop import Shop, build_shop

HTMX = "a0abb04f2f45a1f89d1d4844023245537e5e6014c87b144553e0607b4cc32130"


def test_htmx_is_the_file_that_was_vendored() -> None:
    """Version 4.0.1, unchanged."""
    assert sha256(assets()["htmx.js"]).hexdigest() == HTMX


def test_pages_load_nothing_from_elsewhere() -> None:
    """No template and no style sheet names another address."""
    folder = Path(__file__).parents[3] / "templates" / "web"
    for path in [*folder.glob("*.j2"), *folder.glob("static/*.css")]:
        assert "//" not in path.read_text(encoding="utf-8").replace("http://www.w3.org", ""), path


@contextmanager
def _served(shop: Shop) -> Iterator[tuple["subprocess.Popen[str]", int]]:
    """Serve the pages of a shop in a process for the block; yield the process and its port."""
    words = [sys.executable, "-m", "monitor", "-c", str(shop.config), "serve", "--port", "0"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True, cwd=shop.config.parent) as process:
        try:
            assert process.stderr is not None
            line = process.stderr.readline()
            yield process, int(line.partition("127.0.0.1:")[2].partition(";")[0])
        finally:
            process.terminate()


def _token(shop: Shop, name: str) -> str:
    with shop.project().open_store() as store, store.writing() as tx:
        return make_token(tx, name, Grant(WebRole.VIEWER), now=SystemClock().now(), life=timedelta(days=1))


def _follow(stream: socket.socket, token: str) -> None:
    """Ask for the stream of changes."""
    stream.sendall(f"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n".encode())


def test_parallel_guesses_are_judged_as_often_as_guesses_in_turn(tmp_path: Path) -> None:
    """Of sixty wrong passwords of a name at once exactly ten are judged; each other one gets a Retry-After."""
    shop = build_shop(tmp_path)
    shop.config.write_text(f"{shop.config.read_text()}\nweb: {{passwords: true}}\n")
    form = {"Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin"}

    def guess(number: int) -> tuple[int, bool]:
        status = 503  # no place: the guess is sent again
        while status == 503:
            connection = http.client.HTTPConnection("127.0.0.1", port)
            connection.request("POST", "/sign-in", f"name=mia&password=guess-{number}", form)
            answer = connection.getresponse()
            connection.close()
            status = answer.status
        return status, "retry-after" in answer.headers

    with _served(shop) as (_, port), ThreadPoolExecutor(60) as pool:
        assert Counter(pool.map(guess, range(60))) == {(401, False): 10, (429, True): 50}


def test_streams_are_bounded_together_and_for_each_token(tmp_path: Path) -> None:
    """Of clients that connect at once, a token gets 20 streams and all together 200, never one more."""
    shop = build_shop(tmp_path)
    tokens = [_token(shop, f"ci{number}") for number in range(11)]
    with _served(shop) as (_, port), ExitStack() as stack:

        def stream(token: str) -> socket.socket:
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            _follow(connection, token)  # at once: of one address, 64 connections that sent nothing are kept
            return connection

        def connect(token: str, number: int) -> Counter[bytes]:
            streams = [stream(token) for _ in range(number)]
            return Counter(_read_until(each, b"\r\n").split()[1] for each in streams)

        assert connect(tokens[0], 25) == {b"200": 20, b"429": 5}
        with ThreadPoolExecutor(10) as pool:
            others = sum(pool.map(connect, tokens[1:], [20] * 10), Counter())
        assert others == {b"200": 180, b"503": 20}


def test_it_ends_when_told_to_also_with_half_a_request_open(tmp_path: Path) -> None:
    """SIGTERM: what is open is given some seconds, and the exit code is 0."""
    with (
        _served(build_shop(tmp_path)) as (process, port),
        socket.create_connection(("127.0.0.1", port)) as half,
        socket.create_connection(("127.0.0.1", port)) as idle,
    ):
        half.sendall(
            b"POST /sign-in HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: same-origin\r\nContent-Length: 9\r\n\r\nname"
        )
        idle.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert idle.recv(64).startswith(b"HTTP/1.1 200")
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


def test_streams_end_when_it_is_told_to_stop(tmp_path: Path) -> None:
    """SIGTERM: fifty open streams are ended as streams end, none is cut."""
    shop = build_shop(tmp_path)
    tokens = [_token(shop, f"ci{number}") for number in range(5)]
    with _served(shop) as (process, port), ExitStack() as stack:
        streams = [stack.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(50)]
        for stream, token in zip(streams, cycle(tokens), strict=False):
            _follow(stream, token)
        for stream in streams:
            assert _read_until(stream, b"id: 0\n\n").startswith(b"HTTP/1.1 200")
        process.send_signal(signal.SIGTERM)
        for stream in streams:
            _read_until(stream, b"0\r\n\r\n")
        assert process.wait(60) == 0


def _read_until(stream: socket.socket, end: bytes) -> bytes:
    """Return what is sent up to some words."""
    text = b""
    while end not in text:
        part = stream.recv(4096)
        assert part, f"it was cut after {text!r}"
        text += part
    return text


@pytest.mark.parametrize(
    ("section", "host", "accepted"),
    [
        ("", "192.0.2.1", False),
        ("web: {passwords: true}", "example.org", False),
        ("web: {public_url: 'https://w.example.org'}", "::", False),
        ("web: {passwords: true, public_url: 'http://w.example.org'}", "192.0.2.1", False),
        ("web: {passwords: true, public_url: 'https://w.example.org'}", "192.0.2.1", True),
        ("", "127.0.0.2", True),
        ("", "::1", True),
    ],
)
def test_other_machines_reach_it_only_with_sign_in_and_https(
    tmp_path: Path, section: str, host: str, accepted: bool
) -> None:
    """On the command line as in the configuration; the refusal names what is missing."""
    from monitor.config import ConfigError
    from monitor.config.web_model import refused_address

    shop = build_shop(tmp_path)
    shop.config.write_text(f"{shop.config.read_text()}\n{section}\n")
    refused = refused_address(shop.project().config.web, host)
    assert (refused is None) == accepted
    if refused is not None:
        assert "needs" in refused
        if not section:
            shop.config.write_text(f"{shop.config.read_text()}\nweb: {{listen: '192.0.2.1:80'}}\n")
            with pytest.raises(ConfigError, match="beyond this machine"):
                shop.project()
