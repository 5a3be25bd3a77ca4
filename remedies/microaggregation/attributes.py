"""Columns of mixed kinds as microaggregation sees them: one code a record, axes for distances, a centroid, a loss.

Sources: ordinal and nominal centroids after Torra, "Microaggregation for categorical variables: a median based
approach" (PSD 2004) and Domingo-Ferrer & Torra, "Ordinal, continuous and heterogeneous k-anonymity through
microaggregation" (Data Mining and Knowledge Discovery 11, 2005).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from remedies._errors import Misfit
from remedies.microaggregation.numbers import Floats, Mask, read_numbers

if TYPE_CHECKING:
    import pandas as pd
from collections.abc import Mapping

Labels: TypeAlias = npt.NDArray[np.int64]

_OWN_AXES: Final = 63
"""Names of a nominal column that distances tell apart: more axes would cost memory and time without grouping better."""


class ColumnKind(StrEnum):
    """What the values of a column can be asked: their distance, their order, or only whether they are equal."""

    NUMERIC = "numeric"
    ORDINAL = "ordinal"
    NOMINAL = "nominal"


class Attribute(Protocol):
    """One quasi-identifier. Codes are float64 (n,); what is missing has the code 0 and is masked by `missing`."""

    @property
    def name(self) -> str:
        """Return the column's name."""

    @property
    def kind(self) -> ColumnKind:
        """Return which kind it is of."""

    @property
    def codes(self) -> Floats:
        """Return one number a record."""

    @property
    def missing(self) -> Mask:
        """Return where there is no value."""

    @property
    def write(self) -> Callable[[Floats, Mask], pd.Series[Any]]:
        """Return what makes a column like the one that was read."""

    def axes(self, codes: Floats) -> Floats:
        """Return coordinates (n, axes) whose squared distances add up over columns; (n, 0) where nothing differs."""

    def centroid(self, codes: Floats, labels: Labels, groups: int) -> Floats:
        """Return the code (groups,) that stands for each group; one that the column's type can hold."""

    def loss(self, before: Floats, after: Floats) -> float:
        """Return what is lost between two arrays of codes, in per cent."""


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    """What every quasi-identifier has; `write` makes a column like the one that was read."""

    name: str
    codes: Floats
    missing: Mask
    write: Callable[[Floats, Mask], pd.Series[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class Numeric(_Column):
    """Numbers and times: z-scores; the mean, rounded to the column's type; 100 SSE / SST."""

    cast: Callable[[Floats], Floats]
    kind: ColumnKind = ColumnKind.NUMERIC

    def axes(self, codes: Floats) -> Floats:
        """Return the z-scores (n, 1) by mean and population standard deviation of the values that are there."""
        return _z_scores(codes, self.codes[~self.missing])

    def centroid(self, codes: Floats, labels: Labels, groups: int) -> Floats:
        """Return the mean of each group; between its smallest and its largest, whatever rounding does."""
        order = np.argsort(labels, kind="stable")
        sizes = np.bincount(labels, minlength=groups)
        first = np.cumsum(sizes) - sizes
        ordered = codes[order]
        middle = codes.mean()
        means = np.add.reduceat(ordered - middle, first) / sizes + middle
        return self.cast(np.clip(means, np.minimum.reduceat(ordered, first), np.maximum.reduceat(ordered, first)))

    def loss(self, before: Floats, after: Floats) -> float:
        """Return 100 SSE / SST; 0 where nothing differs."""
        total = float(((before - before.mean()) ** 2).sum()) if len(before) else 0.0
        return 100.0 * float(((before - after) ** 2).sum()) / total if total else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Ordinal(_Column):
    """Levels in an order: ranks as z-scores; the lower median; mean distance of ranks in per cent of the largest."""

    levels: int
    kind: ColumnKind = ColumnKind.ORDINAL

    def axes(self, codes: Floats) -> Floats:
        """Return the ranks as z-scores (n, 1)."""
        return _z_scores(codes, self.codes[~self.missing])

    def centroid(self, codes: Floats, labels: Labels, groups: int) -> Floats:
        """Return the lower median of each group: a level that occurs in it."""
        order = np.lexsort((codes, labels))
        sizes = np.bincount(labels, minlength=groups)
        first = np.cumsum(sizes) - sizes
        median: Floats = codes[order][first + (sizes - 1) // 2]
        return median

    def loss(self, before: Floats, after: Floats) -> float:
        """Return the mean distance of ranks, in per cent of the distance from the lowest level to the highest."""
        if self.levels < 2 or not len(before):
            return 0.0
        return 100.0 * float(np.abs(before - after).mean()) / (self.levels - 1)


@dataclass(frozen=True, slots=True, eq=False)
class Nominal(_Column):
    """Names without an order: 0/1 mismatch; the mode, of equally frequent ones the first; mismatches in per cent."""

    levels: int
    kind: ColumnKind = ColumnKind.NOMINAL

    def axes(self, codes: Floats) -> Floats:
        """Return one axis a name (n, axes), scaled so that two names that differ are at squared distance 1.

        Only the 63 most frequent names have an axis of their own; all others, far apart from these, share one.
        """
        counts = np.bincount(self.codes[~self.missing].astype(np.int64), minlength=self.levels)
        if np.count_nonzero(counts) < 2:
            return np.empty((len(codes), 0))
        axis = np.full(self.levels, _OWN_AXES, dtype=np.int64)
        frequent = np.lexsort((np.arange(self.levels), -counts))[:_OWN_AXES]
        axis[frequent] = np.arange(len(frequent))
        axes = np.zeros((len(codes), int(axis.max()) + 1))
        axes[np.arange(len(codes)), axis[codes.astype(np.int64)]] = np.sqrt(0.5)
        return axes

    def centroid(self, codes: Floats, labels: Labels, groups: int) -> Floats:
        """Return the most frequent name of each group."""
        cells, counts = np.unique(labels * self.levels + codes.astype(np.int64), return_counts=True)
        group, code = np.divmod(cells, self.levels)
        order = np.lexsort((code, -counts, group))
        mode = np.zeros(groups)
        mode[group[order][::-1]] = code[order][::-1]  # of one group, the first is written last
        return mode

    def loss(self, before: Floats, after: Floats) -> float:
        """Return the share of names that are other ones, in per cent."""
        return 100.0 * float((before != after).mean()) if len(before) else 0.0


def numeric(column: pd.Series[Any]) -> Numeric:
    """Read a column of numbers, dates or times.

    Raises:
        Misfit: it holds something else, or infinite values.
    """
    read = read_numbers(column)
    return Numeric(str(column.name), read.values, read.missing, read.write, read.cast)


def ordinal(column: pd.Series[Any], levels: Sequence[Any] | None) -> Ordinal:
    """Read a column of levels, named from the lowest to the highest; without names, in the order of the values.

    Raises:
        Misfit: values that are no level, or that have no order.
    """
    codes, missing, categories = _codes(column, levels)
    return Ordinal(str(column.name), codes, missing, _writer(column, categories), len(categories))


def nominal(column: pd.Series[Any]) -> Nominal:
    """Read a column of names.

    Raises:
        Misfit: values that cannot be compared.
    """
    codes, missing, categories = _codes(column, None)
    return Nominal(str(column.name), codes, missing, _writer(column, categories), len(categories))


def _z_scores(codes: Floats, values: Floats) -> Floats:
    """Standardise by what is known; nothing where that does not differ."""
    if not len(values) or values.min() == values.max():
        return np.empty((len(codes), 0))
    scores: Floats = ((codes - values.mean()) / values.std())[:, None]
    return scores


def _codes(column: pd.Series[Any], levels: Sequence[Any] | None) -> tuple[Floats, Mask, Any]:
    import pandas as pd

    missing: Mask = column.isna().to_numpy()
    if levels is None and isinstance(column.dtype, pd.CategoricalDtype):
        codes, categories = column.cat.codes.to_numpy(), column.cat.categories
    elif levels is None:
        try:
            codes, categories = pd.factorize(column, sort=True)
        except TypeError:
            raise Misfit(
                f"column '{column.name}' holds values that cannot be compared; expected text or numbers"
            ) from None
    else:
        categories = _levels(column, levels)
        codes = categories.get_indexer(pd.Index(column.astype(object)))
        unknown = int((codes[~missing] < 0).sum())
        if unknown:
            raise Misfit(
                f"column '{column.name}' holds {unknown} values that are none of its {len(categories)} levels; "
                "name them all"
            )
    return np.where(missing, 0, codes).astype(np.float64), missing, categories


def _levels(column: pd.Series[Any], levels: Sequence[Any]) -> Any:
    """Return named levels in the type of the column's values: what people type is text."""
    import pandas as pd

    kind = column.cat.categories.dtype if isinstance(column.dtype, pd.CategoricalDtype) else column.dtype
    try:
        return pd.Index(pd.Series(list(levels), dtype=object).astype(kind).astype(object))
    except (ValueError, TypeError):
        raise Misfit(f"the levels of column '{column.name}' are not of its type, {kind}") from None


def _writer(column: pd.Series[Any], categories: Any) -> Callable[[Floats, Mask], pd.Series[Any]]:
    import pandas as pd

    def write(codes: Floats, missing: Mask) -> pd.Series[Any]:
        cells = np.full(len(codes), None, dtype=object)
        cells[~missing] = categories.astype(object).take(codes[~missing].astype(np.int64))
        return pd.Series(cells, index=column.index, name=column.name, dtype=column.dtype)

    return write


@dataclass(frozen=True, slots=True)
class TableLoss:
    """The loss of a table. By column: `losses` in per cent, cells `changed`, of these `blanked` and `filled`.

    `by_kind`: the loss of all columns of a kind together, weighted by their cells; losses of different kinds are
    different quantities, so there is no sum of them.
    """

    losses: Mapping[str, float]
    by_kind: Mapping[ColumnKind, float]
    changed: Mapping[str, int]
    blanked: Mapping[str, int]
    filled: Mapping[str, int]
    rows_changed: int


def cost(attributes: Sequence[Attribute], codes: Floats, missing: Mask) -> TableLoss:
    """Compare what was read with what is given out: codes and what is missing, (n, d) each."""
    losses, changed, blanked, filled = {}, {}, {}, {}
    other_rows = np.zeros(len(codes), dtype=np.bool_)
    weights: dict[str, int] = {}
    for column, attribute in enumerate(attributes):
        blank = missing[:, column]
        both = ~attribute.missing & ~blank
        other = both & (attribute.codes != codes[:, column])
        losses[attribute.name] = attribute.loss(attribute.codes[both], codes[both, column])
        weights[attribute.name] = int(both.sum()) if len(np.unique(attribute.codes[both])) > 1 else 0
        blanked[attribute.name] = int((~attribute.missing & blank).sum())
        filled[attribute.name] = int((attribute.missing & ~blank).sum())
        changed[attribute.name] = int(other.sum()) + blanked[attribute.name] + filled[attribute.name]
        other_rows |= other | (attribute.missing != blank)
    by_kind = {
        kind: _mean([attribute.name for attribute in attributes if attribute.kind is kind], losses, weights)
        for kind in ColumnKind
        if any(attribute.kind is kind for attribute in attributes)
    }
    return TableLoss(losses, by_kind, changed, blanked, filled, int(other_rows.sum()))


def _mean(names: Sequence[str], losses: Mapping[str, float], weights: Mapping[str, int]) -> float:
    """Return the mean loss; columns in which nothing differs do not count. Of z-scores that is 100 SSE / SST."""
    total = sum(weights[name] for name in names)
    return sum(losses[name] * weights[name] for name in names) / total if total else 0.0
