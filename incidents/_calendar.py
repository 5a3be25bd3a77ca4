"""Turn business hours on the wall clock of a zone into moments, across every change of the clocks."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import time, timedelta
from decimal import Decimal
from typing import Final
from zoneinfo import ZoneInfo

from incidents._measure import TimeMeasure
from incidents.spans import from_us

_DAY_US: Final = 86_400_000_000


@dataclass(frozen=True, slots=True)
class BusinessCalendar:
    """Hours that cost in full, by the wall clock of a zone; outside them the cost is multiplied by `outside_factor`.

    `days`: weekdays, 0 is Monday, on which hours begin. An `end` that is not after `start` lies on the next day.
    """

    days: frozenset[int]
    start: time
    end: time
    outside_factor: Decimal
    zone: str

    def between(self, start_us: int, end_us: int) -> TimeMeasure:
        """Return the business hours between two moments: those at which the zone's wall clock shows them."""
        return TimeMeasure.of(
            (max(start, piece_start), min(end, piece_end))
            for piece_start, piece_end, offset in _offsets(ZoneInfo(self.zone), start_us, end_us)
            for start, end in self._on_wall(piece_start + offset, piece_end + offset, offset)
        )

    def _on_wall(self, wall_start: int, wall_end: int, offset: int) -> Iterator[tuple[int, int]]:
        begin, end = _of_day(self.start), _of_day(self.end)
        length = end - begin if end > begin else end - begin + _DAY_US
        for day in range(wall_start // _DAY_US - 1, wall_end // _DAY_US + 1):
            if (day + 3) % 7 in self.days:  # the epoch was a Thursday
                start = day * _DAY_US + begin - offset
                yield start, start + length


def _of_day(moment: time) -> int:
    return ((moment.hour * 60 + moment.minute) * 60 + moment.second) * 1_000_000 + moment.microsecond


def _offsets(zone: ZoneInfo, start_us: int, end_us: int) -> Iterator[tuple[int, int, int]]:
    """Yield the pieces of constant offset between two moments: start, end, offset, in microseconds."""
    piece, offset, at = start_us, _offset(zone, start_us), start_us
    while at < end_us:
        following = min(at + _DAY_US, end_us)
        if (changed := _offset(zone, following)) != offset:
            turn = _turn(zone, at, following)
            yield piece, turn, offset
            piece, offset = turn, changed
        at = following
    yield piece, end_us, offset


def _turn(zone: ZoneInfo, before: int, after: int) -> int:
    """Return the first moment with the later offset; clocks change at most once a day."""
    offset = _offset(zone, before)
    while after - before > 1:
        middle = (before + after) // 2
        if _offset(zone, middle) == offset:
            before = middle
        else:
            after = middle
    return after


def _offset(zone: ZoneInfo, moment_us: int) -> int:
    offset = from_us(moment_us).astimezone(zone).utcoffset()
    return 0 if offset is None else offset // timedelta(microseconds=1)
