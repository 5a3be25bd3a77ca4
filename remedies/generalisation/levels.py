"""Put the levels of a hierarchy on top of each other.

Values that have no groups: all or nothing.

Hierarchies for columns that need none: a value, or nothing of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from checks.risk import Hierarchy
from remedies._errors import Misfit
from remedies.generalisation.spelling import distinct_texts

if TYPE_CHECKING:
    import pandas as pd

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


def flat(values: Iterable[object], *, root: str = ROOT) -> Hierarchy:
    """Return the hierarchy value, root; values sorted.

    Raises:
        Misfit: there is no value, or the root has no name.
    """
    return with_root(leaves_of(values), (), root)


def plain(values: Iterable[object]) -> Hierarchy:
    """Return the hierarchy value, `*` of the values of a column; of one that holds only NULL, that of `*` alone."""
    texts = distinct_texts(values) or (ROOT,)
    return Hierarchy((texts, (ROOT,) * len(texts)))


def with_plain(
    table: pd.DataFrame, hierarchies: Mapping[str, Hierarchy], columns: Collection[str]
) -> Mapping[str, Hierarchy]:
    """Return the hierarchies, and a plain one for each of these columns that has none.

    A column that the table does not have gets one too: who reads the table says what is missing.
    """
    lacking = [name for name in dict.fromkeys(columns) if name not in hierarchies]
    entries = list(table.columns)
    return {**hierarchies, **{name: plain(table[name] if entries.count(name) == 1 else ()) for name in lacking}}
