"""Tables due in one second, looked at by four daemons that share a PostgreSQL store: counts, lag, fairness, statements.

`python -m tests._postgres python -m benchmarks shared_store [TABLES]` starts a server that forgets its data when it
fails (no fsync); TABLEWATCH_TEST_POSTGRES names another one, in which a database is made and dropped.
"""

import os
import resource
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from time import perf_counter, sleep

from benchmarks._measure import table

TABLES, DAEMONS, FILES = 20_000, 4, 20
SHARES = {"a": 4, "b": 3, "c": 2, "d": 1}
"""Of ten tables, how many each source has. Equally late tables are taken by name; names are dealt to all sources."""
_HEAD = """version: 1
project: bench
storage: {{url: "{store}"}}
daemon: {{jitter: 0s, metrics: 'off', workers: 2}}
sources:
{sources}
tables: []
"""
_TABLE = (
    "  - {{name: t{number:05}, source: {source}, schedule: every 6h, "
    "checks: [{{type: primary_key, columns: [id]}}, {{type: not_null, columns: [customer]}}]}}\n"
)
_DEALT = "".join(name * share for name, share in SHARES.items())


def main() -> None:
    """Print the figures."""
    tables = int(sys.argv[2]) if len(sys.argv) > 2 else TABLES
    server = os.environ.get("TABLEWATCH_TEST_POSTGRES")
    if server is None:
        sys.exit("no server: run `python -m tests._postgres python -m benchmarks shared_store`")
    with tempfile.TemporaryDirectory() as name, _database(server) as store:
        folder = Path(name)
        _build(folder, store, tables)
        before = os.getloadavg()[0]
        seconds, cpu = _watch(folder, store, tables)
        print(
            f"**{tables:,} SQLite tables x 2 checks in {len(SHARES)} sources, due in one second; {DAEMONS} daemons of "
            f"2 workers, one PostgreSQL store.** Load {before:.1f} before, {os.getloadavg()[0]:.1f} after.\n"
        )
        _report(store, tables, seconds, cpu)


@contextmanager
def _database(server: str) -> Iterator[str]:
    import psycopg

    name = f"tablewatch_bench_{os.getpid()}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8'")
    try:
        yield f"{server.rpartition('/')[0]}/{name}"
    finally:
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


def _source_of(number: int) -> str:
    return _DEALT[number * 7 % 10]


def _build(folder: Path, store: str, tables: int) -> None:
    (folder / "tablewatch").mkdir()
    for source in SHARES:
        with closing(sqlite3.connect(folder / f"{source}.db")) as made, made:
            for number in (number for number in range(tables) if _source_of(number) == source):
                made.execute(f"CREATE TABLE t{number:05} (id INTEGER, customer TEXT)")
                made.execute(f"INSERT INTO t{number:05} VALUES (1, 'a'), (2, 'b')")
    sources = "\n".join(f'  {name}: {{url: "sqlite:///{folder}/{name}.db"}}' for name in SHARES)
    (folder / "tablewatch" / "a.yaml").write_text(_HEAD.format(store=store, sources=sources), encoding="utf-8")
    for part in range(FILES):
        numbers = range(part * tables // FILES, (part + 1) * tables // FILES)
        rows = "".join(_TABLE.format(number=number, source=_source_of(number)) for number in numbers)
        (folder / "tablewatch" / f"t{part:02}.yaml").write_text(f"tables:\n{rows}", encoding="utf-8")


def _watch(folder: Path, store: str, tables: int) -> tuple[float, float]:
    """Run the daemons until all is done; give seconds from the first claim on, and their processor seconds."""
    import psycopg

    command = [sys.executable, "-m", "monitor", "run", "-c", str(folder / "tablewatch")]
    daemons: list[subprocess.Popen[bytes]] = []
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = ended = 0.0
    try:
        for number in range(DAEMONS):
            log = (folder / f"daemon{number}.log").open("wb")
            daemons.append(subprocess.Popen(command, cwd=Path(__file__).parents[1], stderr=log))
            if number == 0:  # it makes the tables of the store
                sleep(5)
        with psycopg.connect(store, autocommit=True) as connection:
            done = 0
            while done < tables:
                sleep(0.5)
                counted = connection.execute(
                    "SELECT count(*), count(*) FILTER (WHERE state <> 'running') FROM slot"
                    if _has_slots(connection)
                    else "SELECT 0, 0"
                ).fetchone()
                claimed, done = counted or (0, 0)
                begun = begun or (perf_counter() if claimed else 0.0)
                if any(daemon.poll() is not None for daemon in daemons):
                    sys.exit("\n".join(log.read_text() for log in folder.glob("*.log")))
        ended = perf_counter()
    finally:
        for daemon in daemons:
            daemon.send_signal(signal.SIGTERM)
        for daemon in daemons:
            daemon.wait()
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended - begun, spent.ru_utime + spent.ru_stime - used.ru_utime - used.ru_stime


def _has_slots(connection: object) -> bool:
    row = connection.execute("SELECT to_regclass('slot') IS NOT NULL").fetchone()  # type: ignore[attr-defined]
    return bool(row[0])


def _report(store: str, tables: int, seconds: float, cpu: float) -> None:
    import psycopg

    with psycopg.connect(store) as connection:
        slots = connection.execute(
            "SELECT table_name, holder, state, attempt, (started_us - first) / 1e6, (ended_us - first) / 1e6 "
            "FROM slot, (SELECT min(started_us) AS first FROM slot) AS f"
        ).fetchall()
        runs = connection.execute("SELECT count(*), count(DISTINCT table_name) FROM run").fetchone()
        (transactions,) = connection.execute(
            "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"
        ).fetchone() or (0,)
    per_daemon = Counter(holder for _, holder, *_ in slots)
    rows = [
        ("tables; slots; slots done; runs; tables with a run", _numbers(tables, slots, runs)),
        ("attempts that a slot took at most", str(max(attempt for *_, attempt, _, _ in slots))),
        ("until all were looked at and remembered, s", f"{seconds:.0f}"),
        ("tables a second", f"{tables / seconds:.0f}"),
        ("processor seconds of the daemons and their workers, without the server's", f"{cpu:.0f}"),
        ("transactions of the store a table", f"{transactions / tables:.2f}"),
        ("tables of each daemon", ", ".join(f"{number:,}" for number in sorted(per_daemon.values()))),
        ("from the first claim to the claim, s: median, p95, max", _quantiles([slot[4] for slot in slots])),
        ("from the first claim to the end, s: median, p95, max", _quantiles([slot[5] for slot in slots])),
        *(
            (
                f"the same of source {name} ({share * 10} % of the tables)",
                _quantiles([slot[5] for slot in slots if _source_of(int(slot[0][1:])) == name]),
            )
            for name, share in SHARES.items()
        ),
    ]
    print(table(("figure", "value"), rows))


def _numbers(tables: int, slots: Sequence[Sequence[object]], runs: Sequence[int] | None) -> str:
    done = sum(slot[2] == "done" for slot in slots)
    return "; ".join(f"{number:,}" for number in (tables, len(slots), done, *(runs or ())))


def _quantiles(values: Sequence[float]) -> str:
    ordered = sorted(values)
    return ", ".join(
        f"{value:.1f}" for value in (statistics.median(ordered), ordered[len(ordered) * 95 // 100 - 1], ordered[-1])
    )


if __name__ == "__main__":
    main()
