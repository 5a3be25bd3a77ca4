"""Determine which slots of a table are run, and which are recorded as skipped. Pure: the time is an argument.

A slot is a nominal time of a schedule. The table is looked at a little later, at `due_at`: so many tables that have the
same slots do not all begin in the same second. The delay is the same on every day and every machine.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from hashlib import sha256
from typing import Final, Literal, Self

from monitor.config import Schedule, Table
from store import Scheduled, Skip, SkipReason, SlotDecision

ON_TIME: Final = timedelta(minutes=2)
"""A slot that is run within this time is not late."""

MOST_CAUGHT_UP: Final = 100
"""The most missed slots of a table that are run with `catch_up: all`."""


@dataclass(frozen=True, slots=True)
class Timetable:
    """The schedule of one table, in local time of an IANA zone, with a delay after each slot."""

    table: str
    schedule: Schedule
    zone: str
    delay: timedelta = timedelta()
    catch_up: Literal["latest", "all", "none"] = "latest"

    @classmethod
    def of(cls, table: Table, *, zone: str, jitter: timedelta, catch_up: Literal["latest", "all", "none"]) -> Self:
        """Return the timetable of a configured table.

        Raises:
            ValueError: the table has no schedule.
        """
        if table.schedule is None:
            raise ValueError(f"table '{table.name}' has no schedule; expected a schedule")
        return cls.of_name(table.name, table.schedule, zone=zone, jitter=jitter, catch_up=catch_up)

    @classmethod
    def of_name(
        cls, name: str, schedule: Schedule, *, zone: str, jitter: timedelta, catch_up: Literal["latest", "all", "none"]
    ) -> Self:
        """Return the timetable of what has a schedule, under a name that no other has."""
        most = min(jitter, schedule.longest_period() / 10)
        return cls(name, schedule, zone, most * _share(name), catch_up)

    @classmethod
    def of_row(cls, row: Scheduled) -> Self:
        """Return the timetable that a row of the schedule was made from."""
        return cls(row.table, Schedule.parse(row.schedule), row.zone)

    def first(self, now: datetime) -> Scheduled:
        """Return the first slot of a table that has none yet: at once, but a cron line waits for its time.

        Its time may have come a moment ago: a daemon that starts at six runs the line of six o'clock.
        """
        begin = now - ON_TIME if self.schedule.every is None else now - self.schedule.every
        return self.scheduled(self.schedule.next_after(begin, self.zone))

    def after(self, now: datetime) -> Scheduled:
        """Return the first slot after a moment."""
        return self.scheduled(self.schedule.next_after(now, self.zone))

    def has(self, slot: datetime) -> bool:
        """Check whether a moment is a slot."""
        return self.schedule.next_after(slot - timedelta.resolution, self.zone) == slot

    def scheduled(self, slot: datetime) -> Scheduled:
        """Return the row of the schedule that waits for a slot."""
        return Scheduled(self.table, str(self.schedule), self.zone, slot, slot + self.delay)

    def claim(self, due: Scheduled, now: datetime, *, busy_until: datetime | None = None) -> SlotDecision:
        """Return what becomes of every slot that has come: one is run or none, the others are skipped.

        `busy_until`: when the table's last run ended, to tell a run that took longer than its period from a daemon that
        was not there. A slot that was asked for (a retry, a run on request) is one with the next of the schedule once
        that has come.
        """
        following, first = self.schedule.next_after(due.next_slot, self.zone), due.next_slot
        if following <= now - self.delay and not self.has(first):
            first = following
        count, slot_at = self._missed(first, now - self.delay)
        ahead = self.schedule.next_after(slot_at(count - 1), self.zone)
        run: int | None
        match self.catch_up if due.delayed_since is None else "latest":
            case "all":
                run = max(0, count - MOST_CAUGHT_UP)
            case "none" if now - self.delay - slot_at(count - 1) > ON_TIME:
                run = None
            case _:
                run = count - 1
        passed = count if run is None else run
        following = ahead if run is None or run == count - 1 else slot_at(run + 1)
        skip = None
        if passed:
            skip = Skip(due.table, slot_at(0), slot_at(passed - 1), passed, self._why(due, run, busy_until))
        return SlotDecision(
            due=due,
            slot=None if run is None else slot_at(run),
            next_slot=following,
            due_at=following + self.delay,
            skip=skip,
        )

    def count_until(self, next_slot: datetime, now: datetime, end: datetime) -> int:
        """Count the runs that are to come before a moment: those that were missed are one."""
        first = max(next_slot, now)
        if first >= end:
            return 0
        return 1 + _count_between(self.schedule, self.zone, first, end - timedelta(microseconds=1))

    def dropped(self, row: Scheduled, now: datetime) -> Skip | None:
        """Return the slots that had come when this timetable, of the row, was dropped for another or for none."""
        if row.next_slot > now:
            return None
        count, slot_at = self._missed(row.next_slot, now)
        return Skip(row.table, row.next_slot, slot_at(count - 1), count, SkipReason.CHANGED)

    def _why(self, due: Scheduled, run: int | None, busy_until: datetime | None) -> SkipReason:
        if due.delayed_since is not None:
            return SkipReason.LIMIT
        if run is None:
            return SkipReason.POLICY
        overrun = busy_until is not None and busy_until > due.next_slot
        return SkipReason.OVERRUN if overrun else SkipReason.LATE

    def _missed(self, first: datetime, until: datetime) -> tuple[int, Callable[[int], datetime]]:
        """Return how many slots there are from a slot to a moment (at least one), and the first and last by number."""
        every = self.schedule.every
        if every is not None:
            return max(0, (until - first) // every) + 1, lambda number: first + every * number
        more, last = _cron_slots(self.schedule, self.zone, first, until.replace(second=0, microsecond=0))
        return 1 + more, lambda number: first if number == 0 else last[number - more - 1]


@lru_cache(maxsize=1024)
def _count_between(schedule: Schedule, zone: str, first: datetime, until: datetime) -> int:
    """Count the slots after one: a cron line takes milliseconds, and thousands of tables share one."""
    return schedule.count_between(first, until, zone)


@lru_cache(maxsize=64)
def _cron_slots(schedule: Schedule, zone: str, first: datetime, until: datetime) -> tuple[int, tuple[datetime, ...]]:
    """Count the slots after one, to a whole minute, and return the last of them: as many as may be run, and one more.

    Tables with one cron line share the work after a long stop.
    """
    most = MOST_CAUGHT_UP + 1
    return schedule.count_between(first, until, zone), schedule.last_between(first, until, zone, most=most)


def _share(name: str) -> float:
    """Return a number from 0 to 1 that is always the same for a name, and evenly spread over names."""
    return int.from_bytes(sha256(name.encode()).digest()[:8]) / 2**64
