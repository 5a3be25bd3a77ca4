"""Pages over a large store under load: requests at a fixed rate, whatever the answers take; latency and memory."""

import argparse
import http.client
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http import HTTPStatus
from itertools import cycle, islice
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks._big_store import Size, configure, fill
from benchmarks._measure import table

PAGES = (
    "/",
    "/incidents",
    "/incidents?severity=critical&owner=o3",
    "/incidents/{middle}",
    "/tables",
    "/tables?health=degraded",
    "/tables/t3",
    "/checks",
    "/checks/t3.rows",
    "/downtime",
    "/downtime?by=table&noticed_within=15&repair=20",
    "/releases",
    "/alerts",
    "/reports",
    "/configuration",
    "/api/v1/incidents",
    "/api/v1/tables/t5",
    "/badge/t3.svg",
)
_THREADS = 64


def main() -> None:
    """Print the latency of each page, and how much memory the server had before and after."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--incidents", type=int, default=1_000_000)
    parser.add_argument("--measurements", type=int, default=10_000_000)
    parser.add_argument("--tables", type=int, default=5_000)
    parser.add_argument("--rate", type=float, default=20.0, help="Requests a second.")
    parser.add_argument("--requests", type=int, default=2_000)
    parser.add_argument("--folder", type=Path, help="A store that is kept there, and made if it is not there.")
    options, _ = parser.parse_known_args()
    size = Size(options.incidents, options.measurements, options.tables)
    with tempfile.TemporaryDirectory() as name:
        folder = options.folder or Path(name)
        folder.mkdir(exist_ok=True)
        if not (folder / "store.db").exists():
            configure(folder, size)
            fill(folder / "store.db", size)
        with served(folder) as (process, host, cookie):
            paths = [path.replace("{middle}", str(size.incidents // 2)) for path in PAGES]
            for path in paths:
                _ask(host, path, cookie)
            before = _memory_mb(process.pid)
            seconds = load(host, list(islice(cycle(paths), options.requests)), cookie, options.rate)
            after = _memory_mb(process.pid)
    rows = [(path, *_row(times)) for path, times in seconds.items()]
    everything = [taken for times in seconds.values() for taken in times]
    held = f"{size.incidents:,} incidents, {size.measurements:,} measurements, {size.tables:,} tables"
    print(f"**Pages under load: {held}, SQLite; {options.requests:,} requests, {options.rate:g} a second.**\n")
    print(table(("page", "p50 ms", "p95 ms", "p99 ms"), [*rows, ("all", *_row(everything))]))
    print(f"\nMemory of the server: {before:.0f} MB before, {after:.0f} MB after")


@contextmanager
def served(folder: Path) -> Iterator[tuple["subprocess.Popen[str]", str, str]]:
    """Serve a folder for the block; yield the process, its host with the port, and a cookie of a session."""
    command = [sys.executable, "-m", "monitor", "-c", str(folder), "serve", "--port", "0", "--as", "bench"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            link = urlsplit((process.stdout or sys.stdin).readline().strip())
            connection = http.client.HTTPConnection(link.netloc)
            headers = {"Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin"}
            connection.request("POST", link.path, link.query, headers)
            cookie = connection.getresponse().headers["set-cookie"].partition(";")[0]
            yield process, link.netloc, cookie
        finally:
            process.terminate()


def load(host: str, paths: Sequence[str], cookie: str, rate: float) -> Mapping[str, Sequence[float]]:
    """Ask for pages at a rate; return the seconds of each, from when it was due to its last byte."""
    seconds: dict[str, list[float]] = defaultdict(list)
    start = time.perf_counter()

    def ask(number: int, path: str) -> tuple[str, float]:
        due = start + number / rate
        time.sleep(max(due - time.perf_counter(), 0))
        _ask(host, path, cookie)
        return path, time.perf_counter() - due

    with ThreadPoolExecutor(_THREADS) as pool:
        for path, taken in pool.map(ask, range(len(paths)), paths):
            seconds[path].append(taken)
    return seconds


def _ask(host: str, path: str, cookie: str) -> None:
    connection = http.client.HTTPConnection(host)
    connection.request("GET", path, headers={"Cookie": cookie})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    if answer.status != HTTPStatus.OK:
        raise SystemExit(f"{path}: {answer.status} {body[:500]!r}")


def _row(times: Sequence[float]) -> tuple[str, ...]:
    cuts = statistics.quantiles(times, n=100)
    return tuple(f"{cuts[at] * 1e3:.0f}" for at in (49, 94, 98))


def _memory_mb(pid: int) -> float:
    text = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(text.partition("VmRSS:")[2].split()[0]) / 1024


if __name__ == "__main__":
    main()
