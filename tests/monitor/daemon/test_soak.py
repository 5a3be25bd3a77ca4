"""A daemon that runs for long holds no more than at its beginning: descriptors, threads, processes, memory.

`make soak` makes it 10,000 runs; the suite makes it fewer.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import pytest

from tests.monitor.daemon.running import Place, Running, until

_RUNS = int(os.environ.get("TABLEWATCH_SOAK_RUNS", "1500"))
_TABLES = "".join(
    f"  - {{name: t{number}, source: shop, table: orders, schedule: every 1s, checks: [{checks}]}}\n"
    for number in range(60)
    for checks in ["{type: primary_key, columns: [id]}, {type: not_null, columns: [customer]}"]
)
_DONE = "SELECT count(*) FROM slot WHERE state = 'done'"


@dataclass(frozen=True)
class _Hold:
    """What a process holds, and its processes below."""

    descriptors: int
    threads: int
    children: int
    memory_kb: int

    @classmethod
    def of(cls, daemon: Running) -> Self:
        process = Path(f"/proc/{daemon.process.pid}")
        status = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
        return cls(
            len(list((process / "fd").iterdir())),
            int(status["Threads"]),
            len(daemon.children()),
            int(status["VmRSS"].split()[0]),
        )


@pytest.mark.timeout(max(3600, 2 * _RUNS))
def test_what_a_daemon_holds_stays_flat(tmp_path: Path) -> None:
    """Between a warm start and thousands of looks later, nothing has grown."""
    place = Place(tmp_path)
    place.configure(_TABLES)
    with place.daemon() as daemon:
        until(lambda: place.number(_DONE) >= _RUNS // 5, "the warm-up")
        early = [_Hold.of(daemon) for _ in range(20)]
        for part in range(1, 9):
            until(lambda part=part: place.number(_DONE) >= _RUNS // 5 + _RUNS * part // 10, f"part {part}")  # type: ignore[misc] - bound
        late = [_Hold.of(daemon) for _ in range(20)]
    assert min(one.descriptors for one in late) <= max(one.descriptors for one in early) + 2
    assert min(one.threads for one in late) <= max(one.threads for one in early) + 1
    assert max(one.children for one in late) <= 2 * 4 + 1
    assert min(one.memory_kb for one in late) < 1.1 * max(one.memory_kb for one in early) + 10_000
