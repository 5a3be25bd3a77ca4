"""Build hierarchies without groups: of levels put on top of each other, all or nothing, or texts ever more masked.

Masks leave less and less of a text, such as a postcode, whose last characters are hidden first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Literal

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


def masks(
    values: Iterable[object],
    *,
    hide: Sequence[int] = (),
    keep: Sequence[int] = (),
    character: str = "*",
    length: int | None = None,
    side: Literal["right", "left"] = "right",
    root: str | None = ROOT,
) -> Hierarchy:
    """Return the hierarchy value, value masked from one side, masked further ..., root; values sorted.

    Labels are as long as the longest value, filled up with the mask: nothing tells how long a shorter one was. `hide`
    counts the characters that are lost of the longest value, `keep` those that are left of each, which is what to take
    where values are of unequal length and begin with what is common (`keep=[4, 2]`: `SW1A*****`, `SW*******`).

    Args:
        values: texts or numbers; NULL does no harm.
        hide: how many of the last characters are hidden at each level, ascending: `[1, 2]` is `5371*`, `537**`.
        keep: instead: how many of the first characters are left at each level, descending.
        side: where characters are hidden; from the `left`, "last" and "first" change places: `*3715`, `**715`.
        character: what stands for a hidden character.
        length: how long labels are, where the longest value does not say so.
        root: what everything is at the last level; None for none.

    Raises:
        Misfit: both or none of `hide` and `keep`, or in the wrong order; a mask that is not one visible character;
            a `length` that hides nothing.
    """
    check_masks(hide, keep, character=character, length=length)
    leaves = leaves_of(values)
    longest = max(1, *map(len, leaves)) if length is None else length
    left = [max(0, longest - hidden) for hidden in hide] if hide else list(keep)
    labels = [[_masked(leaf, shown, longest, character=character, side=side) for leaf in leaves] for shown in left]
    return with_root(leaves, labels, root)


def check_masks(hide: Sequence[int], keep: Sequence[int], *, character: str, length: int | None) -> None:
    """Refuse masks that do not nest or hide nothing.

    Raises:
        Misfit: as `masks`.
    """
    if bool(hide) == bool(keep):
        raise Misfit("a mask needs either 'hide' or 'keep'")
    if len(character) != 1:
        raise Misfit(f"the mask is one character, not {len(character)}")
    if character.isspace():
        raise Misfit("the mask is a blank, and '5371 ' reads as '5371'; expected a visible one, such as *")
    if any(lower >= upper for lower, upper in pairwise(hide)) or min(hide, default=1) < 1:
        raise Misfit("'hide' is not ascending from 1 on; expected more hidden characters at each level, such as [1, 2]")
    if any(lower <= upper for lower, upper in pairwise(keep)) or min(keep, default=0) < 0:
        raise Misfit("'keep' is not descending; expected fewer characters at each level, such as [3, 2]")
    if length is not None and keep and length <= max(keep):
        raise Misfit(f"a 'length' of {length} hides nothing where {max(keep)} characters are kept")


def _masked(text: str, count: int, longest: int, *, character: str, side: str) -> str:
    if side == "left":
        return text[max(0, len(text) - count) :].rjust(longest, character)
    return text[:count].ljust(longest, character)
