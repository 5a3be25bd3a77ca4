"""Start a daemon as users do, in a process of its own, and wait for what it does."""

import json
import os
import select
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeVar
from uuid import uuid4

T = TypeVar("T")

ROOT = Path(__file__).resolve().parents[3]
PATIENCE_S = 120.0

CONFIG = """
version: 1
project: running
storage: {{url: "sqlite:///{folder}/store.db"}}
daemon: {{jitter: 0s, metrics: {metrics}}}
sources: {{shop: {{url: "sqlite:///shop.sqlite", timezone: UTC}}}}
tables:
{tables}
{more}
"""
ORDERS = "  - {name: orders, source: shop, schedule: every 1s, checks: [{type: primary_key, columns: [id]}]}\n"


def until(answer: Callable[[], T | None], what: str) -> T:
    """Return the first answer that is not None or False, asking again for two minutes at most."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        found = answer()
        if found:
            return found
        select.select([], [], [], 0.02)
    raise AssertionError(f"waited {PATIENCE_S:g} s in vain for {what}")


class Place:
    """A folder with a shop, a configuration and a store."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sql("CREATE TABLE orders (id INTEGER, customer TEXT); INSERT INTO orders VALUES (1, 'ann'), (2, 'bob')")
        self.configure()

    def configure(self, tables: str = ORDERS, *, metrics: str = "'off'", more: str = "") -> None:
        """Write the configuration, whole."""
        text = CONFIG.format(folder=self.folder, tables=tables, metrics=metrics, more=more)
        draft = self.folder / ".draft"
        draft.write_text(text, encoding="utf-8")
        draft.replace(self.folder / "tablewatch.yaml")

    def sql(self, statements: str) -> None:
        """Change the shop."""
        with closing(sqlite3.connect(self.folder / "shop.sqlite", timeout=30)) as connection:
            connection.executescript(statements)

    def ask(self, question: str) -> list[tuple]:
        """Ask the store, which may not be there yet."""
        try:
            with closing(sqlite3.connect(f"file:{self.folder}/store.db?mode=ro", uri=True, timeout=30)) as connection:
                return connection.execute(question).fetchall()
        except sqlite3.OperationalError:
            return []

    def number(self, question: str) -> int:
        """Ask the store for a number; 0 while it is not there."""
        return next(iter(self.ask(question)), (0,))[0]

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        return subprocess.run(
            [sys.executable, "-m", "monitor", *words], cwd=self.folder, env=_environment(), capture_output=True,
            text=True, timeout=PATIENCE_S, check=False,
        )  # fmt: skip

    @contextmanager
    def daemon(self, *options: str, **environment: str) -> Iterator["Running"]:
        """Run a daemon in the block; nothing of it is left after it."""
        running = Running(self.folder, environment, options)
        try:
            yield running
        finally:
            running.kill()


class Running:
    """A daemon in a process of its own."""

    def __init__(self, folder: Path, environment: dict[str, str], options: tuple[str, ...] = ()) -> None:
        self._log = folder / f"log-{uuid4()}"  # a file: a pipe without a reader would stop the daemon
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "monitor", "--format", "json", "run", *options],
                cwd=folder,
                env=_environment() | environment,
                stdout=subprocess.DEVNULL,
                stderr=log,
            )

    def said(self) -> str:
        """Return its log so far."""
        return self._log.read_text(encoding="utf-8")

    def hear(self) -> list[str]:
        """Return the messages of its log so far."""
        return [json.loads(line)["message"] for line in self.said().splitlines() if line.endswith("}")]

    def says(self, text: str) -> str:
        """Wait until it says something, and give the line."""
        return until(lambda: next((line for line in self.hear() if text in line), None), f"'{text}'")

    def ends(self) -> int:
        """Wait for its end, and give the exit code."""
        return self.process.wait(PATIENCE_S)

    def tell(self, number: signal.Signals) -> None:
        """Send a signal."""
        self.process.send_signal(number)

    def children(self) -> set[int]:
        """Return its processes below, at any depth."""
        return _below(self.process.pid)

    def kill(self) -> None:
        """End it at once, if it still runs."""
        self.process.kill()
        self.process.wait(PATIENCE_S)


def alive(pids: set[int]) -> set[int]:
    """Return those processes that still run."""
    return {pid for pid in pids if _state(pid) not in {None, "Z"}}


def _below(parent: int) -> set[int]:
    parents = {int(path.name): _parent(int(path.name)) for path in Path("/proc").iterdir() if path.name.isdigit()}
    found, last = {parent}, -1
    while len(found) != last:
        last = len(found)
        found |= {pid for pid, above in parents.items() if above in found}
    return found - {parent}


def _stat(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _state(pid: int) -> str | None:
    return next(iter(_stat(pid)), None)


def _parent(pid: int) -> int | None:
    fields = _stat(pid)
    return int(fields[1]) if fields else None


def _environment() -> dict[str, str]:
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    return os.environ | {"PYTHONPATH": path, "NO_COLOR": "1"}
