"""Compare what the present configuration gives with what a proposed one would have given: hours, money, alerts.

A problem is a time in which episodes of a check overlap, of either configuration: it is noticed by one, the other or
both. The length of its repair is unknown, so it is counted both ways: it ended when it did, or it took as long
as it did from its detection. What would not have been noticed at all is no incident, and its hours are no downtime by
definition; they stand apart, since the data was as bad.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from itertools import groupby
from typing import Final, NamedTuple, TypeAlias

from incidents import Downtime, Episode, Event, Incident, ResultReplay, Spans, Window, from_us, measure, price, to_us
from monitor.config.project import Project
from monitor.simulation.plan import CheckChange
from monitor.simulation.replayed_alerts import Alarm, alarms_of
from monitor.simulation.run import CheckReplay, ReplayCoverage, count_reproduced, replay_checks
from store import ReadTransaction

_OPEN: Final = 2**62
_OF_A_PROBLEM: Final = ("first", "reopened", "escalated")


@dataclass(frozen=True, slots=True)
class PricedDowntime:
    """The downtime of a window and its cost; None without rates."""

    downtime: Downtime
    cost: Fraction | None


@dataclass(frozen=True, slots=True)
class Bounds:
    """Between which figures a proposal lies: runs of which nothing is certain saw the better or the worse outcome.

    `as_ended`: each problem ended when it did; `as_long`: its repair took as long as it did.
    """

    as_ended: tuple[PricedDowntime, PricedDowntime]
    as_long: tuple[PricedDowntime, PricedDowntime]

    @property
    def every(self) -> Sequence[PricedDowntime]:
        """Return all four."""
        return (*self.as_ended, *self.as_long)


@dataclass(frozen=True, slots=True)
class SimulatedProblem:
    """A time in which data was bad, and when it was noticed: now, and at the earliest and latest by the proposal.

    None: it is not noticed. `resolved_at` is None while it lasts.
    """

    table: str
    check_id: str
    segment: str | None
    occurred_at: datetime
    resolved_at: datetime | None
    now: datetime | None
    earliest: datetime | None
    latest: datetime | None

    @property
    def effect(self) -> str:
        """Return how the detection differs in the proposal: `same`, `sooner`, `later`, `either`, `missed`, `new` ..."""
        noticed = (self.earliest, self.latest)
        if self.now is None:
            return "new" if None not in noticed else "perhaps-new"
        if None in noticed:
            return "missed" if noticed == (None, None) else "perhaps-missed"
        if noticed == (self.now, self.now):
            return "same"
        moments = [moment for moment in noticed if moment is not None]
        return "sooner" if max(moments) <= self.now else "later" if min(moments) >= self.now else "either"


@dataclass(frozen=True, slots=True)
class AlarmCount:
    """The number of messages of a channel, and how many of them report a problem for the first time or again."""

    messages: int
    problems: int


@dataclass(frozen=True, slots=True)
class Simulation:
    """The result of a proposal in a window.

    `reproduced` of the `recorded` incidents are what the present configuration gives; the others were recorded under
    other rules. `now` and `then` leave out checks that could not be replayed (`skipped`: why, by check). `unnoticed`:
    the downtime of now that the proposal does not notice in any case. `alarms` by channel, of now, at best and worst.
    """

    window: Window
    as_of: datetime
    changes: tuple[CheckChange, ...]
    skipped: Mapping[str, str]
    cover: ReplayCoverage
    covers: Mapping[str, ReplayCoverage]
    recorded: int
    reproduced: int
    dropped: int
    now: PricedDowntime
    then: Bounds
    unnoticed: PricedDowntime
    problems: tuple[SimulatedProblem, ...]
    alarms: Mapping[str, tuple[AlarmCount, AlarmCount, AlarmCount]]
    alarm_log: tuple[tuple[Alarm, ...], tuple[Alarm, ...]]

    @property
    def differs(self) -> bool:
        """Check whether the proposal notices anything otherwise, gives other figures or sends other messages."""
        is_noticed_otherwise = any(problem.effect != "same" for problem in self.problems)
        has_other_figures = any(figures != self.now for figures in self.then.every)
        sends_otherwise = any(len(set(counts)) > 1 for counts in self.alarms.values())
        now, then = ([alarm._replace(message="") for alarm in log] for log in self.alarm_log)
        return is_noticed_otherwise or has_other_figures or sends_otherwise or now != then

    @property
    def messages(self) -> int:
        """Count the messages of now to all channels."""
        return sum(now.messages for now, *_ in self.alarms.values())


def simulate(
    running: Project,
    proposed: Project,
    tx: ReadTransaction,
    *,
    changes: Sequence[CheckChange],
    window: Window,
    as_of: datetime,
) -> Simulation:
    """Replay what differs and compare; nothing is written to the store, and nothing is sent.

    Raises:
        TooManySlots: a proposed schedule is much finer than what was stored.
    """
    replays = list(replay_checks(tx, changes, until=as_of))
    replayed = [item for item in replays if item.skipped is None]
    calculator = _Calculator(running, window, to_us(as_of))
    problems = [problem for item in replayed for problem in _problems(item, window)]
    before = [incident for item in replayed for incident in item.now.incidents]
    log_now, log_worst, log_best = _alarms(
        running, proposed, tx, replayed, Window(window.start_us, min(window.end_us, to_us(as_of)))
    )
    recorded = [
        incident
        for item in replayed
        for incident in item.recorded
        if incident.episodes[0].detected_at < as_of and _touches(incident, window)
    ]
    return Simulation(
        window=window,
        as_of=as_of,
        changes=tuple(changes),
        skipped={item.change.check_id: item.skipped for item in replays if item.skipped is not None},
        cover=_sum(item.cover for item in replayed),
        covers={
            check_id: _sum(item.cover for item in items)
            for check_id, items in groupby(replayed, lambda item: item.change.check_id)
        },
        recorded=len(recorded),
        reproduced=count_reproduced(recorded, before),
        dropped=sum(item.worst.dropped for item in replayed),
        now=calculator.figures(before),
        then=Bounds(
            as_ended=calculator.both([(item.worst.incidents, item.best.incidents) for item in replayed]),
            as_long=calculator.both(
                [(_as_long(item, item.worst.incidents), _as_long(item, item.best.incidents)) for item in replayed]
            ),
        ),
        unnoticed=calculator.figures(_only_missed(replayed)),
        problems=tuple(sorted(problems, key=lambda item: (item.occurred_at, item.check_id))),
        alarms={
            channel: (_count(log_now, channel), _count(log_best, channel), _count(log_worst, channel))
            for channel in dict.fromkeys([*running.config.alerts.channels, *proposed.config.alerts.channels])
        },
        alarm_log=(tuple(log_now), tuple(log_worst)),
    )


_Pair: TypeAlias = tuple[Sequence[Incident], Sequence[Incident]]
"""The incidents of a check at worst, and at best."""


@dataclass(frozen=True, slots=True)
class _Calculator:
    project: Project
    window: Window
    as_of_us: int

    def figures(self, incidents: Iterable[Incident]) -> PricedDowntime:
        spans = Spans.of(incidents)
        maintenance = self.project.maintenance(spans.names)
        downtime = measure(spans, self.window, as_of_us=self.as_of_us, maintenance=maintenance)
        if not self.project.priced:
            return PricedDowntime(downtime, None)
        cost = price(spans, self.window, pricing=self.project.pricing, as_of_us=self.as_of_us, maintenance=maintenance)
        return PricedDowntime(downtime, cost.amount)

    def both(self, pairs: Sequence[_Pair]) -> tuple[PricedDowntime, PricedDowntime]:
        """Return the figures of the best and of the worst that a proposal may give."""
        worst, best = (self.figures([item for pair in pairs for item in pair[side]]) for side in (0, 1))
        return best, worst


def _sum(covers: Iterable[ReplayCoverage]) -> ReplayCoverage:
    every = list(covers)
    return ReplayCoverage(
        *(sum(getattr(cover, name) for cover in every) for name in ("runs", "recorded", "bounded", "unknown"))
    )


# --- problems ---------------------------------------------------------------------------------------------------------


class _Row(NamedTuple):
    """An episode of a side: 0 is now, then the worst and the best that a proposal may give."""

    start: int
    end: int
    side: int
    incident: int
    number: int
    episode: Episode


def _sides(replay: CheckReplay) -> Sequence[ResultReplay]:
    return (replay.now, replay.worst, replay.best)


def _groups(sides: Sequence[ResultReplay]) -> Iterator[list[_Row]]:
    """Yield the episodes of all sides in groups that overlap, one after the other."""
    rows = sorted(
        _Row(_start(episode), _end(episode), side, incident.id, number, episode)
        for side, result in enumerate(sides)
        for incident in result.incidents
        for number, episode in enumerate(incident.episodes)
    )
    group: list[_Row] = []
    end = 0
    for row in rows:
        if group and row.start >= end:
            yield group
            group = []
        end = row.end if not group else max(end, row.end)
        group.append(row)
    if group:
        yield group


def _start(episode: Episode) -> int:
    return to_us(min(episode.onset.at, episode.detected_at))


def _end(episode: Episode) -> int:
    return _OPEN if episode.resolved_at is None else to_us(episode.resolved_at)


def _problems(replay: CheckReplay, window: Window) -> Iterator[SimulatedProblem]:
    for group in _groups(_sides(replay)):
        start, end = group[0].start, max(row.end for row in group)
        if start < window.end_us and end > window.start_us:
            now, earliest, latest = (_first_detection(group, side) for side in range(3))
            yield SimulatedProblem(
                table=replay.change.table,
                check_id=replay.change.check_id,
                segment=replay.segment,
                occurred_at=from_us(start),
                resolved_at=None if end == _OPEN else from_us(end),
                now=now,
                earliest=earliest,
                latest=latest,
            )


def _first_detection(group: Iterable[_Row], side: int) -> datetime | None:
    return min((row.episode.detected_at for row in group if row.side == side), default=None)


def _as_long(replay: CheckReplay, incidents: Sequence[Incident]) -> list[Incident]:
    """Return incidents with the recorded time to repair, where both configurations have one episode of a problem."""
    ends: dict[tuple[int, int], datetime] = {}
    for group in _groups((replay.now, ResultReplay(tuple(incidents), (), 0))):
        if len(group) == 2 and {row.side for row in group} == {0, 1}:
            before, after = sorted(group, key=lambda row: row.side)
            length = before.episode.repair
            if length is not None and after.episode.resolved_at is not None:
                ends[after.incident, after.number] = after.episode.detected_at + length
    return [_ended_at(incident, ends) for incident in incidents]


def _ended_at(incident: Incident, ends: Mapping[tuple[int, int], datetime]) -> Incident:
    episodes = list(incident.episodes)
    for number, episode in enumerate(episodes):
        end = ends.get((incident.id, number), episode.resolved_at)
        if end is not None and number + 1 < len(episodes):  # the next episode does not begin before this one ends
            end = max(episode.detected_at, min(end, episodes[number + 1].onset.at))
        episodes[number] = replace(episode, resolved_at=end)
    return replace(incident, episodes=tuple(episodes))


def _only_missed(replays: Iterable[CheckReplay]) -> list[Incident]:
    """Return the incidents of now with only those episodes that a proposal does not notice in any case."""
    results = []
    for replay in replays:
        missed = {
            (row.incident, row.number)
            for group in _groups(_sides(replay))
            if {row.side for row in group} == {0}
            for row in group
        }
        for incident in replay.now.incidents:
            episodes = tuple(
                episode for number, episode in enumerate(incident.episodes) if (incident.id, number) in missed
            )
            results += [replace(incident, episodes=episodes)] if episodes else []
    return results


# --- alerts -----------------------------------------------------------------------------------------------------------


def _alarms(
    running: Project, proposed: Project, tx: ReadTransaction, replays: Sequence[CheckReplay], window: Window
) -> tuple[list[Alarm], list[Alarm], list[Alarm]]:
    """Return the alerts of now, and of the proposal at worst and at best."""
    checks = list(dict.fromkeys(replay.change.check_id for replay in replays))
    now = alarms_of(running, tx, _events(replay.now for replay in replays), checks=checks, window=window)
    worst = alarms_of(proposed, tx, _events(replay.worst for replay in replays), checks=checks, window=window)
    if all(replay.is_exact for replay in replays):
        return now, worst, worst
    return now, worst, alarms_of(proposed, tx, _events(replay.best for replay in replays), checks=checks, window=window)


def _events(replays: Iterable[ResultReplay]) -> list[Event]:
    return [event for replay in replays for event in replay.events]


def _count(alarms: Iterable[Alarm], channel: str) -> AlarmCount:
    own = [alarm for alarm in alarms if alarm.channel == channel]
    reasons = Counter(alarm.reason for alarm in own)
    return AlarmCount(len({alarm.message for alarm in own}), sum(reasons[reason] for reason in _OF_A_PROBLEM))


def _touches(incident: Incident, window: Window) -> bool:
    return any(_start(item) < window.end_us and _end(item) > window.start_us for item in incident.episodes)
