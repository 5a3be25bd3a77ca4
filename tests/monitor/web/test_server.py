"""The process: it listens where it may, serves files that are what we vendored, and ends when it is told to."""

import signal
import socket
import subprocess
import sys
from contextlib import ExitStack
from datetime import timedelta
from hashlib import sha256
from pathlib import Path

import pytest

from monitor.clock import SystemClock
from monitor.web.credentials import make_token
from monitor.web.pages import assets
from store import Grant, WebRole
from tests.monitor.shop import build_shop

HTMX = "a0abb04f2f45a1f89d1d4844023245537e5e6014c87b144553e0607b4cc32130"


def test_htmx_is_the_file_that_was_vendored() -> None:
    """Version 4.0.1, unchanged."""
    assert sha256(assets()["htmx.js"]).hexdigest() == HTMX


def test_pages_load_nothing_from_elsewhere() -> None:
    """No template and no style sheet names another address."""
    folder = Path(__file__).parents[3] / "templates" / "web"
    for path in [*folder.glob("*.j2"), *folder.glob("static/*.css")]:
        assert "//" not in path.read_text(encoding="utf-8").replace("http://www.w3.org", ""), path


def test_it_ends_when_told_to_also_with_half_a_request_open(tmp_path: Path) -> None:
    """SIGTERM: what is open is given some seconds, and the exit code is 0."""
    shop = build_shop(tmp_path)
    words = [sys.executable, "-m", "monitor", "-c", str(shop.config), "serve", "--port", "0"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        port = int(line.partition("127.0.0.1:")[2].partition(";")[0])
        with (
            socket.create_connection(("127.0.0.1", port)) as half,
            socket.create_connection(("127.0.0.1", port)) as idle,
        ):
            half.sendall(
                b"POST /sign-in HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: same-origin\r\n"
                b"Content-Length: 9\r\n\r\nname"
            )
            idle.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert idle.recv(64).startswith(b"HTTP/1.1 200")
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0


def test_streams_end_when_it_is_told_to_stop(tmp_path: Path) -> None:
    """SIGTERM: fifty open streams are ended as streams end, none is cut."""
    shop = build_shop(tmp_path)
    with shop.project().open_store() as store, store.writing() as tx:
        grant = Grant(WebRole.VIEWER)
        token = make_token(tx, "ci", grant, now=SystemClock().now(), life=timedelta(days=1))
    words = [sys.executable, "-m", "monitor", "-c", str(shop.config), "serve", "--port", "0"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True, cwd=tmp_path) as process, ExitStack() as stack:
        assert process.stderr is not None
        line = process.stderr.readline()
        port = int(line.partition("127.0.0.1:")[2].partition(";")[0])
        streams = [stack.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(50)]
        for stream in streams:
            stream.sendall(
                b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n"
                b"Authorization: Bearer " + token.encode() + b"\r\n\r\n"
            )
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
