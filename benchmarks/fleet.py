"""A fleet: many tables, one PostgreSQL store, several daemons of which some are killed: losses, lag, cost by size.

`python -m tests._postgres python -m benchmarks fleet [--tables N ...] [--daemons D] [--kills K]` starts a server that
forgets its data when it fails. TABLEWATCH_TEST_POSTGRES names another one: with `--folder`, a size that was
interrupted goes on there, and sizes that are done are only printed.
"""

import argparse
import ctypes
import json
import os
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import sleep, time
from typing import Any

from benchmarks._measure import table

SIZES, DAEMONS, KILLS, RATE = (1_000, 10_000, 100_000), 4, 6, 50
CHECKS, FAULTY = 2, 50
"""Checks of each table; one table in so many has a fault."""
PER_SOURCE, PER_FILE = 5_000, 2_500
_HEAD = """version: 1
project: fleet
storage: {{url: "{store}"}}
daemon: {{jitter: 1m, metrics: 'off', workers: {workers}}}
sources:
{sources}
tables: []
"""
_TABLE = (
    "  - {{name: t{number:06}, source: s{source}, schedule: {schedule}, "
    "checks: [{{type: primary_key, columns: [id]}}, {{type: not_null, columns: [customer]}}]}}\n"
)
_PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True, slots=True)
class Size:
    """A fleet: its tables, how many of them are due now and how many each second, and its daemons."""

    tables: int
    due: int
    rate: int
    daemons: int
    workers: int
    kills: int


@dataclass(slots=True)
class Progress:
    """What a size has used so far; it is kept in a file, since the store is the rest of its state."""

    first_minute: int
    kills: int = 0
    cpu_s: float = 0.0
    starts: list[float] = field(default_factory=list)
    transactions: int = 0
    load: float = 0.0


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks fleet")
    parser.add_argument("--tables", type=int, nargs="+", default=SIZES)
    parser.add_argument("--daemons", type=int, default=DAEMONS)
    parser.add_argument("--workers", type=int, default=2, help="of each daemon")
    parser.add_argument("--kills", type=int, default=KILLS)
    parser.add_argument("--due", type=int, help="so many tables are due now, the others in 12 hours; all by default")
    parser.add_argument("--rate", type=int, default=RATE, help="tables due each second; 0: all at once")
    parser.add_argument("--folder", type=Path, help="keeps what is done, to go on after an interruption")
    options = parser.parse_args(sys.argv[2:])
    if "TABLEWATCH_TEST_POSTGRES" not in os.environ:
        sys.exit("no server: run `python -m tests._postgres python -m benchmarks fleet`")
    with tempfile.TemporaryDirectory() as name:
        folder = options.folder or Path(name)
        figures = [_figures_of(folder, tables, options) for tables in options.tables]
    pace = f"{options.rate} due each second" if options.rate else "all due at once"
    print(
        f"**SQLite tables x {CHECKS} checks, {pace}; {options.daemons} daemons of {options.workers} workers, "
        f"{options.kills} killed amid work; one PostgreSQL store.**\n"
    )
    rows = [[name, *(part[name] for part in figures)] for name in figures[0]]
    print(table(["figure", *(f"{tables:,} tables" for tables in options.tables)], rows))


def run_size(folder: Path, size: Size) -> dict[str, Any]:
    """Run a fleet until each table that is due was looked at once, or go on with one; return its figures."""
    import psycopg

    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # what a killed daemon leaves is counted here
    folder.mkdir(parents=True, exist_ok=True)
    server, name = os.environ["TABLEWATCH_TEST_POSTGRES"], f"tablewatch_fleet_{size.tables}"
    store, kept = f"{server.rpartition('/')[0]}/{name}", folder / "progress.json"
    with psycopg.connect(server, autocommit=True) as connection:
        if not kept.exists():
            connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
            connection.execute(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8'")
            ready = int(time() // 60) + 2 + size.tables // 8_000  # the daemons have read the configuration by then
            progress = Progress(ready if size.rate else 0, load=os.getloadavg()[0])
            _build(folder, store, size, first_minute=ready)
            kept.write_text(json.dumps(asdict(progress)), encoding="utf-8")
        progress = Progress(**json.loads(kept.read_text(encoding="utf-8")))
        with psycopg.connect(store, autocommit=True) as watching:
            Fleet(folder, watching, progress, size).run()
            figures = _figures(watching, size, progress)
        connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
    kept.unlink()
    return figures


def _figures_of(folder: Path, tables: int, options: argparse.Namespace) -> dict[str, Any]:
    done = folder / f"{tables}.json"
    if not done.exists():
        due = min(options.due or tables, tables)
        size = Size(tables, due, options.rate, options.daemons, options.workers, options.kills)
        figures = run_size(folder / str(tables), size)
        done.write_text(json.dumps(figures), encoding="utf-8")
    figures = json.loads(done.read_text(encoding="utf-8"))
    return dict(figures)


def _build(folder: Path, store: str, size: Size, *, first_minute: int) -> None:
    tables, sources = size.tables, -(-size.tables // PER_SOURCE)
    for source in range(sources):
        with closing(sqlite3.connect(folder / f"s{source}.db")) as made, made:
            for number in range(source, tables, sources):
                made.execute(f"CREATE TABLE t{number:06} (id INTEGER, customer TEXT)")
                second = None if number % FAULTY == 0 else "b"
                made.execute(f"INSERT INTO t{number:06} VALUES (1, 'a'), (2, ?)", (second,))
    config = folder / "tablewatch"
    config.mkdir()
    lines = "\n".join(f'  s{source}: {{url: "sqlite:///{folder}/s{source}.db"}}' for source in range(sources))
    (config / "a.yaml").write_text(_HEAD.format(store=store, workers=size.workers, sources=lines), encoding="utf-8")
    minutes = max(1, round(size.due / size.rate / 60)) if size.rate else 0
    for part, first in enumerate(range(0, tables, PER_FILE)):
        rows = "".join(
            _TABLE.format(
                number=number,
                source=number % sources,
                schedule=_schedule(number, first_minute if number < size.due else first_minute + 12 * 60, minutes),
            )
            for number in range(first, min(first + PER_FILE, tables))
        )
        (config / f"t{part:03}.yaml").write_text(f"tables:\n{rows}", encoding="utf-8")


def _schedule(number: int, first_minute: int, minutes: int) -> str:
    if not minutes:
        return "every 24h"
    at = datetime.fromtimestamp((first_minute + number % minutes) * 60, UTC)
    return f"'cron: {at.minute} {at.hour} * * *'"


class Fleet:
    """Running daemons on one store."""

    def __init__(self, folder: Path, watching: Any, progress: Progress, size: Size) -> None:
        self._folder, self._watching, self._progress, self._size = folder, watching, progress, size
        self._running: dict[int, subprocess.Popen[bytes]] = {}
        self._seen: set[int] = set()
        self._asked = 0

    def run(self) -> None:
        """Run until each table that is due has a finished slot, killing daemons as the work goes on."""
        due, kills = self._size.due, self._size.kills
        base, committed = self._progress.cpu_s, self._progress.transactions
        usage, begun_at = _cpu(), 0
        try:
            while (done := self._done()) < due:
                self._start_missing()
                self._note_starts()
                if done > due * (self._progress.kills + 1) // (kills + 1) and self._progress.kills < kills:
                    self._kill_one()
                begun_at = begun_at or self._transactions()
                self._save(base + _cpu() - usage, committed + self._transactions() - begun_at)
                sleep(0.5)
        finally:
            for daemon in self._running.values():
                daemon.send_signal(signal.SIGTERM)
            for daemon in self._running.values():
                daemon.wait()
            _reap()
            self._save(base + _cpu() - usage, committed + self._transactions() - begun_at)

    def _start_missing(self) -> None:
        for pid, daemon in list(self._running.items()):
            if daemon.poll() is not None:
                if daemon.returncode != -signal.SIGKILL:
                    sys.exit("\n".join(log.read_text()[-1000:] for log in self._folder.glob("*.log")))
                del self._running[pid]
        command = [sys.executable, "-m", "monitor", "run", "-c", str(self._folder / "tablewatch")]
        while len(self._running) < self._size.daemons:
            log = (self._folder / f"daemon{len(self._seen)}-{len(self._running)}.log").open("wb")
            daemon = subprocess.Popen(command, cwd=Path(__file__).parents[1], stderr=log)
            self._running[daemon.pid] = daemon
            if not self._has("daemon"):  # it makes the tables of the store
                while not self._has("daemon") or not self._number("SELECT count(*) FROM daemon"):
                    sleep(0.5)
                    if daemon.poll() is not None:
                        sys.exit(Path(log.name).read_text())
                if 0 < self._progress.first_minute < time() // 60 - 1:
                    sys.exit("the first daemon started too late, so that slots of today have passed; begin again")

    def _note_starts(self) -> None:
        """Note the processor time that a daemon had used when it had started."""
        if not self._has("daemon"):
            return
        for (pid,) in self._rows("SELECT pid FROM daemon"):
            if pid in self._running and pid not in self._seen:
                self._seen.add(pid)
                ticks = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[11:13]
                self._progress.starts.append(sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK"))

    def _kill_one(self) -> None:
        """Kill a daemon that holds leases."""
        holders = "SELECT DISTINCT pid FROM daemon JOIN slot ON holder = daemon.id WHERE state = 'running' ORDER BY pid"
        at_work = [pid for (pid,) in self._rows(holders) if pid in self._running]
        if at_work:
            self._progress.kills += 1
            os.kill(at_work[self._progress.kills % len(at_work)], signal.SIGKILL)

    def _done(self) -> int:
        return self._number("SELECT count(*) FROM slot WHERE state <> 'running'") if self._has("slot") else 0

    def _has(self, name: str) -> bool:
        return bool(self._number(f"SELECT (to_regclass('{name}') IS NOT NULL)::int"))

    def _transactions(self) -> int:
        """Return the transactions of the store, without those of this program."""
        committed = self._number("SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()")
        return committed - self._asked

    def _number(self, query: str) -> int:
        return int(self._rows(query)[0][0])

    def _rows(self, query: str) -> Sequence[Any]:
        self._asked += 1
        return tuple(self._watching.execute(query).fetchall())

    def _save(self, cpu_s: float, transactions: int) -> None:
        self._progress.cpu_s, self._progress.transactions = cpu_s, transactions
        text = json.dumps(asdict(self._progress))
        (self._folder / "progress.json").write_text(text, encoding="utf-8")


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _reap() -> None:
    with suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)


def _figures(store: Any, size: Size, progress: Progress) -> dict[str, Any]:
    """Return the figures of a size that is done, by name."""
    tables = size.due

    def row(query: str) -> Sequence[Any]:
        return tuple(store.execute(query).fetchone())

    slots, looked_at, attempts, skips = row(
        "SELECT count(*) FILTER (WHERE state = 'done'), count(DISTINCT table_name), "
        "count(*) FILTER (WHERE attempt > 1), (SELECT count(*) FROM skip) FROM slot"
    )
    runs, ran = row("SELECT count(*), count(DISTINCT table_name) FROM run")
    results, series = row("SELECT count(*), count(DISTINCT series) FROM measurement")
    incidents, prints, events = row(
        "SELECT count(*), count(DISTINCT fingerprint), (SELECT count(*) FROM incident_event WHERE kind = 'opened') "
        "FROM incident"
    )
    faults = -(-tables // FAULTY)
    written, updated, read = row(
        "SELECT sum(n_tup_ins), sum(n_tup_upd + n_tup_del), sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) "
        "FROM pg_stat_user_tables"
    )
    from monitor.config import Schedule
    from monitor.daemon.timetable import Timetable

    lags = []
    for name, schedule, slot_us, started_us, first_us in store.execute(
        "SELECT table_name, schedule, slot_us, started_us, min(started_us) OVER () "
        "FROM slot JOIN schedule USING (table_name)"
    ).fetchall():
        timetable = Timetable.of_name(
            name, Schedule.parse(schedule), zone="UTC", jitter=timedelta(minutes=1), catch_up="latest"
        )
        due_us = slot_us + timetable.delay / timedelta(microseconds=1) if size.rate else first_us
        lags.append((started_us - due_us) / 1e6)
    lost = (
        (tables - looked_at) + max(0, tables - slots) + (tables - ran) + (CHECKS * tables - series) + (faults - prints)
    )
    doubled = (slots - looked_at) + (runs - ran) + (results - series) + (incidents - prints) + (events - incidents)
    (seconds,) = row("SELECT (max(ended_us) - min(started_us)) / 1e6 FROM slot")
    starts = sum(progress.starts)
    return {
        "tables due": f"{tables:,}",
        "lag from due to claimed, s: p50, p95, max": _quantiles(lags),
        "slots; runs; results; incidents": "; ".join(f"{number:,}" for number in (slots, runs, results, incidents)),
        "lost; doubled (slots, runs, results, incidents)": f"{lost}; {doubled}",
        "daemons killed; slots taken over; skipped": f"{progress.kills}; {attempts}; {skips}",
        "seconds from the first claim to the last end": f"{seconds:.0f}",
        "transactions of the store per table due": f"{progress.transactions / tables:.3f}",
        "rows inserted; changed; read per table due": "; ".join(
            f"{number / tables:.1f}" for number in (written, updated, read)
        ),
        "cpu s per 1,000 tables due, without starts": f"{1000 * (progress.cpu_s - starts) / tables:.1f}",
        "cpu s of the start of a daemon; starts": f"{starts / len(progress.starts):.1f}; {len(progress.starts)}",
        "load before; after": f"{progress.load:.1f}; {os.getloadavg()[0]:.1f}",
        "measured": f"{datetime.now(UTC):%Y-%m-%d}",
    }


def _quantiles(values: Sequence[float]) -> str:
    ordered = sorted(values)
    return ", ".join(f"{ordered[min(len(ordered) - 1, len(ordered) * part // 100)]:.1f}" for part in (50, 95, 100))


if __name__ == "__main__":
    main()
