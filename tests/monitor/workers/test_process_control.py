"""How much memory there is, as the machine and its containers say."""

import os
from pathlib import Path

import pytest

from monitor.workers.process_control import allowed_memory, memory_of

MB = 1024 * 1024


@pytest.mark.parametrize(
    ("limits", "allowed"),
    [
        ({}, 6000),
        ({"sys/fs/cgroup/memory.max": "max\n"}, 6000),
        ({"sys/fs/cgroup/system.slice/tablewatch.service/memory.max": f"{4000 * MB}\n"}, 3000),
        ({"sys/fs/cgroup/memory.max": f"{1000 * MB}", "sys/fs/cgroup/system.slice/memory.max": f"{2000 * MB}"}, 750),
        ({"sys/fs/cgroup/other.slice/memory.max": f"{100 * MB}"}, 6000),
    ],
)
def test_a_worker_may_hold_three_quarters_of_what_there_is(
    tmp_path: Path, limits: dict[str, str], allowed: int
) -> None:
    """The machine's memory, or the smallest limit of the groups that the process is in."""
    files = {
        "proc/meminfo": f"MemFree: 5 kB\nMemTotal:        {8000 * 1024} kB\n",
        "proc/self/cgroup": "0::/system.slice/tablewatch.service\n",
        **limits,
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="ascii")
    assert allowed_memory(tmp_path) == allowed * MB


def test_this_machine_has_some() -> None:
    """More than this process holds; one that is gone holds none."""
    assert 0 < memory_of(os.getpid()) < allowed_memory()
    assert memory_of(2**22 + 1) == 0
