"""A folder with a shop of which tables go bad and get well again, and a project that watches it."""

import random
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

from monitor.channels.standard_webhooks import body_of
from tests.monitor.alerts.receivers import Handler, Request, verified

SECRET: Final = "canary-key"  # noqa: S105 - of an endpoint of ours
TABLES: Final = tuple(f"t{number}" for number in range(6))

_CONFIG: Final = """
version: 1
project: crash
storage: {{url: "sqlite:///store.db", keep_measurements: 30000d, keep_incidents: 30000d}}
daemon: {{jitter: 0s, metrics: 'off', workers: 2}}
sources: {{shop: {{url: "sqlite:///shop.sqlite", timezone: UTC}}}}
tables:
{tables}
alerts:
  group_wait: 0s
  resolve_after: 1
  hourly_cap: 10000
  channels: {{hook: {{webhook: {{url: "http://127.0.0.1:{port}/hook", secret: {secret}, allow_private: true}}}}}}
  routes: [{{to: [hook]}}{warnings}]
{more}
"""
_WARNINGS: Final = ", {match: {outcome: warn}, to: [hook]}"
_TABLE: Final = (
    "  - {{name: {name}, source: shop, schedule: every 1s, checks: [{{type: primary_key, columns: [id]}},"
    " {{type: not_null, columns: [who], max_ratio: 0.9, warn: {{max_ratio: 0}}}}]}}"
)


class Place:
    """The folder. `bad` are the tables with a key that occurs twice, `warned` those with a name that is missing."""

    def __init__(
        self, folder: Path, *, port: int = 9, tables: tuple[str, ...] = TABLES, more: str = "", warnings: bool = False
    ) -> None:
        self.folder = folder
        self.store = folder / "store.db"
        self.url = f"sqlite:///{self.store}"
        self.bad: set[str] = set()
        self.warned: set[str] = set()
        self.tables = tables
        for name in tables:
            self.sql(f"CREATE TABLE {name} (id INTEGER, who TEXT)", f"INSERT INTO {name} VALUES (1, 'a'), (2, 'b')")
        listed = "\n".join(_TABLE.format(name=name) for name in tables)
        text = _CONFIG.format(
            tables=listed, port=port, secret=SECRET, more=more, warnings=_WARNINGS if warnings else ""
        )
        (folder / "tablewatch.yaml").write_text(text, encoding="utf-8")

    def sql(self, *statements: str) -> None:
        """Change the shop."""
        with closing(sqlite3.connect(self.folder / "shop.sqlite", timeout=30)) as connection, connection:
            for statement in statements:
                connection.execute(statement)

    def turn(self, name: str) -> None:
        """Let a good table go bad, and a bad one get well."""
        if name in self.bad:
            self.sql(f"DELETE FROM {name} WHERE who = 'twin'")
        else:
            self.sql(f"INSERT INTO {name} VALUES (1, 'twin')")
        self.bad ^= {name}

    def turn_warning(self, name: str) -> None:
        """Let a table be worth a warning, or not any more."""
        who = "'b'" if name in self.warned else "NULL"
        self.sql(f"UPDATE {name} SET who = {who} WHERE id = 2")
        self.warned ^= {name}


class Endpoint:
    """The other end of a webhook: it takes what comes, but not always the first time.

    Of 100 requests 15 are answered 500, 5 are taken but not answered, 5 are reset unread: what was taken is in `taken`.
    """

    def __init__(self, seed: int) -> None:
        self._dice = random.Random(seed)
        self.fair = False
        self.taken: dict[str, set[bytes]] = {}
        self.requests = self.repeats = self.forged = self.port = 0

    def __call__(self, handler: Handler, request: Request) -> None:
        """Do with a request as it comes; called by one thread for each."""
        if len(request.body) < int(request.headers["content-length"]):
            return  # the sender died while sending
        self.requests += 1
        self.forged += not verified(SECRET, request)
        chance = 1.0 if self.fair else self._dice.random()
        if chance < 0.15:
            handler.say(500)
        elif chance < 0.20:
            handler.reset()
        else:
            self.repeats += request.message_id in self.taken
            self.taken.setdefault(request.message_id, set()).add(request.body)
            if chance < 0.25:
                handler.reset()
            else:
                handler.say(204)


__all__ = ["SECRET", "TABLES", "Endpoint", "Place", "body_of"]
