"""The frequency table that everything here works on: distinct combinations of values, as numbers, and their counts.

`Rows` finds rows again among the combinations; they may come in pieces.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from remedies._contract import check_columns
from remedies._errors import Misfit
from remedies.generalisation.spelling import incomparable, path_of_null, scalars_of, text_of, texts_of

if TYPE_CHECKING:
    import pandas as pd

    from checks.risk import Hierarchy
Whole = npt.NDArray[np.int64]

_ROOM: Final = 2**62
_NOBODY: Final = -1
"""The place in the hierarchy of a NULL that it has no line for."""


@dataclass(frozen=True, slots=True, eq=False)
class ColumnFrequencies:
    """The values that a column has, and what becomes of them.

    `values`: the distinct values, object array of shape (leaves,), None for NULL. `places` (leaves,): the line of each
    in the hierarchy, -1 for a NULL that has none. `nodes` (levels, leaves): at each level the first leaf with the same
    label; a NULL without a line stays alone up to below the root, as `path_of_null` has it.
    """

    column: str
    hierarchy: Hierarchy
    values: npt.NDArray[np.object_]
    places: Whole
    nodes: Whole

    @property
    def height(self) -> int:
        """Return the highest level."""
        return len(self.nodes) - 1

    def labels(self, level: int) -> npt.NDArray[np.object_]:
        """Return what each leaf is called at a level: object array of shape (leaves,), None for NULL."""
        if level == 0:
            return self.values
        lines = [*self.hierarchy.levels[level], path_of_null(self.hierarchy)[level]]
        values: npt.NDArray[np.object_] = np.array(lines, dtype=object)[self.places]
        return values

    def widths(self, level: int) -> Whole:
        """Count, for each leaf, the lines of the hierarchy with its label at a level; 1 at level 0 and for NULL."""
        lines = self.hierarchy.levels[level]
        counts: dict[str, int] = {}
        for label in lines:
            counts[label] = counts.get(label, 0) + 1
        return np.array([1 if label is None else counts.get(label, 1) for label in self._names(level)], dtype=np.int64)

    def _names(self, level: int) -> Sequence[str | None]:
        if level:
            return list(self.labels(level))
        lines = self.hierarchy.levels[0]
        return [None if place == _NOBODY else lines[place] for place in self.places]


@dataclass(frozen=True, slots=True, eq=False)
class EarlierOutput:
    """What an earlier output did with what a table has now: of each row, or of each combination.

    `left_out`: how many rows of it were left out, float64; -inf where some are shown. Of a row: divided by as many as
    are alike now. `classes`: the number of the class that it was in, int64; -1 where that is not known.
    """

    left_out: npt.NDArray[np.float64]
    classes: Whole

    def of_combinations(self, combinations: Whole, count: int) -> EarlierOutput:
        """Return it by combination: `combinations` has that of each row."""
        classes = np.full(count, -1)
        classes[combinations] = self.classes
        left_out = np.bincount(combinations, self.left_out, count).astype(np.float64)
        return EarlierOutput(left_out, classes.astype(np.int64))


@dataclass(frozen=True, slots=True, eq=False)
class Frequencies:
    """The distinct combinations of some columns, and how often each comes.

    `codes` int64 (combinations, quasi-identifiers): the leaf of each column. `sensitive`: the values of sensitive
    columns by name, as numbers in the order of the values, int64 (combinations,). `counts` int64 (combinations,), at
    least 1. `sensitive_values`: what the numbers stand for; NULL is None and comes last. `earlier`: outputs of the
    table before, the last one first, by combination.
    """

    domains: tuple[ColumnFrequencies, ...]
    codes: Whole
    counts: Whole
    sensitive: Mapping[str, Whole]
    sensitive_values: Mapping[str, Sequence[Any]]
    earlier: tuple[EarlierOutput, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of the quasi-identifiers."""
        return tuple(domain.column for domain in self.domains)

    @property
    def rows(self) -> int:
        """Count the rows of the table."""
        return int(self.counts.sum())

    @property
    def heights(self) -> tuple[int, ...]:
        """Return the highest level of each column."""
        return tuple(domain.height for domain in self.domains)

    def margins(self) -> Sequence[Whole]:
        """Count the rows of each leaf, column by column."""
        return [
            np.bincount(self.codes[:, place], weights=self.counts, minlength=len(domain.values)).astype(np.int64)
            for place, domain in enumerate(self.domains)
        ]


def read_counts(
    counts: pd.DataFrame, hierarchies: Mapping[str, Hierarchy], *, sensitive: Sequence[str] = (), count: str = "count"
) -> Frequencies:
    """Read a frequency table: a row for each combination of the columns that have a hierarchy, with its `count`.

    A combination may come in several rows, which are added up.

    Raises:
        Misfit: a column is missing or of no use, a count is no positive whole number, or a value has no path.
    """
    check_columns((*hierarchies, *sensitive, count), counts)
    unknown = sorted({str(column) for column in counts.columns} - {*hierarchies, *sensitive, count})
    if unknown:
        raise Misfit(
            f"column '{unknown[0]}' has no hierarchy; expected one for each column but '{count}': give one, or leave "
            "the column out"
        )
    numbers = counts[count].to_numpy(dtype=np.float64, na_value=np.nan)
    if not (np.isfinite(numbers) & (numbers >= 1) & (numbers == np.floor(numbers))).all():
        raise Misfit(f"column '{count}' holds what is no positive whole number; expected the rows of each combination")
    frequencies, _ = _gather(counts, hierarchies, sensitive, counts[count].to_numpy(dtype=np.int64))
    return frequencies


def read_table(
    table: pd.DataFrame, hierarchies: Mapping[str, Hierarchy], *, sensitive: Sequence[str] = ()
) -> tuple[Frequencies, Whole]:
    """Count the combinations of a table, and return the combination of each row: int64 (rows,).

    Raises:
        Misfit: a column is missing, or a value has no path in its hierarchy.
    """
    check_columns((*hierarchies, *sensitive), table)
    return _gather(table, hierarchies, sensitive, np.ones(len(table), dtype=np.int64))


def _gather(
    frame: pd.DataFrame, hierarchies: Mapping[str, Hierarchy], sensitive: Sequence[str], counts: Whole
) -> tuple[Frequencies, Whole]:
    if not hierarchies:
        raise Misfit("no quasi-identifier; expected a hierarchy for at least one column")
    both = sorted(set(hierarchies) & set(sensitive))
    if both:
        raise Misfit(f"column '{both[0]}' has a hierarchy and is sensitive; a column can be only one of them")
    if not len(frame):
        raise Misfit("the table has no rows; there is nothing to generalise")
    domains, columns = [], []
    for name, hierarchy in hierarchies.items():
        domain, codes = _domain(frame[name], name, hierarchy)
        domains.append(domain)
        columns.append(codes)
    secrets = {name: _ordered(frame[name]) for name in sensitive}
    numbers = number_rows([*columns, *(codes for codes, _ in secrets.values())])
    first = np.full(int(numbers.max()) + 1, len(numbers), dtype=np.int64)
    np.minimum.at(first, numbers, np.arange(len(numbers)))
    frequencies = Frequencies(
        domains=tuple(domains),
        codes=np.ascontiguousarray(np.stack(columns, axis=1)[first]),
        counts=np.bincount(numbers, weights=counts).astype(np.int64) if len(first) < len(counts) else counts[first],
        sensitive={name: codes[first] for name, (codes, _) in secrets.items()},
        sensitive_values={name: values for name, (_, values) in secrets.items()},
    )
    return frequencies, numbers


def number_rows(columns: Sequence[Whole]) -> Whole:
    """Number the combinations of columns of numbers from 0, in order of appearance: int64 (rows,)."""
    import pandas as pd

    numbers, distinct = np.zeros(len(columns[0]), dtype=np.int64), 1
    for codes in columns:
        several = int(codes.max()) + 1
        if distinct * several > _ROOM:
            numbers, combinations = pd.factorize(numbers)
            distinct = len(combinations)
        numbers = numbers * several + codes
        distinct *= several
    return np.asarray(pd.factorize(numbers)[0], dtype=np.int64)


def _domain(column: pd.Series[Any], name: str, hierarchy: Hierarchy) -> tuple[ColumnFrequencies, Whole]:
    """Find the values of a column in its hierarchy.

    Raises:
        Misfit: some have no path.
    """
    import pandas as pd

    codes, distinct = pd.factorize(column, use_na_sentinel=True)
    values = scalars_of(distinct, name)
    codes = codes.astype(np.int64)
    if (codes < 0).any():
        codes = np.where(codes < 0, len(values), codes)
        values.append(None)
    lines = {text: place for place, text in enumerate(hierarchy.values)}
    texts = texts_of(values)
    places = np.array([lines.get("" if text is None else text, _NOBODY) for text in texts], dtype=np.int64)
    missing = sum(place == _NOBODY and text is not None for place, text in zip(places, texts, strict=True))
    if missing:
        is_are = "1 value has" if missing == 1 else f"{missing:,} values have"
        raise Misfit(f"column '{name}': {is_are} no path in the hierarchy; add a line for each, or mend the values")
    objects = np.empty(len(values), dtype=object)
    objects[:] = values
    return ColumnFrequencies(name, hierarchy, objects, places, _nodes(hierarchy, places)), codes


def _nodes(hierarchy: Hierarchy, places: Whole) -> Whole:
    """Return the first leaf with the same label, level by level; at level 0 each leaf is its own."""
    results = [np.arange(len(places))]
    for labels, null_label in zip(hierarchy.nodes()[1:], path_of_null(hierarchy)[1:], strict=True):
        own = np.where(places == _NOBODY, len(labels) if null_label is None else 0, labels[places])
        _, first, number = np.unique(own, return_index=True, return_inverse=True)
        results.append(first[number])
    return np.array(results, dtype=np.int64)


def _ordered(column: pd.Series[Any]) -> tuple[Whole, Sequence[Any]]:
    """Number the values of a column in their order, NULL last; in order of appearance where they have none.

    Raises:
        Misfit: they are lists or other collections.
    """
    import pandas as pd

    try:
        try:
            codes, distinct = pd.factorize(column, sort=True, use_na_sentinel=True)
        except TypeError:
            codes, distinct = pd.factorize(column, use_na_sentinel=True)
    except (TypeError, NotImplementedError):  # the latter of Arrow
        raise incomparable(column.name) from None
    values: list[Any] = scalars_of(distinct, column.name)
    if (codes < 0).any():
        codes = np.where(codes < 0, len(values), codes)
        values.append(None)
    return codes.astype(np.int64), values


UNKNOWN = -1
"""The combination of a row that the frequency table does not have."""


class Rows:
    """Names the combination of rows. Of combinations that differ in sensitive values alone it gives the first."""

    def __init__(self, frequencies: Frequencies) -> None:
        self._domains = [_Leaves(domain) for domain in frequencies.domains]
        self._pairs: list[Whole] = []
        """For each column, the (number of the columns before, leaf) that occur, as one number, ascending."""
        numbers = np.zeros(len(frequencies.counts), dtype=np.int64)
        for place, domain in enumerate(frequencies.domains):
            pairs = numbers * len(domain.values) + frequencies.codes[:, place]
            distinct, numbers = np.unique(pairs, return_inverse=True)
            self._pairs.append(distinct)
        self._first = np.unique(numbers, return_index=True)[1]

    def find(self, table: pd.DataFrame) -> Whole:
        """Return the combination of each row: int64 (rows,), UNKNOWN where there is none."""
        numbers = np.zeros(len(table), dtype=np.int64)
        is_known = np.ones(len(table), dtype=np.bool_)
        for leaves, pairs in zip(self._domains, self._pairs, strict=True):
            codes = leaves.find(table[leaves.column])
            pair = numbers * leaves.count + codes
            numbers = np.minimum(np.searchsorted(pairs, pair), len(pairs) - 1)
            is_known &= (codes >= 0) & (pairs[numbers] == pair)
        return np.where(is_known, self._first[numbers], UNKNOWN).astype(np.int64)


class _Leaves:
    """Names the leaf of a value of one column. NaN and NULL are two values, if the table has them as such."""

    def __init__(self, domain: ColumnFrequencies) -> None:
        self.column, self.count = domain.column, len(domain.values)
        self._null = next((leaf for leaf, value in enumerate(domain.values) if value is None), UNKNOWN)
        self._leaves = {text_of(value): leaf for leaf, value in enumerate(domain.values) if value is not None}

    def find(self, column: pd.Series[Any]) -> Whole:
        """Return the leaf of each row, UNKNOWN where there is none."""
        import pandas as pd

        codes, values = pd.factorize(column, use_na_sentinel=True)
        leaves = np.array(
            [*(self._leaves.get(text_of(value), UNKNOWN) for value in values), self._null], dtype=np.int64
        )
        return leaves[codes]
