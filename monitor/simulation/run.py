"""Replay each check both ways: as it is configured now, and as it is proposed."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import count

from checks.classes.arrays import np
from incidents import (
    Event,
    Identity,
    Incident,
    Merged,
    RecordedHistory,
    ResultReplay,
    ResultTrack,
    SlotResults,
    TimeMeasure,
    from_us,
    replay_results,
    rest_track,
    results_at,
    retry_slots,
    segment_tracks,
    to_us,
)
from incidents.result_tracks import UNKNOWN
from incidents.spans import Ints
from monitor.simulation.plan import CheckChange, CheckPlan, is_judged_alike
from monitor.simulation.stored_numbers import judge_again
from store import IncidentFilter, ReadTransaction

MOST_SLOTS = 2_000_000


class TooManySlots(Exception):
    """A schedule has more slots in the time of the stored results than can be replayed."""


@dataclass(frozen=True, slots=True)
class ReplayCoverage:
    """The coverage of a replay: its runs, those for which a stored result stands, and the others.

    `bounded`: runs between two results that differ, with one of two outcomes. `unknown`: nothing is known of them.
    """

    runs: int
    recorded: int
    bounded: int
    unknown: int


@dataclass(frozen=True, slots=True)
class CheckReplay:
    """A check, or a segment of it, as recorded, by its present configuration, and by the proposed one.

    `worst` and `best`: if runs of which it is not known saw the worse or the better of two outcomes. `skipped` says why
    a check could not be replayed; then the others are as recorded.
    """

    change: CheckChange
    recorded: tuple[Incident, ...]
    now: ResultReplay
    worst: ResultReplay
    best: ResultReplay
    cover: ReplayCoverage
    skipped: str | None = None
    segment: str | None = None
    """The displayed name of its segment."""

    @property
    def is_exact(self) -> bool:
        """Check whether the proposal has one answer."""
        return self.worst is self.best


NOTHING = ResultReplay((), (), 0)
NO_COVER = ReplayCoverage(0, 0, 0, 0)


def replay_checks(tx: ReadTransaction, changes: Sequence[CheckChange], *, until: datetime) -> Iterator[CheckReplay]:
    """Yield each check, and each segment that is judged for itself, replayed on what is stored from before a moment.

    Raises:
        TooManySlots: a proposed schedule is much finer than what was stored.
    """
    numbers = count(1)
    histories = _histories(tx, changes, until)
    for change in changes:
        for subject in _subjects(tx, change, histories, until):
            yield _Case(tx, change, subject, until, numbers).replay()


@dataclass(frozen=True, slots=True)
class _Subject:
    """The stored results and incidents of a check, or of a segment of it.

    `is_rest`: it stands for the segments that are not followed. `title` is what people see of a segment.
    """

    series: str
    track: ResultTrack
    history: RecordedHistory
    is_rest: bool = False
    title: str | None = None


def _subjects(
    tx: ReadTransaction, change: CheckChange, histories: Mapping[str, RecordedHistory], until: datetime
) -> Iterator[_Subject]:
    """Yield what is replayed for itself: a check, and where it judges its segments one by one, each of them."""
    check_id = change.check_id
    own = histories[check_id]
    by = None if change.now is None else change.now.check.segments
    if change.now is None or by is None:
        yield _Subject(check_id, tx.results.track(check_id, until), own)
        return
    runs = tx.results.segmented_runs(check_id, until)
    yield _Subject(check_id, rest_track(runs), own, is_rest=True)
    segments = segment_tracks(runs, histories, by=by, resolve_after=change.now.policy.resolve_after)
    latest = tx.results.latest(segments)
    for series, item in segments.items():
        history = histories.get(series, RecordedHistory())
        history = replace(history, monitored_since=own.monitored_since, good_by=item.good_by)
        yield _Subject(series, item.track, history, title=latest[series].message.segment)


def _histories(tx: ReadTransaction, changes: Sequence[CheckChange], until: datetime) -> Mapping[str, RecordedHistory]:
    """Return what is recorded of the incidents of checks and of their segments."""
    ids = tuple(change.check_id for change in changes)
    incidents = tx.incidents.matching(IncidentFilter(check_ids=ids)) if ids else []
    events = tx.incidents.histories([incident.id for incident in incidents])
    others = _merged_into(tx, events.values(), until)
    watches = tx.results.watches(ids)
    by_series: dict[str, list[Incident]] = {check_id: [] for check_id in ids}
    for incident in incidents:
        by_series.setdefault(incident.fingerprint, []).append(incident)
    return {
        series: RecordedHistory(
            {item.id: [event for event in events[item.id] if event.recorded_at < until] for item in own},
            {item.id: item for item in own},
            watches[series].monitored_since if series in watches else None,
            others=others,
        )
        for series, own in by_series.items()
    }


def _merged_into(
    tx: ReadTransaction, histories: Iterable[Sequence[Event]], until: datetime
) -> Mapping[int, Sequence[Event]]:
    """Return the events of incidents into which some were merged, or into which those were in turn."""
    others: dict[int, Sequence[Event]] = {}
    new = _targets(histories)
    while new:
        events = tx.incidents.histories(sorted(new))
        others |= {number: [event for event in own if event.recorded_at < until] for number, own in events.items()}
        new = _targets(events.values()) - others.keys()
    return others


def _targets(histories: Iterable[Sequence[Event]]) -> set[int]:
    return {event.change.into for events in histories for event in events if isinstance(event.change, Merged)}


@dataclass(frozen=True, slots=True)
class _Case:
    tx: ReadTransaction
    change: CheckChange
    subject: _Subject
    until: datetime
    numbers: Iterator[int]

    def replay(self) -> CheckReplay:
        recorded = tuple(self.subject.history.incidents[number] for number in sorted(self.subject.history.incidents))
        reason = self._reason_to_skip()
        track = self.subject.track
        if reason is None and track.at.size == 0:
            reason = "no results are stored"
        if reason is not None:
            return CheckReplay(self.change, recorded, NOTHING, NOTHING, NOTHING, NO_COVER, reason)
        now = self._replayed(track, track, self.change.now)
        worst, best, cover = self._proposed(track, now)
        return CheckReplay(self.change, recorded, now, worst, best, cover, segment=self.subject.title)

    def _reason_to_skip(self) -> str | None:
        now, then = self.change.now, self.change.then
        if now is None:
            return "the check is new"
        if then is not None and (now.check.segments != then.check.segments):
            return "other segments are judged"
        if then is not None and then.by_others and "schedule" in self.change.changed:
            return "another tool runs it"
        return None

    def _proposed(self, track: ResultTrack, now: ResultReplay) -> tuple[ResultReplay, ResultReplay, ReplayCoverage]:
        plan, changed = self.change.then, self.change.changed
        if plan is None:
            return NOTHING, NOTHING, NO_COVER
        if changed == ("routing",):
            return now, now, _whole(track)
        judged = self._judged(track, plan)
        rows = self._at_slots(judged, plan) if self._runs_otherwise(plan) else None
        if rows is None:
            only = self._replayed(judged, judged, plan)
            return only, only, _whole(judged)
        worst = self._replayed(rows.worst, judged, plan)
        best = worst if _are_alike(rows) else self._replayed(rows.best, judged, plan)
        return worst, best, ReplayCoverage(rows.slots, rows.recorded, rows.bounded, rows.unknown)

    def _judged(self, track: ResultTrack, plan: CheckPlan) -> ResultTrack:
        now = self.change.now
        if now is None or is_judged_alike(now.check, plan.check):
            return track
        if self.subject.is_rest:  # the numbers of segments that were not followed are not stored
            return track.judged(np.full_like(track.status, UNKNOWN))
        observed = self.tx.results.observations(self.subject.series, self.until)
        return judge_again(track, observed, now=now.check, then=plan.check)

    def _runs_otherwise(self, plan: CheckPlan) -> bool:
        now = self.change.now
        is_confirmed_otherwise = now is not None and plan.policy.confirm_after not in {None, now.policy.confirm_after}
        return plan.schedule is not None and ("schedule" in self.change.changed or is_confirmed_otherwise)

    def _at_slots(self, track: ResultTrack, plan: CheckPlan) -> SlotResults:
        """Return the results at the runs that are proposed, with the runs that confirm a fail."""
        gaps = self._gaps()
        slots = self._slots(track, plan) if "schedule" in self.change.changed else track.at
        begun = [episode for incident in self.subject.history.incidents.values() for episode in incident.episodes]
        rows = results_at(track, slots, gaps, begun)
        if plan.policy.confirm_after is None:
            return rows
        retries = [retry_slots(side, plan.policy.confirm_after) for side in (rows.worst, rows.best)]
        return rows.joined(results_at(track, np.unique(np.concatenate(retries)), gaps, begun))

    def _gaps(self) -> TimeMeasure:
        gaps = self.tx.results.gaps(from_us(0), self.until, [self.change.check_id])
        return TimeMeasure.of((to_us(gap.start), to_us(gap.end)) for gap in gaps)

    def _slots(self, track: ResultTrack, plan: CheckPlan) -> Ints:
        schedule = plan.schedule
        if schedule is None:
            return np.array([], dtype=np.int64)
        begin, end = from_us(int(track.at[0])) - schedule.longest_period(), from_us(int(track.at[-1]))
        number = schedule.count_between(begin, end, plan.zone)
        if number > MOST_SLOTS:
            raise TooManySlots(
                f"'{schedule}' has {number:,} runs in the stored time; at most {MOST_SLOTS:,} are replayed"
            )
        if schedule.every is None:
            moments = schedule.last_between(begin, end, plan.zone, most=number)
            return np.array([to_us(moment) for moment in moments], dtype=np.int64)
        step = schedule.every // timedelta(microseconds=1)
        last = to_us(end) - to_us(end) % step
        return last - step * np.arange(number - 1, -1, -1, dtype=np.int64)

    def _replayed(self, track: ResultTrack, recorded: ResultTrack, plan: CheckPlan | None) -> ResultReplay:
        if plan is None:
            return NOTHING
        identity = Identity(
            self.change.check_id, self.change.table, self.subject.series, plan.check.kind, plan.check.severity
        )
        return replay_results(
            track, recorded, self.subject.history, identity=identity, policy=plan.policy, numbers=self.numbers
        )


def _whole(track: ResultTrack) -> ReplayCoverage:
    unknown = int((track.status == UNKNOWN).sum())
    return ReplayCoverage(track.at.size, track.at.size - unknown, 0, unknown)


def _are_alike(rows: SlotResults) -> bool:
    return np.array_equal(rows.worst.status, rows.best.status) and np.array_equal(rows.worst.place, rows.best.place)


def count_reproduced(recorded: Sequence[Incident], replayed: Sequence[Incident]) -> int:
    """Count the recorded incidents that the replay has with the same episodes, severity, resolution and state."""
    replayed_facts = {_facts(incident) for incident in replayed}
    return sum(_facts(incident) in replayed_facts for incident in recorded)


def _facts(incident: Incident) -> tuple[object, ...]:
    return (incident.episodes, incident.severity, incident.resolution, incident.state, incident.flapping)
