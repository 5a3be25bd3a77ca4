"""Measure a piece of work: wall and processor seconds, memory."""

import resource
import statistics
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time


@dataclass(frozen=True, slots=True)
class Cost:
    """What one run of a piece of work took, in seconds."""

    wall: float
    cpu: float


def measure(work: Callable[[], object]) -> Cost:
    """Do a piece of work once and give what it took."""
    wall, cpu = perf_counter(), process_time()
    work()
    return Cost(perf_counter() - wall, process_time() - cpu)


def measure_command(
    command: Sequence[str], environment: Mapping[str, str] | None = None, folder: Path | None = None
) -> Cost:
    """Run a command once, which has to succeed, and return what it and its children took."""
    before, wall = resource.getrusage(resource.RUSAGE_CHILDREN), perf_counter()
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Cost(perf_counter() - wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def median(costs: Sequence[Cost]) -> Cost:
    """Return the medians of several runs."""
    return Cost(statistics.median(cost.wall for cost in costs), statistics.median(cost.cpu for cost in costs))


def memory_mb() -> float:
    """Return the memory this process holds now, in MB (resident; Linux)."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 1e6


def peak_mb() -> float:
    """Return the most memory this process ever held, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table."""
    lines = [" | ".join(map(str, row)) for row in (head, ["---"] * len(head), *rows)]
    return "\n".join(f"| {line} |" for line in lines)
