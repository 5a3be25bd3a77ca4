"""Several writers at once: nothing is lost, nothing is doubled."""

import os
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import store as package
from incidents import Incident
from store import Result, Store, StoreConflict, _engines, open_store
from tests.store.made import AT, HOUR, opened, result, run, watch

HOME = Path(__file__).parents[2]
PROCESSES, TIMES = 4, 25


def test_no_update_is_lost_between_processes(url: str) -> None:
    """Four processes that read and then write, without a word between them, lose nothing of each other's."""
    with open_store(url) as store:
        with store.writing() as tx:
            tx.results.save_watches([watch("counter")])
            tx.incidents.open(opened(), recorded_at=AT, actor="tablewatch")
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(package.__file__).parents[1]), str(HOME)])}
        writers = [
            subprocess.Popen(
                [sys.executable, "-m", "tests.store.writer", url, f"writer {number}", str(TIMES)],
                env=environment,
                cwd=HOME,
                stderr=subprocess.PIPE,
            )
            for number in range(PROCESSES)
        ]
        said = [writer.communicate()[1] for writer in writers]
        assert [writer.returncode for writer in writers] == [0] * PROCESSES, said
        with store.reading() as tx:
            assert tx.results.watches()["counter"].fail_streak == PROCESSES * TIMES
            events = tx.incidents.events(1)
        assert len(events) == 1 + PROCESSES * TIMES
        assert len({event.change for event in events[1:]}) == PROCESSES * TIMES
        assert store.rebuild_check() == []


def test_two_writers_open_one_incident(url: str) -> None:
    """Of two writers that open an incident of one fingerprint at the same moment, one fails with StoreConflict."""
    both_ready = threading.Barrier(2)

    def open_it(store: Store) -> Incident | StoreConflict:
        both_ready.wait()
        try:
            with store.writing() as tx:
                return tx.incidents.open(opened(), recorded_at=AT, actor="tablewatch")
        except StoreConflict as conflict:
            return conflict

    with open_store(url) as one, open_store(url) as two, ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(open_it, [one, two]))
        assert sorted(type(outcome).__name__ for outcome in outcomes) == ["Incident", "StoreConflict"]
        with one.reading() as tx:
            assert tx.counts().open_incidents == 1


def test_threads_share_a_store(store: Store) -> None:
    """Threads of one process write one after the other and read beside each other."""

    def write(number: int) -> None:
        one = run(number, at=AT + number * HOUR)
        with store.writing() as tx:
            tx.results.add_runs([one], [result(one)])
        with store.reading() as tx:
            found: Result = tx.results.latest()["crm.customers.not-null"]
            assert found.measured_at >= one.started_at

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(24)))
    with store.reading() as tx:
        assert tx.counts().measurements == 24


def test_a_store_made_by_two_at_once_is_one_store(url: str) -> None:
    """Two that find no store make one between them, and both can use it."""
    both_ready = threading.Barrier(2)

    def make_it(name: str) -> None:
        both_ready.wait()
        with open_store(url) as store, store.writing() as tx:
            tx.results.save_watches([watch(name)])

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(make_it, ["a.x", "b.y"]))
    with open_store(url) as store, store.reading() as tx:
        assert set(tx.results.watches()) == {"a.x", "b.y"}


def test_what_was_committed_survives_a_kill(tmp_path: Path, file: Path) -> None:
    """A killed process leaves a file and its log; opened again, everything committed is there, and nothing else."""
    crashed = tmp_path / "crashed.db"
    with open_store(f"sqlite:///{file}") as store:
        with store.writing() as tx:
            tx.results.save_watches([watch("kept")])
        with store.writing() as tx:
            tx.results.save_watches([watch("not kept")])
            for end in ("", "-wal"):  # what is on the disk when the process dies here
                shutil.copy(f"{file}{end}", f"{crashed}{end}")
    with open_store(f"sqlite:///{crashed}") as store, store.reading() as tx:
        assert set(tx.results.watches()) == {"kept"}


def test_only_the_daemon_moves_the_log_into_the_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log of an open store only grows in an ordinary process; in the daemon it starts over when it is full."""
    monkeypatch.setattr(_engines, "PAGES_BEFORE_CHECKPOINT", 20)

    def write_much(store: Store) -> int:
        for number in range(60):
            with store.writing() as tx:
                tx.results.add_runs([run(number)], [result(run(number))])
        return Path(f"{file}-wal").stat().st_size

    with open_store(f"sqlite:///{file}") as store:
        ordinary = write_much(store)
    file.unlink()
    with open_store(f"sqlite:///{file}", checkpoints=True) as store:
        assert write_much(store) < ordinary / 4
