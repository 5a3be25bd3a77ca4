"""What earlier exports hid and showed of the rows of a table, and which classes are missing in all of them."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from checks.classes.counts import KnownRelease as Earlier
from checks.risk.compared_releases import COMBINATIONS, PUBLISHED, SUPPRESSED, ReleasedRows
from checks.risk.composition import codes_of_signatures
from checks.risk.differences import ClassLimits, ReleasedValues
from checks.risk.pairs import ClassPairs

if TYPE_CHECKING:
    from remedies.generalisation.frequencies import EarlierOutput

Whole = npt.NDArray[np.int64]


def earlier_outputs(own: bytes, columns: Mapping[str, bytes], earlier: Sequence[Earlier]) -> "Sequence[EarlierOutput]":
    """Return what earlier exports did with the rows of a table, as `Recodes.apply` takes it, the last one first.

    Args:
        own: the combination of quasi-identifiers of each row of the table.
        columns: what combinations are remembered under.
        earlier: the exports, the oldest first.
    """
    from remedies.generalisation.frequencies import EarlierOutput

    results = []
    for release in reversed(earlier):
        shown, left_out = _shown(release, columns)
        made_of = ReleasedValues.of(release.pairs, columns[COMBINATIONS], columns[COMBINATIONS])
        rows, published, gone, made = codes_of_signatures(own, shown, left_out.values, made_of.values)
        width = 1 + max(int(part.max(initial=-1)) for part in (rows, published, gone, made))
        classes = np.full(width, -1)
        (classes[made],) = codes_of_signatures(made_of.groups)
        copies = np.bincount(gone, left_out.copies, width).astype(np.float64)
        copies[published] = -np.inf
        copies /= np.maximum(1, np.bincount(rows, minlength=width))
        results.append(EarlierOutput(copies[rows], classes[rows]))
    return results


def _shown(release: Earlier, columns: Mapping[str, bytes]) -> tuple[bytes, ReleasedValues]:
    """Return the combinations that leave in an export, and those that are left out of it."""
    seen, linked, left_out = (
        ReleasedValues.of(release.pairs, columns[name], columns[name]) for name in (COMBINATIONS, PUBLISHED, SUPPRESSED)
    )
    return linked.values or seen.values, left_out


def missing_in_all(earliers: Sequence[Earlier], rows: ReleasedRows, limits: ClassLimits) -> tuple[int, int]:
    """Count the classes of k or more that are missing in all exports, and those of them that break a limit.

    That is counted by each grouping that an export has, of the classes that are in no larger class of another grouping
    that is missing too; returned is the grouping of which most break one. (0, 0) where all exports have one grouping:
    what one of them hides, the others hide (docs/adr/0062-missing-in-all-exports.md).
    """
    leaves, groupings = rows.suppressed.made_of, list[Whole]()
    published, hidden = [rows.published], [(rows.suppressed.classes, leaves)]
    for earlier in earliers:
        shown, left_out = _shown(earlier, rows.columns)
        published.append(shown)
        hidden.append((left_out.groups, left_out.values))
    own, *codes = codes_of_signatures(leaves, *published, *(made_of for _, made_of in hidden))
    classes = codes_of_signatures(*(groups for groups, _ in hidden))
    width = 1 + max(int(part.max(initial=-1)) for part in (own, *codes))
    is_published = np.zeros(width, dtype=np.bool_)
    is_published[np.concatenate(codes[: len(published)])] = True
    for groups, made_of in zip(classes, codes[len(published) :], strict=True):
        missing = ~np.isin(groups, groups[is_published[made_of]])
        of_leaf = np.full(width, -1, dtype=np.int64)
        of_leaf[made_of[missing]] = groups[missing]
        _join(groupings, of_leaf[own])
    if len(groupings) < 2:
        return 0, 0
    counts = [_missing_of(place, groupings, rows, limits) for place in range(len(groupings))]
    return max(counts, key=lambda item: 2 * item[0] - item[1])


def _join(groupings: list[Whole], classes: Whole) -> None:
    """Add the class of each row in an export to the groupings; -1 where it is in none that is missing."""
    for place, other in enumerate(groupings):
        if ((classes == other) | (classes < 0) | (other < 0)).all():
            groupings[place] = np.maximum(classes, other)
            return
    groupings.append(classes)


def _missing_of(place: int, groupings: Sequence[Whole], rows: ReleasedRows, limits: ClassLimits) -> tuple[int, int]:
    """Count the classes of a grouping that break a limit, and all, as `missing_in_all`."""
    chosen = np.flatnonzero(groupings[place] >= 0)
    numbers, classes, sizes = np.unique(groupings[place][chosen], return_inverse=True, return_counts=True)
    counted, broken = sizes >= limits.k, np.zeros(len(numbers), dtype=np.bool_)
    for other in (item[chosen] for at, item in enumerate(groupings) if at != place):
        low, high = np.full(len(numbers), len(other) + int(other.max(initial=0))), np.full(len(numbers), -1)
        np.minimum.at(low, classes, other)
        np.maximum.at(high, classes, other)
        whole = np.bincount(other[other >= 0], minlength=1 + int(high.max(initial=0)))
        counted &= ~((low == high) & (low >= 0) & (whole[np.maximum(high, 0)] > sizes))
    for name, values in rows.suppressed.values.items():
        own, table, missing = codes_of_signatures(values, rows.table[name], rows.missing[name])
        totals = np.bincount(table, minlength=1 + int(own.max(initial=0))).astype(np.int64)
        pairs = ClassPairs.of(classes.astype(np.int64), own[chosen])
        broken |= limits.broken(pairs, totals, missing=int(missing.max(initial=-1)))
    return int((counted & broken).sum()), int(counted.sum())
