"""What becomes of slots: whatever happens to the daemon, each is run or recorded as skipped, exactly once."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.config import Schedule, Table
from monitor.daemon.timetable import MOST_CAUGHT_UP, Timetable
from store import SkipReason

_NOW = datetime(2026, 3, 27, 9, 7, 30, tzinfo=UTC)
_NAMES = st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=30)
_LINES = ("every 15m", "every 7h", "cron: 30 2 * * *", "cron: */20 * * * mon-fri", "cron: 0 8,20 * * *")


def _timetable(text="every 15m", zone="Europe/Berlin", delay=timedelta(), catch_up="latest"):
    return Timetable("orders", Schedule.parse(text), zone, delay, catch_up)


def _enumerated(timetable, first, end):
    found, slot = [], first
    while slot <= end:
        found.append(slot)
        slot = timetable.schedule.next_after(slot, timetable.zone)
    return found


@given(
    text=st.sampled_from(_LINES),
    zone=st.sampled_from(["UTC", "Europe/Berlin", "Australia/Lord_Howe"]),
    catch_up=st.sampled_from(["latest", "all", "none"]),
    delay=st.integers(0, 60),
    pauses=st.lists(st.integers(0, 4 * 24 * 60), min_size=1, max_size=12),
)
def test_each_slot_is_run_or_skipped_exactly_once(text, zone, catch_up, delay, pauses):
    """However long the daemon was away each time, no slot is lost and none is counted twice."""
    timetable = _timetable(text, zone, timedelta(seconds=delay), catch_up)
    row = timetable.first(_NOW)
    first, now, result = row.next_slot, row.due_at, []
    for minutes in pauses:
        now += timedelta(minutes=minutes)
        if row.due_at > now:
            continue
        claim = timetable.claim(row, now)
        skipped = [] if claim.skip is None else _enumerated(timetable, claim.skip.first, claim.skip.last)
        assert len(skipped) == (0 if claim.skip is None else claim.skip.count)
        result += [*skipped, *([] if claim.slot is None else [claim.slot])]
        row = timetable.scheduled(claim.next_slot)
        assert row.due_at == claim.due_at
    assert result == [slot for slot in _enumerated(timetable, first, row.next_slot) if slot < row.next_slot]


def test_a_new_table_is_looked_at_at_once_but_a_cron_line_waits_for_its_time():
    """`every` begins with the slot that has just been; `cron: 30 2 * * *` means half past two."""
    assert _timetable("every 15m").first(_NOW).next_slot == _NOW.replace(minute=0, second=0)
    assert _timetable("cron: 30 2 * * *").first(_NOW).next_slot == datetime(2026, 3, 28, 1, 30, tzinfo=UTC)


def test_after_a_long_stop_the_newest_slot_is_run_and_the_others_are_told():
    """A month of missed quarters of an hour is one run and one line."""
    timetable = _timetable()
    row = timetable.first(_NOW)
    claim = timetable.claim(row, _NOW + timedelta(days=30))
    assert claim.slot == _NOW.replace(minute=0, second=0) + timedelta(days=30)
    assert (claim.skip.count, claim.skip.first, claim.skip.reason) == (30 * 96, row.next_slot, SkipReason.LATE)
    assert claim.next_slot == claim.slot + timedelta(minutes=15)


def test_all_runs_each_missed_slot_the_oldest_first_but_not_without_bound():
    """With `all`, more than a hundred missed slots are too many: the oldest of them are skipped."""
    timetable = _timetable(catch_up="all")
    row, now, run = timetable.first(_NOW), _NOW + timedelta(days=2), []
    first = timetable.claim(row, now)
    assert first.skip.count == 2 * 96 + 1 - MOST_CAUGHT_UP
    while row.due_at <= now:
        claim = timetable.claim(row, now)
        run.append(claim.slot)
        row = timetable.scheduled(claim.next_slot)
    assert len(run) == MOST_CAUGHT_UP
    assert {after - before for before, after in pairwise(run)} == {timedelta(minutes=15)}


def test_none_waits_for_the_next_slot_unless_it_is_on_time():
    """With `none`, a slot that was missed is skipped, by wish; one a minute ago is run."""
    timetable = _timetable(catch_up="none")
    row = timetable.first(_NOW.replace(minute=0))
    late = timetable.claim(row, _NOW.replace(minute=10))
    assert (late.slot, late.skip.count, late.skip.reason) == (None, 1, SkipReason.POLICY)
    assert timetable.claim(row, _NOW.replace(minute=1)).slot == row.next_slot


def test_a_run_that_took_longer_than_its_period_is_called_an_overrun():
    """Slots that came while the table was still being looked at were not missed by a daemon that was away."""
    timetable = _timetable()
    row = timetable.scheduled(_NOW.replace(minute=0, second=0))
    claim = timetable.claim(row, _NOW.replace(minute=50), busy_until=_NOW.replace(minute=49))
    assert (claim.skip.count, claim.skip.reason) == (3, SkipReason.OVERRUN)


def test_a_schedule_that_is_dropped_tells_of_the_slots_that_had_come():
    """A changed schedule loses no slot silently."""
    timetable = Timetable.of_row(_timetable("cron: 0 * * * *").first(_NOW))
    row = timetable.scheduled(_NOW.replace(hour=5, minute=0, second=0))
    skip = timetable.dropped(row, _NOW)
    assert (skip.first, skip.count, skip.reason) == (row.next_slot, 5, SkipReason.CHANGED)
    assert timetable.dropped(timetable.after(_NOW), _NOW) is None


@given(names=st.sets(_NAMES, min_size=1, max_size=50))
def test_tables_are_spread_over_the_jitter_the_same_way_every_time(names):
    """The delay of a table depends on its name only, and stays within a tenth of its period."""
    for name in names:
        table = Table(name=name, source="s", schedule="every 2m")
        delays = {
            Timetable.of(table, zone="UTC", jitter=timedelta(seconds=30), catch_up="latest").delay for _ in range(3)
        }
        assert len(delays) == 1
        assert timedelta() <= delays.pop() <= timedelta(seconds=12)


def test_a_table_without_a_schedule_has_no_timetable():
    """Only scheduled tables are looked at by the daemon."""
    with pytest.raises(ValueError, match="has no schedule"):
        Timetable.of(Table(name="t", source="s"), zone="UTC", jitter=timedelta(), catch_up="latest")


@pytest.mark.parametrize("schedule", ["every 1h", "cron: 0 * * * *"])
def test_a_slot_that_was_asked_for_is_one_with_the_next_that_has_come(schedule):
    """It is run by itself before that; afterwards nothing is left to run of it, and what is skipped are slots."""
    timetable = Timetable("orders", Schedule.parse(schedule), "UTC")
    begin = datetime(2026, 11, 20, 9, 0, tzinfo=UTC)
    asked = replace(timetable.scheduled(begin), next_slot=begin + timedelta(minutes=5))
    early = timetable.claim(asked, begin + timedelta(minutes=6))
    assert (early.slot, early.next_slot, early.skip) == (asked.next_slot, begin + timedelta(hours=1), None)
    late = timetable.claim(asked, begin + timedelta(hours=3, minutes=1))
    assert (late.slot, late.next_slot) == (begin + timedelta(hours=3), begin + timedelta(hours=4))
    assert (late.skip.first, late.skip.last, late.skip.count) == (
        begin + timedelta(hours=1), begin + timedelta(hours=2), 2,
    )  # fmt: skip
