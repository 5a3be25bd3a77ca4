"""`suggest` of 10 million rows x 20 columns in Parquet, beside DuckDB's SUMMARIZE and one hand-written statement."""

import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import duckdb

from benchmarks._measure import measure, peak_mb, table

ROWS = 10_000_000
COLUMNS = """
  i AS id, (hash(i) % 1000000)::BIGINT AS customer_id, (hash(i + 1) % 5000)::INTEGER AS product_id,
  DATE '2020-01-01' + (i // 5000)::INTEGER AS order_date, TIMESTAMP '2020-01-01' + to_seconds(i * 15) AS loaded_at,
  (hash(i * 3) % 100000) / 100.0 AS amount, ((hash(i * 5) % 10000) / 100)::DECIMAL(10, 2) AS price,
  (hash(i * 7) % 50)::TINYINT AS quantity,
  ['new', 'paid', 'shipped', 'returned'][1 + (hash(i * 11) % 4)::INTEGER] AS status,
  ['EUR', 'USD', 'JPY'][1 + (hash(i * 13) % 3)::INTEGER] AS currency,
  'SKU-' || lpad((hash(i * 17) % 99999)::VARCHAR, 5, '0') AS sku,
  'user' || (hash(i * 19) % 900000) || '@example.org' AS email,
  ['de', 'fr', 'jp', 'us', 'gb', 'it', 'es'][1 + (hash(i * 23) % 7)::INTEGER] AS country,
  (hash(i * 29) % 2 = 0) AS is_gift,
  CASE WHEN hash(i * 31) % 20 = 0 THEN NULL ELSE (hash(i * 37) % 100)::DOUBLE / 7 END AS discount,
  md5(i::VARCHAR) AS token,
  (hash(i * 41) % 1000)::INTEGER AS store_id, (40 + (hash(i * 43) % 100000) / 10000.0) AS latitude,
  (hash(i * 47) % 100000)::INTEGER AS session, 'comment no ' || (hash(i * 53) % 300) AS note
"""


def main() -> None:
    """Print the comparison; each contender runs in a process of its own, once after its imports."""
    if len(sys.argv) > 3:
        CONTENDERS[sys.argv[2]](Path(sys.argv[3]))
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "big.parquet"
        duckdb.execute(f"COPY (SELECT {COLUMNS} FROM range({ROWS}) t(i)) TO '{file}' (FORMAT parquet)")
        rows = [_in_process(name, folder) for name in CONTENDERS]
    hand = float(rows[-1][2])
    print(f"**{ROWS:,} rows x 20 columns in Parquet.** One run each.\n")
    head = ("work", "wall s", "cpu s", "peak memory MB", "cpu / hand-written")
    print(table(head, [[*row, f"{float(row[2]) / hand:.1f}"] for row in rows]))


def _in_process(name: str, folder: str) -> list[str]:
    command = [sys.executable, "-c", "from benchmarks.suggest import main; main()", "suggest", name, folder]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return done.stdout.strip().splitlines()[-1].split("\t")


def _suggest(folder: Path) -> None:
    from monitor.clock import SystemClock
    from monitor.scan.results import Subject, Target
    from monitor.suggest.suggest import SuggestionTarget, suggest_checks
    from sources import SourceSpec

    limits = {"memory_limit": "1GB", "query_timeout": timedelta(minutes=10)}
    spec = SourceSpec("lake", folder, files="big.parquet", **limits)  # type: ignore[arg-type]  # one dict for two types
    target = SuggestionTarget(Target(Subject("big", "big", ()), spec))
    _print("tablewatch suggest: profile, propose, try", lambda: suggest_checks([target], SystemClock()))


def _summarize(folder: Path) -> None:
    connection = _connect()
    _print(
        "DuckDB SUMMARIZE", lambda: connection.execute(f"SUMMARIZE SELECT * FROM '{folder / 'big.parquet'}'").fetchall()
    )


def _hand_written(folder: Path) -> None:
    connection, file = _connect(), folder / "big.parquet"
    names = [name for name, *_ in connection.execute(f"DESCRIBE SELECT * FROM '{file}'").fetchall()]
    parts = ", ".join(f"count({name}), min({name}), max({name}), approx_count_distinct({name})" for name in names)
    _print(
        "DuckDB by hand: one aggregate",
        lambda: connection.execute(f"SELECT count(*), {parts} FROM '{file}'").fetchall(),
    )


def _connect() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(config={"memory_limit": "1GB"})
    connection.execute("SET enable_progress_bar = false")
    return connection


def _print(name: str, work: Callable[[], object]) -> None:
    cost = measure(work)
    print(f"{name}\t{cost.wall:.1f}\t{cost.cpu:.1f}\t{peak_mb():.0f}")


CONTENDERS = {"suggest": _suggest, "summarize": _summarize, "hand": _hand_written}

if __name__ == "__main__":
    main()
