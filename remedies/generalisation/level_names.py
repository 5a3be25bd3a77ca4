"""Describe in words what a level of a hierarchy is, without a value of the table."""

from __future__ import annotations

from checks.risk import Hierarchy
from remedies.generalisation.spec import CodingSpec, DatesSpec, HierarchySpec, IntervalsSpec, MaskSpec


def level_name(declared: object, hierarchy: Hierarchy, level: int) -> str:
    """Name a level: `bands of 10`, `month`, `last 2 characters hidden`; without words of its own, how many labels.

    `declared`: what the hierarchy was built from, if that is known.
    """
    if level == 0:
        return "unchanged"
    labels = len(set(hierarchy.levels[level]))
    if labels == 1 and level == hierarchy.height:
        return "one label for all"
    text = _of_builder(declared, level) if isinstance(declared, HierarchySpec) else None
    return text or f"{labels:,} label{'s' if labels > 1 else ''}"


def _of_builder(declared: HierarchySpec, level: int) -> str | None:
    """Name a level by the words of the declaration; None where it says none."""
    if isinstance(declared, CodingSpec):
        return _codes(declared)
    if isinstance(declared, IntervalsSpec) and declared.widths:
        coded = _codes(declared)
        place = level - 1 - (coded is not None)
        return coded if place < 0 else f"bands of {declared.widths[place].normalize():f}"
    if isinstance(declared, DatesSpec):
        return declared.levels[level - 1].value
    if isinstance(declared, MaskSpec):
        kept, hidden = ("first", "last") if declared.side == "right" else ("last", "first")
        if declared.keep:
            return f"{kept} {_counted(declared.keep[level - 1])} kept"
        return f"{hidden} {_counted(declared.hide[level - 1])} hidden"
    return None


def _codes(declared: CodingSpec | IntervalsSpec) -> str | None:
    bottom = None if declared.bottom is None else f"<{declared.bottom}"
    top = None if declared.top is None else f">={declared.top}"
    return " and ".join(code for code in (bottom, top) if code) or None


def _counted(characters: int) -> str:
    return "character" if characters == 1 else f"{characters} characters"
