"""The geometry of the report's small charts; templates draw it, so that words stay in the page's own type.

Seven days and twelve weeks are few enough to write every value at its bar, so a chart needs no axis, no tick and no
charting engine (starting vl-convert takes 0.6 to 1.0 s of a budget of 2 s). Positions along the page are percentages
and so are widths, heights are pixels: a chart fits a telephone and a sheet of paper without scaling its letters.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, TypeAlias

from monitor.reporting.timeline import Timeline, TimelineBar, TimelineLane, TimeState
from monitor.reporting.words import TIME_SIGNS

HEIGHT: Final = 132
"""Pixels of the tallest column."""
_HEADROOM: Final = 22
"""Pixels above the tallest column, for its number."""
_GAP: Final = 2
"""White pixels between the parts of a column: they stay apart in grey print."""
_SMALLEST: Final = 1.5
"""Pixels below which a part that is not nothing could not be seen."""

_ROW: Final = 16
_BAR: Final = 12
_MARGIN: Final = 4
"""Pixels above and below the bars of a lane, in which its state can be seen beside them."""
_NARROWEST: Final = 0.004
"""Share of the week below which a bar could not be seen."""

_FEW_PARTS: Final = 8
"""Parts of a period up to which a row of signs has four for each."""
_BETWEEN: Final = 0.6
"""Percent between two cells of a grid."""
_PAIR: Final = 44
_THIN: Final = 9.0
"""Pixels of a label with its two bars, and of one of these."""
_CELL: Final = 18
"""Pixels of a row of a heat map."""

Parts: TypeAlias = tuple[int, int] | None
"""Undetected and repair part of a column, microseconds; None where nothing was watched."""


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle: `x` and `width` in percent of the chart, `y` and `height` in pixels from its top."""

    x: float
    width: float
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class ChartColumn:
    """One column: its middle in percent, its two parts (None where nothing), where its number stands, its value."""

    middle: float
    undetected: Box | None
    repair: Box | None
    number_y: float
    total: int | None


@dataclass(frozen=True, slots=True)
class ColumnChart:
    """Stacked columns over one base line, `base` pixels from the top."""

    columns: tuple[ChartColumn, ...]
    base: float


def stacked_columns(values: Sequence[Parts], *, fill: float = 0.62) -> ColumnChart:
    """Stack the undetected part below the repair part; `fill` is the share of its place that a column takes."""
    tallest = max((sum(parts) for parts in values if parts is not None), default=0)
    base = float(_HEADROOM + HEIGHT)
    place = 100 / max(len(values), 1)
    return ColumnChart(
        tuple(
            _column(parts, (i + 0.5) * place, place * fill, tallest=tallest, base=base)
            for i, parts in enumerate(values)
        ),
        base,
    )


def _column(parts: Parts, middle: float, width: float, *, tallest: int, base: float) -> ChartColumn:
    if parts is None:
        return ChartColumn(round(middle, 3), None, None, base - 6, None)
    x, y = round(middle - width / 2, 3), base
    boxes: list[Box | None] = []
    for part in parts:
        height = max(HEIGHT * part / tallest, _SMALLEST) if part else 0.0
        if height and y < base:
            y -= _GAP
        y -= height
        boxes.append(Box(x, round(width, 3), round(y, 2), round(height, 2)) if height else None)
    return ChartColumn(round(middle, 3), boxes[0], boxes[1], round(y - 6, 2), sum(parts))


@dataclass(frozen=True, slots=True)
class LaneBar:
    """A bar: `uncertain` is where the data may have gone bad, None where that is known."""

    bar: TimelineBar
    uncertain: Box | None
    undetected: Box | None
    repair: Box | None
    middle_y: float


@dataclass(frozen=True, slots=True)
class LaneChart:
    """The bars of a lane of the timeline, its state at each moment, and its height; pixels down, percent across."""

    lane: TimelineLane
    bars: tuple[LaneBar, ...]
    ground: tuple[tuple[Box, TimeState], ...]
    height: float


def timeline_lanes(timeline: Timeline) -> Sequence[LaneChart]:
    """Return the geometry of the bars of each lane.

    The name of the table stands above it as text of the page: it wraps on a telephone, and paper breaks between lanes.
    """
    return [_lane_chart(lane, timeline.now) for lane in timeline.lanes]


def time_rows(timeline: Timeline) -> Sequence[tuple[str, str]]:
    """Return the tables of a timeline with a row of signs each, for a terminal or a mail: four a day, one of many."""
    steps = 4 if len(timeline.parts) <= _FEW_PARTS else 1
    edges = [part.start + (part.end - part.start) * step / steps for part in timeline.parts for step in range(steps)]
    places = [*edges, timeline.parts[-1].end] if timeline.parts else []
    return [
        (lane.table, "".join(TIME_SIGNS[state] for state in lane.cells(places, timeline.now)))
        for lane in timeline.lanes
    ]


def _lane_chart(lane: TimelineLane, now: float) -> LaneChart:
    height = float(_MARGIN + (1 + max((row for _, row in lane.bars), default=0)) * _ROW)
    bars = tuple(_lane_bar(bar, float(_MARGIN + row * _ROW)) for bar, row in lane.bars)
    ground = tuple((_across(start, end, 0, height), state) for start, end, state in lane.states(now))
    return LaneChart(lane, bars, ground, height)


def _lane_bar(bar: TimelineBar, y: float) -> LaneBar:
    uncertain = _across(bar.earliest, bar.latest, y + 3, _BAR - 6) if bar.latest > bar.earliest else None
    undetected = _across(bar.occurred, bar.detected, y, _BAR) if bar.detected > bar.occurred else None
    repair = _across(bar.detected, bar.end, y, _BAR)
    return LaneBar(bar, uncertain, undetected, repair, y + _BAR / 2)


def _across(start: float, end: float, y: float, height: float) -> Box:
    width = max(end - start, _NARROWEST)
    return Box(round(min(start, 1 - width) * 100, 3), round(width * 100, 3), y, height)


@dataclass(frozen=True, slots=True)
class GridColumn:
    """A column of a grid: where its cells begin, how wide they are, and its middle; percent across."""

    x: float
    width: float
    middle: float


def grid_columns(count: int) -> Sequence[GridColumn]:
    """Return columns of the same width, with white between their cells."""
    width = 100 / count
    return [
        GridColumn(
            x=round(place * width + _BETWEEN / 2, 3),
            width=round(width - _BETWEEN, 3),
            middle=round((place + 0.5) * width, 3),
        )
        for place in range(count)
    ]


def signed_bar(value: Fraction, largest: Fraction) -> tuple[float, float]:
    """Return start and width, in percent, of a bar that leaves a middle line to the left (less) or right (more)."""
    width = float(abs(value) / largest * 50) if largest else 0.0
    return (round(50 - width, 3) if value < 0 else 50.0), round(width, 3)


def percent(part: Fraction) -> int:
    """Return a share of 0 to 1 as whole percent for the width of a cell.

    A share that is not nothing is at least one.
    """
    return min(100, max(1, round(part * 100))) if part > 0 else 0


@dataclass(frozen=True, slots=True)
class BarPair:
    """Two bars under a label: `label_y`, and where the shares are written, in pixels from the top."""

    label_y: float
    first: Box
    second: Box


def paired_bars(shares: Sequence[tuple[float, float]]) -> tuple[Sequence[BarPair], float]:
    """Return a pair of bars for each two shares, the widest all of the chart, and the height of all."""
    most = max((share for pair in shares for share in pair), default=0.0) or 1.0
    pairs = []
    for place, pair in enumerate(shares):
        y = float(place * _PAIR)
        first, second = (round(100 * share / most, 3) for share in pair)
        pairs.append(BarPair(y + 13, Box(0, first, y + 18, _THIN), Box(0, second, y + 19 + _THIN, _THIN)))
    return pairs, float(len(shares) * _PAIR)


def heat_cells(shares: Sequence[Sequence[float | None]], most: float) -> Sequence[tuple[Box, float | None]]:
    """Return the cells of a heat map and how dark each is, 0 to 1 of `most`; None where it has no share to show."""
    columns = grid_columns(len(shares[0])) if shares else ()
    return [
        (
            Box(column.x, column.width, place * _CELL, _CELL - 2.0),
            None if share is None else round(share / most, 3) if most else 0.0,
        )
        for place, row in enumerate(shares)
        for column, share in zip(columns, row, strict=True)
    ]


def range_marks(spans: Sequence[tuple[float, float]]) -> Sequence[tuple[float, float]]:
    """Return where spans of shares begin and end, in percent of a chart, on a scale of roots: small ones stay apart."""
    most = max((high for _, high in spans), default=0.0) or 1.0
    return [(round(96 * (low / most) ** 0.5, 3), round(96 * (high / most) ** 0.5, 3)) for low, high in spans]
