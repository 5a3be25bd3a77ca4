"""What is said of daemons: which run, what they refuse, what waits, what is left out."""

from datetime import timedelta
from types import SimpleNamespace

from monitor.summaries.daemons import DaemonState, DaemonStates
from store import DaemonRecord, Quarantine, Scheduled, StoreInUse
from tests.monitor.shop import NOW


def _daemon(**given):
    known = {"id": "a", "host": "vm", "pid": 7, "version": "1", "started_at": NOW - timedelta(days=2)}
    return DaemonRecord(**known | {"heartbeat_at": NOW - timedelta(seconds=5), "config_loaded_at": NOW} | given)


def _said(*daemons, waits_since=None, quarantines=(), holder=None):
    return list(DaemonStates(NOW, daemons, waits_since, quarantines, holder).lines())


def test_a_daemon_that_gives_signs_runs():
    """Its host, process, start and last sign are reported, and what the table that waits longest waits for."""
    said = _said(_daemon(), waits_since=NOW - timedelta(minutes=3))
    assert said == [
        "daemon on vm (pid 7): running since 2026-11-18 09:00 UTC, last heartbeat 5 s ago",
        "longest wait of a due table: 3 min",
    ]


def test_a_daemon_that_was_killed_is_silent_and_one_that_stopped_says_so():
    """Without a running one, the output says how to start one."""
    said = _said(_daemon(heartbeat_at=NOW - timedelta(minutes=10)), _daemon(stopped_at=NOW - timedelta(minutes=2)))
    assert said == [
        "daemon on vm (pid 7): sent its last heartbeat 10 min ago and did not shut down cleanly",
        "daemon on vm (pid 7): stopped 2 min ago",
        "no daemon is running; start one with 'tablewatch run'",
    ]


def test_a_daemon_that_holds_the_store_and_gives_no_sign_is_not_called_none(tmp_path):
    """A second one would be rejected, so it is not proposed."""
    holder = StoreInUse(tmp_path / "a.db.lock", pid=7, host="vm", since=NOW)
    said = _said(_daemon(heartbeat_at=NOW - timedelta(minutes=10)), holder=holder)
    assert said[-1] == "process 7 on vm holds the daemon lock of the store but sends no heartbeat; see its log"
    unsaid = StoreInUse(tmp_path / "a.db.lock", pid=None, host=None, since=NOW)
    assert _said(holder=unsaid)[-1].startswith("a process holds the daemon lock")


def test_a_refused_configuration_and_a_quarantined_check_are_told():
    """What a daemon does not do, and why."""
    crashes = Quarantine("orders.key", 5, NOW + timedelta(hours=1), NOW)
    forgiven = Quarantine("orders.other", 2, None, NOW)
    said = _said(_daemon(config_error="tablewatch.yaml:3: no"), quarantines=[crashes, forgiven])
    assert said[1:] == [
        "  does not use all of the configuration on disk: tablewatch.yaml:3: no",
        "orders.key is suspended until 2026-11-20 10:00 UTC: its worker process ended 5 times",
    ]


def test_delayed_tables_are_named_up_to_five():
    """A table that did not run shows that the limit of its source delays it."""
    rows = [Scheduled(f"t{number}", "every 1h", "UTC", NOW, NOW, NOW - timedelta(hours=1)) for number in range(7)]
    state = DaemonStates(NOW, [_daemon()], None, (), delayed=rows)
    assert list(state.lines())[-1] == "delayed by the daily limit of their source: t0, t1, t2, t3, t4 and 2 more"
    assert DaemonState.of(state).plain()["delayed"][0] == {
        "table": "t0",
        "since": (NOW - timedelta(hours=1)).isoformat(),
    }


def test_the_published_form():
    """Programs get the same, with times and seconds."""
    found = DaemonState.of(DaemonStates(NOW, [_daemon()], NOW - timedelta(seconds=4), [])).plain()
    assert (found["daemons"][0]["state"], found["lag_s"], found["quarantined"]) == ("running", 4.0, [])


def _transaction(*daemons):
    """Return a transaction that sees daemons, on a store in which nothing is late."""
    return SimpleNamespace(
        schedule=SimpleNamespace(clock=lambda now: now, lag=lambda _now: None, delayed=list),
        daemons=SimpleNamespace(records=lambda: daemons, quarantines=lambda: ()),
    )


def test_daemons_that_were_killed_long_ago_are_not_listed():
    """Where a daemon is killed each day, on hosts of new names, only those of the last hour are reported."""
    old = [_daemon(heartbeat_at=NOW - timedelta(hours=hours)) for hours in range(1, 150)]
    fresh = _daemon(heartbeat_at=NOW - timedelta(minutes=10))
    assert DaemonStates.of(_transaction(_daemon(), fresh, *old), NOW, None).daemons == [_daemon(), fresh]
    assert DaemonStates.of(_transaction(*old), NOW, None).daemons == [old[0]]
    stopped = _daemon(stopped_at=NOW - timedelta(hours=2))
    assert DaemonStates.of(_transaction(stopped), NOW, None).daemons == []


def test_many_daemons_that_were_killed_in_an_hour_are_counted():
    """A container that is killed each minute does not fill the page."""
    said = _said(_daemon(), *(_daemon(heartbeat_at=NOW - timedelta(minutes=minutes)) for minutes in range(2, 42)))
    assert len(said) == 5
    assert said[-1] == "and 37 more in the last hour that did not shut down cleanly"
