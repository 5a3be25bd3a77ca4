"""The geometry of the pictures on pages: percentages along, pixels down; templates draw them, and words stay text."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil, floor, log1p, log10
from typing import Final
from zoneinfo import ZoneInfo

from monitor.reporting.risk_plot import PlottedRemedy, RiskPlot, risk_plot
from monitor.summaries.shapes import DowntimeGroup
from monitor.web.views.budgets import BudgetDay
from monitor.web.views.checks import CheckPage, CheckPoint
from monitor.web.views.downtime import TakenTime, TakenTimes
from monitor.web.views.releases import ReleaseComparisonPage, is_plotted, meets_limits

HISTORY_HEIGHT: Final = 180
"""Pixels of the history of a check."""
_NARROWEST: Final = 0.4
"""Percent below which a bar could not be seen."""
_MARGIN: Final = 0.06
"""Share of a history's range that is left free above and below."""
_FOCUSABLE: Final = 30
_MOST_TICKS: Final = 8
_STEPS_H: Final = (1, 3, 6, 12, 24, 48, 96, 168, 336, 720, 1440)
_RUNGS: Final = 4
_SECONDS: Final = (1, 5, 15, 60, 300, 900, 1800, 3600, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800)
"""Round lengths of time."""
_TIMES_H: Final = (0, 1 / 6, 1, 6, 24, 168, 672, 8_760)
"""Hours at which the scale of times has a tick."""
_TIMES_WIDTH: Final = 96
_LANE_ROWS: Final = (17, 9, 25)
"""Pixels down of dots that follow each other: they would else cover each other."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A length along a picture, in percent."""

    x: float
    width: float


def budget_line(days: Sequence[BudgetDay]) -> str:
    """Return what was left of a budget as steps in a frame of 1000 x 120, full at the top."""
    step = 1000 / len(days)
    corners = [
        (number * step, (number + 1) * step, round(118 * (1 - day.left_share) + 1, 1))
        for number, day in enumerate(days)
    ]
    return " ".join(f"{begin:.1f},{y} {end:.1f},{y}" for begin, end, y in corners)


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
    """A point of a history; `y` in pixels, None where the check has no number. `focusable`: a keyboard reaches it."""

    x: float
    y: float | None
    point: CheckPoint
    focusable: bool


@dataclass(frozen=True, slots=True)
class TimeTick:
    """A moment on a time axis, in percent; `whole_day` is a midnight of the project."""

    x: float
    at: datetime
    whole_day: bool


@dataclass(frozen=True, slots=True)
class HistoryLimit:
    """A limit (`fail` or `warn`) or a tick of the vertical axis: its place and its value."""

    name: str
    y: float
    value: float


@dataclass(frozen=True, slots=True)
class HistoryPicture:
    """The numbers of a check over time, between its limits, with the incidents behind them.

    `lines` are the parts of the line, as the points of an SVG polyline in a box of 1000 by 180; `bands` those of what
    would have been usual, as polygons; a side without a limit is the edge. `rungs` are the ticks of the vertical axis,
    `ticks` those of time; `has_zero`: the vertical axis reaches zero.
    """

    dots: tuple[HistoryDot, ...]
    lines: tuple[str, ...]
    bands: tuple[str, ...]
    limits: tuple[HistoryLimit, ...]
    incidents: tuple[tuple[Bar, int], ...]
    rungs: tuple[HistoryLimit, ...]
    ticks: tuple[TimeTick, ...]
    has_zero: bool


def history_picture(page: CheckPage, zone: str = "UTC") -> HistoryPicture:
    """Return the history of a check, with ticks in a time zone."""
    axis = _Axis(page.since, page.as_of)
    limits = [("fail", page.low), ("fail", page.high), ("warn", page.warn_low), ("warn", page.warn_high)]
    numbers = [
        *(point.number for point in page.points),
        *(point.baseline for point in page.points),
        *(point.usual_low for point in page.points),
        *(point.usual_high for point in page.points),
        *(value for _, value in limits),
    ]
    scale = _Scale.of([number for number in numbers if number is not None], is_time=page.unit == "s")
    focusable = _focusable(page.points)
    dots = tuple(
        HistoryDot(
            axis.place(point.at),
            None if point.number is None else scale.place(point.number),
            point,
            place in focusable,
        )
        for place, point in enumerate(page.points)
    )
    bars = (
        (axis.bar(incident.occurred_at, incident.resolved_at or page.as_of), incident.id)
        for incident in page.incidents
        if incident.counts
    )
    return HistoryPicture(
        dots=dots,
        lines=tuple(_lines(dots)),
        bands=tuple(_bands(dots, scale)),
        limits=tuple(HistoryLimit(name, scale.place(value), value) for name, value in limits if value is not None),
        incidents=tuple((bar, number) for bar, number in bars if bar is not None),
        rungs=tuple(HistoryLimit("tick", scale.place(value), value) for value in scale.ticks),
        ticks=tuple(_time_ticks(axis, ZoneInfo(zone))),
        has_zero=scale.low <= 0 <= scale.high,
    )


def _focusable(points: Sequence[CheckPoint]) -> frozenset[int]:
    """Return the places of the points that a keyboard reaches: the newest that did not pass, and some between."""
    odd = [place for place, point in enumerate(points) if point.status != "pass"][-_FOCUSABLE:]
    step = max(len(points) // _FOCUSABLE, 1)
    return frozenset([*odd, *range(len(points) - 1, -1, -step)])


def _time_ticks(axis: _Axis, zone: ZoneInfo) -> Iterable[TimeTick]:
    """Yield at most eight whole hours or midnights of a zone."""
    length_h = (axis.end - axis.start).total_seconds() / 3600
    hours = next((step for step in _STEPS_H if length_h <= _MOST_TICKS * step), _STEPS_H[-1])
    at = axis.start.astimezone(zone).replace(minute=0, second=0, microsecond=0)
    at -= timedelta(hours=at.hour % min(hours, 24))
    while at <= axis.end:
        if at >= axis.start:
            yield TimeTick(axis.place(at), at, at.hour == 0)
        at += timedelta(hours=hours)


@dataclass(frozen=True, slots=True)
class _Scale:
    """Numbers up a picture, from and to round ones."""

    low: float
    high: float
    step: float

    @classmethod
    def of(cls, values: Sequence[float], *, is_time: bool) -> "_Scale":
        """Return the scale of some numbers; it begins at zero unless that would hide how they differ."""
        least, most = min(values, default=0.0), max(values, default=0.0)
        least = min(least, 0.0) if least < most / 2 or least == most else least
        wanted = (most - least) / _RUNGS or 1.0
        step = next((unit for unit in _SECONDS if unit >= wanted), 0.0) if is_time else 0.0
        if not step:
            power = 10 ** floor(log10(wanted))
            step = next(power * unit for unit in (1, 2, 5, 10) if power * unit >= wanted)
        return cls(floor(least / step) * step, max(ceil(most / step), floor(least / step) + 1) * step, step)

    @property
    def ticks(self) -> Iterable[float]:
        """Yield the round numbers from the lowest to the highest."""
        return [round(self.low + self.step * at, 9) for at in range(round((self.high - self.low) / self.step) + 1)]

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
class TimesLane:
    """The incidents of one kind of time as dots, over the box of their quartiles."""

    box: Bar
    median: float
    dots: tuple[tuple[float, float, TakenTime], ...]


@dataclass(frozen=True, slots=True)
class TimesPicture:
    """Times to detection, acknowledgement and resolution on one logarithmic scale; `ticks` are places and hours."""

    ticks: tuple[tuple[float, float], ...]
    lanes: tuple[TimesLane | None, ...]


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


def times_picture(taken: Sequence[TakenTimes | None]) -> TimesPicture:
    """Return how long incidents took; a time of none stands at the left edge."""
    longest = max((times.drawn[-1].hours for times in taken if times is not None), default=0.0)

    def place(hours: float) -> float:
        return round(_TIMES_WIDTH * log1p(hours * 60) / log1p(max(longest, 1) * 60) + 1, 2)

    def lane(times: TakenTimes) -> TimesLane:
        left, right = place(times.p25), place(times.p75)
        dots = tuple(
            (place(item.hours), _LANE_ROWS[number % len(_LANE_ROWS)], item) for number, item in enumerate(times.drawn)
        )
        return TimesLane(Bar(left, round(max(right - left, _NARROWEST), 2)), place(times.median), dots)

    ticks = tuple((place(hours), hours) for hours in _TIMES_H if hours <= max(longest, 1))
    return TimesPicture(ticks, tuple(None if times is None else lane(times) for times in taken))


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
