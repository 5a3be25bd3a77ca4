"""Jobs go to workers and what they find comes back, whatever else hangs, grows or fails."""

import errno
import os
import signal
import sqlite3
import threading
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import duckdb
import pytest

from checks import Measurement, Status
from checks._judge import judge
from monitor.clock import SystemClock
from monitor.workers import Ended, Overdue, Pool, TableBegan, TableScanned, WorkerLimits
from monitor.workers.spawner import Spawner
from sources import SourceSpec
from tests.monitor.workers.conftest import (
    CHECKS,
    LONG,
    MINUTE,
    ROOT,
    Ear,
    job,
    make_tables,
    target,
    wait_for_the_end_of,
)
from tests.monitor.workers.deadly import Deadly, black_hole


@pytest.fixture
def make_pool(monkeypatch):
    """Return pools that are closed when the test ends."""
    monkeypatch.syspath_prepend(str(ROOT))
    pools = []

    def make(**given):
        pool = Pool(**{"size": 2, "clock": SystemClock(), **given})
        pools.append(pool)
        return Ear(pool)

    yield make
    for pool in pools:
        pool.close()


def _members(pool):
    return pool._crew.members.values()


def _pids(pool):
    return {member.pid for member in _members(pool) if member.pid is not None}


def test_a_job_is_told_in_order(ear, shop):
    """Each table is begun, then found, and the job ends; the checks are those that were given."""
    job_ = job(target(shop, "a"), target(shop, "b"))
    heard = ear.run(job_)
    assert [(type(event), getattr(event, "table", None)) for event in heard] == [
        (TableBegan, "a"), (TableScanned, None), (TableBegan, "b"), (TableScanned, None), (Ended, None),
    ]  # fmt: skip
    table_result = heard[1].table_result
    assert table_result.target is job_.targets[0]
    for one, (check_id, check) in zip(table_result.measured, table_result.target.subject.checks, strict=True):
        assert one.check_id == check_id
        assert one.check is check
        assert judge(one.check, one.answer).status is Status.PASS
    assert table_result.started_at <= table_result.ended_at


def test_a_table_without_checks_is_found_with_nothing(ear, shop):
    """A table that asks nothing is no special case, check by check neither."""
    for alone in (False, True):
        ear.heard.clear()
        ear.run(job(target(shop, "a", ()), target(shop, "b"), alone=alone))
        assert [len(event.table_result.measured) for event in ear.of(TableScanned)] == [0, 2]


def test_a_source_that_is_away_is_told_at_once(ear, tmp_path):
    """When nothing can be reached, every table is unknown without being begun one by one."""
    nowhere = SourceSpec("nowhere", tmp_path, url="sqlite:///nowhere.sqlite")
    ear.run(job(target(nowhere, "a"), target(nowhere, "b")))
    assert [event.table for event in ear.of(TableBegan)] == ["a"]
    assert {one.answer.reason for event in ear.of(TableScanned) for one in event.table_result.measured} == {
        "unreachable"
    }


def test_a_plan_is_made_once_and_travels(ear, shop):
    """What one worker planned another one runs, and a table that changed is planned again."""
    ear.run(job(target(shop, "a")))
    kept = ear.pool._plans
    plan = kept.get(target(shop, "a").subject)
    assert plan
    ear.run(job(target(shop, "a")), job(target(shop, "a")))
    assert kept.get(target(shop, "a").subject) is plan
    with closing(sqlite3.connect(shop.base / "shop.sqlite")) as connection, connection:
        connection.execute("ALTER TABLE a RENAME COLUMN id TO key")
    ear.heard.clear()
    ear.run(job(target(shop, "a")))
    (found,) = ear.of(TableScanned)
    assert found.table_result.measured[0].answer.reason == "misconfigured"
    assert isinstance(found.table_result.measured[1].answer, Measurement)
    with closing(sqlite3.connect(shop.base / "shop.sqlite")) as connection, connection:
        connection.execute("DROP TABLE a")
    ear.run(job(target(shop, "a")))
    assert kept.get(target(shop, "a").subject) is None


def test_what_hangs_delays_no_other_source(make_pool, tmp_path):
    """Twice as many hung jobs as workers, of one source: the healthy source's all end while each of them hangs."""
    sick, well = make_tables(tmp_path, file="sick.sqlite"), make_tables(tmp_path, "a", file="well.sqlite")
    ear = make_pool(size=4, proven=["well"])
    hung = [job(target(sick, "endless")) for _ in range(8)]
    for one in hung:
        ear.pool.submit(one)
    ear.until(lambda heard: len(heard) == 2)  # two have begun: the limit of the source
    ear.run(*(job(target(well, "a")) for _ in range(12)))
    begun = {event.job for event in ear.of(TableBegan)} & {one.id for one in hung}
    assert len(begun) == 2
    assert not ear.of(Overdue)
    assert len(ear.of(Ended)) == 12
    assert ear.pool.state.waiting == 6


def test_a_statement_that_cannot_be_stopped_ends_its_worker_at_the_query_timeout(ear, tmp_path):
    """One long function call hears no interrupt: the worker is ended long before the deadline of the table."""
    spec = replace(make_tables(tmp_path, "a"), query_timeout=timedelta(milliseconds=300))
    with closing(sqlite3.connect(tmp_path / "shop.sqlite")) as connection, connection:
        call = "instr(zeroblob(500000000), zeroblob(500000) || x'01')"
        connection.execute(f"CREATE VIEW stuck AS SELECT {call} AS id")
    ear.heard.clear()
    ear.pool.submit(job(target(spec, "stuck"), deadline=LONG))
    ear.until(lambda heard: any(isinstance(event, Overdue) for event in heard))
    (overdue,) = ear.of(Overdue)
    assert {one.answer.reason for one in overdue.table_result.measured} == {"timeout"}
    assert "could not be stopped" in str(overdue.table_result.measured[0].answer.message)
    ear.run(job(target(replace(spec, query_timeout=LONG), "a")))


def _hung_places(folder):
    """Return sources that hang, each in another way."""
    sqlite = make_tables(folder, file="sick.sqlite")
    with duckdb.connect(str(folder / "sick.duckdb")) as connection:
        endless = "SELECT a.range AS n FROM range(10000000) a, range(10000000) b WHERE (a.range * b.range) % 7 = 8"
        connection.execute(f"CREATE VIEW endless AS {endless}")
    duck = SourceSpec("duck", folder, url="duckdb:///sick.duckdb", query_timeout=LONG, threads=1)
    return [target(sqlite, "endless"), target(duck, "endless")]


def test_a_pool_that_is_full_of_hung_jobs_grows_for_one_that_answers(make_pool, tmp_path):
    """When sources that used to answer all hang at once, a source that still answers gets a worker of its own."""
    well = make_tables(tmp_path, "a", file="well.sqlite")
    with black_hole() as server:
        url = f"postgresql://u:p@127.0.0.1:{server.getsockname()[1]}/db"
        hole = SourceSpec("hole", tmp_path, url=url, connect_timeout=LONG)
        hung = [*_hung_places(tmp_path), target(hole, "orders")]
        ear = make_pool(size=3, proven=["sick", "duck", "hole", "well"])
        for one in hung:
            ear.pool.submit(job(one))
        ear.until(lambda heard: len(heard) == 3)
        assert ear.pool.state.busy == 3
        ear.run(*(job(target(well, "a")) for _ in range(3)))
        assert not ear.of(Overdue)
        assert ear.pool.state.busy - len(hung) in {0, 1}
        ear.pool.close()


def test_new_sources_that_all_hang_leave_a_worker_for_one_that_answers(make_pool, tmp_path):
    """More of them than there are workers do not hold up a source that has answered before."""
    ear = make_pool(size=2)
    places = [make_tables(tmp_path, file=f"sick{number}.sqlite") for number in range(4)]
    for place in places:
        ear.pool.submit(job(target(place, "endless")))
    well = make_tables(tmp_path, "a", file="well.sqlite")
    ear.pool.limit({}, proven=["well"])
    ear.run(job(target(well, "a")))
    assert ear.pool.state.waiting >= 1


def test_a_new_source_is_not_held_up_by_one_that_hangs(make_pool, tmp_path):
    """Nothing is known of either at first: the one that hangs has its limit, the other one gets a worker."""
    ear = make_pool(size=2)
    sick = make_tables(tmp_path, file="sick.sqlite")
    for _ in range(4):
        ear.pool.submit(job(target(sick, "endless")))
    ear.until(lambda heard: len(heard) == 2)
    ear.run(job(target(make_tables(tmp_path, "a", file="new.sqlite"), "a")))
    assert ear.pool.state.waiting == 2


def test_an_overdue_table_leaves_the_rest_to_the_caller(ear, shop):
    """Of the tables after an overdue one nothing is reported: they are to be submitted again, and then found."""
    ear.pool.submit(job(target(shop, "a"), target(shop, "endless"), target(shop, "b"), deadline=MINUTE))
    ear.until(lambda _: [event for event in ear.of(TableBegan) if event.table == "endless"])
    ear.pass_time(MINUTE)
    ear.until(lambda _: ear.of(Overdue))
    assert [event.table_result.target.subject.name for event in ear.of(TableScanned)] == ["a"]
    assert ear.of(Ended) == []
    ear.run(job(target(shop, "b")))


@pytest.mark.parametrize("reason", ["runs", "memory"])
def test_a_worn_worker_is_replaced(make_pool, shop, tmp_path, reason):
    """After so many tables, or when it has grown, a worker is replaced; no job notices."""
    wear = WorkerLimits(runs=2) if reason == "runs" else WorkerLimits(memory=32 * 1024 * 1024)
    ear, seen = make_pool(size=1, wear=wear), []
    for number in range(6):
        place = tmp_path / f"pid{number}"
        greedy = Deadly(how="grow") if reason == "memory" else Deadly(how="nothing")
        checks = (("itself", Deadly(how="itself", place=str(place))), ("grow", greedy))
        ear.run(job(target(shop, "a", checks)))
        while ear.pool.state.busy or any(member.worn for member in _members(ear.pool)):
            ear.pool.events(1.0)
        seen.append(place.read_text().split()[0] if place.exists() else None)
    assert len({pid for pid in seen if pid}) >= 3
    assert len(ear.of(Ended)) == 6
    wait_for_the_end_of(*({int(pid) for pid in seen if pid} - _pids(ear.pool)))


def test_a_worker_is_a_session_with_files_of_its_own(make_pool, shop, tmp_path):
    """Ctrl-C on the daemon's terminal does not reach it, and what it leaves behind is removed with it."""
    ear, place = make_pool(), tmp_path / "itself"
    ear.run(job(target(shop, "a", (("x", Deadly(how="itself", place=str(place))),))))
    pid, session, folder = place.read_text().split()
    assert pid == session
    assert os.getsid(ear.pool._crew._spawner.pid) != os.getsid(0)
    assert Path(folder).stat().st_mode & 0o777 == 0o700
    ear.pool.close()
    assert not Path(folder).parent.exists()
    wait_for_the_end_of(int(pid))


def test_a_worker_has_no_signal_handler_of_the_daemon(make_pool, shop, tmp_path):
    """What the daemon catches, blocks or ignores is as usual in a worker."""
    ours = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    before = {number: signal.signal(number, signal.SIG_IGN) for number in ours}
    signal.pthread_sigmask(signal.SIG_BLOCK, ours)
    try:
        ear, place = make_pool(), tmp_path / "signals"
        ear.run(job(target(shop, "a", (("x", Deadly(how="signals", place=str(place))),))))
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ours)
        for number, handler in before.items():
            signal.signal(number, handler)
    masks = {name: int(mask, 16) for name, mask in (line.split(":\t") for line in place.read_text().splitlines())}
    bits = sum(1 << (number - 1) for number in (*ours, signal.SIGCHLD))
    assert masks["SigBlk"] == 0
    assert masks["SigIgn"] & bits == 0
    assert masks["SigCgt"] & bits == 0


def test_the_forkserver_has_one_thread(make_pool, monkeypatch):
    """Forking is safe: what it imports starts no thread, or has ended it."""
    threads = []
    news = Spawner.news

    def listening(spawner):
        found = news(spawner)
        threads.extend(one.threads for one in found if hasattr(one, "threads"))
        return found

    monkeypatch.setattr(Spawner, "news", listening)
    ear = make_pool()
    while not threads:
        ear.pool.events(1.0)
    assert threads == [1]


def test_a_forkserver_that_is_killed_is_replaced_and_jobs_go_on(make_pool, shop):
    """Its workers end with it; what they had in hand is looked at by those of its successor."""
    ear = make_pool()
    both = job(target(shop, "a"), target(shop, "endless"))
    ear.pool.submit(both)
    ear.until(lambda _: [event for event in ear.of(TableBegan) if event.table == "endless"])
    workers, forkserver = _pids(ear.pool), ear.pool._crew._spawner.pid
    os.kill(forkserver, 9)
    ear.until(lambda _: len([event for event in ear.of(TableBegan) if event.table == "endless"]) == 2)
    wait_for_the_end_of(*workers)
    assert _pids(ear.pool).isdisjoint(workers)
    assert [type(event) for event in ear.heard].count(TableScanned) == 1
    ear.run(job(target(shop, "b")))
    assert ear.pool.state.trouble is None


def test_no_process_to_be_had_is_trouble_that_passes(make_pool, shop, monkeypatch):
    """While no worker can be made, jobs wait, the pool says why, and goes on as soon as one can be made."""
    monkeypatch.setattr(Spawner, "program", "tests.monitor.workers.unlucky_forkserver")
    ear = make_pool(size=1)
    ear.pool.submit(job(target(shop, "a")))
    while ear.pool.state.trouble is None:
        ear.heard += ear.pool.events(0.2)
    assert ear.pool.state.trouble == "no worker can be started (EAGAIN)"
    assert not ear.heard
    ear.until(lambda _: ear.of(Ended))
    assert ear.pool.state.trouble is None


def test_a_forkserver_that_cannot_be_started_is_trouble_that_passes(make_pool, shop, monkeypatch):
    """The daemon lives without workers until there can be some."""
    failures = [OSError(errno.EAGAIN, "no more processes"), OSError(errno.EMFILE, "no more files")]

    def start(preload):
        if failures:
            raise failures.pop()
        return Spawner(preload)

    monkeypatch.setattr("monitor.workers.worker_processes.Spawner", start)
    ear = make_pool()
    assert "cannot be started" in ear.pool.state.trouble
    ear.run(job(target(shop, "a")))
    assert not failures


def test_waking_ends_a_wait(ear):
    """Another thread, or a signal handler, ends a wait; waking twice is waking once."""
    ear.pool.wake()
    ear.pool.wake()
    assert ear.pool.events(3600.0) == []
    waker = threading.Timer(0.05, ear.pool.wake)
    waker.start()
    assert ear.pool.events(3600.0) == []
    waker.join()


def test_closing_ends_everybody(make_pool, shop):
    """No process survives, whatever it does, and closing twice is closing once."""
    ear = make_pool(size=2)
    deaf = job(target(shop, "a", (("x", Deadly(how="deaf")),)))
    ear.pool.submit(deaf)
    ear.pool.submit(job(target(shop, "endless")))
    ear.until(lambda heard: len(heard) >= 1)
    pids = {*_pids(ear.pool), ear.pool._crew._spawner.pid}
    ear.pool.close(timedelta(milliseconds=200))
    wait_for_the_end_of(*pids)
    ear.pool.close()
    ear.pool.wake()


def test_closing_before_the_forkserver_is_ready_is_no_wait_for_it(make_pool, shop):
    """A pool that is closed right away leaves nothing."""
    ear = make_pool()
    ear.pool.submit(job(target(shop, "a")))
    ear.pool.events(0.0)
    forkserver = ear.pool._crew._spawner.pid
    ear.pool.close(timedelta(0))
    wait_for_the_end_of(forkserver)


def test_time_in_which_nobody_watched_makes_nobody_late(make_pool, shop):
    """After a pause of the daemon, or a suspended machine, a worker still has most of its time."""
    ear = make_pool()
    ear.pool.submit(job(target(shop, "endless"), deadline=timedelta(minutes=5)))
    ear.until(lambda heard: len(heard) == 1)
    watch = ear.pool._watch
    ear.pool._watch = type("Later", (), {"monotonic": lambda _: watch.monotonic() + 3600})()
    ear.pool.events(0.0)
    assert not ear.of(Overdue)
    assert ear.pool.state.busy == 1


def test_checks_are_compared_by_what_they_are(ear, shop):
    """Another set of checks under the same name is another plan."""
    ear.run(job(target(shop, "a")))
    fewer = target(shop, "a", CHECKS[:1])
    ear.heard.clear()
    ear.run(job(fewer))
    (found,) = ear.of(TableScanned)
    assert [one.check_id for one in found.table_result.measured] == ["a.not-null"]
    assert found.table_result.target == replace(fewer)


def test_what_is_used_is_given_back(make_pool, shop):
    """However many workers come and go, descriptors stay as many, and no process waits to be waited for."""
    before = len(list(Path("/proc/self/fd").iterdir()))
    ear = make_pool(size=2, wear=WorkerLimits(runs=1))
    for _ in range(10):
        ear.run(job(target(shop, "a")), job(target(shop, "b", (("x", Deadly(how="nothing")),))))
        while ear.pool.state.busy or any(member.worn for member in _members(ear.pool)):
            ear.pool.events(1.0)
    forkserver = ear.pool.processes[0]
    children = Path(f"/proc/{forkserver}/task/{forkserver}/children").read_text().split()
    assert set(map(int, children)) >= _pids(ear.pool)
    assert len(children) <= 6
    assert len(list(Path(f"/proc/{forkserver}/fd").iterdir())) <= 8
    assert len(list(Path(ear.pool._crew._spawner._folder).iterdir())) <= 6
    ear.pool.close()
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_what_a_worker_left_behind_is_waited_for(make_pool, shop, tmp_path):
    """In a container whose first process is the daemon, no other process waits for a killed worker's children."""
    ear, place = make_pool(), tmp_path / "children"
    leaving = job(target(shop, "a", (("x", Deadly(how="children", place=str(place))),)), deadline=MINUTE)
    ear.pool.submit(leaving)
    ear.until_there(place)
    ear.pass_time(MINUTE)
    ear.until(lambda _: ear.of(Overdue))
    children = [int(pid) for pid in place.read_text().split()]
    while any(Path(f"/proc/{pid}").exists() for pid in children):
        ear.pool.events(0.2)
    assert ear.pool.processes
