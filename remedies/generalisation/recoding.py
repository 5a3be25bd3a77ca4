"""What a generalisation made of a frequency table: the label of each cell, whatever search has chosen it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from remedies._errors import Misfit
from remedies.generalisation.frequencies import ColumnFrequencies, Frequencies, number_rows
from remedies.generalisation.spelling import text_of

if TYPE_CHECKING:
    import pandas as pd

Whole = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

INTERVAL: Final = -1
"""The level of a label that no hierarchy has: an interval of the numbers that it covers."""
EVERYTHING: Final = -2
"""The level of a label that could be any value: a blanked cell, or `*` where a hierarchy has no root."""


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """The labels of a column, in arrays of shape (labels,), each text once.

    `texts`: what is read in the output, None for NULL; at level 0 the values of the table themselves. `levels`: of the
    hierarchy, or INTERVAL or EVERYTHING. `widths`: how many lines of the hierarchy are under each, at least 1.
    `order` (leaves,): the leaves, so that those under a label are one stretch, from `first` to before `last`.
    """

    texts: npt.NDArray[np.object_]
    levels: Whole
    widths: Whole
    order: Whole
    first: Whole
    last: Whole

    def merged(self, numbers: Whole) -> tuple[Labels, Whole]:
        """Merge labels of equal text into one, which covers what all of them do."""
        places: dict[str | None, int] = {}
        new = np.array([places.setdefault(text_of(text), len(places)) for text in self.texts], dtype=np.int64)
        if len(places) == len(new):
            return self, numbers
        keep = np.array([int(np.flatnonzero(new == place)[0]) for place in range(len(places))])
        levels, widths, first, last = (of[keep].copy() for of in (self.levels, self.widths, self.first, self.last))
        np.maximum.at(widths, new, self.widths)
        np.minimum.at(first, new, self.first)
        np.maximum.at(last, new, self.last)
        np.maximum.at(levels, new, self.levels)
        levels[new[self.levels == EVERYTHING]] = EVERYTHING
        return Labels(self.texts[keep], levels, widths, self.order, first, last), new[numbers]


@dataclass(frozen=True, slots=True, eq=False)
class RecodedColumn:
    """A column after recoding. `numbers` int64 (combinations,): the label of each combination."""

    domain: ColumnFrequencies
    labels: Labels
    numbers: Whole

    @property
    def is_unchanged(self) -> bool:
        """Check whether all cells hold what they held."""
        return not self.labels.levels.any()

    @property
    def keeps_type(self) -> bool:
        """Check whether all cells hold what they held or nothing, so that the column can keep its type."""
        blank = np.array([text is None for text in self.labels.texts])
        return bool(((self.labels.levels == 0) | blank).all())

    def written(self, column: pd.Series[Any], combinations: Whole) -> pd.Series[Any]:
        """Return a column of a table as it leaves: texts, unless it keeps its type.

        `combinations` int64 (rows,): the combination of each row.
        """
        import pandas as pd

        if self.is_unchanged:
            return one_zero(column)
        if self.keeps_type:
            blank = (self.labels.levels != 0)[self.numbers]
            return one_zero(_with_nulls(column)).mask(blank[combinations])
        texts = np.array([*map(text_of, self.labels.texts)], dtype=object)
        return pd.Series(texts[self.numbers[combinations]], index=column.index, name=column.name, dtype="str")


@dataclass(frozen=True, slots=True, eq=False)
class Recoding:
    """The result of generalising a frequency table.

    `columns`: in the order of the quasi-identifiers. `suppressed` bool (combinations,): these rows do not leave.
    `levels`: of the node, None of a local recoding, where a value has several labels. `uncut`: of parts that could have
    been cut further (Mondrian), how many are whole for their sensitive values, how many others are, and rows of these.
    """

    frequencies: Frequencies
    columns: tuple[RecodedColumn, ...]
    suppressed: Mask
    levels: tuple[int, ...] | None = None
    uncut: tuple[int, int, int] = (0, 0, 0)

    @classmethod
    def of_node(
        cls, frequencies: Frequencies, levels: Sequence[int] | Whole, suppressed: Mask | None = None
    ) -> Recoding:
        """Generalise each column to one level. `suppressed` bool (combinations,); nothing by default.

        Raises:
            Misfit: there is not one level for each column, or a hierarchy has no such level.
        """
        own = tuple(int(level) for level in levels)
        if len(own) != len(frequencies.domains):
            raise Misfit(f"{len(own)} levels for {len(frequencies.domains)} columns; expected one for each")
        for domain, level in zip(frequencies.domains, own, strict=True):
            if not 0 <= level <= domain.height:
                raise Misfit(f"column '{domain.column}' has no level {level}; its levels are 0 to {domain.height}")
        columns = tuple(
            column_at(domain, frequencies.codes[:, place], level)
            for place, (domain, level) in enumerate(zip(frequencies.domains, own, strict=True))
        )
        none = np.zeros(len(frequencies.counts), dtype=np.bool_)
        return cls(frequencies, columns, none if suppressed is None else suppressed, own)

    @property
    def rows_suppressed(self) -> int:
        """Count the rows that do not leave."""
        return int(self.frequencies.counts[self.suppressed].sum())

    def classes(self) -> Whole:
        """Number the class of each combination from 0: int64 (combinations,), -1 where it is suppressed.

        A class is what reads alike in all columns, NULL as a value of its own.
        """
        result = np.full(len(self.suppressed), -1, dtype=np.int64)
        is_released = ~self.suppressed
        if is_released.any():
            result[is_released] = number_rows([column.numbers[is_released] for column in self.columns])
        return result

    def class_sizes(self) -> Whole:
        """Count the rows of each class: int64 (classes,), without the suppressed rows."""
        classes = self.classes()
        is_released = classes >= 0
        sizes = np.zeros(int(classes.max()) + 1, dtype=np.int64)
        np.add.at(sizes, classes[is_released], self.frequencies.counts[is_released])
        return sizes

    def apply(self, table: pd.DataFrame, combinations: Whole) -> pd.DataFrame:
        """Return a table as it leaves: without the suppressed rows, with the labels; other columns and the index stay.

        `combinations` int64 (rows,): the combination of each row, as `read_table` gives it. The table is not changed.
        """
        is_released = ~self.suppressed[combinations]
        result, numbers = table[is_released].copy(), combinations[is_released]
        for column in self.columns:
            result[column.domain.column] = column.written(result[column.domain.column], numbers)
        return result


def column_at(domain: ColumnFrequencies, codes: Whole, level: int) -> RecodedColumn:
    """Generalise a column to one level. `codes` int64 (combinations,): the leaf of each."""
    nodes = domain.nodes[level]
    leaves, numbers = np.unique(nodes, return_inverse=True)
    return RecodedColumn(
        domain, labels_of(domain, np.full(len(leaves), level, dtype=np.int64), leaves), numbers[codes].astype(np.int64)
    )


def labels_of(domain: ColumnFrequencies, levels: Whole, leaves: Whole) -> Labels:
    """Return the labels of some nodes of a hierarchy: `levels`, and `leaves` below each, of shape (labels,)."""
    order = leaf_order(domain)
    texts = np.empty(len(levels), dtype=object)
    widths, first, last = (np.empty(len(levels), dtype=np.int64) for _ in range(3))
    for level in np.unique(levels):
        places = np.flatnonzero(levels == level)
        texts[places] = domain.labels(level)[leaves[places]]
        widths[places] = domain.widths(level)[leaves[places]]
        along = domain.nodes[level][order]
        begins = np.flatnonzero(np.diff(along, prepend=-1))
        ends = np.append(begins[1:], len(order))
        stretch = np.empty(len(order), dtype=np.int64)
        stretch[along[begins]] = np.arange(len(begins))
        own = stretch[domain.nodes[level][leaves[places]]]
        first[places], last[places] = begins[own], ends[own]
    return Labels(texts, levels, widths, order, first, last)


def leaf_order(domain: ColumnFrequencies) -> Whole:
    """Order the leaves so that those under one label are together, at every level: int64 (leaves,)."""
    return np.lexsort(domain.nodes).astype(np.int64)


def one_zero(column: pd.Series[Any]) -> pd.Series[Any]:
    """Write -0.0 as 0.0: they are one value, and a file must not distinguish them."""
    from pandas.api.types import is_float_dtype

    if not is_float_dtype(column.dtype):
        return column
    return column.mask(column.to_numpy(dtype=np.float64, na_value=np.nan) == 0, 0.0)


def _with_nulls(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return a column a type that knows NULL where its own does not."""
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iub":
        return column.convert_dtypes()
    return column
