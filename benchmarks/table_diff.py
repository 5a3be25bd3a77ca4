"""A table of DuckDB against its copy in PostgreSQL, with 100 differences: beside one checksum scan, and reladiff.

TABLEWATCH_TEST_POSTGRES names the server, TABLEWATCH_TEST_RELADIFF the program `reladiff` of an environment of its own.
No value is NULL: reladiff 0.6 ends with an error where one is. The first argument is the number of rows, the second the
column of the key: `id`, or `code`, a text.
"""

import os
import subprocess
import sys
import tempfile
from datetime import timedelta
from pathlib import Path

import duckdb

from benchmarks._measure import Cost, measure, table
from checks.diff import Diff
from monitor.clock import SystemClock
from monitor.scan.results import Subject, Target
from monitor.scan.two_tables import diff_tables
from sources import SourceSpec, open_source
from sources.canonical_text import DIGESTS, cell, cell_kind, row_text

ROWS = 10_000_000
COLUMNS = (
    "id BIGINT PRIMARY KEY, code VARCHAR, customer INTEGER, amount DECIMAL(12, 2), note VARCHAR, placed_at TIMESTAMP"
)
OTHERS = ("customer", "amount", "note", "placed_at")
MAKE = """
SELECT range AS id, md5(range::VARCHAR) AS code, (hash(range) % 100000)::INTEGER AS customer,
  ((hash(range + 1) % 1000000) / 100)::DECIMAL(12, 2) AS amount,
  'note ' || hash(range + 2) % 1000 AS note,
  TIMESTAMP '2026-01-01' + INTERVAL 1 SECOND * range AS placed_at
FROM range({rows})
"""


def main() -> None:
    """Print the table."""
    words = [word for word in sys.argv[1:] if word != "table_diff"]
    rows = int(words[0]) if words else ROWS
    key = words[1] if len(words) > 1 else "id"
    server = os.environ["TABLEWATCH_TEST_POSTGRES"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _make(folder, server, rows)
        slow = timedelta(hours=1)
        specs = [
            SourceSpec("here", folder, url="duckdb:///orders.duckdb", query_timeout=slow),
            SourceSpec("there", folder, url=server, query_timeout=slow),
        ]
        scans = [(f"one checksum scan, {spec.name}", _scan(spec)) for spec in specs]
        one, other = (Target(Subject(spec.name, "orders", ()), spec) for spec in specs)
        check, found = Diff(against="there", key=key), []
        ours = measure(lambda: found.append(diff_tables(one, other, check, SystemClock())))
        print(found[0].results[0].outcome.message, "\n")
        results = [*scans, ("tablewatch diff", ours), *_reladiff(folder, server, key)]
    slowest = max(cost.wall for _, cost in scans)
    print(f"**{rows:,} rows, 100 differences, key `{key}`.**\n")
    lines = [(what, f"{cost.wall:.1f}", f"{cost.wall / slowest:.2f}") for what, cost in results]
    print(table(("what", "s", "of the slower scan"), lines))


def _make(folder: Path, server: str, rows: int) -> None:
    import psycopg

    file = folder / "orders.csv"
    with duckdb.connect(str(folder / "orders.duckdb")) as connection:
        connection.execute("SET enable_progress_bar = false")
        connection.execute(f"CREATE TABLE orders AS {MAKE.format(rows=rows)}")
        connection.execute(f"COPY orders TO '{file}' (HEADER false)")
    with psycopg.connect(server, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS orders")
        cursor.execute(f"CREATE UNLOGGED TABLE orders ({COLUMNS})")
        with file.open("rb") as lines, cursor.copy("COPY orders FROM STDIN (FORMAT csv)") as copy:
            while piece := lines.read(1 << 20):
                copy.write(piece)
        step = rows // 100
        cursor.execute(f"UPDATE orders SET amount = amount + 0.01 WHERE id % {step} = 7 AND id < {60 * step}")
        cursor.execute(f"DELETE FROM orders WHERE id % {step} = 7 AND id >= {80 * step}")
        cursor.execute(f"UPDATE orders SET note = '' WHERE id % {step} = 7 AND id >= {60 * step}")
        cursor.execute("VACUUM ANALYZE orders")
    file.unlink()


def _scan(spec: SourceSpec) -> Cost:
    """Return what the checksum of all rows takes."""
    with open_source(spec) as source:
        orders = source.table("orders")
        cells = [cell(orders[name], cell_kind(kind), source.dialect) for name, kind in orders.schema().items()]  # type: ignore[arg-type] # all have one
        texts = source.compile(orders.select(t=row_text(cells)))
        digest = DIGESTS[source.dialect].format("t")
        sql = f"SELECT sum({digest}) AS s FROM ({texts}) AS q"
        return measure(lambda: source.fetch(sql))


def _reladiff(folder: Path, server: str, key: str) -> list[tuple[str, Cost]]:
    program = os.environ.get("TABLEWATCH_TEST_RELADIFF")
    if program is None:
        return []
    columns = [word for name in OTHERS for word in ("-c", name)]
    places = [f"duckdb://{folder}/orders.duckdb", "orders", server, "orders"]
    command = [program, *places, "-k", key, *columns, "--stats"]
    found: list[subprocess.CompletedProcess[str]] = []
    cost = measure(lambda: found.append(subprocess.run(command, check=False, capture_output=True, text=True)))
    print("reladiff:", found[0].returncode, " ".join(f"{found[0].stdout} {found[0].stderr}".split())[-300:], "\n")
    return [("reladiff", cost)]


if __name__ == "__main__":
    main()
