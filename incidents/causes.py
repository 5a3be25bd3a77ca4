"""Rank what may have caused an incident: facts near its beginning, scored by fixed and documented parts.

A score is a product of seven parts, each between 0 and 1:

- `prior`: how often something of the kind is a cause where it is seen (`PRIORS`; fixed, not learned).
- `time`: the chance that the effect of something that happened then first shows between `earliest` and `latest`, when
  the data of the incident went bad. The delay is log-logistic: half of all effects show within `HALF_SHOWN`, a fifth
  take longer than four times that. It is divided by the same chance for something that happened at `earliest`. What
  certainly came later has none. Of a fact whose own time lies in an interval, the mean over that. Where the load time
  of the first bad rows is known, `LOADED` of the part is how likely a delay of that length is, beside none.
- `lineage`: `FURTHER` for each step upstream.
- `strength`: how large the change was, or how alike the incidents are.
- `rarity`: one over one plus the number of such facts that are expected in a time like this by chance, in `RARE`.
- `columns`: whether the columns of the fact feed those of the incident (`COLUMNS`).
- `lasting`: less for what was as usual again before the data went bad, or while the incident went on.

Scores order candidates. They are no probabilities: nothing here knows what was not recorded.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final, Self, TypeGuard

from checks import OccurrenceMethod
from incidents._model import Incident, Onset, Resolution

HALF_SHOWN: Final = timedelta(hours=2)
"""Half of all effects show within this time."""
FURTHER: Final = 0.65
RARE: Final = 0.02
"""Where so many facts are expected by chance, the part is a half."""
COLUMNS: Final[Mapping[bool | None, float]] = {True: 1.0, None: 0.5, False: 0.05}
"""By whether the columns of a candidate feed those of the incident; None where that is not known."""
OVER_BEFORE, OVER_SINCE = 0.1, 0.3
"""For what was as usual again before the data of the incident went bad, and while the incident went on."""
LOADED: Final = 0.85
"""The weight of the load time of the first bad rows; the rest is that of the interval, as load times can be wrong."""
USUAL: Final = timedelta(days=28)
"""How far back facts of a kind are counted, to tell what is usual."""
STRONG, MODERATE = 0.1, 0.01
"""From which score on a candidate is called strong, and moderate; below that it is weak."""
TOGETHER: Final = timedelta(hours=1)
"""Incidents of a table detected within this time failed together."""
_LOAD: Final = timedelta(hours=24)
"""So long after a cause upstream is repaired, its effect may wait for the next load."""
_RESOLUTION: Final = timedelta(minutes=1)
"""What began in the same minute may have been the cause: people log times by the minute."""
_POINTS: Final = 24
_LEAST_ALIKE: Final = 0.3


class CauseKind(StrEnum):
    """What kind of fact may be a cause."""

    UPSTREAM = "upstream-incident"
    SCHEMA = "schema-change"
    VOLUME = "volume-shift"
    EVENT = "event"
    JOB = "failed-job"
    SEGMENT = "segment"
    EARLIER = "earlier-incident"


class Likelihood(StrEnum):
    """How much speaks for a candidate, in a word."""

    STRONG = "strong"
    MODERATE = "moderate"
    WEAK = "weak"


PRIORS: Final[Mapping[CauseKind, float]] = {
    CauseKind.SCHEMA: 1.0,
    CauseKind.VOLUME: 0.9,
    CauseKind.UPSTREAM: 0.6,
    CauseKind.SEGMENT: 0.5,
    CauseKind.JOB: 0.15,
    CauseKind.EVENT: 0.08,
    CauseKind.EARLIER: 0.07,
}
OFTEN: Final = 3
"""From so many earlier incidents of one cause on, that cause comes back."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """When the data of an incident went bad: between `earliest` and `latest`.

    `loaded_at`: the load time of the first bad rows, None if it is not known. `until`: the end of the incident; of one
    that lasts, now.
    """

    earliest: datetime
    latest: datetime
    loaded_at: datetime | None = None
    until: datetime | None = None

    @classmethod
    def of(cls, incident: Incident, now: datetime | None = None) -> "Beginning":
        """Return when the newest episode of an incident began."""
        onset = incident.last.onset
        latest = max(onset.at, min(onset.latest, incident.last.detected_at))
        return cls(min(onset.earliest, onset.at), latest, _loaded_at(onset), incident.last.resolved_at or now)

    @property
    def _width(self) -> timedelta:
        return max(self.latest - self.earliest, _RESOLUTION)

    def fit(self, since: datetime, until: datetime) -> float:
        """Return the part of a score that time has, for something that happened between two moments."""
        interval = self._fit_of_interval(since, until)
        if self.loaded_at is None:
            return interval
        delays = [self.loaded_at - moment for moment in _moments(since, until)]
        likely = sum((1 - _shown(delay)) ** 2 for delay in delays if delay >= timedelta()) / len(delays)
        return LOADED * likely + (1 - LOADED) * interval

    def _fit_of_interval(self, since: datetime, until: datetime) -> float:
        moments = _moments(since, until)
        start = self.latest - self._width
        delays = [max(self.latest - moment, _RESOLUTION / 2) for moment in moments if moment <= self.latest]
        shown = sum(map(_shown, delays)) - sum(_shown(start - moment) for moment in moments)
        return min(1.0, shown / len(moments) / _shown(self._width))

    def expected(self, a_day: float) -> float:
        """Return how many facts are expected in a time like this by chance, given how many there usually are a day.

        Where none was in `USUAL`, one might have been.
        """
        width = self._width if self.loaded_at is None else timedelta()
        return (a_day + timedelta(days=1) / USUAL) * ((width + 2 * HALF_SHOWN) / timedelta(days=1))

    def lasting(self, ended_at: datetime | None) -> float:
        """Return the part of a score of something that was over at a time, None while it lasts."""
        if ended_at is None:
            return 1.0
        if ended_at < self.latest:
            return OVER_BEFORE
        return OVER_SINCE if self.until is not None and self.until > ended_at + _LOAD else 1.0


def _loaded_at(onset: Onset) -> datetime | None:
    """Return the load time of the first bad rows; None where it is not known, or no later than the last good run."""
    return onset.at if onset.method is OccurrenceMethod.BAD_ROWS and onset.at > onset.earliest else None


def _moments(since: datetime, until: datetime) -> Sequence[datetime]:
    """Return moments evenly spread over a time."""
    step = (until - since) / _POINTS
    return [since + step * (point + 0.5) for point in range(_POINTS)] if step else [since]


def _shown(delay: timedelta) -> float:
    """Return the share of effects that show within a time."""
    return max(0.0, delay / (delay + HALF_SHOWN)) if delay > timedelta() else 0.0


@dataclass(frozen=True, slots=True)
class Clue:
    """A fact that may be a cause: it happened between `since` and `until` (None: it has no time of its own).

    `distance`: steps upstream of the incident's table, 0 for the table itself. `a_day`: how many such facts there were
    a day before. `feeds`: whether its columns feed those of the incident, None where that is not known. `ended_at`:
    when it was over, None while it lasts. `evidence`: what views show of it, numbers and names; nothing here reads it.
    """

    kind: CauseKind
    table: str | None
    evidence: Mapping[str, Any]
    since: datetime | None = None
    until: datetime | None = None
    distance: int = 0
    strength: float = 1.0
    a_day: float = 0.0
    feeds: bool | None = None
    ended_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ScoreParts:
    """The parts of a score, each between 0 and 1."""

    prior: float
    time: float
    lineage: float
    strength: float
    rarity: float
    columns: float
    lasting: float

    @property
    def score(self) -> float:
        """Return their product."""
        return self.prior * self.time * self.lineage * self.strength * self.rarity * self.columns * self.lasting


@dataclass(frozen=True, slots=True)
class CauseCandidate:
    """Something that may have caused an incident, with the parts of its score."""

    clue: Clue
    parts: ScoreParts

    @property
    def likelihood(self) -> Likelihood:
        """Return in a word how much speaks for it."""
        score = self.parts.score
        return Likelihood.STRONG if score >= STRONG else Likelihood.MODERATE if score >= MODERATE else Likelihood.WEAK


def rank_causes(beginning: Beginning, clues: Iterable[Clue]) -> Sequence[CauseCandidate]:
    """Return what may have caused an incident, the likeliest first; what came later is left out.

    Of candidates alike, what is nearer in the lineage comes first, then what happened earlier.
    """
    candidates = [CauseCandidate(clue, _parts(beginning, clue)) for clue in clues]
    possible = [candidate for candidate in candidates if candidate.parts.score > 0]

    def order(candidate: CauseCandidate) -> tuple[float, int, float]:
        clue = candidate.clue
        return -candidate.parts.score, clue.distance, math.inf if clue.since is None else clue.since.timestamp()

    return sorted(possible, key=order)


def _parts(beginning: Beginning, clue: Clue) -> ScoreParts:
    return ScoreParts(
        prior=PRIORS[clue.kind],
        time=1.0 if clue.since is None or clue.until is None else beginning.fit(clue.since, clue.until),
        lineage=FURTHER**clue.distance,
        strength=clue.strength,
        rarity=1.0 if clue.since is None else 1 / (1 + beginning.expected(clue.a_day) / RARE),
        columns=COLUMNS[clue.feeds],
        lasting=beginning.lasting(clue.ended_at),
    )


def upstream_clue(
    beginning: Beginning, incidents: Sequence[Incident], *, distance: int, feeds: bool | None = None
) -> Clue | None:
    """Return the clue that the incidents of one table upstream are: that whose beginning fits best, and how many do.

    None if none began before the end of the beginning. What ended as no incident, or as a duplicate, is left out.
    """
    mistaken = {Resolution.EXPECTED, Resolution.FALSE_POSITIVE, Resolution.DUPLICATE}
    spans = [
        (beginning.fit(*times), times, incident, episode.resolved_at)
        for incident in incidents
        if incident.resolution not in mistaken
        for episode in incident.episodes
        for times in (_times_before(beginning, episode.onset),)
    ]
    fitting = sorted((span for span in spans if span[0] > 0), key=lambda span: (-span[0], span[2].id))
    if not fitting:
        return None
    best, (since, until), incident, ended_at = fitting[0]
    beside = {other.id for fit, _, other, _ in fitting if fit > best / 2}
    return Clue(
        CauseKind.UPSTREAM,
        incident.table,
        {"incident": incident, "incidents": len(beside)},
        since,
        until,
        distance,
        a_day=_a_day([span[2] for span in spans if span[2].id not in beside]),
        feeds=feeds,
        ended_at=ended_at,
    )


def _times_before(beginning: Beginning, onset: Onset) -> tuple[datetime, datetime]:
    """Return between which times the data of an incident upstream went bad, up to the end of the beginning."""
    loaded_at = _loaded_at(onset)
    if loaded_at is not None:
        return loaded_at, loaded_at
    return onset.earliest, max(onset.earliest, min(onset.latest, beginning.latest))


def _a_day(incidents: Sequence[Incident]) -> float:
    """Return how many incidents there were a day."""
    return len({incident.id for incident in incidents}) / (USUAL / timedelta(days=1))


def earlier_clues(incident: Incident, others: Sequence[Incident]) -> Sequence[Clue]:
    """Return the clues that earlier incidents of the same table are, that looked alike and for which a cause is known.

    One for each cause that people gave, or each incident that they named as the root: the one most alike.
    """
    detected, failures = incident.last.detected_at, _Failures.of(others)
    beside = failures.beside(incident)
    groups: dict[Any, list[tuple[float, Incident]]] = {}
    for other in others:
        given = other.cause.casefold() if other.cause else other.root
        if given is None or other.id == incident.id or other.episodes[0].detected_at >= detected:
            continue
        alike = _alike(incident, other) + _overlap(beside, failures.beside(other)) / 4
        if alike >= _LEAST_ALIKE:
            groups.setdefault(given, []).append((alike, other))
    clues = []
    for same in groups.values():
        alike, best = max(same, key=lambda pair: (pair[0], pair[1].id))
        evidence = {"incident": best, "incidents": len(same), "alike": alike}
        often = min(1.0, len(same) / OFTEN)
        clues.append(Clue(CauseKind.EARLIER, best.table, evidence, strength=alike**1.5 * often**2))
    return clues


def similarity(incident: Incident, other: Incident, incidents: Iterable[Incident]) -> float:
    """Return how much two incidents of a table look alike, 0 to 1: what failed, how far, and what failed with it.

    Half is the check (or the title, of what people reported), a quarter how near their figures are, a quarter which
    checks failed together with each.
    """
    failures = _Failures.of(incidents)
    return _alike(incident, other) + _overlap(failures.beside(incident), failures.beside(other)) / 4


def _alike(incident: Incident, other: Incident) -> float:
    """Return the part of the similarity that two incidents have by themselves, 0 to 0.75."""
    same = (incident.check_id or incident.title) == (other.check_id or other.title)
    if same and incident.fingerprint != other.fingerprint and incident.check_id is not None:
        what = 0.7  # another segment of the same check
    else:
        what = 1.0 if same else 0.0
    return what / 2 + _nearness(incident, other) / 4


def _nearness(one: Incident, two: Incident) -> float:
    """Return how near the figures of two messages are: 1 for the same, 0.5 where one is twice the other."""
    if one.title != two.title:
        return 0.0
    pairs = [(one.title_values[name], two.title_values.get(name)) for name in one.title_values]
    gaps = [abs(math.log2((1 + abs(a)) / (1 + abs(b)))) for a, b in pairs if _is_figure(a) and _is_figure(b)]
    return 1 / (1 + sum(gaps) / len(gaps)) if gaps else 1.0


def _is_figure(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


@dataclass(frozen=True, slots=True)
class _Failures:
    """When which check of a table failed, the earliest first."""

    times: Sequence[datetime]
    checks: Sequence[str]

    @classmethod
    def of(cls, incidents: Iterable[Incident]) -> Self:
        failed = [
            (episode.detected_at, incident.check_id)
            for incident in incidents
            if incident.check_id is not None
            for episode in incident.episodes
        ]
        failed.sort()
        return cls([time for time, _ in failed], [check for _, check in failed])

    def beside(self, incident: Incident) -> frozenset[str]:
        """Return the checks of the table that failed together with an incident."""
        at = incident.last.detected_at
        first, end = bisect_left(self.times, at - TOGETHER), bisect_right(self.times, at + TOGETHER)
        return frozenset(self.checks[first:end]) - {incident.check_id or ""}


def _overlap(one: frozenset[str], two: frozenset[str]) -> float:
    union = one | two
    return len(one & two) / len(union) if union else 1.0
