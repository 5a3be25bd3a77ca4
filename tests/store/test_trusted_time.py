"""Nothing is deleted by one reading of a clock."""

import itertools
import shutil
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection

from checks import Status
from store import Grant, LoginLink, Postponed, Pruned, SignInMethod, Store, WebRole, WebSession, open_store
from store._trusted_time import TrustedTime, trusted_times
from tests.store.made import AT, HOUR, measure
from tests.tiers import examples

DAY = timedelta(days=1)
YEARS = 2000 * DAY


def _prune(store: Store, now: datetime, monotonic: float = 0.0, boot: str | None = None) -> Pruned | Postponed | None:
    kept = {"keep_measurements": 90 * DAY, "keep_incidents": 365 * DAY}
    return store.prune_if_trusted(**kept, now=now, monotonic=monotonic, boot=boot)


def _fill(store: Store) -> None:
    measure(store, *((AT + day * DAY, Status.PASS) for day in range(100)))
    assert _prune(store, AT + 100 * DAY) == Pruned(runs=10, measurements=10)


def _runs(store: Store) -> int:
    with store.reading() as tx:
        return tx.counts().runs


def test_a_start_with_a_clock_that_is_ahead_deletes_nothing(url: str) -> None:
    """What would go is counted and stays, in this process and in later ones, however often they record that time."""
    with open_store(url) as store:
        _fill(store)
    for start in range(3):
        with open_store(url) as ahead:
            waits = _prune(ahead, AT + 100 * DAY + YEARS)
            assert isinstance(waits, Postponed)
            assert (waits.runs, waits.incidents) == (90 + start, 0)
            measure(ahead, (AT + 100 * DAY + YEARS - 95 * DAY + start * HOUR, Status.PASS))
            assert isinstance(_prune(ahead, AT + 101 * DAY + YEARS, 86400.0), Postponed)
    with open_store(url) as right:
        assert _prune(right, AT + 101 * DAY) == Pruned(runs=1, measurements=1)


def test_processes_that_end_delete_once_in_each_period(store: Store) -> None:
    """Where a time of the same hour is recorded, nothing is deleted; the first process of the next hour deletes."""
    _fill(store)
    kept = {"keep_measurements": 90 * DAY, "keep_incidents": 365 * DAY, "at_most": HOUR}
    measure(store, (AT + 9 * DAY, Status.PASS))
    same, other = AT + 100 * DAY + HOUR / 2, AT + 100 * DAY + HOUR
    assert store.prune_if_trusted(**kept, now=same, monotonic=1800.0) is None
    assert store.prune_if_trusted(**kept, now=other, monotonic=3600.0) == Pruned(runs=2, measurements=2)
    assert store.prune_if_trusted(**kept, now=other + HOUR / 2, monotonic=5400.0) is None


def test_a_process_that_runs_for_long_deletes_what_is_due(store: Store) -> None:
    """The trusted time goes on with the monotonic clock, and a jump of the clock after that waits again."""
    _fill(store)
    for week in range(1, 6):
        assert _prune(store, AT + (100 + 7 * week) * DAY, 7 * 86400.0 * week) == Pruned(runs=7, measurements=7)
    assert isinstance(_prune(store, AT + 137 * DAY, 35 * 86400.0), Postponed)


def test_a_jump_of_the_clock_of_a_running_process_deletes_nothing(store: Store) -> None:
    """A clock that is set forward by more than a day is not believed."""
    _fill(store)
    assert isinstance(_prune(store, AT + 130 * DAY, 86400.0), Postponed)
    assert _prune(store, AT + 101 * DAY, 86400.0) == Pruned(runs=1, measurements=1)


def test_a_daily_job_needs_no_person(url: str) -> None:
    """A job that comes a little more than a day after the last one deletes at the latest with the next run."""
    with open_store(url) as store:
        _fill(store)
    left = []
    for number in range(1, 11):
        with open_store(url) as store:
            _prune(store, AT + 100 * DAY + number * (DAY - HOUR / 60))
            left.append(_runs(store))
    with open_store(url) as store:
        assert isinstance(_prune(store, AT + 110 * DAY + 24.5 * HOUR), Postponed)
    with open_store(url) as store:
        assert isinstance(_prune(store, AT + 110 * DAY + 25 * HOUR), Pruned)
    assert left[-1] < left[0]


@pytest.mark.parametrize(("boot", "waits"), [("b", False), ("another", True), (None, True)])
def test_a_job_of_weekdays_needs_no_person_while_its_machine_runs(url: str, *, boot: str | None, waits: bool) -> None:
    """The time that a process recorded goes on with the machine's uptime, asleep or not, until it is started again."""
    with open_store(url) as store:
        _fill(store)
        with store.writing() as tx:
            tx.confirm_time(AT + 100 * DAY, monotonic=500.0, boot="b")
    for week in range(1, 4):
        now, uptime = AT + (100 + 3 * week) * DAY, 500.0 + 3 * 86400.0 * week
        with open_store(url) as store:
            assert isinstance(_prune(store, now, uptime, boot), Postponed) is waits
    with open_store(url) as store:
        assert isinstance(_prune(store, AT + 109 * DAY + YEARS, 500.0 + 9 * 86400.0, "b"), Postponed)


def test_a_clock_that_walks_ahead_by_less_than_a_day_deletes_nothing(url: str) -> None:
    """Each start finds the clock 20 hours further ahead: while the machine runs, the trusted time does not follow."""
    with open_store(url) as store:
        _fill(store)
        with store.writing() as tx:
            tx.confirm_time(AT + 100 * DAY, monotonic=500.0, boot="b")
    for start in range(1, 13):
        with open_store(url) as store:
            _prune(store, AT + 100 * DAY + start * 20 * HOUR, 500.0 + start, "b")
    with open_store(url) as store:
        assert store.inspect(trusted_times)[0] == AT + 100 * DAY + timedelta(seconds=12)
        assert _runs(store) == 89, "what was due in the first 20 hours"
        assert _prune(store, AT + 102 * DAY, 500.0 + 2 * 86400.0, "b") == Pruned(runs=1, measurements=1)


@pytest.mark.parametrize("behind", [0, 3])
def test_one_pause_is_believed_at_a_start_of_the_machine(url: str, behind: int) -> None:
    """A machine that was off for a night goes on by its clock, also where that is set right after its start, once."""
    now = AT + 100 * DAY + 14 * HOUR
    with open_store(url) as store:
        _fill(store)
    with open_store(url) as store:
        _prune(store, now - behind * HOUR - timedelta(seconds=10), 10.0, "c")
        _prune(store, now, 20.0, "c")
        assert store.inspect(trusted_times)[0] == now
    for start in range(1, 4):
        with open_store(url) as store:
            _prune(store, now + start * 20 * HOUR, 20.0 + start, "c")
    with open_store(url) as store:
        believed, _ = store.inspect(trusted_times)
        assert believed == now + timedelta(seconds=3)


def test_what_waits_is_noted_once_a_day(url: str) -> None:
    """Each start of a job finds that data waits, and the first of a day says so; a clock set back does not delay it."""
    news, ahead = [], AT + 100 * DAY + YEARS
    with open_store(url) as store:
        _fill(store)
    for hours in (0, 1, 23, 24, 25, 3, 4):
        with open_store(url) as store:
            waits = _prune(store, ahead + hours * HOUR)
            assert isinstance(waits, Postponed)
            news.append(waits.is_news)
    assert news == [True, False, False, False, True, True, False]


def test_a_person_confirms(url: str) -> None:
    """What a person confirmed is trusted by running processes and by later ones, also where it is earlier."""
    with open_store(url) as store:
        _fill(store)
        assert isinstance(_prune(store, AT + 130 * DAY), Postponed)
        with store.writing() as tx:
            tx.confirm_time(AT + 130 * DAY)
        assert _prune(store, AT + 130 * DAY + HOUR, 3600.0) == Pruned(runs=31, measurements=31)
    with open_store(url) as store:
        assert _prune(store, AT + 131 * DAY) == Pruned()
        with store.writing() as tx:
            tx.confirm_time(AT + 101 * DAY)
        assert isinstance(_prune(store, AT + 140 * DAY), Postponed)


def test_one_host_that_is_ahead_deletes_nothing_of_the_others(url: str) -> None:
    """Each process has its own trusted time: that of a host with a right clock deletes, the other one waits."""
    with open_store(url) as right, open_store(url) as ahead:
        _fill(right)
        for day in range(1, 4):
            assert isinstance(_prune(ahead, AT + (100 + day) * DAY + YEARS, 86400.0 * (day - 1)), Postponed)
            assert _prune(right, AT + (100 + day) * DAY, 86400.0 * day) == Pruned(runs=1, measurements=1)


def test_a_store_of_before_is_trusted_by_its_newest_row(store: Store) -> None:
    """A store in which no time was recorded yet begins at its newest run."""
    measure(store, *((AT + day * DAY, Status.PASS) for day in range(100)))
    assert isinstance(_prune(store, AT + YEARS), Postponed)


def test_sessions_and_links_wait_too(url: str) -> None:
    """Sessions and links that are over by a clock that is ahead stay; they go when it is trusted."""
    grant = Grant(WebRole.VIEWER)
    with open_store(url) as store:
        _fill(store)
        now = AT + 100 * DAY
        with store.writing() as tx:
            tx.accounts.add_session(WebSession(b"s", "mia", grant, SignInMethod.FORM, now, now, now + DAY))
            tx.accounts.add_link(LoginLink(b"l", "mia", grant, now + HOUR))
    with open_store(url) as store:
        _prune(store, AT + YEARS)
        with store.reading() as tx:
            assert tx.accounts.session(b"s") is not None
        pruned = _prune(store, AT + 101 * DAY)
        assert isinstance(pruned, Pruned)
        assert (pruned.sessions, pruned.login_links) == (1, 1)


_STARTS = st.lists(
    st.tuples(st.integers(0, 20), st.lists(st.integers(0, 20), max_size=4), st.integers(30, 5000) | st.just(0)),
    min_size=1,
    max_size=12,
)
"""Processes: hours since the last one, hours at which each prunes, and by how many days its clock is ahead."""


@given(_STARTS)
@settings(max_examples=examples(200))
def test_no_clock_that_is_wrong_by_a_month_is_ever_believed(
    empty_file: Path, starts: list[tuple[int, list[int], int]]
) -> None:
    """Whatever processes start in whichever order, the trusted time is never ahead of the true one."""
    folder = empty_file.parent
    shutil.copy(empty_file, folder / "believed.db")
    with open_store(f"sqlite:///{folder / 'believed.db'}") as store, store.writing() as tx:
        TrustedTime().record(tx._connection, now=AT, monotonic=0.0)
        _start(tx._connection, starts)


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 3000)), min_size=1, max_size=12))
@settings(max_examples=examples(200))
def test_while_a_machine_runs_no_wrong_clock_is_believed(empty_file: Path, starts: list[tuple[int, int]]) -> None:
    """However little each process's clock is ahead, the trusted time is not; minutes since the last, and ahead."""
    folder = empty_file.parent
    shutil.copy(empty_file, folder / "measured.db")
    with open_store(f"sqlite:///{folder / 'measured.db'}") as store, store.writing() as tx:
        TrustedTime().record(tx._connection, now=AT, monotonic=60.0, boot="b")
        minutes = 0
        for pause, ahead in starts:
            minutes += pause
            now, uptime = AT + timedelta(minutes=minutes + ahead), 60.0 * (minutes + 1)
            assert TrustedTime().record(tx._connection, now=now, monotonic=uptime, boot="b") <= now
            assert trusted_times(tx._connection)[0] == AT + timedelta(minutes=minutes)


def _start(connection: Connection, starts: list[tuple[int, list[int], int]]) -> None:
    true = AT
    for pause, steps, ahead in starts:
        true += pause * HOUR
        process, began = TrustedTime(), true
        for step in itertools.chain([0], steps):
            true += step * HOUR
            elapsed = (true - began).total_seconds()
            trusted = process.record(connection, now=true + ahead * DAY, monotonic=elapsed)
            assert trusted <= true
            stored, _ = trusted_times(connection)
            assert stored is not None
            assert stored <= true
            assert not ahead or true + ahead * DAY > trusted + DAY


@pytest.mark.parametrize("back", [HOUR, YEARS])
def test_a_clock_that_is_behind_deletes_less_and_records_nothing(store: Store, back: timedelta) -> None:
    """A clock that went back lowers no trusted time."""
    _fill(store)
    _prune(store, AT + 100 * DAY - back, 60.0)
    assert store.inspect(trusted_times) == (AT + 100 * DAY, None)
