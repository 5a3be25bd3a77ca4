"""A folder with a small shop, and a terminal in it at which the clock stands still."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import time_machine

from monitor.cli import run
from monitor.terminal.output import Invocation
from store import open_store

NOW = datetime(2026, 11, 20, 9, 0, tzinfo=UTC)  # 18:00 in Tokyo

CONFIG = """\
version: 1
project: test-shop
timezone: Asia/Tokyo
storage: {url: "sqlite:///store.db"}
sources: {shop: {url: "sqlite:///shop.sqlite", timezone: UTC}}
owners: {desk: {name: The desk}, crew: {}}
domains: {sales: {owner: crew, title: 売上}}
cost:
  currency: JPY
  tiers: {gold: {per_hour: 100000}, silver: {per_hour: 12000}}
  roles: [{role: engineer, headcount: 2, hourly: 4000, share: 0.25}]
tables:
  - name: orders
    source: shop
    domain: sales
    tier: gold
    consumers: [board report]
    checks:
      - {type: primary_key, columns: [id], severity: critical, why: Duplicates are billed twice.}
      - {type: not_null, columns: [customer]}
  - name: refunds
    source: shop
    owner: desk
    tier: silver
    upstream: [orders]
    checks: [{type: not_null, columns: [id]}]
  - name: totals
    source: shop
    upstream: [refunds]
"""

TABLES = """
CREATE TABLE orders (id INTEGER, customer TEXT);
INSERT INTO orders VALUES (1, 'ann'), (2, 'bob');
CREATE TABLE refunds (id INTEGER);
INSERT INTO refunds VALUES (1);
"""


@dataclass(frozen=True, slots=True)
class Said:
    """What a command said, and the code it left with."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Read standard output as the one JSON value it must hold."""
        return json.loads(self.out)


@dataclass
class Terminal:
    """Runs commands in a folder, at a moment."""

    folder: Path
    capsys: pytest.CaptureFixture[str]
    now: datetime = NOW

    def __call__(self, *words: str) -> Said:
        """Run a command."""
        with time_machine.travel(self.now, tick=False):
            code = run(words, Invocation())
        caught = self.capsys.readouterr()
        return Said(code, caught.out, caught.err)

    def json(self, *words: str) -> Any:
        """Run a command that must succeed, and read what it says to programs."""
        said = self(*words, "--format", "json")
        assert said.code == 0, said.out + said.err
        return said.json

    def refused(self, *words: str, code: int = 2) -> list[Any]:
        """Run a command that must be refused, and give the errors it says to programs."""
        said = self(*words, "--format", "json")
        assert said.code == code, said.out + said.err
        assert (said.json["ok"], said.err) == (False, "")
        errors: list[Any] = said.json["errors"]
        return errors

    def configure(self, **replaced: str) -> None:
        """Write the configuration, with some of its texts replaced."""
        text = CONFIG
        for old, new in replaced.items():
            assert old in text
            text = text.replace(old, new)
        (self.folder / "tablewatch.yaml").write_text(text, encoding="utf-8")

    def sql(self, statements: str) -> None:
        """Change the shop's data."""
        with closing(sqlite3.connect(self.folder / "shop.sqlite")) as connection:
            connection.executescript(statements)

    @contextmanager
    def at(self, moment: datetime) -> Iterator[None]:
        """Let the clock stand at another moment."""
        before, self.now = self.now, moment
        try:
            yield
        finally:
            self.now = before


def open_terminal(folder: Path, capsys: pytest.CaptureFixture[str]) -> Terminal:
    """Return a terminal in a folder with the configuration, the shop and a store without rows."""
    terminal = Terminal(folder, capsys)
    open_store(f"sqlite:///{folder / 'store.db'}").close()
    terminal.configure()
    terminal.sql(TABLES)
    return terminal
