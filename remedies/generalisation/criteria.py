"""l-diversity and t-closeness of sensitive columns: as criteria of a search, and of an output by counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from checks.risk import Hierarchy
from checks.risk.l_measures import class_entropies, class_recursive_l, entropy_floor, ratio_of
from checks.risk.pairs import ClassPairs, ValueReading, class_numbers, readings_of
from checks.risk.t_distances import T_SLACK, Distance, check_order, distances_as_read
from remedies._errors import Misfit
from remedies.generalisation.frequencies import Frequencies
from remedies.generalisation.spelling import texts_of

if TYPE_CHECKING:
    import pandas as pd

    from checks.risk import Hierarchy

Whole = npt.NDArray[np.int64]
Breaks: TypeAlias = Callable[[ClassPairs], npt.NDArray[np.bool_]]
"""Says of each class whether it breaks a criterion."""

_ROUNDING: Final = Fraction(4, 2**52)
"""Four units in the last place of a float, in parts of it."""


class Criterion(Protocol):
    """A limit on what a class tells of a sensitive column."""

    @property
    def column(self) -> str:
        """The sensitive column."""

    def breaks(self, frequencies: Frequencies) -> Breaks:
        """Prepare the question for a table; its distribution is the input's, whatever is suppressed later.

        Raises:
            Misfit: the column's values do not fit.
        """


@dataclass(frozen=True, slots=True)
class LDiversityLimit:
    """Each class has at least `l` values of a column (Machanavajjhala et al. 2007; see `checks.risk.l_diversity`).

    `kind`: `distinct` counts them; `entropy` asks for an entropy of log l; `recursive` that r_1 < c (r_l + ... + r_m).
    """

    column: str
    l: float
    kind: Literal["distinct", "entropy", "recursive"] = "distinct"
    c: float | None = None
    missing_is_a_value: bool = False
    spelling_is_a_value: bool = False

    def __post_init__(self) -> None:
        """Refuse what no class could break, or what is half said.

        Raises:
            ValueError: l is not above 1, or c is given without `recursive` or the other way round, or out of range.
        """
        if not self.l > 1:
            raise ValueError(f"l is {self.l}; expected more than 1, since every class has an l of 1")
        if (self.c is None) == (self.kind == "recursive"):
            raise ValueError("c belongs to 'recursive' l-diversity, and to that alone")
        if self.c is not None:
            ratio_of(self.c)

    def breaks(self, frequencies: Frequencies) -> Breaks:
        """Prepare the question."""
        own = self._breaks()
        readings = _readings(self, frequencies)

        def broken(pairs: ClassPairs) -> npt.NDArray[np.bool_]:
            result = own(pairs)
            for reading in readings:
                classes, read = reading.pairs(pairs)
                result |= np.isin(np.arange(len(result)), classes, invert=True)  # nothing is known of such a class
                result[classes] |= own(read)
            return result

        return broken if readings else own

    def _breaks(self) -> Breaks:
        if self.kind == "distinct":
            return lambda pairs: pairs.distinct < self.l
        if self.kind == "entropy":
            floor = entropy_floor(self.l)
            return lambda pairs: class_entropies(pairs) < floor
        ratio = ratio_of(self.c or 0)
        return lambda pairs: class_recursive_l(pairs, ratio) < self.l


@dataclass(frozen=True, slots=True)
class TClosenessLimit:
    """In each class a column is distributed as in the table that was given, up to a distance of `t`, 0 to 1.

    Li, Li & Venkatasubramanian 2007 (see `checks.risk.t_closeness`). `distance`: `equal`, or `ordered` for numbers and
    times; with a `hierarchy` values are as far apart as the level is high at which they meet.
    """

    column: str
    t: float
    distance: Literal["equal", "ordered"] = "equal"
    hierarchy: Hierarchy | None = None
    missing_is_a_value: bool = False
    spelling_is_a_value: bool = False

    def __post_init__(self) -> None:
        """Refuse what is no limit.

        Raises:
            ValueError: t is out of range, or there is a hierarchy beside `ordered`.
        """
        if not 0 <= self.t <= 1:
            raise ValueError(f"t is {self.t}; expected 0 to 1")
        if self.hierarchy is not None and self.distance == "ordered":
            raise ValueError("a hierarchy is itself the distance between values; leave 'ordered' out")

    def breaks(self, frequencies: Frequencies) -> Breaks:
        """Prepare the question.

        Raises:
            Misfit: the column has no order, or values that the hierarchy does not know.
        """
        import pandas as pd

        values = frequencies.sensitive_values[self.column]
        totals = np.bincount(
            frequencies.sensitive[self.column], weights=frequencies.counts, minlength=len(values)
        ).astype(np.int64)
        levels = None if self.hierarchy is None else levels_of(self.column, self.hierarchy, values)
        if self.distance == "ordered":
            try:
                check_order(pd.Series(values, name=self.column))
            except TypeError as error:
                raise Misfit(str(error)) from None
        how: Distance = self.distance if levels is None else "hierarchical"
        as_read = partial(distances_as_read, how=how, levels=levels, readings=_readings(self, frequencies))
        return lambda pairs: np.max(as_read(pairs, totals), axis=0) > self.t + T_SLACK


def _readings(limit: LDiversityLimit | TClosenessLimit, frequencies: Frequencies) -> Sequence[ValueReading]:
    values = frequencies.sensitive_values[limit.column]
    return readings_of(
        values, missing_is_a_value=limit.missing_is_a_value, spelling_is_a_value=limit.spelling_is_a_value
    )


def levels_of(column: str, hierarchy: Hierarchy, values: Sequence[Any]) -> Whole:
    """Return the node of each value at each level that tells values apart: int64 (levels, values); NULL has its own.

    Raises:
        Misfit: there are values that the hierarchy does not know.
    """
    lines = {text: place for place, text in enumerate(hierarchy.values)}
    texts = texts_of(values)
    missing = sum(text is not None and text not in lines for text in texts)
    if missing:
        raise Misfit(f"column '{column}': {missing:,} of its values are not in the hierarchy; add a line for each")
    nodes = hierarchy.nodes()[: hierarchy.partitions]
    alone = np.full((len(nodes), 1), nodes.max() + 1)
    places = [len(lines) if text is None else lines[text] for text in texts]
    return np.hstack([nodes, alone])[:, places]


def rows_of(limit: float, rows: int) -> int:
    """Return how many rows a share is, exactly as the decimal is read: 0.29 of 100 rows are 29.

    A share that floating point left within four units in the last place of a whole number of rows is that number: 2/12
    of 12 rows are 2, although the float 2/12 is below it, and so are 1 - 0.9 of 10 rows one row.

    Raises:
        ValueError: the share is not from 0 to below 1.
    """
    if not 0 <= limit < 1:
        raise ValueError(f"the suppression limit is {limit}; expected a share of the rows, from 0 to below 1")
    exact = Fraction(repr(float(limit))) * rows
    nearest = round(exact)
    return nearest if nearest < rows and abs(nearest - exact) <= nearest * _ROUNDING else int(exact)


def check_k(frequencies: Frequencies, k: int) -> None:
    """Check that a table can be k-anonymous.

    Raises:
        Misfit: it has fewer than k rows.
        ValueError: k is out of range.
    """
    if k < 2:
        raise ValueError(f"k is {k}; expected at least 2, since every class has a row")
    if frequencies.rows < k:
        raise Misfit(f"{frequencies.rows:,} rows cannot form a class of {k}; expected at least k rows, or a smaller k")


_NULL: Final = (None, False)
_NAN: Final = (None, True)


@dataclass(frozen=True, slots=True)
class Farthest:
    """The largest distance of a group's sensitive values from those of the input, and from those of the output."""

    t: float
    t_of_output: float

    def above(self, limit: float) -> bool:
        """Check whether it is more than is allowed."""
        return self.t > limit + T_SLACK


def farthest(
    counts: pd.DataFrame,
    columns: Sequence[str],
    name: str,
    *,
    distance: Literal["equal", "ordered", "hierarchical"],
    reference: Frequencies,
    hierarchy: Hierarchy | None = None,
    readings: Sequence[ValueReading] = (),
) -> Farthest:
    """Measure t-closeness of an output, as `checks.risk.t_closeness` does.

    Args:
        counts: of the output, a row for each combination of `columns` and the sensitive column, its count last.
        columns: the quasi-identifiers.
        name: the sensitive column.
        distance: between two values.
        reference: the table that was given; values are matched by their text, whatever types a file gives them, and
            numbers of 32 bits by these.
        hierarchy: of the sensitive values, if it is the distance.
        readings: of the values of `reference`, in addition to the exact one; the largest distance counts.

    Raises:
        Misfit: the output has no row, or a sensitive value that the input or the hierarchy has not.
    """
    if not len(counts):
        raise Misfit("the output has no rows")
    short = str(counts[name].dtype).startswith("float[")  # as Arrow names it; an engine may have given 64 bits of it
    reference_values = _named(reference.sensitive_values[name], short=short)
    entries = {value: place for place, value in enumerate(reference_values)}
    missing = entries.get(_NULL, -1)  # NaN too, where the table that was given does not tell them apart
    results = [entries.get(value, missing if value == _NAN else -1) for value in _named(counts[name], short=short)]
    values = np.array(results, dtype=np.int64)
    if (values < 0).any():
        raise Misfit(f"column '{name}' of the output has values that the input has not")
    records = counts.iloc[:, -1].to_numpy(dtype=np.int64)
    classes = class_numbers(counts, columns)
    of_input = _totals(reference.sensitive[name], reference.counts, len(entries))
    present, own = np.unique(values, return_inverse=True)
    pairs, own_pairs = ClassPairs.of(classes, values, records), ClassPairs.of(classes, own, records)
    levels = None if hierarchy is None else levels_of(name, hierarchy, reference.sensitive_values[name])
    own_levels, of_output = None if levels is None else levels[:, present], _totals(own, records, len(present))
    own_readings = [reading.among(present) for reading in readings]
    far = distances_as_read(pairs, of_input, how=distance, levels=levels, readings=readings)
    own_far = distances_as_read(own_pairs, of_output, how=distance, levels=own_levels, readings=own_readings)
    return Farthest(t=float(np.max(far)), t_of_output=float(np.max(own_far)))


def _named(values: Iterable[Any], *, short: bool) -> Sequence[tuple[str | None, bool]]:
    """Return the text of each value, and whether it is NaN, which is a value of its own beside NULL.

    `short`: numbers are taken with the 32 bits that a float of such a column has.
    """
    cells = [float(np.float32(value)) if short and isinstance(value, float) else value for value in values]
    texts = texts_of(cells)
    return [(text, text is None and isinstance(value, float)) for value, text in zip(cells, texts, strict=True)]


def _totals(values: Whole, records: Whole, many: int) -> Whole:
    result = np.zeros(many, dtype=np.int64)
    np.add.at(result, values, records)
    return result
