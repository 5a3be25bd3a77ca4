"""Split downtime over consecutive periods, such as the days of a month, for many groups at once.

The parts equal those of `measure_by` for each of the periods, without its statistics and a hundred times faster.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from checks.classes.arrays import np
from incidents._measure import MaintenanceSpans, dense, totals
from incidents.known_episodes import CountedWindow, is_downtime
from incidents.spans import Ints, Spans, Window


@dataclass(frozen=True, slots=True)
class DailyParts:
    """The undetected and the repair part of each of the consecutive periods, in order; microseconds."""

    undetected: tuple[int, ...]
    repair: tuple[int, ...]

    @property
    def downtime(self) -> int:
        """Return all of it."""
        return sum(self.undetected) + sum(self.repair)


def parts_between(
    spans: Spans,
    edges_us: Sequence[int],
    *,
    as_of_us: int,
    group: Ints,
    maintenance: MaintenanceSpans | None = None,
) -> dict[int, DailyParts]:
    """Return the parts of downtime between each edge and the next, by group; groups without any are left out.

    Args:
        spans: the episodes of incidents; the whole of each incident is not needed.
        edges_us: two or more moments in order, each later than the one before.
        as_of_us: incidents detected later are left out, those resolved later are unresolved.
        group: a whole number for each row of the spans.
        maintenance: planned maintenance, which does not count.
    """
    window = Window(edges_us[0], edges_us[-1])
    rows = np.flatnonzero(
        is_downtime(spans, disclosure=False)
        & (spans.detected <= as_of_us)
        & (spans.occurred < window.end_us)
        & (np.minimum(spans.resolved, as_of_us) > window.start_us)
    )
    if rows.size == 0:
        return {}
    codes, group_of_row = dense(group[rows])
    end = np.minimum(spans.resolved[rows], as_of_us)
    counted_window = CountedWindow(window, as_of_us, maintenance)
    columns = []
    for start, stop in ((spans.occurred[rows], spans.detected[rows]), (spans.detected[rows], end)):
        after = np.maximum(start, stop)  # an episode may be detected after a clock that was set back
        lengths = [
            counted_window.counted(spans.table[rows], np.clip(start, first, last), np.clip(after, first, last))
            for first, last in pairwise(edges_us)
        ]
        columns.append([totals(length, group_of_row, codes.size) for length in lengths])
    undetected, repair = columns
    parts = {
        code: DailyParts(tuple(time[at] for time in undetected), tuple(time[at] for time in repair))
        for at, code in enumerate(codes.tolist())
    }
    return {code: part for code, part in parts.items() if part.downtime}
