"""A small SQLite shop with a configuration, for tests of whole passes."""

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from monitor.clock import SimulatedClock
from monitor.config import load
from monitor.config.project import Project

NOW = datetime(2026, 11, 20, 9, 0, tzinfo=UTC)

CONFIG = """
version: 1
project: test-shop
timezone: Asia/Tokyo
storage: {{url: "sqlite:///{folder}/store.db"}}
sources:
  shop: {{url: "sqlite:///shop.sqlite", timezone: UTC}}
owners: {{desk: {{name: The desk}}}}
tables:
  - name: orders
    source: shop
    owner: desk
    tier: gold
    schedule: every 1h
    checks:
{checks}
"""

CHECKS = """
      - {type: primary_key, columns: [id], severity: critical, why: Duplicates are billed twice.}
      - {type: not_null, columns: [customer]}
"""


@dataclass
class Shop:
    """A folder with `shop.sqlite` and `tablewatch.yaml`, and a clock that stands at NOW."""

    folder: Path
    clock: SimulatedClock

    @property
    def config(self) -> Path:
        """Return the configuration's file."""
        return self.folder / "tablewatch.yaml"

    def project(self) -> Project:
        """Load the configuration."""
        return Project(load(self.config), self.clock)

    def sql(self, statement: str, rows: Iterable[Any] = ()) -> None:
        """Change the shop's data."""
        connection = sqlite3.connect(self.folder / "shop.sqlite")
        with connection:
            connection.executemany(statement, rows) if rows else connection.executescript(statement)
        connection.close()


def build_shop(folder: Path, checks: str = CHECKS) -> Shop:
    """Make the shop with two good orders."""
    shop = Shop(folder, SimulatedClock(NOW))
    shop.config.write_text(CONFIG.format(folder=folder, checks=checks), encoding="utf-8")
    shop.sql("CREATE TABLE orders (id INTEGER, customer TEXT, amount REAL, loaded_at TEXT)")
    rows = [(1, "ann", 5.0, "2026-11-20 08:00"), (2, "bob", 7.0, "2026-11-20 08:30")]
    shop.sql("INSERT INTO orders VALUES (?, ?, ?, ?)", rows)
    return shop
