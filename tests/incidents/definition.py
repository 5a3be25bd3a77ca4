"""Downtime by its definition, moment by moment: slow, obvious, and the judge of the fast way.

Time is counted in ticks: a stretch is the set of its ticks, "inside of" is the intersection of sets.
"""

from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction

from checks import Kind
from incidents import Incident
from tests.incidents.histories import tick


@dataclass
class View:
    """What is looked at: a window in ticks, the moment of knowing, planned work by table."""

    start: int
    end: int
    as_of: int
    planned: dict[str, list[tuple[int, int]]]
    disclosure: bool = False

    def inside(self, begin, stop):
        """Return the ticks of a stretch that lie in the window and were known."""
        return set(range(max(begin, self.start), min(stop, self.end, self.as_of)))

    def has(self, when):
        """Return whether a tick lies in the window and was known."""
        return self.start <= when < self.end and when <= self.as_of

    def work(self, table):
        """Return the ticks of planned work on a table."""
        return {moment for begin, stop in self.planned.get(table, ()) for moment in range(begin, stop)}

    def known(self, incident):
        """Return the episodes detected by then.

        Earliest, occurred, latest, detected, resolved (None while it lasts), acknowledged (None if not by then).
        """
        result = []
        for episode in incident.episodes:
            resolved = None if episode.resolved_at is None else tick(episode.resolved_at)
            times = (episode.onset.earliest, episode.onset.at, episode.onset.latest, episode.detected_at)
            if tick(episode.detected_at) <= self.as_of:
                lasts = resolved is None or resolved > self.as_of
                acknowledged = None if episode.acknowledged_at is None else tick(episode.acknowledged_at)
                if acknowledged is not None and acknowledged > self.as_of:
                    acknowledged = None
                if acknowledged is not None and resolved is not None:
                    acknowledged = min(acknowledged, resolved)
                result.append((*map(tick, times), None if lasts else resolved, acknowledged))
        return result


class Facts:
    """One incident in a view: sets of ticks, inside of the window and as a whole."""

    def __init__(self, incident: Incident, view: View):
        self.incident = incident
        self.episodes = view.known(incident)
        work = view.work(incident.table)
        self.undetected = self._ticks(lambda e: view.inside(e[1], e[3])) - work
        self.low = self._ticks(lambda e: view.inside(e[2], e[3])) - work
        self.high = self._ticks(lambda e: view.inside(e[0], e[3])) - work
        self.repair = self._ticks(lambda e: view.inside(e[3], view.as_of if e[4] is None else e[4])) - work
        self.raw = self._ticks(lambda e: view.inside(e[1], view.as_of if e[4] is None else e[4]))
        self.down = self.raw - work
        self.ttd = len(self._ticks(lambda e: set(range(e[1], e[3]))) - work)
        self.ttr = len(self._ticks(lambda e: set(range(e[3], view.as_of if e[4] is None else e[4]))) - work)
        self.acknowledged = next((e for e in self.episodes if e[5] is not None), None)
        noticed, answered = (0, 0) if self.acknowledged is None else self.acknowledged[3:6:2]
        self.tta = len(set(range(noticed, answered)) - work)
        lasted = sum((view.as_of if e[4] is None else e[4]) - e[1] for e in self.episodes)
        self.is_real = lasted == 0 or self.ttd + self.ttr > 0

    def _ticks(self, of_episode):
        return set().union(*(of_episode(episode) for episode in self.episodes))


def quantile(values, share):
    """Return a quantile by linear interpolation."""
    values = sorted(values)
    place = share * (len(values) - 1)
    below = int(place)
    above = min(below + 1, len(values) - 1)
    return values[below] + (place - below) * (values[above] - values[below])


def statistics(values):
    """Return min, mean, median, p90, max; None without any."""
    if not values:
        return None
    middle, late = quantile(values, Fraction(1, 2)), quantile(values, Fraction(9, 10))
    return (min(values), Fraction(sum(values), len(values)), middle, late, max(values))


def downtime(incidents, view):
    """Return every figure of a view by definition."""
    facts = [Facts(incident, view) for incident in incidents]
    facts = [fact for fact in facts if fact.episodes]
    quality = [fact for fact in facts if view.disclosure or fact.incident.kind is Kind.QUALITY]
    down = [one for one in quality if one.incident.counts]
    real = [one for one in down if one.is_real]
    tables = defaultdict(set)
    for one in down:
        tables[one.incident.table] |= one.down
    return {
        "n": sum(1 for one in down if one.undetected or one.repair),
        "n_occurred": sum(1 for one in real if view.has(one.episodes[0][1])),
        "undetected": sum(len(one.undetected) for one in down),
        "repair": sum(len(one.repair) for one in down),
        "undetected_low": sum(len(one.low) for one in down),
        "undetected_high": sum(len(one.high) for one in down),
        "ttd": statistics([one.ttd for one in real if view.has(one.episodes[0][3])]),
        "ttr": statistics(
            [one.ttr for one in real if one.episodes[-1][4] is not None and view.has(one.episodes[-1][4])]
        ),
        "tta": statistics([one.tta for one in real if one.acknowledged and view.has(one.acknowledged[5])]),
        "n_acknowledged": sum(1 for one in real if one.acknowledged and view.has(one.acknowledged[5])),
        "n_unacknowledged": sum(
            1
            for one in real
            if not one.acknowledged and one.episodes[-1][4] is not None and view.has(one.episodes[-1][4])
        ),
        "table_time": sum(map(len, tables.values())),
        "by_severity": _by_severity(down),
        "excluded": _excluded(quality, down),
        "exposure": _tally(
            [fact.raw for fact in facts if fact.incident.counts and fact.incident.kind is Kind.DISCLOSURE]
        ),
        "open": {
            (one.incident.id, view.as_of - one.episodes[-1][1])
            for one in down
            if one.episodes[-1][4] is None and one.episodes[-1][1] < view.end and view.as_of >= view.start
        },
    }


def _by_severity(down):
    parts = defaultdict(lambda: (0, 0, 0))
    for one in down:
        if one.undetected or one.repair:
            n, undetected, repair = parts[one.incident.severity]
            parts[one.incident.severity] = (n + 1, undetected + len(one.undetected), repair + len(one.repair))
    return dict(parts)


def _excluded(quality, down):
    times = defaultdict(list)
    for one in quality:
        if not one.incident.counts:
            times[one.incident.resolution.value].append(one.raw)
    for one in down:
        times["maintenance"].append(one.raw - one.down)
    return {name: tally for name, some in times.items() if (tally := _tally(some)) != (0, 0)}


def _tally(some):
    return (sum(1 for ticks in some if ticks), sum(map(len, some)))
