"""Results of a check whose segments are judged one by one, as tracks: one of each segment, and one of the others.

What was decided on for the others (the rest) was not stored, but follows from what was: so many segments failed in a
run, and those that were followed have results of their own. A segment without a result in a run had no rows then, which
counts while its incident lasts, or was left out since as many others were followed as may be: those that are listed,
and of those with open incidents the oldest incidents. Where it may have been either, the recorded end decides.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import inf
from typing import Final, NamedTuple, TypeAlias

from checks import MOST_SEGMENTS, SegmentBy
from checks.classes.arrays import np
from incidents._measure import Bools
from incidents._model import from_us
from incidents.recorded_history import RecordedHistory
from incidents.result_tracks import ABSENT, FAILED, PASSED, UNKNOWN, ResultTrack
from incidents.spans import Ints

_EITHER: Final = -2
"""Absent or left out."""
_Rows: TypeAlias = "Sequence[tuple[int, int, int]]"
"""When runs measured and ended, and what they came to."""


class SegmentedRun(NamedTuple):
    """What a run came to (microseconds, codes of `incidents.result_tracks`), in the order of deciding.

    `segments` counts all of them, None where the run came to one outcome for the whole table; `failing` and `unknown`
    count those that did; `followed` has the outcomes of those with results of their own.
    """

    at: int
    ended: int
    status: int
    segments: int | None
    failing: int
    unknown: int
    followed: Mapping[str, int]

    @property
    def rest(self) -> int:
        """Return what the segments without results of their own came to, or the whole table."""
        if not self.segments:
            return self.status
        codes = list(self.followed.values())
        if self.failing > codes.count(FAILED):
            return FAILED
        return UNKNOWN if self.is_cut or self.unknown > codes.count(UNKNOWN) else PASSED

    @property
    def is_cut(self) -> bool:
        """Check whether there may have been more segments than were measured."""
        return (self.segments or 0) >= MOST_SEGMENTS


@dataclass(frozen=True, slots=True)
class SegmentTrack:
    """The results of a segment; `good_by`: when its limits held before the first that was stored, None: never."""

    track: ResultTrack
    good_by: datetime | None


def rest_track(runs: Sequence[SegmentedRun]) -> ResultTrack:
    """Return what the segments came to that are not followed one by one."""
    return _track([(run.at, run.ended, run.rest) for run in runs])


def segment_tracks(
    runs: Sequence[SegmentedRun], histories: Mapping[str, RecordedHistory], *, by: SegmentBy, resolve_after: int
) -> Mapping[str, SegmentTrack]:
    """Return the results of each segment that was followed.

    Args:
        runs: what the runs came to.
        histories: what was recorded of the incidents of segments, by series.
        by: which segments there are, and how many of them are followed.
        resolve_after: how many passing runs end an incident.
    """
    latest = np.maximum.accumulate(np.array([-1, *(run.at for run in runs)], dtype=np.int64))
    good = _good_before(runs, latest)
    places = [place for place, run in enumerate(runs) if run.segments is not None]
    names = dict.fromkeys(series for run in runs for series in run.followed)
    steady = {series for series in names if by.values and all(series in runs[place].followed for place in places)}
    ended = np.array([run.ended for run in runs], dtype=np.int64)
    lasting = {series: histories.get(series, RecordedHistory()).open_at(ended) for series in names}
    follower = _Follower(by.most, steady, lasting)
    tracks = {}
    for series in names:
        first = next(place for place in places if series in runs[place].followed)
        codes = {place: follower.code(runs[place], series, place) for place in places}
        codes = {place: code for place, code in codes.items() if place >= first or code == ABSENT}
        own = _places_in_order(series, runs, codes, lasting=lasting[series] > 0, latest=int(latest[first]))
        rows = [(runs[place].at, runs[place].ended, codes[place]) for place in own]
        decided = _decided(rows, histories.get(series, RecordedHistory()), resolve_after)
        tracks[series] = SegmentTrack(_track(decided), good[first])
    return tracks


@dataclass(frozen=True, slots=True)
class _Follower:
    """Which segments come before which.

    `steady` came back in each run, as listed ones do; `lasting` has the numbers of the open incidents at each run.
    """

    most: int
    steady: Collection[str]
    lasting: Mapping[str, Ints]

    def code(self, run: SegmentedRun, series: str, place: int) -> int:
        """Return what a segment came to in a run."""
        if series in run.followed:
            return run.followed[series]
        if run.is_cut:
            return UNKNOWN
        if len(run.followed) < self.most or run.segments == len(run.followed):
            return ABSENT
        if not (own := self.lasting[series][place]):
            return UNKNOWN
        before = (other in self.steady or 0 < self.lasting[other][place] < own for other in run.followed)
        return _EITHER if all(before) else ABSENT


def _good_before(runs: Sequence[SegmentedRun], latest: Ints) -> Sequence[datetime | None]:
    """Return for each run the end of the last one before it in which no segment failed that was not followed.

    `latest`: when the latest of the runs before each measured; one that measured earlier comes too late to count.
    """
    good: list[datetime | None] = [None]
    for run, before in zip(runs, latest.tolist(), strict=False):
        good.append(from_us(run.ended) if run.rest == PASSED and run.at > before else good[-1])
    return good


def _places_in_order(
    series: str, runs: Sequence[SegmentedRun], codes: Mapping[int, int], *, lasting: Bools, latest: int
) -> Sequence[int]:
    """Return the places of the runs that count for a segment: a result that an earlier one measured after does not.

    A run without a result of the segment only precedes later results where its incident lasted. `latest`: when the last
    run before its first result measured.
    """
    places = []
    next_at: float = inf
    for place in sorted(codes, reverse=True):
        run = runs[place]
        if series in run.followed:
            if run.at > latest:
                places.append(place)
                next_at = min(next_at, run.at)
        elif run.at < next_at or (lasting[place] and (codes[place] == ABSENT or run.is_cut)):
            places.append(place)
    return places[::-1]


def _decided(rows: _Rows, history: RecordedHistory, resolve_after: int) -> _Rows:
    """Decide on runs in which a segment was absent or left out: absent where its incident could not end otherwise."""
    codes = [code for *_, code in rows]
    for since, recorded in history.ends():
        passing = [place for place, (at, ended, _) in enumerate(rows) if since <= at and ended <= recorded]
        missing = resolve_after - sum(codes[place] in {ABSENT, PASSED} for place in passing)
        edges = (passing[:1], passing[-1:])
        either = sorted((place for place in passing if codes[place] == _EITHER), key=lambda at: [at] not in edges)
        for place in either[: max(missing, 0)]:
            codes[place] = ABSENT
    return [(at, ended, UNKNOWN if code == _EITHER else code) for (at, ended, _), code in zip(rows, codes, strict=True)]


def _track(rows: _Rows) -> ResultTrack:
    columns = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    return ResultTrack.of(*(np.ascontiguousarray(column) for column in columns))
