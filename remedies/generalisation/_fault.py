"""What can be wrong with a hierarchy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from remedies._errors import Misfit

Rows: TypeAlias = Sequence[Sequence[str]]
"""The lines of a hierarchy file, each the texts of its cells."""


class FaultKind(StrEnum):
    """What is wrong."""

    EMPTY = "empty"
    RAGGED = "ragged"
    DUPLICATE = "duplicate"
    MISSING_VALUE = "missing-value"
    SPLIT = "split"
    NOT_MONOTONE = "not-monotone"
    GAP = "gap"
    OVERLAP = "overlap"
    MISPLACED = "misplaced"
    UNCHANGED = "unchanged"
    NO_ROOT = "no-root"


@dataclass(frozen=True, slots=True)
class HierarchyFault:
    """One thing that is wrong. `what`: the interval that is meant, or how many values, lines or labels.

    `level`: where, counted from the values, which are level 0; None if it is about no single level. `fatal`: whether
    the hierarchy cannot be used; otherwise it is a warning. No value of a table is in it.
    """

    kind: FaultKind
    level: int | None
    message: str
    what: str | int
    fatal: bool = True


def refuse(faults: Iterable[HierarchyFault], *, about: str = "the hierarchy") -> None:
    """Refuse what has fatal faults, naming them all.

    Raises:
        Misfit: there is one.
    """
    fatal = [fault.message for fault in faults if fault.fatal]
    if fatal:
        raise Misfit(f"{about} cannot be used: {'; '.join(fatal)}")
