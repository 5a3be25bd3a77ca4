"""The geometry of the pictures on pages: percentages along, pixels down; templates draw them, and words stay text."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from monitor.reporting.risk_plot import PlottedRemedy, RiskPlot, risk_plot
from monitor.summaries.incident import IncidentEpisode
from monitor.summaries.shapes import DowntimeGroup, TimeDistribution
from monitor.web.views.budgets import BudgetDay
from monitor.web.views.checks import CheckPage, CheckPoint
from monitor.web.views.downtime import CalendarRow
from monitor.web.views.incidents import IncidentPage
from monitor.web.views.releases import ReleaseComparisonPage, is_plotted, meets_limits
from monitor.web.views.table import StripDay

HISTORY_HEIGHT: Final = 180
"""Pixels of the history of a check."""
_NARROWEST: Final = 0.4
"""Percent below which a bar could not be seen."""
_MARGIN: Final = 0.06
"""Share of a history's range that is left free above and below."""
_DAY_H: Final = 24.0


@dataclass(frozen=True, slots=True)
class Bar:
    """A length along a picture, in percent; `height` is a share of a row in percent where it has one."""

    x: float
    width: float
    height: float = 100.0

    @property
    def top(self) -> float:
        """Return how far below the top of the row it begins, in percent."""
        return round(100 - self.height, 3)


def budget_line(days: Sequence[BudgetDay]) -> str:
    """Return what was left of a budget as steps in a frame of 1000 x 120, full at the top."""
    step = 1000 / len(days)
    corners = [
        (number * step, (number + 1) * step, round(118 * (1 - day.left_share) + 1, 1))
        for number, day in enumerate(days)
    ]
    return " ".join(f"{begin:.1f},{y} {end:.1f},{y}" for begin, end, y in corners)


@dataclass(frozen=True, slots=True)
class EpisodeBars:
    """An episode: when the data may have gone bad, the time before and after detection, and whether it lasts."""

    uncertain: Bar | None
    undetected: Bar | None
    repair: Bar | None
    lasts: bool


@dataclass(frozen=True, slots=True)
class IncidentPicture:
    """The episodes of an incident on one axis from `start` to `end`."""

    start: datetime
    end: datetime
    episodes: tuple[EpisodeBars, ...]
    acknowledged: float | None


def incident_picture(page: IncidentPage) -> IncidentPicture:
    """Return the timeline of an incident, which lasts up to the page's moment where it is not resolved."""
    start = min(episode.occurred_earliest for episode in page.episodes)
    end = max(_end_of(episode, page.as_of) for episode in page.episodes)
    axis = _Axis(start, max(end, *(episode.detected_at for episode in page.episodes)))
    acknowledged = page.acknowledged_at
    return IncidentPicture(
        start=start,
        end=axis.end,
        episodes=tuple(_episode(axis, episode, page.as_of) for episode in page.episodes),
        acknowledged=None if acknowledged is None else axis.place(acknowledged),
    )


def _end_of(episode: IncidentEpisode, now: datetime) -> datetime:
    return now if episode.resolved_at is None else episode.resolved_at


def _episode(axis: "_Axis", episode: IncidentEpisode, now: datetime) -> EpisodeBars:
    end = max(_end_of(episode, now), episode.detected_at)
    return EpisodeBars(
        uncertain=axis.bar(episode.occurred_earliest, episode.occurred_latest),
        undetected=axis.bar(episode.occurred_at, episode.detected_at),
        repair=axis.bar(episode.detected_at, end),
        lasts=episode.resolved_at is None,
    )


@dataclass(frozen=True, slots=True)
class _Axis:
    """Times along a picture."""

    start: datetime
    end: datetime

    def place(self, moment: datetime) -> float:
        """Return where a moment stands, in percent; what is beyond stands at the edge."""
        length = (self.end - self.start).total_seconds()
        share = (moment - self.start).total_seconds() / length if length > 0 else 0.0
        return round(100 * min(max(share, 0.0), 1.0), 3)

    def bar(self, start: datetime, end: datetime) -> Bar | None:
        """Return a length of time; None where it is none."""
        if end <= start:
            return None
        left, right = self.place(start), self.place(end)
        width = max(right - left, _NARROWEST)
        return Bar(min(left, 100 - width), round(width, 3))


@dataclass(frozen=True, slots=True)
class HistoryDot:
    """A point of a history; `y` in pixels, None where the check has no number."""

    x: float
    y: float | None
    point: CheckPoint


@dataclass(frozen=True, slots=True)
class HistoryLimit:
    """A limit or the usual number: its place and its value."""

    name: str
    y: float
    value: float


@dataclass(frozen=True, slots=True)
class HistoryPicture:
    """The numbers of a check over time, between its limits, with the incidents behind them.

    `lines` are the parts of the line, as the points of an SVG polyline in a box of 1000 by 180; `bands` those of what
    would have been usual, as polygons; a side without a limit is the edge.
    """

    dots: tuple[HistoryDot, ...]
    lines: tuple[str, ...]
    bands: tuple[str, ...]
    limits: tuple[HistoryLimit, ...]
    incidents: tuple[Bar, ...]
    lowest: float | None
    highest: float | None


def history_picture(page: CheckPage) -> HistoryPicture:
    """Return the history of a check."""
    axis = _Axis(page.since, page.as_of)
    limits = [("low", page.low), ("high", page.high)]
    numbers = [
        *(point.number for point in page.points),
        *(point.baseline for point in page.points),
        *(point.usual_low for point in page.points),
        *(point.usual_high for point in page.points),
        *(value for _, value in limits),
    ]
    scale = _Scale.of(number for number in numbers if number is not None)
    dots = tuple(
        HistoryDot(axis.place(point.at), None if point.number is None else scale.place(point.number), point)
        for point in page.points
    )
    bars = (
        axis.bar(incident.occurred_at, incident.resolved_at or page.as_of)
        for incident in page.incidents
        if incident.counts
    )
    return HistoryPicture(
        dots=dots,
        lines=tuple(_lines(dots)),
        bands=tuple(_bands(dots, scale)),
        limits=tuple(HistoryLimit(name, scale.place(value), value) for name, value in limits if value is not None),
        incidents=tuple(bar for bar in bars if bar is not None),
        lowest=None if scale.empty else scale.low,
        highest=None if scale.empty else scale.high,
    )


@dataclass(frozen=True, slots=True)
class _Scale:
    """Numbers up a picture."""

    low: float
    high: float
    empty: bool

    @classmethod
    def of(cls, numbers: Iterable[float]) -> "_Scale":
        values = list(numbers)
        return cls(min(values, default=0.0), max(values, default=0.0), not values)

    def place(self, number: float) -> float:
        """Return where a number stands, in pixels from the top."""
        length = self.high - self.low
        share = (number - self.low) / length if length > 0 else 0.5
        return round(HISTORY_HEIGHT * (1 - _MARGIN - share * (1 - 2 * _MARGIN)), 2)


def _lines(dots: Sequence[HistoryDot]) -> Iterable[str]:
    """Yield the parts of the line: it is broken where the check has no number."""
    part: list[str] = []
    for dot in dots:
        if dot.y is not None:
            part.append(f"{dot.x * 10:g},{dot.y:g}")
        elif part:
            yield " ".join(part)
            part = []
    if part:
        yield " ".join(part)


def _bands(dots: Sequence[HistoryDot], scale: _Scale) -> Iterable[str]:
    """Yield the parts of the band: it is broken where nothing was usual yet."""
    part: list[tuple[float, float, float]] = []
    for dot in (*dots, None):
        low, high = (None, None) if dot is None else (dot.point.usual_low, dot.point.usual_high)
        if dot is not None and (low is not None or high is not None):
            top = 0.0 if high is None else scale.place(high)
            part.append((dot.x * 10, top, float(HISTORY_HEIGHT) if low is None else scale.place(low)))
        elif part:
            corners = [*((x, top) for x, top, _ in part), *((x, bottom) for x, _, bottom in reversed(part))]
            yield " ".join(f"{x:g},{y:g}" for x, y in corners)
            part = []


@dataclass(frozen=True, slots=True)
class DayCell:
    """A day in a row: its place, the parts that were bad, and whether it was unobserved; None in the future."""

    x: float
    width: float
    undetected: float
    repair: float
    unobserved: bool
    day: object


def calendar_cells(row: CalendarRow) -> tuple[DayCell, ...]:
    """Return the days of a table; parts are percent of 24 hours."""
    width = 100 / max(len(row.cells), 1)
    return tuple(
        DayCell(
            x=round(place * width, 3),
            width=round(width * 0.9, 3),
            undetected=_percent_of_day(cell.undetected_h),
            repair=_percent_of_day(cell.repair_h),
            unobserved=bool(cell.unobserved_h),
            day=cell,
        )
        for place, cell in enumerate(row.cells)
        if cell.undetected_h is not None
    )


def _percent_of_day(hours: float | None) -> float:
    return round(min((hours or 0.0) / _DAY_H, 1.0) * 100, 2)


def strip_cells(days: Sequence[StripDay]) -> tuple[tuple[Bar, StripDay], ...]:
    """Return the days of a table's strip, the oldest first."""
    width = 100 / max(len(days), 1)
    return tuple((Bar(round(place * width, 3), round(width * 0.82, 3)), day) for place, day in enumerate(days))


@dataclass(frozen=True, slots=True)
class SpreadPicture:
    """The distribution of a time over incidents, in percent of the longest: from min to max, median and p90."""

    whole: Bar
    median: float
    p90: float


@dataclass(frozen=True, slots=True)
class SplitBars:
    """The downtime of a group before and after detection, one after the other, and its range; None where it is none."""

    undetected: Bar | None
    repair: Bar | None
    whisker: Bar | None


def split_bars(groups: Sequence[DowntimeGroup]) -> Sequence[tuple[DowntimeGroup, SplitBars]]:
    """Return the bars of groups on one scale, which ends at the largest downtime that any of them may have had."""
    most = max((max(group.downtime_h or 0.0, group.downtime_h_high or 0.0) for group in groups), default=0.0)

    def bar(start: float | None, end: float | None) -> Bar | None:
        if start is None or end is None or end <= start or most <= 0:
            return None
        return Bar(round(100 * start / most, 3), round(100 * (end - start) / most, 3))

    return [
        (
            group,
            SplitBars(
                undetected=bar(0, group.undetected_h),
                repair=bar(group.undetected_h, (group.undetected_h or 0.0) + (group.repair_h or 0.0)),
                whisker=bar(group.downtime_h_low, group.downtime_h_high),
            ),
        )
        for group in groups
    ]


def spread_picture(spread: TimeDistribution, longest: float) -> SpreadPicture:
    """Return the whiskers of a spread, on a scale that ends at the longest hours of all that are compared."""
    scale = 100 / longest if longest > 0 else 0.0
    low, high = spread.min * scale, spread.max * scale
    return SpreadPicture(
        Bar(round(low, 3), round(max(high - low, _NARROWEST), 3)),
        round(spread.median * scale, 3),
        round(spread.p90 * scale, 3),
    )


def remedy_plot(page: ReleaseComparisonPage) -> RiskPlot | None:
    """Return the remedies of a release by risk and loss; None where of none both are known."""
    plotted = [
        PlottedRemedy(
            number=item.number,
            name=item.remedy,
            risk=item.highest_risk or 0.0,
            lost=item.lost or 0.0,
            holds=meets_limits(item),
            best=item.recommended,
        )
        for item in page.remedies
        if is_plotted(item)
    ]
    return risk_plot(plotted, None if page.least_k is None else 1 / page.least_k) if plotted else None
