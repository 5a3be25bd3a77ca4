"""Read the labels of a level as intervals, where they look like some.

Known forms: `25-29` and `-5--1` (whole numbers, both ends in it), `25`, `-25` and `25-` (up to and from, both in it),
`<20`, `<=19`, `>=80`, `>79`, `[25, 30[`, `[25, 30)`, and all but the last two in brackets: `[25-29]`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, TypeAlias

from remedies.generalisation.units import Ends, Scale, number_in

_N: Final = r"[+-]?[0-9]{1,300}(?:\.[0-9]{1,300})?"
_HALF_OPEN: Final = re.compile(rf"\[\s*(?P<low>{_N})\s*[,;]\s*(?P<high>{_N})\s*[\[)]")
_CLOSED: Final = re.compile(r"(?P<low>-?[0-9]{1,300})\s*[-\N{EN DASH}]\s*(?P<high>-?[0-9]{1,300})")
_ABOVE: Final = re.compile(rf"(?P<sign>>=?)\s*(?P<low>{_N})")
_BELOW: Final = re.compile(rf"(?P<sign><=?)\s*(?P<high>{_N})")
_UP_TO: Final = re.compile(r"-(?P<high>[0-9]{1,300})")
_FROM: Final = re.compile(r"(?P<low>-?[0-9]{1,300})[-+]")
_BRACKETS: Final = re.compile(r"\[([^,;\[\]]*)\]")

_Bounds: TypeAlias = tuple[Decimal | None, Decimal | None]


@dataclass(frozen=True, slots=True)
class Intervals:
    """The labels of a level as intervals, in units."""

    ends: Mapping[str, Ends]
    scale: Scale


def read_intervals(labels: Mapping[str, Iterable[str]]) -> Intervals | None:
    """Read labels, each with the values under it, as intervals of numbers; None where they are not.

    Every label of two or more must be an interval, and not all a single number, which could as well be the code of a
    group; every value must be a number. `-25` could be a number below 0: it is one where nothing else stands under it.
    """
    if len(labels) < 2 or all(number_in(label) is not None for label in labels):
        return None
    if any(number_in(value) is None for values in labels.values() for value in values):
        return None
    current_bounds: dict[str, _Bounds] = {}
    for label, values in labels.items():
        bounds = _bounds(label, values)
        if bounds is None:
            return None
        current_bounds[label] = bounds
    scale = Scale.of(*(bound for pair in current_bounds.values() for bound in pair if bound is not None))
    ends = {
        label: (None if low is None else scale.units(low), None if high is None else scale.units(high))
        for label, (low, high) in current_bounds.items()
    }
    return Intervals(ends, scale)


def _bounds(label: str, values: Iterable[str]) -> _Bounds | None:
    """Return where a label begins and what it ends before; None of what is no interval."""
    text = label.strip()
    inside = _BRACKETS.fullmatch(text)
    text = inside[1].strip() if inside else text
    if _UP_TO.fullmatch(text) and set(values) == {text}:
        return _point(text)
    for form, read in _FORMS:
        match = form.fullmatch(text)
        if match:
            return read(match)
    return _point(text)


def _point(text: str) -> _Bounds | None:
    number = number_in(text)
    return (number, _next(number)) if number is not None and _is_whole(number) else None


def _half_open(match: re.Match[str]) -> _Bounds | None:
    return _in_order(Decimal(match["low"]), Decimal(match["high"]))


def _closed(match: re.Match[str]) -> _Bounds | None:
    return _in_order(Decimal(match["low"]), _next(Decimal(match["high"])))


def _above(match: re.Match[str]) -> _Bounds | None:
    low = Decimal(match["low"])
    return (low, None) if match["sign"] == ">=" else (_next(low), None) if _is_whole(low) else None


def _below(match: re.Match[str]) -> _Bounds | None:
    high = Decimal(match["high"])
    return (None, high) if match["sign"] == "<" else (None, _next(high)) if _is_whole(high) else None


def _in_order(low: Decimal, high: Decimal) -> _Bounds | None:
    return (low, high) if low < high else None


def _next(whole: Decimal) -> Decimal:
    """Return the whole number above another, of any number of digits; `+` would round to the 28 of the context."""
    return Decimal(int(whole) + 1)


def _is_whole(number: Decimal) -> bool:
    return number == number.to_integral_value()


_FORMS: Final[Sequence[tuple[re.Pattern[str], Callable[[re.Match[str]], _Bounds | None]]]] = (
    (_HALF_OPEN, _half_open),
    (_CLOSED, _closed),
    (_ABOVE, _above),
    (_BELOW, _below),
    (_FROM, lambda result: (Decimal(result["low"]), None)),
    (_UP_TO, lambda result: (None, _next(Decimal(result["high"])))),
)
