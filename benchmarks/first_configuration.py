"""What `init` reads: 100 tables of one shape, 100 shapes, and tables of many columns; SQLite and DuckDB."""

import random
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb

from benchmarks._measure import measure, peak_mb, table

TABLES, ROWS = 100, 200
COLUMNS = (
    "id INTEGER PRIMARY KEY, customer_id INTEGER, status TEXT, amount REAL, quantity INTEGER, sku TEXT, email TEXT, "
    "created_at TIMESTAMP, country TEXT, note{} TEXT"
)


def main() -> None:
    """Print the table; each case runs in a process of its own."""
    if len(sys.argv) > 2:
        _read(sys.argv[-1])
        return
    with tempfile.TemporaryDirectory() as folder:
        rows = [
            (name, *_in_process(url).split("\t"))
            for engine in ("sqlite", "duckdb")
            for name, url in _cases(Path(folder), engine)
        ]
    print("**`tablewatch init`, reading, proposing and trying.** One run each, without the start of the process.\n")
    print(table(("tables", "cpu s", "peak memory MB"), rows))


def _cases(folder: Path, engine: str) -> list[tuple[str, str]]:
    import pandas as pd  # which `init` does without

    cases = []
    for name, shapes in ((f"{TABLES} of one shape", False), (f"{TABLES} shapes", True)):
        file = folder / f"{shapes}.{engine}"
        connection = sqlite3.connect(file) if engine == "sqlite" else duckdb.connect(file)
        chance = random.Random(1)
        for number in range(TABLES):
            connection.execute(f"CREATE TABLE t{number:03} ({COLUMNS.format(number if shapes else '')})")
            values = [_row(row, chance) for row in range(ROWS + number)]
            if engine == "sqlite":
                connection.executemany(f"INSERT INTO t{number:03} VALUES ({', '.join('?' * 10)})", values)
            else:  # which takes a second for 300 single rows
                connection.register("frame", pd.DataFrame(values)).execute(f"INSERT INTO t{number:03} FROM frame")
        connection.commit()
        connection.close()
        cases.append((f"{name}, {engine}", f"{engine}:///{file}"))
    for columns in (30, 100, 300) if engine == "duckdb" else ():
        file = folder / f"wide{columns}.duckdb"
        texts = ", ".join(
            f"(hash(i + {at}) % {10 + at})::INT AS c{at}" if at % 2 else f"'x' || (hash(i + {at}) % {10 + at}) AS c{at}"
            for at in range(columns - 1)
        )
        with duckdb.connect(file) as made:
            made.execute(f"CREATE TABLE w AS SELECT i AS id, {texts} FROM range(500) t(i)")
        cases.append((f"1 of {columns} columns, {engine}", f"{engine}:///{file}"))
    return cases


def _row(row: int, chance: random.Random) -> tuple[object, ...]:
    state, country = chance.choice(["new", "paid", "sent"]), chance.choice(["de", "fr", "jp"])
    time = f"2026-{1 + row % 11:02}-{1 + row % 28:02} 10:00:00"
    money, customer, quantity = chance.random() * 100, chance.randrange(50), chance.randrange(9)
    return row, customer, state, money, quantity, f"SKU-{row:05}", f"u{row}@example.org", time, country, "a note"


def _in_process(url: str) -> str:
    command = [sys.executable, "-c", "from benchmarks.first_configuration import main; main()", "read", url]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def _read(url: str) -> None:
    from monitor.clock import SystemClock
    from monitor.suggest.catalogue import read_catalogue
    from monitor.suggest.sources import source_locations
    from monitor.suggest.targets import suggest_for_catalogues

    (place,) = source_locations(url, Path.cwd(), Path.cwd()).locations
    cost = measure(
        lambda: suggest_for_catalogues([(place, read_catalogue(place.spec))], SystemClock(), lambda *_: None)
    )
    print(f"{cost.cpu:.1f}\t{peak_mb():.0f}")


if __name__ == "__main__":
    main()
