"""Put the levels of a hierarchy on top of each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from checks.risk import Hierarchy
from remedies._errors import Misfit
from remedies.generalisation.spelling import distinct_texts

ROOT: Final = "*"
"""What everything is at the last level, unless it is called otherwise."""


def leaves_of(values: Iterable[object]) -> tuple[str, ...]:
    """Return the texts of the values, sorted.

    Raises:
        Misfit: there is none.
    """
    texts = distinct_texts(values)
    if not texts:
        raise Misfit("there is no value to generalise; expected at least one that is not NULL")
    return tuple(sorted(texts))


def with_root(leaves: Sequence[str], levels: Iterable[Sequence[str]], root: str | None) -> Hierarchy:
    """Return the hierarchy of these leaves and levels, and a root above all unless it is None.

    Raises:
        Misfit: the root has an empty name, which a file would take for NULL.
    """
    if root == "":
        raise Misfit("the root needs a name such as '*'; an empty one would be read as NULL")
    top = () if root is None else ((root,) * len(leaves),)
    return Hierarchy((tuple(leaves), *(tuple(level) for level in levels), *top))
