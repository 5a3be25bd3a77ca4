"""Which daemons there are, and which checks kill their workers."""

from dataclasses import replace
from datetime import timedelta

from store import DaemonConfig, DaemonRecord, Pruned, Quarantine, Store
from tests.store.made import AT, HOUR

DAY = timedelta(days=1)
DAEMON = DaemonRecord("d1", "host", 42, "0.1.0", AT, AT, AT)


def test_a_daemon_is_as_it_said_last(store: Store) -> None:
    """What a daemon says of itself replaces what it said before; the newest daemon comes first."""
    now = replace(DAEMON, heartbeat_at=AT + HOUR, config_error="no such source", leads=True)
    other = replace(DAEMON, id="d2", started_at=AT + HOUR, heartbeat_at=AT + HOUR)
    with store.writing() as tx:
        for daemon in (DAEMON, other, now):
            tx.daemons.save(daemon)
    with store.reading() as tx:
        assert tx.daemons.records() == [other, now]


def test_daemons_that_fell_silent_are_forgotten(store: Store) -> None:
    """After seven days without a word, stopped or not, a daemon goes with its configuration."""
    with store.writing() as tx:
        tx.daemons.save(DAEMON)
        tx.daemons.save(replace(DAEMON, id="stopped", heartbeat_at=AT + DAY, stopped_at=AT + DAY))
        newest = replace(DAEMON, id="new", heartbeat_at=AT + 7 * DAY, started_at=AT + 7 * DAY)
        tx.daemons.save(newest)
        tx.daemons.save_config(DAEMON.id, DaemonConfig("digest", {}))
    keep = {"keep_measurements": 90 * DAY, "keep_incidents": 90 * DAY}
    assert store.prune(**keep, now=AT + 7 * DAY) == Pruned()
    assert store.prune(**keep, now=AT + 7 * DAY + HOUR) == Pruned(daemons=1)
    with store.reading() as tx:
        assert tx.daemons.config(DAEMON.id) is None
        assert {daemon.id for daemon in tx.daemons.records()} == {"stopped", "new"}


def test_crashes_are_forgotten_check_by_check(store: Store) -> None:
    """A check that runs well restarts its count."""
    with store.writing() as tx:
        for check in ("a.x", "a.y"):
            tx.daemons.count_crash(check, AT, lambda crashes: crashes * HOUR)
        tx.daemons.clear_crashes(["a.x", "never.crashed"])
        assert tx.daemons.quarantines() == [Quarantine("a.y", 1, AT + HOUR, AT)]
        assert tx.daemons.count_crash("a.x", AT, lambda _: None).crashes == 1
