"""A daemon that starts while its PostgreSQL server is away, or is cut off."""

import select
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import LiteralString
from urllib.parse import urlsplit

import pytest

from tests._postgres import free_port, late_server
from tests.monitor.daemon.running import ORDERS, Place, until


class Proxy:
    """A proxy that closes all connections once, when so many pieces have gone to the server, and then works."""

    def __init__(self, port: int, *, cut_after: int) -> None:
        self._target, self._left = port, cut_after
        self.has_cut = False
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._pairs: dict[socket.socket, socket.socket] = {}
        self._wake, self._woken = socket.socketpair()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            ready, _, _ = select.select([self._listener, self._woken, *self._pairs], [], [])
            if self._woken in ready:
                break
            if self._listener in ready:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._target))
                self._pairs |= {client: server, server: client}
            for one in ready:
                if one in self._pairs:
                    self._pass_on(one)
        self._hang_up()
        self._listener.close()

    def _pass_on(self, one: socket.socket) -> None:
        other = self._pairs[one]
        data = b""
        with suppress(OSError):
            data = one.recv(1 << 16)
        to_server = other.getpeername()[1] == self._target if data else False
        self._left -= to_server
        if self._left <= 0 and not self.has_cut:
            self.has_cut = True
            self._hang_up()
        elif data:
            with suppress(OSError):
                other.sendall(data)
        else:
            for end in (one, other):
                self._pairs.pop(end).close()

    def _hang_up(self) -> None:
        for end in self._pairs:
            end.close()
        self._pairs.clear()

    def close(self) -> None:
        self._wake.send(b"x")
        self._thread.join()
        self._wake.close()
        self._woken.close()


@contextmanager
def _cut(url: str, cut_after: int) -> Iterator[tuple[str, Proxy]]:
    port = urlsplit(url).port
    assert port is not None
    proxy = Proxy(port, cut_after=cut_after)
    try:
        yield url.replace(f":{port}/", f":{proxy.port}/"), proxy
    finally:
        proxy.close()


def _configure(place: Place, url: str, *, every: str = "1h") -> None:
    path = place.folder / "tablewatch.yaml"
    place.configure(ORDERS.replace("every 1s", f"every {every}"))
    path.write_text(path.read_text().replace(f"sqlite:///{place.folder}/store.db", url), encoding="utf-8")


@pytest.mark.postgres
def test_a_server_that_comes_late_is_waited_for(tmp_path: Path) -> None:
    """The daemon says that it tries again, and begins when the server is there; without one it can be stopped."""
    place = Place(tmp_path)
    with late_server() as (url, start):
        _configure(place, url)
        with place.daemon() as daemon:
            assert "cannot be reached" in daemon.says("trying again for")
            start()
            daemon.says("watching 1 table")
            daemon.tell(signal.SIGTERM)
            assert daemon.ends() == 0
    _configure(place, f"postgresql://nobody:x@127.0.0.1:{free_port()}/postgres")
    once = place.command("run", "--once")
    assert once.returncode == 3
    assert "cannot be reached" in " ".join(once.stderr.split())


@pytest.mark.postgres
def test_a_connection_that_is_cut_during_the_start_is_made_again(tmp_path: Path) -> None:
    """Wherever the server hangs up while the store is opened and first read, the daemon goes on and does its work."""
    place = Place(tmp_path)
    with late_server() as (url, start):
        start()
        for cut_after in (3, 40, 90, 130, 160):
            with _cut(url, cut_after) as (through, proxy):
                _configure(place, through)
                with place.daemon() as daemon:
                    daemon.says("watching 1 table")
                    until(lambda proxy=proxy: proxy.has_cut, "the cut")  # type: ignore[misc]
                    daemon.tell(signal.SIGTERM)
                    assert daemon.ends() == 0, daemon.said()
                    assert "daemon stopping" not in daemon.said()


@pytest.mark.postgres
def test_a_server_that_fails_over_is_written_to_again(tmp_path: Path) -> None:
    """Connections are cut and the address reads only, as a standby does: results wait, and each slot is run once."""
    import psycopg

    place = Place(tmp_path)
    with late_server() as (url, start):
        start()
        _configure(place, url, every="1s")
        with psycopg.connect(url, autocommit=True) as server, place.daemon() as daemon:

            def number(question: LiteralString) -> int:
                row = server.execute(question).fetchone()
                return row[0] if row else 0

            def switch(read_only: LiteralString) -> None:
                server.execute("ALTER SYSTEM SET default_transaction_read_only = " + read_only)
                server.execute("SELECT pg_reload_conf()")
                server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")

            daemon.says("watching 1 table")
            until(lambda: number("SELECT count(*) FROM measurement"), "a result")
            switch("on")
            daemon.says("they are kept in memory until the store accepts them")
            refused = place.command("incident", "open", "--table", "orders", "--title", "late")
            assert (refused.returncode, "ReadOnlySqlTransaction" in refused.stderr) == (3, True), refused.stderr
            assert place.command("status").returncode == 0
            before = number("SELECT count(*) FROM measurement")
            switch("off")
            daemon.says("the store accepts results again")
            until(lambda: number("SELECT count(*) FROM measurement") > before, "a result of the new primary")
            daemon.tell(signal.SIGTERM)
            assert daemon.ends() == 0, daemon.said()
            twice = "SELECT count(*) FROM (SELECT slot_us FROM slot GROUP BY table_name, slot_us HAVING count(*) > 1) s"
            assert number(twice) == 0
