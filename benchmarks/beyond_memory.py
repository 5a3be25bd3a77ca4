"""Microaggregation in pieces: what cells cost in information, and what a file takes in memory.

`python -m benchmarks beyond_memory [cells|memory] [rows]`: without a part, both. `cells`: the stages that run on Spark
and out of core, on 100,000 rows cut into 1 to 512 cells. `memory`: the command on a Parquet file, in a process of its
own, with memory bounded and not.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from benchmarks._donors import COLUMNS, donors
from benchmarks._measure import table

CELLS = (1, 8, 64, 512)
KS = (5, 10)
SWEEPS = 3
BOUNDS = ("1GB", "2GB", None)
ROWS = {"cells": 100_000, "memory": 1_000_000}


def main() -> None:
    """Print the tables asked for."""
    words = sys.argv[2:] if len(sys.argv) > 1 and sys.argv[1] == "beyond_memory" else sys.argv[1:]
    parts = words[:1] or ["cells", "memory"]
    for part in parts:
        {"cells": cells, "memory": memory}[part](int(words[1]) if len(words) > 1 else ROWS[part])


def cells(rows: int) -> None:
    """Compare losses in one cell and in many, after each stage."""
    given, found = donors(rows), []
    _stages(donors(2_000), 5, 4)
    for k in KS:
        alone = 0.0
        for count in CELLS:
            begun = process_time()
            losses = _stages(given, k, count)
            seconds = process_time() - begun
            alone = alone or losses[-1]
            more = f"{100 * (losses[-1] / alone - 1):+.1f} %"
            found.append((k, count, f"{rows // count:,}", *(f"{loss:.3f}" for loss in losses), more, f"{seconds:.1f}"))
    head = ("k", "cells", "records of a cell", "within cells", *(f"sweep {one + 1}" for one in range(SWEEPS)))
    print(f"\n**Cells**: {rows:,} x {COLUMNS}, information loss in per cent after each stage.\n")
    print(table((*head, "than one cell", "cpu s"), found), flush=True)


def memory(rows: int) -> None:
    """Measure the command on a file."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "donors.parquet"
        _file(path, rows)
        for bound in BOUNDS:
            out = Path(folder) / "safe.parquet"
            columns = ",".join(f"c{number}" for number in range(COLUMNS))
            words = [
                "privacy",
                "remedy",
                "microaggregate",
                path,
                out,
                "--columns",
                columns,
                "--force",
                "--format",
                "json",
            ]
            limit = [] if bound is None else ["--memory", bound]
            peak, seconds, said = _peak([sys.executable, "-m", "monitor", *map(str, words), *limit])
            loss = f"{said['information_loss']:.3f}"
            found.append((bound or "not bounded", f"{peak:,.0f}", said["k"], loss, f"{seconds:.0f}"))
    print(f"\n**Memory**: the command on a Parquet file of {rows:,} x {COLUMNS}, k = 5; the proof included.\n")
    print(table(("--memory", "peak MB", "k", "information loss", "cpu s"), found), flush=True)


def _stages(given: Any, k: int, count: int) -> list[float]:
    """Return the loss after each stage."""
    from remedies.microaggregation import information_loss
    from remedies.microaggregation._input import canonical
    from remedies.microaggregation._stages import SAMPLE, Scheme, again, depth_of, first, travel

    chosen = np.random.default_rng(1).permutation(len(given))[: max(2_048, SAMPLE * count)]
    depth = depth_of(count, 1)
    mean, deviation = given.mean(axis=0), given.std(axis=0)
    scheme = Scheme.fit(given[chosen], mean, deviation, depth=depth, sweeps=SWEEPS, seed=1)
    points = scheme.points(given)
    labels, losses = np.zeros(len(given), dtype=np.int64), []
    for stage, tree in enumerate(scheme.trees):
        cell = tree.of(points) if stage == 0 else travel(points, labels, tree)
        fresh, groups = np.empty_like(labels), 0
        for one in np.unique(cell):
            here = np.flatnonzero(cell == one)
            if stage == 0:
                found = first(points[here], k, 1)
            else:
                found = again(points[here], canonical(labels[here]), k, 1 + stage)
            fresh[here] = found + groups
            groups += int(found.max()) + 1
        labels = canonical(fresh)
        losses.append(information_loss(given, labels))
    return losses


def _file(path: Path, rows: int) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    schema = pa.schema([pa.field(f"c{number}", pa.float64()) for number in range(COLUMNS)])
    with parquet.ParquetWriter(path, schema) as writer:
        for start in range(0, rows, 100_000):
            part = donors(min(100_000, rows - start), seed=1 + start)
            writer.write(pa.table(list(part.T), schema=schema))


def _peak(command: list[str]) -> tuple[float, float, Any]:
    """Run a command; give its peak in MB, its processor seconds and what it says."""
    import json

    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    said = process.stdout.read() if process.stdout else ""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"the command left with {process.returncode}: {said}")
    return usage.ru_maxrss / 1e3, usage.ru_utime + usage.ru_stime, json.loads(said)


if __name__ == "__main__":
    main()
