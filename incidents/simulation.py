"""Replay the results of a check under another policy or at other times: which incidents it would have opened.

`replay_results` lets `advance` decide on every result again and puts in what people did then. What did not depend on
how often a check ran stays as it was recorded: the last good result of all before a failing streak bounds when data
went bad, and an estimate of that moment (`bad-rows`, `freshness-deadline`) is taken from the incident that was recorded
of the streak. So the results as they were, under the policy as it was, give the incidents as they were.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final

from checks import Message, Occurrence, OccurrenceMethod, Outcome, Status, UnknownReason
from checks.classes.arrays import np
from incidents._model import AGENT, Episode, Incident, Onset, Policy, RunTimes, State, Watch, from_us, to_us
from incidents.events import (
    Acknowledged,
    Assigned,
    Change,
    Corrected,
    Event,
    Merged,
    Opened,
    Reopened,
    Resolved,
    Snoozed,
    apply,
    corrected_episode,
)
from incidents.lifecycle import (
    RESULTS,
    Identity,
    LifecycleStep,
    Reason,
    advance,
    ended_without_rows,
)
from incidents.recorded_history import RecordedHistory
from incidents.result_tracks import ABSENT, FAILED, PASSED, WARNED, ResultTrack
from incidents.spans import Ints

_NEVER: Final = datetime.min.replace(tzinfo=UTC)
_REPLAYED: Final = Message("replayed")
_OUTCOMES: Final = (
    Outcome(Status.PASS, _REPLAYED),
    Outcome(Status.WARN, _REPLAYED),
    Outcome(Status.FAIL, _REPLAYED),
    Outcome(Status.UNKNOWN, _REPLAYED, reason=UnknownReason.NO_DATA),
    Outcome(Status.PASS, _REPLAYED),
)
"""By the codes of results; the last is that of `ABSENT`."""
_STEADY: Final = frozenset({Reason.HEALTHY, Reason.JOINED, Reason.NOT_ITS_OWN})
_ONLY_WHILE_IT_LASTS: Final = (Acknowledged, Assigned, Snoozed)


@dataclass(frozen=True, slots=True)
class ResultReplay:
    """Incidents as they would have been, what made them, in order, and how many acts of people had no incident."""

    incidents: tuple[Incident, ...]
    events: tuple[Event, ...]
    dropped: int


def replay_results(
    track: ResultTrack,
    recorded: ResultTrack,
    history: RecordedHistory,
    *,
    identity: Identity,
    policy: Policy,
    numbers: Iterator[int],
) -> ResultReplay:
    """Return which incidents the results of a check open.

    Args:
        track: the results that are decided on.
        recorded: all results that were recorded of the check, as it judged them then or is to judge them.
        history: its incidents that were recorded.
        identity: which check it is.
        policy: when incidents open and resolve.
        numbers: where incidents get their numbers from.
    """
    if track.at.size == 0:
        return ResultReplay((), (), 0)
    return _Replayer(track, _KnownState.of(recorded, history, policy), history, identity, policy, numbers).run()


@dataclass(frozen=True, slots=True, eq=False)
class _KnownState:
    """For each recorded result: the last good one by then (-1: none), and of failing streaks when data went bad."""

    good: Ints
    ended: Ints
    at: Ints
    onsets: Mapping[int, Sequence[tuple[int, Onset]]]

    @classmethod
    def of(cls, recorded: ResultTrack, history: RecordedHistory, policy: Policy) -> "_KnownState":
        is_good = recorded.status <= (PASSED if policy.warn_opens else WARNED)
        is_good &= (recorded.status != ABSENT) | (history.open_at(recorded.ended) > 0)
        places = np.arange(recorded.at.size, dtype=np.int64)
        good = np.maximum.accumulate(np.where(is_good, places, -1))
        onsets: dict[int, list[tuple[int, Onset]]] = {}
        for episode in sorted(history.detected(), key=lambda item: item.first_failed_at or item.detected_at):
            place = int(np.searchsorted(recorded.at, to_us(episode.detected_at), side="right")) - 1
            if place >= 0 and not is_good[place]:
                failed_at = to_us(episode.first_failed_at or episode.detected_at)
                onsets.setdefault(int(good[place]), []).append((failed_at, episode.onset))
        return cls(good, recorded.ended, recorded.at, onsets)

    def last_good_end(self, place: int) -> datetime | None:
        good = int(self.good[place])
        if good >= 0:
            return from_us(int(self.ended[good]))
        onset = self._onset(place)  # what was before the first result is not stored any more
        return None if onset is None or onset.method is OccurrenceMethod.FIRST_OBSERVATION else onset.earliest

    def _onset(self, place: int) -> Onset | None:
        """Return what was recorded of the failing streak of a result: its last episode that had begun by then."""
        episodes = self.onsets.get(int(self.good[place]), ())
        begun = [onset for failed_at, onset in episodes if failed_at <= int(self.at[place])]
        return begun[-1] if begun else episodes[0][1] if episodes else None

    def occurrence(self, place: int) -> Occurrence | None:
        onset = self._onset(place)
        if onset is None or onset.method in {OccurrenceMethod.LAST_GOOD_RUN, OccurrenceMethod.FIRST_OBSERVATION}:
            return None
        return Occurrence(onset.at, onset.method)


@dataclass(slots=True)
class _Replayer:
    track: ResultTrack
    knowledge: _KnownState
    history: RecordedHistory
    identity: Identity
    policy: Policy
    numbers: Iterator[int]
    watch: Watch | None = None
    incidents: list[Incident] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    openings: list[Episode] = field(default_factory=list)
    """The first episode of each incident as it opened, whatever was corrected since."""
    dropped: int = 0
    newest: int | None = None
    """The place of the newest incident; None since one changed: results that change none are many more."""

    def run(self) -> ResultReplay:
        acts = self.history.acts(from_us(int(self.track.ended[0])))
        ended = np.maximum.accumulate(self.track.ended)
        before = np.searchsorted(ended, np.array([to_us(act.recorded_at) for act in acts], dtype=np.int64), side="left")
        others = [to_us(event.recorded_at) for events in self.history.others.values() for event in events]
        around = np.searchsorted(ended, np.array(others, dtype=np.int64), side="left")
        turns = np.flatnonzero(np.diff(self.track.status)) + 1
        edges = np.concatenate(([0, self.track.at.size], turns, before, around))
        bounds = np.unique(edges).tolist()
        waiting = list(zip(before.tolist(), acts, strict=True))[::-1]
        for start, end in zip(bounds, [*bounds[1:], self.track.at.size], strict=True):
            while waiting and waiting[-1][0] <= start:
                self._take_over(waiting.pop()[1])
            self._go_through(start, end)
        return ResultReplay(tuple(self.incidents), tuple(self.events), self.dropped)

    def _go_through(self, start: int, end: int) -> None:
        """Decide on results that all came to the same: one by one, until one more changes nothing but counts."""
        for row in range(start, end):
            if self.track.status[row] == ABSENT and not self._lasts():
                return
            step = self._decide(row)
            if row + 1 < end and self._is_steady(step, row):
                self._skip_to(end - 1, count=end - 1 - row, reason=step.reason)
                return

    def _decide(self, row: int) -> LifecycleStep:
        status, place = int(self.track.status[row]), int(self.track.place[row])
        times = RunTimes(from_us(int(self.track.at[row])), from_us(int(self.track.ended[row])))
        outcome = _OUTCOMES[status]
        if self.watch is None:
            self.watch = self._first_watch(times)
        if status == FAILED or (status == WARNED and self.policy.warn_opens):
            occurrence = self.knowledge.occurrence(place)
            outcome = outcome if occurrence is None else replace(outcome, occurrence=occurrence)
            self.watch = self._with_last_good(self.watch, place)
        newest = self._newest()
        step = advance(
            self.watch,
            self._speaking(newest, times.ended_at),
            outcome,
            identity=self.identity,
            policy=self.policy,
            run=times,
        )
        step = ended_without_rows(step) if status == ABSENT else step
        self.watch = step.watch
        for change in step.changes:
            place = -1 if isinstance(step.changes[0], Opened) else newest  # what follows an opening is about it
            self._record(change, recorded_at=times.ended_at, actor=AGENT, of=place)
        return step

    def _first_watch(self, times: RunTimes) -> Watch | None:
        since = self.history.monitored_since
        if since is None or since >= times.at:
            return None
        return Watch(
            self.identity.fingerprint,
            monitored_since=since,
            last_run_at=since,
            last_status="unknown(no-data)",
            last_pass_ended_at=self.history.good_by,
        )

    def _with_last_good(self, watch: Watch | None, place: int) -> Watch | None:
        """Return what is known when a streak begins: the last good result of all, though it be of no slot."""
        good = self.knowledge.last_good_end(place)
        if watch is None or watch.fail_streak or good is None:
            return watch
        last = watch.last_pass_ended_at
        return watch if last is not None and last >= good else replace(watch, last_pass_ended_at=good)

    def _newest(self) -> int:
        """Return the place of the newest incident; -1 if there is none."""
        if self.newest is None:
            places = range(len(self.incidents))
            self.newest = max(places, key=lambda at: _place_among_newest(self.incidents[at]), default=-1)
        return self.newest

    def _lasts(self) -> bool:
        newest = self._newest()
        return newest >= 0 and self.incidents[newest].state is not State.RESOLVED

    def _speaking(self, newest: int, by: datetime) -> Incident | None:
        """Return the newest incident, or the one of another check that it was merged into, while that lasted."""
        if newest < 0:
            return None
        own = self.incidents[newest]
        speaks: Incident | None = own
        while speaks is not None and speaks.merged_into is not None:
            speaks = self.history.standing(speaks.merged_into, by)
        if speaks is None or speaks.state is State.RESOLVED or speaks.check_id == self.identity.check_id:
            return own
        return speaks

    def _is_steady(self, step: LifecycleStep, row: int) -> bool:
        """Check whether more of the same changes nothing: a check that does not flap does not begin to by that."""
        if step.changes or self.track.status[row] == ABSENT:
            return False
        return step.reason in {Reason.UNKNOWN, Reason.WARNED} or (step.reason in _STEADY and not step.watch.flapping)

    def _skip_to(self, row: int, *, count: int, reason: Reason) -> None:
        """Take over what results that change nothing leave behind: when the last of them ran, and how many."""
        watch = self.watch
        if watch is None:
            return
        counts: dict[str, Any] = {"last_run_at": from_us(int(self.track.at[row]))}
        if reason in _STEADY:
            counts["recent"] = (watch.recent + watch.recent[-1] * min(count, RESULTS))[-RESULTS:]
        if reason in {Reason.HEALTHY, Reason.NOT_ITS_OWN}:
            counts["pass_streak"] = watch.pass_streak + count
        if reason is Reason.JOINED:
            counts["fail_streak"] = watch.fail_streak + count
        elif reason is not Reason.UNKNOWN:
            counts["last_pass_ended_at"] = from_us(int(self.track.ended[row]))
        self.watch = replace(watch, **counts)

    # --- incidents ----------------------------------------------------------------------------------------------------

    def _record(self, change: Change, *, recorded_at: datetime, actor: str, of: int) -> None:
        if isinstance(change, Opened):
            self.openings.append(change.episode)
            self.incidents.append(self._applied(None, Event(next(self.numbers), recorded_at, actor, change)))
        else:
            incident = self.incidents[of]
            self.incidents[of] = self._applied(incident, Event(incident.id, recorded_at, actor, change))

    def _applied(self, incident: Incident | None, event: Event) -> Incident:
        self.events.append(event)
        self.newest = None
        return apply(incident, event)

    def _take_over(self, act: Event) -> None:
        """Let what was done then happen to the incident that stands for the one it was done to, if there is one."""
        if isinstance(act.change, Opened):
            self._record(act.change, recorded_at=act.recorded_at, actor=act.actor, of=-1)
            return
        original = self.history.incidents.get(act.incident_id)
        place = None if original is None else self._counterpart(original, act.recorded_at)
        if place is None or not self._may_follow(place, act.change):
            self.dropped += 1
            return
        self._record(act.change, recorded_at=act.recorded_at, actor=act.actor, of=place)

    def _may_follow(self, place: int, change: Change) -> bool:
        """Check whether what a person did is possible, beside the other incidents too: at most one is open."""
        others = (incident for at, incident in enumerate(self.incidents) if at != place)
        if isinstance(change, Reopened) and any(incident.state is not State.RESOLVED for incident in others):
            return False
        return _may_follow(self.incidents[place], change)

    def _counterpart(self, original: Incident, by: datetime) -> int | None:
        """Return the place of the incident that opened as the original did; else of the last about its time."""
        opening = next(event.change for event in self.history.events[original.id])
        places = range(len(self.incidents) - 1, -1, -1)
        if isinstance(opening, Opened):
            for place in places:
                if self.openings[place].detected_at == opening.episode.detected_at:
                    return place
        about_its_time = (
            place
            for place in places
            if self.incidents[place].episodes[0].detected_at <= by and _overlap(self.incidents[place], original)
        )
        return next(about_its_time, None)


def _place_among_newest(incident: Incident) -> tuple[bool, datetime, int]:
    """Return the place of an incident among those of a check: the open one is the newest, else the last that ended."""
    return incident.state is not State.RESOLVED, incident.last.resolved_at or _NEVER, incident.id


def _overlap(one: Incident, other: Incident) -> bool:
    """Check whether two incidents of a check are about one time."""
    return _begins_before_end(one, other) and _begins_before_end(other, one)


def _begins_before_end(one: Incident, other: Incident) -> bool:
    end = other.last.resolved_at
    return end is None or min(one.episodes[0].onset.earliest, one.episodes[0].onset.at) < end


def _may_follow(incident: Incident, change: Change) -> bool:
    """Check whether what a person did is possible: the incident may be at another place than the one it was done to."""
    is_over, last = incident.state is State.RESOLVED, incident.last
    match change:
        case Resolved(at):
            return at >= last.detected_at
        case Reopened(episode):
            return is_over and last.resolved_at is not None and episode.detected_at >= last.resolved_at
        case Merged():
            return incident.merged_into is None
        case Corrected(episode=number):
            if not -len(incident.episodes) <= number < len(incident.episodes):
                return False
            before = incident.episodes[number]
            after = corrected_episode(before, change)
            occurred_at = change.occurred_at or before.onset.at
            return occurred_at <= after.detected_at <= (after.resolved_at or after.detected_at)
    return not (is_over and isinstance(change, _ONLY_WHILE_IT_LASTS))
