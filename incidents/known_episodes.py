"""Select the episodes that matter to a window, as they were known at a moment, and measure them against it.

Sum the episodes of each incident, inside of a window and as a whole.
"""

from dataclasses import dataclass
from typing import Final

from checks.classes.arrays import np
from incidents._measure import Bools, MaintenanceSpans, dense, union
from incidents._model import Resolution
from incidents.spans import OPEN_END, Ints, Spans, Window

_COUNTS: Final = (*(resolution.counts for resolution in Resolution), True)
"""Whether a resolution counts, by its index; the last, index -1, is for incidents that are open."""


def known_episodes(spans: Spans, window: Window, as_of_us: int) -> Ints:
    """Return the rows detected by `as_of_us` of all incidents of which such a row touches the window."""
    if as_of_us < window.start_us:
        return np.zeros(0, dtype=np.int64)
    by_then = spans.detected <= as_of_us
    touching = by_then & (spans.earliest < window.end_us) & (spans.resolved >= window.start_us)
    return np.flatnonzero(spans.with_siblings(touching) & by_then)


def is_downtime(spans: Spans, *, disclosure: bool) -> Bools:
    """Return which episodes are data downtime: by their resolution and, unless `disclosure`, their kind."""
    return counts(spans) & (disclosure | ~spans.disclosure)


def counts(spans: Spans) -> Bools:
    """Return which episodes are of incidents that are open, or ended in a way that counts."""
    return np.take(_COUNTS, spans.resolution)


def first_rows(spans: Spans) -> Ints:
    """Return the row at which each incident begins."""
    begins = np.ones(spans.incident.size, dtype=np.bool_)
    np.not_equal(spans.incident[1:], spans.incident[:-1], out=begins[1:])
    return np.flatnonzero(begins)


@dataclass(frozen=True, slots=True)
class CountedWindow:
    """Measures stretches of time in a window, known at a moment, without planned maintenance."""

    window: Window
    as_of_us: int
    maintenance: MaintenanceSpans | None = None

    def clip(self, moments: Ints) -> Ints:
        """Return the moments moved into the window."""
        return np.clip(moments, self.window.start_us, self.window.end_us)

    def has(self, moments: Ints) -> Bools:
        """Return which moments lie in the window and were known."""
        return (moments >= self.window.start_us) & (moments < self.window.end_us) & (moments <= self.as_of_us)

    def counted(self, tables: Ints, start: Ints, end: Ints) -> Ints:
        """Return the length of stretches without the maintenance of their tables."""
        if self.maintenance is None:
            return end - start
        return end - start - (self.maintenance(tables, end) - self.maintenance(tables, start))


def by_table(spans: Spans, counted_window: CountedWindow, group: Ints, rows: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """Return when tables were down in the window.

    Group, table, start and end of the union of the episodes in `rows`.
    """
    keys, which = dense(group[rows] * len(spans.names) + spans.table[rows])
    end = np.minimum(spans.resolved[rows], counted_window.as_of_us)
    key, start, stop = union(which, counted_window.clip(spans.occurred[rows]), counted_window.clip(end))
    of_group, table = np.divmod(keys[key], len(spans.names))
    return of_group, table, start, stop


@dataclass(frozen=True, slots=True, eq=False)
class PerIncident:
    """One entry for each incident; microseconds.

    Inside of the window: `undetected`, `undetected_low`, `undetected_high`, `repair` without planned maintenance, `raw`
    with it. As a whole: `ttd`, `ttr` and `tta` without it; `tta` is that of the first episode that was acknowledged, -1
    without one. `down`: it is downtime; `excluded`: its resolution does not count; `exposed`: it is a disclosure
    incident that counts. `occurred`, `detected`, `resolved`: it did so in the window. `acknowledged`: it was
    first so in it. `unacknowledged`: it was resolved in it without ever being acknowledged. `lasts`: it was not over at
    the moment of knowing. `first` and `last`: its rows.
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
    tta: Ints
    down: Bools
    excluded: Bools
    exposed: Bools
    occurred: Bools
    detected: Bools
    resolved: Bools
    acknowledged: Bools
    unacknowledged: Bools
    lasts: Bools


def per_incident(spans: Spans, counted_window: CountedWindow, *, disclosure: bool) -> PerIncident:
    """Return the sums of each incident of which the spans hold all known episodes."""
    first = first_rows(spans)
    last = np.concatenate((first[1:], [spans.incident.size])) - 1
    end = np.minimum(spans.resolved, counted_window.as_of_us)

    def summed(values: Ints) -> Ints:
        return values if first.size == values.size else np.add.reduceat(values, first)

    def inside(start: Ints, stop: Ints) -> Ints:
        return summed(counted_window.counted(spans.table, counted_window.clip(start), counted_window.clip(stop)))

    ttd = summed(counted_window.counted(spans.table, spans.occurred, spans.detected))
    ttr = summed(counted_window.counted(spans.table, spans.detected, end))
    lasted = summed(end - spans.occurred)
    # what lies in planned maintenance from beginning to end is no incident at all
    real = (lasted == 0) | (ttd + ttr > 0)
    is_down, does_count = is_downtime(spans, disclosure=disclosure)[first], counts(spans)[first]
    resolved = is_down & real & counted_window.has(spans.resolved[last])
    first_acknowledged, is_acknowledged = _first_acknowledged(spans, first, counted_window.as_of_us)
    detected_at = spans.detected[first_acknowledged]
    # the data may have been right again before the acknowledgement
    acknowledged_at = np.minimum(spans.acknowledged, spans.resolved)[first_acknowledged]
    # a correction may have moved the detection behind it
    answered_at = np.where(is_acknowledged, np.maximum(acknowledged_at, detected_at), detected_at)
    waited = counted_window.counted(spans.table[first_acknowledged], detected_at, answered_at)
    return PerIncident(
        first=first,
        last=last,
        undetected=inside(spans.occurred, spans.detected),
        undetected_low=inside(spans.latest, spans.detected),
        undetected_high=inside(spans.earliest, spans.detected),
        repair=inside(spans.detected, end),
        raw=summed(counted_window.clip(end) - counted_window.clip(spans.occurred)),
        ttd=ttd,
        ttr=ttr,
        tta=np.where(is_acknowledged, waited, -1),
        down=is_down,
        excluded=~does_count & (disclosure | ~spans.disclosure[first]),
        exposed=does_count & spans.disclosure[first],
        occurred=is_down & real & counted_window.has(spans.occurred[first]),
        detected=is_down & real & counted_window.has(spans.detected[first]),
        resolved=resolved,
        acknowledged=is_down & real & is_acknowledged & counted_window.has(acknowledged_at),
        unacknowledged=resolved & ~is_acknowledged,
        lasts=is_down
        & (spans.resolved[last] > counted_window.as_of_us)
        & (spans.occurred[last] < counted_window.window.end_us),
    )


def _first_acknowledged(spans: Spans, first: Ints, as_of_us: int) -> tuple[Ints, Bools]:
    """Return the row of each incident's first episode that was acknowledged by then, and whether there is one.

    Without one it is the row of the first episode.
    """
    if first.size == 0:
        return first, np.zeros(0, dtype=np.bool_)
    rows = np.arange(spans.incident.size)
    earliest = np.minimum.reduceat(np.where(spans.acknowledged <= min(as_of_us, OPEN_END - 1), rows, OPEN_END), first)
    is_acknowledged = earliest < OPEN_END
    return np.where(is_acknowledged, earliest, first), is_acknowledged
