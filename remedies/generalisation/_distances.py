"""How far the groups of an output are from the table that was given, by the counts of both alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from checks.risk._pairs import ClassPairs, class_numbers
from checks.risk._t_closeness import T_SLACK, class_distances
from remedies._errors import Misfit
from remedies.generalisation._frequencies import Frequencies
from remedies.generalisation._spell import texts_of

if TYPE_CHECKING:
    import pandas as pd

Whole = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Farthest:
    """The largest distance of a group's sensitive values from those of the input, and from those of the output."""

    t: float
    t_of_output: float

    def above(self, limit: float) -> bool:
        """Say whether it is more than is allowed."""
        return self.t > limit + T_SLACK


def farthest(
    counts: pd.DataFrame,
    columns: Sequence[str],
    name: str,
    *,
    distance: Literal["equal", "ordered"],
    reference: Frequencies,
) -> Farthest:
    """Measure t-closeness of an output, as `checks.risk.t_closeness` does.

    Args:
        counts: of the output, a row for each combination of `columns` and the sensitive column, its count last.
        columns: the quasi-identifiers.
        name: the sensitive column.
        distance: between two values.
        reference: the table that was given; values are matched by their text, whatever types a file gives them.

    Raises:
        Misfit: the output has no row, or a sensitive value that the input has not.
    """
    if not len(counts):
        raise Misfit("the output has no row")
    known = {text: place for place, text in enumerate(texts_of(list(reference.sensitive_values[name])))}
    values = np.array([known.get(text, -1) for text in texts_of(counts[name])], dtype=np.int64)
    if (values < 0).any():
        raise Misfit(f"column '{name}' of the output has values that the input has not")
    records = counts.iloc[:, -1].to_numpy(dtype=np.int64)
    classes = class_numbers(counts, columns)
    of_input = _totals(reference.sensitive[name], reference.counts, len(known))
    present, own = np.unique(values, return_inverse=True)
    pairs, own_pairs = ClassPairs.of(classes, values, records), ClassPairs.of(classes, own, records)
    return Farthest(
        t=float(class_distances(pairs, of_input, how=distance).max()),
        t_of_output=float(class_distances(own_pairs, _totals(own, records, len(present)), how=distance).max()),
    )


def _totals(values: Whole, records: Whole, many: int) -> Whole:
    found = np.zeros(many, dtype=np.int64)
    np.add.at(found, values, records)
    return found
