"""Numbers without rounding: every number of a column and every bound as a whole number of the column's smallest unit.

Where all are whole the unit is 1, and an interval is written by its first and last number: `25-29`. Elsewhere it is a
tenth, a hundredth ..., and an interval is written with its bounds, the upper one left out, as ARX does: `[2.5, 5[`.

Whether intervals cover a stretch of numbers once: what they leave out, and what they cover twice.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any, Final, TypeAlias

from checks.classes.arrays import np, npt
from remedies._errors import Misfit
from remedies.generalisation.levels import leaves_of
from remedies.generalisation.spelling import text_of

Number: TypeAlias = int | float | Decimal
Units: TypeAlias = "npt.NDArray[Any]"
"""Whole numbers (n,): int64, or Python's own where these are too narrow."""
Ends: TypeAlias = tuple[int | None, int | None]
"""An interval in units, its upper bound left out; None where it has no end."""

_NUMBER: Final = re.compile(r"[+-]?([0-9]{1,300}(\.[0-9]{0,300})?|\.[0-9]{1,300})([eE][+-]?[0-9]{1,3})?")
_NARROW: Final = 2**60
"""What is below it can be moved by a width, and still fits into 64 bits."""
_EXACT: Final = Context(prec=3000)
"""Wide enough for the longest number that is read, from its first digit to its last."""


@dataclass(frozen=True, slots=True)
class Scale:
    """The unit of a column, as a power of ten: `digits` after the point, 0 or more."""

    digits: int

    @classmethod
    def of(cls, *numbers: Number) -> Scale:
        """Return the largest unit of which all these numbers are multiples."""
        return cls(max((0, *(-int(_EXACT.normalize(as_decimal(number)).as_tuple().exponent) for number in numbers))))

    def units(self, number: Number) -> int:
        """Return how many units a number is, which must be no fraction of one."""
        return int(_EXACT.scaleb(as_decimal(number), self.digits))

    def exact_units(self, number: Decimal) -> Decimal:
        """Return how many units a number is, with what is left of one after the point, of any number of digits."""
        return _EXACT.scaleb(number, self.digits)

    def text(self, units: int) -> str:
        """Write a number of units as a number, without an exponent and without zeros at the end."""
        plain = format(_EXACT.scaleb(Decimal(units), -self.digits), "f")
        return plain.rstrip("0").rstrip(".") if "." in plain else plain

    def interval(self, low: int | None, high: int | None) -> str:
        """Write an interval from `low` to below `high`, in units; None where it has no end, at one side at most."""
        if low is None or high is None:
            return f"<{self.text(high)}" if high is not None else f">={self.text(low or 0)}"
        if self.digits:
            return f"[{self.text(low)}, {self.text(high)}["
        return str(low) if high - low == 1 else f"{low}-{high - 1}"


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """The values of a column as numbers, ascending. `texts` (n,), `units` (n,)."""

    texts: tuple[str, ...]
    units: Units
    scale: Scale

    @classmethod
    def read(cls, values: Iterable[object], *bounds: Number) -> Numbers:
        """Read the distinct values of a column, in a unit that is fine enough for some bounds too.

        Raises:
            Misfit: there is no value, or one that is not a finite number.
        """
        texts = leaves_of(values)
        results = [number_in(text) for text in texts]
        numbers = [number for number in results if number is not None]
        if len(numbers) < len(texts):
            invalid = len(texts) - len(numbers)
            hint = "put those into a hierarchy file, or generalise the column as texts"
            raise Misfit(f"{invalid} of {len(texts)} values are not finite numbers; {hint}")
        scale = Scale.of(*numbers, *bounds)
        units = [scale.units(number) for number in numbers]
        order = sorted(range(len(texts)), key=lambda place: (units[place], texts[place]))
        narrow = max(map(abs, [*units, *map(scale.units, bounds)])) < _NARROW
        ascending = np.array([units[place] for place in order], dtype=np.int64 if narrow else object)
        return cls(tuple(texts[place] for place in order), ascending, scale)

    def labels(self, places: Iterable[int], ends: Sequence[Ends]) -> tuple[str, ...]:
        """Write, for each value, the interval it is in: `places` (n,) in `ends`."""
        texts = [self.scale.interval(low, high) for low, high in ends]
        return tuple(texts[place] for place in places)


def number_in(text: str) -> Decimal | None:
    """Return the number that a text is, None if it is none: decimal, in ASCII digits, finite."""
    return Decimal(text) if _NUMBER.fullmatch(text) else None


def as_decimal(number: Number) -> Decimal:
    """Return a number as it is written: 0.1 is a tenth, not the float nearest to it.

    Raises:
        Misfit: it is no finite number.
    """
    if isinstance(number, Decimal) and number.is_finite():
        return number
    result = number_in(text_of(number) or "")
    if result is None:
        raise Misfit(f"{number!r} is no finite number; expected one such as 5 or 2.5")
    return result


_Reach: TypeAlias = tuple[float, float]


def gaps_and_overlaps(intervals: Sequence[Ends]) -> tuple[tuple[Ends, ...], tuple[Ends, ...]]:
    """Return the gaps between intervals, and where one begins before another has ended; both ascending."""
    ordered = sorted(map(_reach, intervals))
    gaps: list[Ends] = []
    overlaps: list[Ends] = []
    reached = ordered[0][1] if ordered else math.inf
    for low, high in ordered[1:]:
        if low > reached:
            gaps.append(_ends(reached, low))
        elif low < reached:
            overlaps.append(_ends(low, min(high, reached)))
        reached = max(reached, high)
    return tuple(gaps), tuple(overlaps)


def holds(interval: Ends, units: int | Decimal) -> bool:
    """Check whether a number is in an interval."""
    low, high = _reach(interval)
    return low <= units < high


def _reach(interval: Ends) -> _Reach:
    low, high = interval
    return (-math.inf if low is None else low, math.inf if high is None else high)


def _ends(low: float, high: float) -> Ends:
    return (None if low == -math.inf else int(low), None if high == math.inf else int(high))
