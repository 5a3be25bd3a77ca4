"""The period as a picture: a lane for each table, a bar for each episode, from when the data went bad to its repair."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from incidents import OPEN_END, from_us, to_us
from monitor.reporting.charts import Stretch, rows_without_overlap
from monitor.reporting.model import Timeline, TimelineBar, TimelineLane, TimelinePart
from monitor.reporting.period import Period
from monitor.summaries.ranking import Ranking


@dataclass(frozen=True, slots=True)
class _Span:
    """The period, and how much of it is over; microseconds."""

    start_us: int
    end_us: int
    as_of_us: int

    @property
    def now_us(self) -> int:
        """Return the end of what can be drawn."""
        return min(self.end_us, self.as_of_us)

    def share(self, moment: int) -> float:
        """Return where a moment lies in the period, 0 to 1; what is beyond is clipped."""
        inside = min(max(moment, self.start_us), self.now_us)
        return (inside - self.start_us) / (self.end_us - self.start_us)


_LANES: Final = 12
"""Tables that are drawn, those with the heaviest incidents first."""
_ROWS: Final = 3
"""Bars of one table above each other, where they overlap."""
_BARS: Final = 100
"""Bars of one table; what is beyond could not be told apart."""


def timeline(ranking: Ranking | None, period: Period, *, as_of_us: int) -> Timeline:
    """Return the episodes of a period's incidents by table, clipped to it, and to now while it goes on."""
    span = _Span(to_us(period.start), to_us(period.end), as_of_us)
    length = span.end_us - span.start_us
    starts = [(to_us(part.start) - span.start_us) / length for part in period.parts]
    parts = tuple(
        TimelinePart(part.date, start, end)
        for part, start, end in zip(period.parts, starts, [*starts[1:], 1.0], strict=True)
    )
    if ranking is None:
        return Timeline((), parts, 0, 0)
    by_table = _places_by_table(ranking)
    lanes = [_lane(ranking, table, places, span) for table, places in list(by_table.items())[:_LANES]]
    return Timeline(tuple(lanes), parts, len(by_table) - len(lanes), len(ranking))


def _places_by_table(ranking: Ranking) -> Mapping[int, list[int]]:
    """Return the places of incidents by table, tables and incidents in the order of the ranking."""
    results: dict[int, list[int]] = {}
    for place, table in zip(ranking.places.tolist(), ranking.table_of(ranking.places).tolist(), strict=True):
        results.setdefault(table, []).append(place)
    return results


def _lane(ranking: Ranking, table: int, places: Sequence[int], span: _Span) -> TimelineLane:
    bars = [bar for place in places[:_BARS] for bar in _bars(ranking, place, span)]
    rows = rows_without_overlap([Stretch(bar.earliest, bar.end) for bar in bars])
    drawn = tuple((bar, row) for bar, row in zip(bars, rows, strict=True) if row < _ROWS)
    shown = {bar.incident for bar, _ in drawn}
    return TimelineLane(ranking.part.names[table], drawn, len(places) - len(shown))


def _bars(ranking: Ranking, place: int, span: _Span) -> Iterator[TimelineBar]:
    """Yield the episodes of an incident that lie in the period, with times as shares of it."""
    part, item, share = ranking.part, ranking.each, span.share
    for row in range(int(item.first[place]), int(item.last[place]) + 1):
        occurred, resolved = int(part.occurred[row]), int(part.resolved[row])
        if resolved <= span.start_us or occurred >= span.now_us:
            continue
        yield TimelineBar(
            incident=int(part.incident[row]),
            earliest=share(int(part.earliest[row])),
            latest=share(int(part.latest[row])),
            occurred=share(occurred),
            detected=share(int(part.detected[row])),
            end=share(resolved),
            began_before=occurred < span.start_us,
            goes_on=resolved > span.now_us,
            began_at=from_us(occurred),
            ended_at=None if resolved == OPEN_END else from_us(resolved),
        )
