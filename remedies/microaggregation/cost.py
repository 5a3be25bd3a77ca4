"""Count what giving out centroids costs: cells that are other ones, and information that is lost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from remedies.microaggregation.attributes import Attribute, ColumnKind
from remedies.microaggregation.numbers import Floats, Mask


@dataclass(frozen=True, slots=True)
class TableLoss:
    """What a table lost. By column: `lost` in per cent, cells `changed`, of these `blanked` and `filled`.

    `by_kind`: the loss of all columns of a kind together, weighted by their cells; losses of different kinds are
    different quantities, so there is no sum of them.
    """

    lost: Mapping[str, float]
    by_kind: Mapping[ColumnKind, float]
    changed: Mapping[str, int]
    blanked: Mapping[str, int]
    filled: Mapping[str, int]
    rows_changed: int


def cost(attributes: Sequence[Attribute], codes: Floats, missing: Mask) -> TableLoss:
    """Compare what was read with what is given out: codes and what is missing, (n, d) each."""
    lost, changed, blanked, filled = {}, {}, {}, {}
    other_rows = np.zeros(len(codes), dtype=np.bool_)
    weights: dict[str, int] = {}
    for column, attribute in enumerate(attributes):
        gone = missing[:, column]
        both = ~attribute.missing & ~gone
        other = both & (attribute.codes != codes[:, column])
        lost[attribute.name] = attribute.loss(attribute.codes[both], codes[both, column])
        weights[attribute.name] = int(both.sum()) if len(np.unique(attribute.codes[both])) > 1 else 0
        blanked[attribute.name] = int((~attribute.missing & gone).sum())
        filled[attribute.name] = int((attribute.missing & ~gone).sum())
        changed[attribute.name] = int(other.sum()) + blanked[attribute.name] + filled[attribute.name]
        other_rows |= other | (attribute.missing != gone)
    by_kind = {
        kind: _mean([attribute.name for attribute in attributes if attribute.kind is kind], lost, weights)
        for kind in ColumnKind
        if any(attribute.kind is kind for attribute in attributes)
    }
    return TableLoss(lost, by_kind, changed, blanked, filled, int(other_rows.sum()))


def _mean(names: Sequence[str], lost: Mapping[str, float], weights: Mapping[str, int]) -> float:
    """Return the mean loss; columns in which nothing differs do not count. Of z-scores that is 100 SSE / SST."""
    total = sum(weights[name] for name in names)
    return sum(lost[name] * weights[name] for name in names) / total if total else 0.0
