"""A daemon that starts while its server restarts."""

from types import SimpleNamespace
from typing import Any

import pytest

from monitor.commands.run import START_PATIENCE_S, open_patiently
from store import StoreUnavailable


class _Server:
    """A project whose store is away for some tries; its clock goes by what is waited."""

    def __init__(self, url: str, away: int) -> None:
        self.config = SimpleNamespace(storage=SimpleNamespace(url=url))
        self.clock = self
        self.away, self.tries, self.time = away, 0, 0.0

    def monotonic(self) -> float:
        return self.time

    def wait(self, seconds: float) -> None:
        self.time += seconds

    def open_store(self, *, alone: bool) -> str:
        assert alone
        self.tries += 1
        if self.tries <= self.away:
            raise StoreUnavailable("the server cannot be reached")
        return "the store"


def test_a_server_that_restarts_is_waited_for() -> None:
    """The daemon starts once the server is there."""
    server: Any = _Server("postgresql://db/x", away=4)
    opened: Any = open_patiently(server, server.wait)
    assert opened == "the store"
    assert server.tries == 5


def test_a_server_that_stays_away_is_waited_for_a_minute() -> None:
    """Afterwards the daemon says why it cannot start."""
    server: Any = _Server("postgresql://db/x", away=10**6)
    with pytest.raises(StoreUnavailable):
        open_patiently(server, server.wait)
    assert server.time == START_PATIENCE_S


def test_a_file_that_cannot_be_opened_is_told_at_once() -> None:
    """No restart makes a folder writable."""
    server: Any = _Server("sqlite:///x.db", away=1)
    with pytest.raises(StoreUnavailable):
        open_patiently(server, server.wait)
    assert server.time == 0
