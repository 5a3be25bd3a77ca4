"""A daemon with a pool, for tests that kill it: it looks at endless tables, says so, and does nothing more."""

import json
import os
import sys
from datetime import timedelta
from pathlib import Path

from monitor.clock import SystemClock
from monitor.workers import Job, Pool, TableBegan
from sources import SourceSpec
from tests.monitor.workers.conftest import target
from tests.monitor.workers.deadly import Deadly


def main(folder: Path, hows: list[str]) -> None:
    """Begin a job per way to hang, print the ids of all processes, and wait for the end."""
    spec = SourceSpec("shop", folder, url="sqlite:///shop.sqlite", query_timeout=timedelta(hours=1))
    pool = Pool(size=len(hows), clock=SystemClock(), concurrency={"shop": len(hows)}, proven=["shop"])
    for number, how in enumerate(hows):
        checks = (("x", Deadly(how=how, place=str(folder / how))),)
        pool.submit(Job(number, (target(spec, "a", checks),), timedelta(hours=1)))
    begun = 0
    while begun < len(hows):
        begun += sum(isinstance(event, TableBegan) for event in pool.events(60.0))
    while not all((folder / how).exists() for how in hows):
        pool.events(0.1)
    workers = [member.pid for member in pool._crew.members.values()]
    spawner = pool._crew._spawner
    found = {"forkserver": spawner and spawner.pid, "workers": workers, "folder": spawner and spawner._folder}
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()
    if sys.stdin.read(1) == "x":
        os._exit(0)
    while True:
        pool.events(60.0)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
