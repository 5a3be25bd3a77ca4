"""When the daemon ends, however that happens, nothing of its workers is left."""

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from monitor.clock import SystemClock
from monitor.workers import Pool
from tests.monitor.workers.conftest import ROOT, Ear, job, make_tables, target, wait_for_the_end_of

HANGING = ["hang", "deaf", "stop", "children"]


@contextmanager
def _daemon(folder, hows):
    """Run a daemon whose workers hang, and give it with the ids of its processes."""
    make_tables(folder, "a")
    command = [sys.executable, "-m", "tests.monitor.workers.daemon", str(folder), *hows]
    with subprocess.Popen(
        command,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        process_group=0,
    ) as process:
        try:
            yield process, json.loads(process.stdout.readline())
        finally:
            process.kill()


def _children(folder):
    return [int(pid) for pid in (folder / "children").read_text().split()]


@pytest.mark.parametrize("way", ["killed", "gone"])
def test_the_workers_of_a_daemon_that_ends_end_with_it(tmp_path, way):
    """Killed, or ended without a word: forkserver, workers that hang, and what they started are gone; so are files."""
    with _daemon(tmp_path, HANGING) as (daemon, found):
        children = _children(tmp_path)
        if way == "killed":
            daemon.kill()
        else:
            daemon.communicate(b"x")
        daemon.wait()
        wait_for_the_end_of(found["forkserver"], *found["workers"], *children)
        assert not Path(found["folder"]).exists()


def test_the_workers_of_a_daemon_that_is_killed_with_its_forkserver_end(tmp_path):
    """When both are killed at once, the kernel ends the workers."""
    with _daemon(tmp_path, ["hang", "deaf", "stop"]) as (daemon, found):
        os.kill(found["forkserver"], signal.SIGSTOP)
        daemon.kill()
        os.kill(found["forkserver"], signal.SIGKILL)
        daemon.wait()
        wait_for_the_end_of(found["forkserver"], *found["workers"])
    left = Path(found["folder"])
    assert left.is_dir()
    with Pool(size=1, clock=SystemClock()) as pool:
        Ear(pool).run(job(target(make_tables(tmp_path, "a", file="b.sqlite"), "a")))
        assert not left.exists()  # the next forkserver removes unlocked folders


def test_a_daemon_that_is_killed_before_its_forkserver_is_ready_leaves_nothing(tmp_path):
    """While it imports, the forkserver ends with the daemon."""
    script = (
        "import sys; from monitor.workers.spawner import Spawner; print(Spawner().pid, flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as daemon:
        forkserver = int(daemon.stdout.readline())
        daemon.kill()
        daemon.wait()
        wait_for_the_end_of(forkserver)
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_on_the_terminal_is_the_daemons_alone(tmp_path):
    """An interrupt of the foreground group ends no worker by itself; they end because the daemon does."""
    with _daemon(tmp_path, ["hang"]) as (daemon, found):
        assert os.getpgid(daemon.pid) == daemon.pid
        everybody = [found["forkserver"], *found["workers"]]
        assert daemon.pid not in {os.getpgid(pid) for pid in everybody}
        os.killpg(daemon.pid, signal.SIGINT)
        daemon.wait()
        wait_for_the_end_of(*everybody)
