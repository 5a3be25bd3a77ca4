"""Microaggregation: the default next to the published ways, on the reference sets and on a table like one about donors.

`python -m benchmarks microaggregation [--part small|default|exact|large|growth] [--rows N]`: the reference sets (beside
the repository, or where TABLEWATCH_REFERENCE_DATA says; left out where they are absent), the exact algorithms, a table
of 500,000 rows (or N), growth from 10,000 rows on. Without a part, all. Each row is measured in a process of its
own, on one thread, after a first call that compiles; seconds are processor seconds, since the machine may be shared.
The exact path of 500,000 rows alone takes minutes.
"""

import argparse
import math
import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, Final

import numpy as np

from benchmarks._donors import donors
from benchmarks._measure import measure, median, peak_mb, table

ROWS = 500_000
SIZES = (10_000, 50_000, 100_000, 500_000)
BUDGET = 10.0
SEEDS = 5
RUNS = 3
EXACT = (("mdav", 20_000), ("vmdav", 20_000), ("npn, then mhm", 20_000), ("npn, then mhm", 100_000))
SETS = {"Tarragona": "Tarragona.csv", "Census": "CASCrefmicrodata.csv"}
KS = (3, 5, 10)


def main() -> None:
    """Print the parts asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks microaggregation")
    parser.add_argument("--part", choices=("small", "default", "exact", "large", "growth"))
    parser.add_argument("--rows", type=int, default=ROWS)
    given = parser.parse_args([one for one in sys.argv[1:] if one != "microaggregation"])
    if given.part in {"small", None}:
        small()
    if given.part in {"default", None}:
        default()
    if given.part in {"exact", None}:
        exact()
    if given.part in {"large", None}:
        large(given.rows)
    if given.part in {"growth", None}:
        growth()


def work() -> None:
    """Print one row, in a process of its own."""
    name, *words = sys.argv[1:]
    WORK[name](*words)


def small() -> None:
    """Compare losses on the reference sets."""
    found = []
    for name, file in SETS.items():
        if not (_folder() / file).is_file():
            continue
        for k in KS:
            published = _row("published", name, k)
            runs = [_row("searched", name, k, seed) for seed in range(1, SEEDS + 1)]
            best = [float(run[0]) for run in runs]
            sweeps = round(statistics.median(int(run[1]) for run in runs))
            found.append((name, k, *published, f"{min(best):.4f}", f"{statistics.median(best):.4f}", sweeps))
    head = ("set", "k", "MDAV", "NPN + MHM", "lower bound", f"best, least of {SEEDS} seeds", "best, median", "sweeps")
    print(f"**Reference sets**: information loss, per cent; `best` with {BUDGET:.0f} processor seconds.\n")
    print(table(head, found), flush=True)


def default() -> None:
    """Print what the default loses and takes on the reference sets."""
    found = []
    for name, file in SETS.items():
        if (_folder() / file).is_file():
            found += [(name, k, *_row("defaulted", name, k)) for k in KS]
    print("\n**Default**: information loss, per cent, without a budget; seeds 0, 1, 2.\n")
    print(table(("set", "k", "seed 0", "seed 1", "seed 2", "sweeps", "cpu s"), found), flush=True)


def exact() -> None:
    """Print what the exact algorithms take."""
    found = [(f"{name}, {rows:,} rows", *_row("timed", name, rows)) for name, rows in EXACT]
    print(f"\n**Exact algorithms**: donors, k = 5, one thread; medians of {RUNS} runs.\n")
    print(table(("algorithm", "cpu s", "wall s"), found), flush=True)


def large(rows: int) -> None:
    """Compare losses and times on one large table."""
    losses = _row("path", rows)
    print(
        f"\n**{rows:,} x 36**, one thread; exact path: {losses[0]} cpu s, {losses[1]} wall s, {losses[2]} MB at most.\n"
    )
    found = []
    for k, loss in zip((2, 5, 10, 50, 100), losses[3:], strict=True):
        cpu, wall, peak, best, start, sweeps = _row("best", rows, k, 30 if k == 2 else 0)
        ratio = float(best) / float(loss)
        found.append((k, loss, start, best, f"{ratio:.3f}", sweeps, cpu, wall, peak))
    head = ("k", "exact NPN + MHM", "start", "best", "best / exact", "sweeps", "cpu s", "wall s", "peak MB")
    print(table(head, found), flush=True)


def growth() -> None:
    """Print how time grows with rows."""
    found = []
    for k in (5, 100):
        seconds = [float(_row("best", rows, k, 0)[0]) for rows in SIZES]
        exponent = math.log(seconds[-1] / seconds[0]) / math.log(SIZES[-1] / SIZES[0])
        found.append((k, *(f"{second:.2f}" for second in seconds), f"{exponent:.2f}"))
    print("\n**Growth**: cpu s of `best`.\n")
    print(table(("k", *(f"{rows:,} rows" for rows in SIZES), "exponent"), found), flush=True)


def _row(name: str, *words: object) -> list[str]:
    command = [sys.executable, "-c", "from benchmarks.microaggregation import work; work()", name, *map(str, words)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return done.stdout.strip().split("\t")


def _folder() -> Path:
    beside = Path(__file__).resolve().parents[1].parent / "shared" / "data"
    return Path(os.environ.get("TABLEWATCH_REFERENCE_DATA", beside)) / "microdata"


def _read(name: str) -> Any:
    return np.loadtxt(_folder() / SETS[name], delimiter=",", skiprows=1)


def _published(name: str, k: str) -> None:
    from remedies.microaggregation import information_loss, lower_bound, mdav, mhm, npn_path

    rows = _read(name)
    losses = information_loss(rows, mdav(rows, int(k))), information_loss(rows, mhm(rows, npn_path(rows), int(k)))
    print("\t".join(f"{one:.4f}" for one in (*losses, lower_bound(rows, int(k)) or 0.0)))


def _searched(name: str, k: str, seed: str) -> None:
    from remedies.microaggregation import microaggregate

    rows = _read(name)
    microaggregate(rows, int(k), sweeps=1, threads=1)
    found = microaggregate(rows, int(k), seed=int(seed), budget=BUDGET, threads=1, clock=process_time)
    print(f"{found.information_loss:.4f}\t{found.sweeps}")


def _defaulted(name: str, k: str) -> None:
    from remedies.microaggregation import microaggregate

    rows = _read(name)
    microaggregate(rows, int(k), sweeps=1, threads=1)
    runs = [microaggregate(rows, int(k), seed=seed, threads=1, clock=process_time, bound=False) for seed in range(3)]
    losses = [f"{run.information_loss:.4f}" for run in runs]
    seconds = statistics.mean(run.seconds for run in runs)
    print("\t".join([*losses, str(runs[0].sweeps), f"{seconds:.1f}"]))


def _timed(name: str, rows: str) -> None:
    from remedies.microaggregation import mdav, mhm, npn_path, vmdav

    work: Any = {
        "mdav": lambda table: mdav(table, 5),
        "vmdav": lambda table: vmdav(table, 5, 0.2),
        "npn, then mhm": lambda table: mhm(table, npn_path(table), 5),
    }[name]
    work(donors(1_000))
    given = donors(int(rows))
    cost = median([measure(lambda: work(given)) for _ in range(RUNS)])
    print(f"{cost.cpu:.2f}\t{cost.wall:.2f}")


def _path(rows: str) -> None:
    from remedies.microaggregation import information_loss, mhm, npn_path

    npn_path(donors(1_000))
    given = donors(int(rows))
    paths = []
    cost = measure(lambda: paths.append(npn_path(given)))
    losses = [information_loss(given, mhm(given, paths[0], k)) for k in (2, 5, 10, 50, 100)]
    print("\t".join([f"{cost.cpu:.1f}", f"{cost.wall:.1f}", f"{peak_mb():.0f}", *(f"{loss:.3f}" for loss in losses)]))


def _best(rows: str, k: str, budget: str) -> None:
    from remedies.microaggregation import microaggregate

    seconds = float(budget) or None
    microaggregate(donors(6_000), int(k), sweeps=2, threads=1)
    given = donors(int(rows))
    begun = perf_counter()
    found = microaggregate(given, int(k), budget=seconds, threads=1, clock=process_time)
    wall = perf_counter() - begun
    first = found.tried[0].information_loss
    words = (f"{found.seconds:.2f}", f"{wall:.2f}", f"{peak_mb():.0f}", f"{found.information_loss:.3f}", f"{first:.3f}")
    print("\t".join([*words, str(found.sweeps)]))


WORK: Final[dict[str, Callable[..., None]]] = {
    "published": _published,
    "searched": _searched,
    "timed": _timed,
    "defaulted": _defaulted,
    "path": _path,
    "best": _best,
}

if __name__ == "__main__":
    main()
