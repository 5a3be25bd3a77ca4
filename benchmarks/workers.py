"""1000 small SQLite tables x 5 checks, looked at by the pool of workers and by the engine in one run; its memory."""

import os
import tempfile
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from time import perf_counter

from benchmarks._measure import Cost, median, table
from benchmarks.many_tables import TABLES, build, config
from monitor.clock import SystemClock
from monitor.config import load
from monitor.config.project import Project
from monitor.scan.recorder import judge_only
from monitor.scan.results import Target, targets_of
from monitor.scan.run import Engine
from monitor.workers import Ended, Job, Pool, TableScanned, WorkerLimits

CYCLES, IN_A_JOB, WORKERS = 9, 20, 4


def main() -> None:
    """Print the comparison."""
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "source.db"
        build(database)
        file = Path(folder) / "tablewatch.yaml"
        file.write_text(config(Path(folder), database), encoding="utf-8")
        project = Project(load(file))
        targets = targets_of(project, [table.name for table in project.config.tables])
        in_process = _engine(targets)
        rows = [("the engine, one process", in_process)]
        for concurrency in (1, 2):
            costs, memory, starts = _pool(targets, concurrency)
            rows.append((f"the pool, {concurrency} of {WORKERS} workers for the source", costs))
    print(
        f"**{TABLES} SQLite tables x 5 checks, looked at and judged, nothing remembered; jobs of {IN_A_JOB} tables.**\n"
    )
    head = ("work", "first cycle wall s", "cpu s", f"later cycles (median of {CYCLES - 1}) wall s", "cpu s")
    print(table(head, [(name, *_shown(costs)) for name, costs in rows]))
    print()
    print(table(("memory (proportional set size)", "MB"), memory))
    print()
    print(table(("from nothing to the first answer", "s"), starts))


def _shown(costs: Sequence[Cost]) -> tuple[str, ...]:
    later = median(costs[1:])
    return tuple(f"{seconds:.2f}" for seconds in (costs[0].wall, costs[0].cpu, later.wall, later.cpu))


def _engine(targets: Sequence[Target]) -> list[Cost]:
    engine = Engine(SystemClock())
    return [_measured(lambda: engine.run(targets), [os.getpid()]) for _ in range(CYCLES)]


def _pool(
    targets: Sequence[Target], concurrency: int
) -> tuple[list[Cost], list[tuple[str, str]], list[tuple[str, str]]]:
    begun = perf_counter()
    with Pool(size=WORKERS, clock=SystemClock(), proven=["s"], wear=WorkerLimits(runs=10**9)) as pool:
        _cycle(pool, targets[:1])
        starts = [("the pool starts, with its forkserver", f"{perf_counter() - begun:.2f}")]
        pool.limit({"s": WORKERS})
        begun = perf_counter()
        _cycle(pool, targets[: IN_A_JOB * WORKERS])
        starts.append(
            (f"{WORKERS - 1} more workers start, and plan {IN_A_JOB * WORKERS} tables", f"{perf_counter() - begun:.2f}")
        )
        pool.limit({"s": concurrency})
        forkserver, *workers = pool.processes
        costs = [_measured(lambda: _cycle(pool, targets), [os.getpid(), *workers]) for _ in range(CYCLES)]
        memory = [
            ("the forkserver", f"{_shared_memory_mb(forkserver):.0f}"),
            (f"{len(workers)} workers", f"{sum(map(_shared_memory_mb, workers)):.0f}"),
        ]
    return costs, memory, starts


def _cycle(pool: Pool, targets: Sequence[Target]) -> None:
    starts = range(0, len(targets), IN_A_JOB)
    for start in starts:
        pool.submit(Job(start, tuple(targets[start : start + IN_A_JOB]), timedelta(minutes=5)))
    ended = 0
    while ended < len(starts):
        for event in pool.events(60.0):
            if isinstance(event, TableScanned):
                judge_only([event.looked], store=None)
            ended += isinstance(event, Ended)


def _measured(work: Callable[[], object], processes: Sequence[int]) -> Cost:
    wall, cpu = perf_counter(), sum(map(_cpu_s, processes))
    work()
    return Cost(perf_counter() - wall, sum(map(_cpu_s, processes)) - cpu)


def _cpu_s(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _shared_memory_mb(process: int) -> float:
    lines = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1e3


if __name__ == "__main__":
    main()
