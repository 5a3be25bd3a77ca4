"""What readers of the web pages get beside clients that write, guess or ask for too much; how long `/healthz` takes.

The last line is the floor of the machine: an application that does nothing, in the same server, beside as many clients.
"""

import argparse
import http.client
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http import HTTPStatus
from itertools import count
from pathlib import Path
from typing import Final

from benchmarks._big_store import Size, configure, fill
from benchmarks._measure import table
from benchmarks.web_load import ask, make_token, row, served

_FORM: Final = "application/x-www-form-urlencoded"
_HEALTH: Final = """
import http.client, sys, time
end = time.perf_counter() + float(sys.argv[2])
while (begin := time.perf_counter()) < end:
    connection = http.client.HTTPConnection(sys.argv[1])
    connection.request("GET", "/healthz")
    assert connection.getresponse().read() == b"ok\\n"
    connection.close()
    print(time.perf_counter() - begin)
    time.sleep(0.05)
"""
_NOTHING: Final = """
import sys, uvicorn
async def answer(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"3")]})
    await send({"type": "http.response.body", "body": b"ok\\n"})
config = uvicorn.Config(answer, port=0, http="h11", lifespan="off", log_config=None, access_log=False)
listener = config.bind_socket()
print("127.0.0.1:%d" % listener.getsockname()[1], flush=True)
uvicorn.Server(config).run([listener])
"""


@dataclass(frozen=True, eq=False)
class _Client:
    """A client that sends one request after the other."""

    method: str
    path: Callable[[], str]
    headers: Mapping[str, str]
    body: str = ""


def main() -> None:
    """Print a line for each kind of neighbour."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--incidents", type=int, default=100_000)
    parser.add_argument("--measurements", type=int, default=500_000)
    parser.add_argument("--tables", type=int, default=1_000)
    parser.add_argument("--seconds", type=float, default=10.0, help="How long each kind is measured.")
    parser.add_argument("--folder", type=Path, help="A store that is kept there, and made if it is not there.")
    options, _ = parser.parse_known_args()
    size = Size(options.incidents, options.measurements, options.tables)
    with tempfile.TemporaryDirectory() as name:
        folder = options.folder or Path(name)
        folder.mkdir(exist_ok=True)
        if not (folder / "store.db").exists():
            configure(folder, size)
            fill(folder / "store.db", size)
        config = folder / "tablewatch.yaml"
        if "passwords" not in config.read_text(encoding="utf-8"):
            config.write_text(f"{config.read_text(encoding='utf-8')}\nweb: {{passwords: true}}\n", encoding="utf-8")
        token = make_token(folder)
        with served(folder) as (_, host, cookie):
            print(f"**Neighbours of readers: {size.incidents:,} incidents, {size.tables:,} tables, SQLite.**\n")
            print(neighbours(host, cookie, token, options.seconds))


def neighbours(host: str, cookie: str, token: str, seconds: float) -> str:
    """Return what 64 readers of a page get beside others, and how long `/healthz` takes meanwhile."""
    numbers = count(1)
    mine, write = {"Cookie": cookie, "Sec-Fetch-Site": "same-origin"}, {"Content-Type": "application/json"}
    overview = _Client("GET", lambda: "/", mine)
    heavy = _Client("GET", lambda: f"/downtime?by=table&noticed_within={next(numbers)}", mine)
    refused = _Client("POST", lambda: "/incidents/1/ack", {"Sec-Fetch-Site": "same-origin"})
    guess = _Client("POST", lambda: "/sign-in", {**mine, "Content-Type": _FORM}, "name=guest&password=wrong")
    comment, text = "/api/v1/incidents/1/comment", '{"text": "looked at it"}'
    writer = _Client("POST", lambda: comment, {"Authorization": f"Bearer {token}", **write}, text)
    same = _Client("POST", lambda: comment, {**mine, **write}, text)
    kinds = {
        "64 readers of `/` alone": [overview] * 64,
        "beside a client whose POSTs are refused": [overview] * 64 + [refused],
        "beside a writer": [overview] * 64 + [writer],
        "beside a writer who is the readers' user": [overview] * 64 + [same],
        "64 clients of `/downtime`, each time another": [heavy] * 64,
        "64 clients that guess passwords": [guess] * 64,
    }
    rows = []
    for name, clients in kinds.items():
        ask(host, "/", cookie)
        answers, health = _hammer(host, clients, seconds)
        shown = Counter(status for method, status, _ in answers if method == "GET" or len(set(clients)) == 1)
        reads = [taken for method, status, taken in answers if status == HTTPStatus.OK]
        p50 = row(reads)[0] if len(reads) > 1 else ""
        by_status = ", ".join(f"{status}: {number / seconds:.0f}" for status, number in sorted(shown.items()))
        writes = sum(method == "POST" and len(set(clients)) > 1 for method, _, _ in answers) / seconds
        rows.append(
            (
                name,
                by_status,
                p50,
                f"{writes:.0f}",
                *(row(health) if len(health) > 1 else [f"{seconds * 1e3:.0f} or more"] * 3),
            )
        )
    rows.append(_floor([guess] * 64, seconds))
    head = (
        "clients",
        "answers a second by status",
        "p50 ms",
        "writes a second",
        "`/healthz` p50 ms",
        "p95 ms",
        "p99 ms",
    )
    return table(head, rows)


def _floor(clients: Sequence[_Client], seconds: float) -> Sequence[str]:
    """Return the line of an application that does nothing, which is asked in the same way."""
    words = [sys.executable, "-c", _NOTHING]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            answers, health = _hammer((process.stdout or sys.stdin).readline().strip(), clients, seconds)
        finally:
            process.terminate()
    p50 = row([taken for _, _, taken in answers])[0]
    return "the same, beside an idle application", f"200: {len(answers) / seconds:.0f}", p50, "", *row(health)


def _hammer(
    host: str, clients: Sequence[_Client], seconds: float
) -> tuple[Sequence[tuple[str, int, float]], Sequence[float]]:
    """Return method, status and seconds of each answer to clients, and the seconds of `/healthz`, 20 a second."""
    end = time.perf_counter() + seconds

    def run(client: _Client) -> list[tuple[str, int, float]]:
        answers = []
        connection = http.client.HTTPConnection(host)
        while (begin := time.perf_counter()) < end:
            try:
                connection.request(client.method, client.path(), client.body, dict(client.headers))
                answer = connection.getresponse()
                answer.read()
            except ConnectionError:  # closed while no request was on its way: one address may hold 64 such connections
                connection.close()
                continue
            answers.append((client.method, answer.status, time.perf_counter() - begin))
        connection.close()
        return answers

    with ThreadPoolExecutor(len(clients)) as pool:
        running = [pool.submit(run, client) for client in clients]
        health = _health(host, seconds)
        return [answer for client in running for answer in client.result()], health


def _health(host: str, seconds: float) -> Sequence[float]:
    """Return the seconds of `/healthz` from a process of its own: threads of the clients do not delay it."""
    words = [sys.executable, "-c", _HEALTH, host, str(seconds)]
    asked = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
    return [float(line) for line in asked.stdout.split()]


if __name__ == "__main__":
    main()
