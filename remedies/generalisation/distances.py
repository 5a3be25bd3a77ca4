"""How far the groups of an output are from the table that was given, by the counts of both alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
import numpy.typing as npt

from checks.risk.pairs import ClassPairs, class_numbers
from checks.risk.t_distances import T_SLACK, class_distances
from remedies._errors import Misfit
from remedies.generalisation.criteria import levels_of
from remedies.generalisation.frequencies import Frequencies
from remedies.generalisation.spelling import texts_of

if TYPE_CHECKING:
    import pandas as pd

    from checks.risk import Hierarchy

Whole = npt.NDArray[np.int64]

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

    Raises:
        Misfit: the output has no row, or a sensitive value that the input or the hierarchy has not.
    """
    if not len(counts):
        raise Misfit("the output has no rows")
    short = str(counts[name].dtype).startswith("float[")  # as Arrow names it; an engine may have given 64 bits of it
    given = _named(reference.sensitive_values[name], short=short)
    entries = {value: place for place, value in enumerate(given)}
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
    return Farthest(
        t=float(class_distances(pairs, of_input, how=distance, levels=levels).max()),
        t_of_output=float(class_distances(own_pairs, of_output, how=distance, levels=own_levels).max()),
    )


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
