"""Top and bottom coding: the largest values become `>=80`, the smallest `<20`, all others stay."""

from __future__ import annotations

from collections.abc import Iterable

from checks.risk import Hierarchy
from remedies._errors import Misfit
from remedies.generalisation._levels import ROOT, with_root
from remedies.generalisation.units import Number, Numbers, as_decimal


def coding(
    values: Iterable[object], *, top: Number | None = None, bottom: Number | None = None, root: str | None = ROOT
) -> Hierarchy:
    """Return the hierarchy value, coded value, root; values ascending.

    `top`: the smallest number that becomes `>=top`. `bottom`: the smallest one that does not become `<bottom`.

    Raises:
        Misfit: neither is given, `bottom` is above `top`, or values are no numbers.
    """
    bounds = [bound for bound in (bottom, top) if bound is not None]
    if not bounds:
        raise Misfit("coding needs 'top' or 'bottom', or both")
    check_coding(bottom, top)
    numbers = Numbers.read(values, *bounds)
    return with_root(numbers.texts, [coded(numbers, bottom=bottom, top=top)], root)


def check_coding(bottom: Number | None, top: Number | None) -> None:
    """Refuse bounds in the wrong order.

    Raises:
        Misfit: `bottom` is above `top`.
    """
    if bottom is not None and top is not None and as_decimal(bottom) > as_decimal(top):
        raise Misfit(f"'bottom' {bottom} is above 'top' {top}; expected the smaller number as 'bottom'")


def coded(numbers: Numbers, *, bottom: Number | None, top: Number | None) -> tuple[str, ...]:
    """Return what each value becomes."""
    scale = numbers.scale
    labels = list(numbers.texts)
    if bottom is not None:
        low = scale.units(bottom)
        for place in (numbers.units < low).nonzero()[0]:
            labels[place] = scale.interval(None, low)
    if top is not None:
        high = scale.units(top)
        for place in (numbers.units >= high).nonzero()[0]:
            labels[place] = scale.interval(high, None)
    return tuple(labels)
