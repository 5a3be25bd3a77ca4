"""Sum the episodes of each incident, inside of a window and as a whole."""

from dataclasses import dataclass

from checks.classes.arrays import np
from incidents._measure import Bools
from incidents.known_episodes import Ruler, counts, first_rows, is_downtime
from incidents.spans import Ints, Spans


@dataclass(frozen=True, slots=True, eq=False)
class PerIncident:
    """One entry for each incident; microseconds.

    Inside of the window: `undetected`, `undetected_low`, `undetected_high`, `repair` without planned maintenance, `raw`
    with it. As a whole: `ttd` and `ttr` without it. `down`: it is downtime; `excluded`: its resolution does not count;
    `exposed`: it is a disclosure incident that counts. `occurred`, `detected`, `resolved`: it did so in the window.
    `lasts`: it was not over at the moment of knowing. `first` and `last`: its rows.
    """

    first: Ints
    last: Ints
    undetected: Ints
    undetected_low: Ints
    undetected_high: Ints
    repair: Ints
    raw: Ints
    ttd: Ints
    ttr: Ints
    down: Bools
    excluded: Bools
    exposed: Bools
    occurred: Bools
    detected: Bools
    resolved: Bools
    lasts: Bools


def per_incident(spans: Spans, ruler: Ruler, *, disclosure: bool) -> PerIncident:
    """Return the sums of each incident of which the spans hold all known episodes."""
    first = first_rows(spans)
    last = np.concatenate((first[1:], [spans.incident.size])) - 1
    end = np.minimum(spans.resolved, ruler.as_of_us)

    def summed(values: Ints) -> Ints:
        return values if first.size == values.size else np.add.reduceat(values, first)

    def inside(start: Ints, stop: Ints) -> Ints:
        return summed(ruler.counted(spans.table, ruler.clip(start), ruler.clip(stop)))

    ttd = summed(ruler.counted(spans.table, spans.occurred, spans.detected))
    ttr = summed(ruler.counted(spans.table, spans.detected, end))
    lasted = summed(end - spans.occurred)
    # what lies in planned maintenance from beginning to end is no incident at all
    real = (lasted == 0) | (ttd + ttr > 0)
    is_down, does_count = is_downtime(spans, disclosure=disclosure)[first], counts(spans)[first]
    return PerIncident(
        first=first,
        last=last,
        undetected=inside(spans.occurred, spans.detected),
        undetected_low=inside(spans.latest, spans.detected),
        undetected_high=inside(spans.earliest, spans.detected),
        repair=inside(spans.detected, end),
        raw=summed(ruler.clip(end) - ruler.clip(spans.occurred)),
        ttd=ttd,
        ttr=ttr,
        down=is_down,
        excluded=~does_count & (disclosure | ~spans.disclosure[first]),
        exposed=does_count & spans.disclosure[first],
        occurred=is_down & real & ruler.has(spans.occurred[first]),
        detected=is_down & real & ruler.has(spans.detected[first]),
        resolved=is_down & real & ruler.has(spans.resolved[last]),
        lasts=is_down & (spans.resolved[last] > ruler.as_of_us) & (spans.occurred[last] < ruler.window.end_us),
    )
