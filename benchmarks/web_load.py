"""Pages over a large store under load: readers at a fixed rate, writers, or both; latency, memory, losses."""

import argparse
import http.client
import json
import math
import os
import secrets
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from http import HTTPStatus
from itertools import cycle, islice
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from benchmarks._big_store import END, Size, configure, fill
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
    "/downtime?as_of={past}",
    "/downtime?by=table&noticed_within=15&repair=20&as_of={past}",
    "/releases",
    "/alerts",
    "/reports",
    "/configuration",
    "/api/v1/incidents",
    "/api/v1/tables/t5",
    "/badge/t3.svg",
)
READ: Final = (
    "/",
    "/incidents",
    "/incidents?severity=critical&owner=o3",
    "/incidents/{middle}",
    "/tables",
    "/tables/t3",
    "/checks",
    "/checks/t3.rows",
    "/downtime",
    "/alerts",
    "/api/v1/incidents",
    "/api/v1/incidents/{middle}",
    "/api/v1/tables/t5",
)
"""What readers beside writers ask for, one after the other."""
_PAST: Final = timedelta(days=7)
"""How long ago the downtime is asked for "as of": events since then are taken back."""
_THREADS = 64
_EVERY_S: Final = 5.0
"""Seconds between two pages of a reader."""
LIKE_DATASETTE: Final[Mapping[str, str]] = {
    "/incidents": "/store/incident?_sort_desc=detected_us&_size=50",
    "/incidents?severity=critical": "/store/incident?severity=critical&_sort_desc=detected_us&_size=50",
    "/incidents/{middle}": "/store/incident/{middle}",
}
"""Pages of ours, and those of Datasette with the same rows; ours also have episodes, events, costs and verbs."""


def main() -> None:
    """Print the latency of each page, and how much memory the server had before and after."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--incidents", type=int, default=1_000_000)
    parser.add_argument("--measurements", type=int, default=10_000_000)
    parser.add_argument("--tables", type=int, default=5_000)
    parser.add_argument("--rate", type=float, default=20.0, help="Requests a second.")
    parser.add_argument("--requests", type=int, default=2_000)
    parser.add_argument("--path", help="Ask for this page alone.")
    parser.add_argument(
        "--writers", type=int, default=0, help="Write instead of read: so many clients, one verb after the other."
    )
    parser.add_argument("--readers", type=int, help="Beside the writers: so many people, each a page every 5 s.")
    parser.add_argument("--seconds", type=float, default=120.0, help="How long they read.")
    parser.add_argument("--rounds", type=int, default=10, help="Incidents that each writer logs and resolves.")
    parser.add_argument("--datasette", help="Its command: the same rows are read by its pages too, in turn with ours.")
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
            if answer := _of_clients(options, folder / "store.db", host, cookie, process.pid):
                print(answer)
                return
            past = (END - _PAST).date().isoformat()
            pages = PAGES if options.path is None else (options.path,)
            paths = [path.replace("{middle}", str(size.incidents // 2)).replace("{past}", past) for path in pages]
            for path in paths:
                ask(host, path, cookie)
            before, cpu_before = _memory_mb(process.pid), _cpu_s(process.pid)
            seconds = load(host, list(islice(cycle(paths), options.requests)), cookie, options.rate)
            after, cpu = _memory_mb(process.pid), _cpu_s(process.pid) - cpu_before
    rows = [(path, *row(times)) for path, times in seconds.items()]
    everything = [taken for times in seconds.values() for taken in times]
    held = f"{size.incidents:,} incidents, {size.measurements:,} measurements, {size.tables:,} tables"
    print(f"**Pages under load: {held}, SQLite; {options.requests:,} requests, {options.rate:g} a second.**\n")
    print(table(("page", "p50 ms", "p95 ms", "p99 ms"), [*rows, ("all", *row(everything))]))
    print(f"\nMemory of the server: {before:.0f} MB before, {after:.0f} MB after")
    print(f"Processor time of the server: {cpu / options.requests * 1e3:.1f} ms for an answer")


def _of_clients(options: argparse.Namespace, store: Path, host: str, cookie: str, pid: int) -> str | None:
    if options.readers:
        return side_by_side(host, cookie, [make_token(store.parent) for _ in range(options.writers)], options, pid)
    if options.writers:
        return write(host, cookie, options.writers, options.rounds)
    return compare(options.datasette, store, host, cookie, options) if options.datasette else None


def make_token(folder: Path) -> str:
    """Return a new API token of a program that may change incidents."""
    words = (
        "-c",
        str(folder),
        "account",
        "token",
        "add",
        secrets.token_hex(8),
        "--role",
        "responder",
        "--expires",
        "1d",
    )
    made = subprocess.run((sys.executable, "-m", "monitor", *words), check=True, capture_output=True)
    return made.stdout.decode().split()[-1]


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

    def ask_when_due(number: int, path: str) -> tuple[str, float]:
        due = start + number / rate
        time.sleep(max(due - time.perf_counter(), 0))
        ask(host, path, cookie)
        return path, time.perf_counter() - due

    with ThreadPoolExecutor(_THREADS) as pool:
        for path, taken in pool.map(ask_when_due, range(len(paths)), paths):
            seconds[path].append(taken)
    return seconds


def side_by_side(host: str, cookie: str, tokens: Sequence[str], options: argparse.Namespace, pid: int) -> str:
    """Return the latency of pages and of the API for readers, each with a page every 5 s, beside writers.

    A reader waits for its page before it asks for the next one. Writers, each with a token of its own, send one verb
    after the other, for as long as the readers read or for so many rounds.
    """
    paths = [path.replace("{middle}", str(options.incidents // 2)) for path in READ]
    for path in paths:
        ask(host, path, cookie)
    before, cpu_before, end = os.getloadavg()[0], _cpu_s(pid), time.perf_counter() + options.seconds
    with ThreadPoolExecutor(options.readers + options.writers) as clients:
        reading = [
            clients.submit(
                _read_pages, host, cookie, paths[number % len(paths) :] + paths, end, number / options.readers
            )
            for number in range(options.readers)
        ]
        writing = [
            clients.submit(_write_rounds, host, {"Authorization": f"Bearer {token}"}, number, options.rounds, end)
            for number, token in enumerate(tokens)
        ]
        steps = [step for done in writing for step in done.result().steps]
        asked = [item for done in reading for item in done.result()]
    cpu = (_cpu_s(pid) - cpu_before) / (len(asked) + len(steps))
    seconds: dict[str, list[float]] = defaultdict(list)
    for path, taken in asked:
        seconds["API, reads" if path.startswith("/api/") else "pages"].append(taken)
        seconds[path].append(taken)
    seconds["API, writes"] = [step.seconds for step in steps]
    kinds = [(kind, len(seconds[kind]), *row(seconds[kind])) for kind in ("pages", "API, reads", "API, writes")]
    each = [(path, len(seconds[path]), *row(seconds[path])) for path in paths if len(seconds[path]) > 1]
    refused = sum(step.status >= HTTPStatus.BAD_REQUEST for step in steps)
    held = f"{options.incidents:,} incidents, {options.measurements:,} measurements, {options.tables:,} tables"
    machine = f"load {before:.0f} before and {os.getloadavg()[0]:.0f} after on {os.cpu_count()} processors"
    return (
        f"**Pages and API: {held}, SQLite; {options.readers} readers, {options.writers} writers; {machine}.**\n\n"
        + table(("request", "n", "p50 ms", "p95 ms", "p99 ms"), [*kinds, *each])
        + f"\n\n{refused} writes refused. Processor time of the server: {cpu * 1e3:.0f} ms for an answer."
    )


def _read_pages(host: str, cookie: str, paths: Sequence[str], end: float, later: float) -> list[tuple[str, float]]:
    """Ask for a page every 5 s, the next one at once where a page took longer; return the seconds of each.

    Readers do not begin together: `later` is the part of 5 s after which this one begins.
    """
    done: list[tuple[str, float]] = []
    time.sleep(later * _EVERY_S)
    for path in cycle(paths):
        begin = time.perf_counter()
        if begin >= end:
            return done
        ask(host, path, cookie)
        taken = time.perf_counter() - begin
        done.append((path, taken))
        time.sleep(max(min(_EVERY_S - taken, end - time.perf_counter()), 0))
    return done


def compare(command: str, store: Path, host: str, cookie: str, options: argparse.Namespace) -> str:
    """Return the latency of pages of ours beside that of Datasette's pages of the same rows, each at the same rate."""
    middle = str(options.incidents // 2)
    ours = [path.replace("{middle}", middle) for path in LIKE_DATASETTE]
    theirs = [path.replace("{middle}", middle) for path in LIKE_DATASETTE.values()]
    port = free_port()
    words = [command, "serve", "--immutable", str(store), "--port", str(port)]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        try:
            next(line for line in process.stderr or () if "Uvicorn running" in line)
            rows = []
            for place, paths in ((host, ours), (f"127.0.0.1:{port}", theirs)):
                for path in paths:
                    ask(place, path, cookie)
                rows.append(load(place, list(islice(cycle(paths), options.requests)), cookie, options.rate))
        finally:
            process.terminate()
    lines = [
        (mine, *row(rows[0][mine])[:2], *row(rows[1][other])[:2]) for mine, other in zip(ours, theirs, strict=True)
    ]
    return table(("page", "ours p50 ms", "p95 ms", "Datasette p50 ms", "p95 ms"), lines)


def free_port() -> int:
    """Return a port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def write(host: str, cookie: str, writers: int, rounds: int) -> str:
    """Let clients log, acknowledge, comment and resolve incidents side by side; return what was answered and kept.

    Each waits for an answer before it sends the next verb. Afterwards every incident is read again: it has to have all
    its events, and as many incidents have to be there as were logged.
    """
    begin = time.perf_counter()
    with ThreadPoolExecutor(writers) as pool:
        clients = list(pool.map(lambda writer: _write_rounds(host, {"Cookie": cookie}, writer, rounds), range(writers)))
    taken = time.perf_counter() - begin
    steps = [step for client in clients for step in client.steps]
    numbers = {number for client in clients for number in client.numbers}
    kept = [json.loads(ask(host, f"/api/v1/incidents/{number}", cookie)) for number in sorted(numbers)]
    lost = writers * rounds - sum(len(page["events"]) == len(_VERBS) + 1 for page in kept)
    errors = sum(step.status >= HTTPStatus.INTERNAL_SERVER_ERROR for step in steps)
    refused = sum(step.status >= HTTPStatus.BAD_REQUEST for step in steps) - errors
    rows = [(verb, *row([step.seconds for step in steps if step.verb == verb])) for verb in ("log", *_VERBS)]
    return (
        f"**{writers} writers, {len(steps):,} verbs in {taken:.1f} s ({len(steps) / taken:.0f} a second).**\n\n"
        + table(("verb", "p50 ms", "p95 ms", "p99 ms"), [*rows, ("all", *row([step.seconds for step in steps]))])
        + f"\n\n{errors} answers of 5xx, {refused} refused, {lost} incidents lost or incomplete."
    )


@dataclass(frozen=True, slots=True)
class _Step:
    """One verb: its answer and how long that took."""

    verb: str
    status: int
    seconds: float


@dataclass(frozen=True, slots=True)
class _Writer:
    """What one client sent, and the incidents in its answers."""

    steps: list[_Step] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)


_VERBS: Final[Mapping[str, Mapping[str, str]]] = {
    "ack": {},
    "comment": {"text": "looked at it"},
    "resolve": {"resolution": "fixed"},
}


def _write_rounds(host: str, who: Mapping[str, str], writer: int, rounds: int, end: float = math.inf) -> _Writer:
    done = _Writer()
    connection = http.client.HTTPConnection(host)

    def send(verb: str, path: str, body: Mapping[str, object]) -> Mapping[str, Any]:
        begin = time.perf_counter()
        headers = {**who, "Content-Type": "application/json", "Sec-Fetch-Site": "same-origin"}
        connection.request("POST", f"/api/v1{path}", json.dumps(body), headers)
        answer = connection.getresponse()
        read: Mapping[str, Any] = json.loads(answer.read())
        done.steps.append(_Step(verb, answer.status, time.perf_counter() - begin))
        return read

    for number in range(rounds):
        if time.perf_counter() >= end:
            break
        page = send("log", "/incidents", {"table": f"t{writer}", "title": f"writer {writer}, round {number}"})
        if "id" in page:
            done.numbers.append(page["id"])
        for verb, body in _VERBS.items():
            page = send(verb, f"/incidents/{page.get('id', 0)}/{verb}", {"if_version": page.get("version", 0), **body})
    connection.close()
    return done


def ask(host: str, path: str, cookie: str) -> bytes:
    """Return a page, or end the benchmark if it is refused."""
    connection = http.client.HTTPConnection(host)
    connection.request("GET", path, headers={"Cookie": cookie})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    if answer.status != HTTPStatus.OK:
        raise SystemExit(f"{path}: {answer.status} {body[:500]!r}")
    return body


def row(times: Sequence[float]) -> tuple[str, ...]:
    """Return the median, the 95th and the 99th percentile of seconds, in ms."""
    cuts = statistics.quantiles(times, n=100)
    return tuple(f"{cuts[at] * 1e3:.0f}" for at in (49, 94, 98))


def _memory_mb(pid: int) -> float:
    text = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(text.partition("VmRSS:")[2].split()[0]) / 1024


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
