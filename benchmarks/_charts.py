"""Draw charts as SVG: lines with either axis logarithmic, and boxes beside each other. No library, no script."""

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Final, NamedTuple

import numpy as np

_WIDTH, _HEIGHT = 760, 380
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 150, 30, 60
_COLOURS: Final = ("#1f6f8b", "#c8553d", "#5b8c5a", "#8d6a9f", "#b58900", "#444444")


class _Axis(NamedTuple):
    low: float
    high: float
    is_log: bool
    start: float
    end: float

    @classmethod
    def of(cls, values: Sequence[float], start: float, end: float, *, is_log: bool) -> "_Axis":
        low, high = min(values), max(values)
        return cls(low, high if high > low else low + 1, is_log, start, end)

    def at(self, value: float) -> float:
        low, high, value = (math.log(one) if self.is_log else one for one in (self.low, self.high, value))
        return self.start + (value - low) / (high - low) * (self.end - self.start)

    def marks(self) -> Sequence[float]:
        if self.is_log:
            first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
            return [10.0**power for power in range(first, last + 1)]
        step = 10 ** math.floor(math.log10((self.high - self.low) / 4))
        step *= next(factor for factor in (1, 2, 5, 10) if (self.high - self.low) / (factor * step) <= 6)
        return [n * step for n in range(math.ceil(self.low / step), math.floor(self.high / step) + 1)]


def lines(
    title: str,
    curves: Mapping[str, Sequence[tuple[float, float]]],
    *,
    across: str,
    up: str,
    log_x: bool = False,
    log_y: bool = False,
) -> str:
    """Return a chart of curves, each with its name at its end."""
    x = _Axis.of([one for curve in curves.values() for one, _ in curve], _LEFT, _WIDTH - _RIGHT, is_log=log_x)
    y = _Axis.of([one for curve in curves.values() for _, one in curve], _HEIGHT - _BOTTOM, _TOP, is_log=log_y)
    parts = [_frame(title, across, up), *_marks_up(y)]
    parts += [_text(x.at(mark), _HEIGHT - _BOTTOM + 16, f"{mark:g}", anchor="middle") for mark in x.marks()]
    free = _TOP
    for number, (name, curve) in enumerate(curves.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        points = " ".join(f"{x.at(one):.1f},{y.at(two):.1f}" for one, two in curve)
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.8"/>')
        parts.append(_text(_WIDTH - _RIGHT + 12, free + 10, name, fill=colour))
        free += 18
    return _svg(title, parts)


def boxes(
    title: str,
    groups: Sequence[str],
    series: Mapping[str, Sequence[Sequence[float]]],
    truth: Sequence[float],
    *,
    up: str,
) -> str:
    """Return boxes of quartiles, whiskers from least to most, by group and series; `truth`: a line in each group."""
    every = [value for rows in series.values() for row in rows for value in row]
    y = _Axis.of([*every, *truth], _HEIGHT - _BOTTOM, _TOP, is_log=False)
    width = (_WIDTH - _LEFT - _RIGHT) / len(groups)
    parts = [_frame(title, "", up), *_marks_up(y)]
    for place, group in enumerate(groups):
        left = _LEFT + place * width
        parts.append(_text(left + width / 2, _HEIGHT - _BOTTOM + 16, group, anchor="middle", size=9))
        parts.append(
            f'<line x1="{left + 2:.1f}" x2="{left + width - 2:.1f}" y1="{y.at(truth[place]):.1f}" '
            f'y2="{y.at(truth[place]):.1f}" stroke="#000" stroke-dasharray="3 2"/>'
        )
        for number, rows in enumerate(series.values()):
            least, first, middle, third, most = np.quantile(rows[place], [0, 0.25, 0.5, 0.75, 1])
            thin = (width - 4) / len(series)
            begin, colour = left + 2 + number * thin, _COLOURS[number % len(_COLOURS)]
            centre = begin + thin / 2
            parts.append(
                f'<line x1="{centre:.1f}" x2="{centre:.1f}" y1="{y.at(least):.1f}" y2="{y.at(most):.1f}" '
                f'stroke="{colour}"/><rect x="{begin + 1:.1f}" width="{thin - 2:.1f}" y="{y.at(third):.1f}" '
                f'height="{max(y.at(first) - y.at(third), 0.8):.1f}" fill="{colour}" fill-opacity="0.35" '
                f'stroke="{colour}"/><line x1="{begin + 1:.1f}" x2="{begin + thin - 1:.1f}" y1="{y.at(middle):.1f}" '
                f'y2="{y.at(middle):.1f}" stroke="{colour}" stroke-width="2"/>'
            )
    for number, name in enumerate(series):
        parts.append(_text(_WIDTH - _RIGHT + 12, _TOP + 10 + 18 * number, name, fill=_COLOURS[number]))
    parts.append(_text(_WIDTH - _RIGHT + 12, _TOP + 10 + 18 * len(series), "dashed: the table"))
    return _svg(title, parts)


def _frame(title: str, across: str, up: str) -> str:
    return (
        f'<path d="M{_LEFT} {_TOP}V{_HEIGHT - _BOTTOM}H{_WIDTH - _RIGHT}" fill="none" stroke="#444"/>'
        + _text(_LEFT, 18, title, size=13)
        + _text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 18, across, anchor="middle")
        + f'<text transform="rotate(-90)" x="{-(_HEIGHT - _BOTTOM + _TOP) / 2}" y="16" text-anchor="middle" '
        f'font-size="11">{escape(up)}</text>'
    )


def _marks_up(y: _Axis) -> Sequence[str]:
    return [
        _text(_LEFT - 6, y.at(mark) + 4, f"{mark:g}", anchor="end")
        + f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y.at(mark):.1f}" y2="{y.at(mark):.1f}" stroke="#ddd"/>'
        for mark in y.marks()
    ]


def _text(x: float, y: float, text: str, *, anchor: str = "start", size: int = 11, fill: str = "#222") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{fill}">{escape(text)}</text>'
    )


def _svg(title: str, parts: Sequence[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="{escape(title, quote=True)}" font-family="sans-serif">'
        '<rect width="100%" height="100%" fill="#fff"/>' + "\n".join(parts) + "</svg>\n"
    )
