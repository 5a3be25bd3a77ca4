"""Results of a check as columns, and what is known of them at the times of another schedule.

`results_at` moves results to the slots of another schedule. A result measured soon after a slot stands for it. Between
two results that agree a slot has their outcome; between two that differ the time of the change is unknown, so there
are two answers: `worst` takes the worse outcome for the slot, `best` the better one; before the data went bad, as far
as that was recorded, both take the better one. In unobserved time, and beside results that say nothing, the outcome of
a slot is `unknown`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final

from checks import Status
from checks.classes.arrays import np
from incidents._measure import TimeMeasure
from incidents._model import Episode, to_us
from incidents.spans import Ints

ABSENT, PASSED, WARNED, FAILED, UNKNOWN = range(-1, 4)
"""What a result came to, from best to worst, and not known. Absent is a segment of which there were no rows."""
STATUS_CODES: Final = (Status.PASS, Status.WARN, Status.FAIL, Status.UNKNOWN)
LATENESS: Final = timedelta(minutes=5)
"""A result measured so long after a slot at most, and a tenth of the time to the next one, stands for it."""
_SLACK: Final = 10
_NEVER: Final = -(2**62)


@dataclass(frozen=True, slots=True, eq=False)
class ResultTrack:
    """Results of one check in order, as columns; times in microseconds UTC.

    `status` has the codes above. `place`: the recorded result that each goes back to, by its place among those.
    """

    at: Ints
    ended: Ints
    status: Ints
    place: Ints

    @classmethod
    def of(cls, at: Ints, ended: Ints, status: Ints) -> "ResultTrack":
        """Return recorded results; those that measured no later than an earlier one are left out, as they were then."""
        newest = np.maximum.accumulate(np.concatenate(([_NEVER], at)))[:-1]
        rows = np.flatnonzero(at > newest)
        return cls(at[rows], ended[rows], status[rows], np.arange(rows.size, dtype=np.int64))

    def joined(self, other: "ResultTrack") -> "ResultTrack":
        """Return the results of both, by their times."""
        order = np.argsort(np.concatenate((self.at, other.at)), kind="stable")
        names = ("at", "ended", "status", "place")
        return ResultTrack(*(np.concatenate((getattr(self, name), getattr(other, name)))[order] for name in names))

    def judged(self, status: Ints) -> "ResultTrack":
        """Return the same results with other outcomes."""
        return replace(self, status=status)


@dataclass(frozen=True, slots=True)
class SlotResults:
    """Results at the slots of a schedule, if undecided slots saw the worse or the better outcome.

    `slots` counts those of the time for which there are results, `recorded` those for which a result stands, `bounded`
    those whose outcome is one of two, `unknown` those of which nothing is known.
    """

    worst: ResultTrack
    best: ResultTrack
    slots: int
    recorded: int
    bounded: int
    unknown: int

    def joined(self, other: "SlotResults") -> "SlotResults":
        """Return the runs of both, in order."""
        counts = (getattr(self, name) + getattr(other, name) for name in ("slots", "recorded", "bounded", "unknown"))
        return SlotResults(self.worst.joined(other.worst), self.best.joined(other.best), *counts)


def results_at(track: ResultTrack, slots: Ints, gaps: TimeMeasure, begun: Iterable[Episode] = ()) -> SlotResults:
    """Return what is known of the results at slots; those before the first result and after the last are left out.

    Args:
        track: what is stored.
        slots: when the check is to run, in order.
        gaps: the time in which nothing was observed.
        begun: recorded episodes: before the data went bad, as far as that is known, a check did not fail.
    """
    following = np.searchsorted(track.at, slots, side="left")
    later = np.append(slots[1:], slots[-1:] + to_us_of(LATENESS) * _SLACK)
    allowed = np.minimum(to_us_of(LATENESS), (later - slots) // _SLACK)
    at_slot = np.append(track.at, 2**62)[following]
    stands = at_slot - slots <= allowed
    chosen = stands | ((following > 0) & (following < track.at.size))
    slots, following, stands = slots[chosen], following[chosen], stands[chosen]
    low, high = _neighbours(track, slots, following, stands, gaps)
    high = np.where(slots < _beginnings(track, begun)[high.clip(0)], np.where(stands, high, low), high)
    before, after = track.status[low.clip(0)], track.status[high.clip(0)]
    before = np.where(low < 0, UNKNOWN, before)
    after = np.where(low < 0, UNKNOWN, after)
    at, ended = (np.where(stands, column[low.clip(0)], slots) for column in (track.at, track.ended))

    def taking(later: Any) -> ResultTrack:
        return ResultTrack(at, ended, np.where(later, after, before), np.where(later, high, low).clip(0))

    return SlotResults(
        worst=taking(after > before),
        best=taking(after < before),
        slots=slots.size,
        recorded=int((stands & (before != UNKNOWN)).sum()),
        bounded=int((before != after).sum()),
        unknown=int((before == UNKNOWN).sum()),
    )


def _beginnings(track: ResultTrack, episodes: Iterable[Episode]) -> Ints:
    """Return for each result when data went bad, where it is the first that fails of a recorded episode."""
    began = np.full(track.at.size, _NEVER, dtype=np.int64)
    for episode in episodes:
        failed_at = to_us(episode.first_failed_at or episode.detected_at)
        place = int(np.searchsorted(track.at, failed_at, side="right")) - 1
        if place >= 0 and int(track.at[place]) == failed_at:
            began[place] = to_us(episode.onset.at)
    return began


def to_us_of(length: timedelta) -> int:
    """Return a length in microseconds."""
    return length // timedelta(microseconds=1)


def _neighbours(track: ResultTrack, slots: Ints, following: Ints, stands: Ints, gaps: TimeMeasure) -> tuple[Ints, Ints]:
    """Return between which two results that say something each slot lies; one and the same where it stands for it."""
    places = np.arange(track.at.size, dtype=np.int64)
    says = track.status != UNKNOWN
    earlier = np.append(np.maximum.accumulate(np.where(says, places, -1)), -1)
    nothing = track.at.size
    later = np.append(np.minimum.accumulate(np.where(says, places, nothing)[::-1])[::-1], nothing)
    low, high = earlier[following - 1], later[following]
    missing = (low < 0) | (high >= nothing) | gaps.covers(slots)
    low, high = np.where(missing, -1, low), np.where(missing, -1, high)
    return np.where(stands, following, low), np.where(stands, following, high)


def retry_slots(track: ResultTrack, after: timedelta) -> Ints:
    """Return when the first fail of each streak is confirmed, unless a later result does so before."""
    fails = track.status == FAILED
    first = np.flatnonzero(fails & ~np.append(False, fails[:-1]))
    due = track.at[first] + to_us_of(after)
    following = np.append(track.at, 2**62)[first + 1]
    return due[due < following]
