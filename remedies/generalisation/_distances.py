"""How far the groups of an output are from the table that was given, by the counts of both alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

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

_NULL: Final = (None, False)
_NAN: Final = (None, True)


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
    known = {value: place for place, value in enumerate(_named(reference.sensitive_values[name]))}
    missing = known.get(_NULL, -1)  # NaN too, where the table that was given does not tell them apart
    found = [known.get(value, missing if value == _NAN else -1) for value in _named(list(counts[name]))]
    values = np.array(found, dtype=np.int64)
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


def _named(values: Sequence[Any]) -> Sequence[tuple[str | None, bool]]:
    """Give the text of each value, and whether it is NaN, which is a value of its own beside NULL."""
    texts = texts_of(list(values))
    return [(text, text is None and isinstance(value, float)) for value, text in zip(values, texts, strict=True)]


def _totals(values: Whole, records: Whole, many: int) -> Whole:
    found = np.zeros(many, dtype=np.int64)
    np.add.at(found, values, records)
    return found
