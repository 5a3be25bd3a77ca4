"""Texts of which less and less is left, such as postcodes, whose last characters are hidden first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Literal

from checks.risk import Hierarchy
from remedies._errors import Misfit
from remedies.generalisation.levels import ROOT, leaves_of, with_root


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
    left = [max(0, longest - lost) for lost in hide] if hide else list(keep)
    made = [[_masked(leaf, kept, longest, character=character, side=side) for leaf in leaves] for kept in left]
    return with_root(leaves, made, root)


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
