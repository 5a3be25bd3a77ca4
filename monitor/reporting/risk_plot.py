"""The geometry of the plot of risk against what is lost; the template draws it, with the reader's own letters.

To the right: the share of the information that is lost, linear. Upwards: the highest probability of finding a record
again, logarithmic, since a group of 5 and one of 50 are both near nothing on a straight scale. Places along the page
are in percent and heights in pixels, as in `charts`.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

HEIGHT: Final = 300
"""Pixels between the highest and the lowest line."""
TOP: Final = 22
"""Pixels above the highest line."""
_LEFT: Final = 10.0
_ZERO: Final = 14.0
_RIGHT: Final = 96.0
"""Percent of the width at which the plot begins, at which nothing is lost, and at which most is."""
_ROOM: Final = 700
"""Pixels for which labels are set apart; on a narrower page there are none."""
_LETTER: Final = 7.2
_LINE: Final = 23
_RADIUS: Final = 10
_RISKS: Final = (1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005, 0.0002, 0.0001)
_LOSSES: Final = (0.05, 0.1, 0.2, 0.5, 1.0)


@dataclass(frozen=True, slots=True)
class PlottedRemedy:
    """A way to treat a table. `risk`: in (0, 1]; `lost`: 0 to 1; `holds`: keeps every limit."""

    number: int
    name: str
    risk: float
    lost: float
    holds: bool
    best: bool


@dataclass(frozen=True, slots=True)
class Mark:
    """Remedies at one place of the plot: their numbers in one mark. `x` in percent, the rest in pixels.

    `anchor`: which part of the label stands at its place, `label_dx` beside the mark: `start`, `middle` or `end`.
    """

    ways: tuple[PlottedRemedy, ...]
    x: float
    y: float
    label_dx: int
    label_y: float
    anchor: str

    @property
    def numbers(self) -> str:
        """Return the numbers."""
        return ", ".join(str(way.number) for way in self.ways)

    @property
    def names(self) -> str:
        """Return the names."""
        return ", ".join(way.name for way in self.ways)

    @property
    def holds(self) -> bool:
        """Check whether they keep every limit."""
        return self.ways[0].holds

    @property
    def best(self) -> bool:
        """Check whether one of them is recommended."""
        return any(way.best for way in self.ways)

    @property
    def half(self) -> float:
        """Return half the width of the mark, in pixels."""
        return _RADIUS + 4.0 * (len(self.numbers) - 1)


@dataclass(frozen=True, slots=True)
class Tick:
    """A line of the grid: where, and of what."""

    at: float
    value: float


@dataclass(frozen=True, slots=True)
class RiskPlot:
    """The plot. `limit_y`: None where no limit is asked; `left`, `right`: percent, `top`, `bottom`: pixels."""

    marks: tuple[Mark, ...]
    risks: tuple[Tick, ...]
    losses: tuple[Tick, ...]
    limit: float | None
    limit_y: float | None
    left: float = _LEFT
    right: float = _RIGHT
    top: float = float(TOP)
    bottom: float = float(TOP + HEIGHT)


def risk_plot(ways: Sequence[PlottedRemedy], limit: float | None) -> RiskPlot:
    """Return the plot of remedies. `limit`: the highest allowed risk, in (0, 1]."""
    lowest = min([way.risk for way in ways] + [limit or 1.0], default=1.0)
    floor = next((item for item in _RISKS if item <= lowest * 0.75), _RISKS[-1])
    floor = min(floor, 0.1)
    most = max((way.lost for way in ways), default=0.0)
    widest = next((item for item in _LOSSES if item >= most), 1.0)

    def y_of(risk: float) -> float:
        return round(TOP + HEIGHT * math.log(max(risk, floor)) / math.log(floor), 2)

    def x_of(loss: float) -> float:
        return round(_ZERO + (_RIGHT - _ZERO) * min(loss / widest, 1.0), 3)

    groups = _grouped(ways, lambda way: (x_of(way.lost), y_of(way.risk)))
    return RiskPlot(
        marks=tuple(_labelled(groups, obstacles=[] if limit is None else [y_of(limit)])),
        risks=tuple(Tick(y_of(item), item) for item in _RISKS if item >= floor),
        losses=tuple(Tick(x_of(widest * part / 5), widest * part / 5) for part in range(6)),
        limit=limit,
        limit_y=None if limit is None else y_of(limit),
    )


_Rectangle: TypeAlias = tuple[float, float, float, float]
"""Left and top, width and height, in pixels of a page that is `_ROOM` wide."""


@dataclass(slots=True)
class _Group:
    ways: list[PlottedRemedy]
    x: float
    y: float


def _grouped(ways: Sequence[PlottedRemedy], place: Callable[[PlottedRemedy], tuple[float, float]]) -> list[_Group]:
    """Group remedies whose marks would overlap, those within the limit apart from the others."""
    groups: list[_Group] = []
    for way in ways:
        x, y = place(way)
        near = next((group for group in groups if group.ways[0].holds is way.holds and _touch(group, x, y)), None)
        if near is None:
            groups.append(_Group([way], x, y))
        else:
            near.ways.append(way)
    return groups


def _touch(group: _Group, x: float, y: float) -> bool:
    return abs(group.x - x) / 100 * _ROOM < 2 * _RADIUS and abs(group.y - y) < 2 * _RADIUS


def _labelled(groups: Sequence[_Group], *, obstacles: Sequence[float]) -> list[Mark]:
    """Return each mark a label that covers no other mark, label or line: beside it, or above or below it."""
    rectangles: list[_Rectangle] = [_round(group) for group in groups]
    marks = []
    for group in sorted(groups, key=lambda item: (item.y, item.x)):
        mark = min(_choices(group), key=lambda choice: _cost(choice, rectangles, obstacles))
        rectangles.append(_box(mark))
        marks.append(mark)
    return marks


def _round(group: _Group) -> _Rectangle:
    return group.x / 100 * _ROOM - _RADIUS, group.y - _RADIUS, 2 * _RADIUS, 2 * _RADIUS


def _choices(group: _Group) -> Iterator[Mark]:
    plain = Mark(tuple(group.ways), group.x, group.y, 0, round(group.y + 4.5, 2), "start")
    beside = int(plain.half + 7)
    for anchor, shift in (("start", beside), ("end", -beside)):
        yield replace(plain, label_dx=shift, anchor=anchor)
    for lines in (-1, 1, -2, 2, -3, 3):
        yield replace(plain, label_y=round(group.y + 4.5 + lines * _LINE, 2), anchor="middle")


def _cost(mark: Mark, rectangles: Sequence[_Rectangle], lines: Sequence[float]) -> float:
    """Weigh a place for a label: what it covers, how far it is out of the plot, how far from its mark."""
    x, y, width, height = _box(mark)
    covers = sum(_overlap((x, y, width, height), other) for other in rectangles)
    out = max(0.0, _LEFT / 100 * _ROOM - x) + max(0.0, x + width - _ROOM) + max(0.0, y + height - TOP - HEIGHT)
    crossed = sum(y < line < y + height for line in lines)
    return covers * 10 + out * 100 + crossed * 200 + abs(mark.label_y - mark.y) + (3 if mark.anchor == "end" else 0)


def _box(mark: Mark) -> _Rectangle:
    width = _LETTER * len(mark.names)
    x = mark.x / 100 * _ROOM + mark.label_dx - {"start": 0.0, "middle": width / 2, "end": width}[mark.anchor]
    return x, mark.label_y - 11, width, 15.0


def _overlap(rectangle: _Rectangle, other: _Rectangle) -> float:
    wide = min(rectangle[0] + rectangle[2], other[0] + other[2]) - max(rectangle[0], other[0])
    high = min(rectangle[1] + rectangle[3], other[1] + other[3]) - max(rectangle[1], other[1])
    return wide * high if wide > 0 and high > 0 else 0.0
