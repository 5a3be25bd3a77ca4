"""Count what a recoding changed: cells that are read otherwise, and rows that are gone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from remedies.generalisation.recoding import RecodedColumn, Recoding
from remedies.generalisation.spelling import texts_of

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Changes:
    """Rows and cells that are no longer what they were. Cells of suppressed rows are in none of the counts by column.

    `changed`: by column, cells that read otherwise than before, whatever their type; `blanked`: those of them that hold
    nothing now; `filled`: those of them that held nothing.
    """

    rows: int
    rows_changed: int
    rows_suppressed: int
    changed: Mapping[str, int]
    blanked: Mapping[str, int]
    filled: Mapping[str, int]


def changes(recoding: Recoding) -> Changes:
    """Count what a recoding changed, by its frequency table."""
    counts = np.where(recoding.suppressed, 0, recoding.frequencies.counts)
    changed, blanked, filled = {}, {}, {}
    anywhere = np.zeros(len(counts), dtype=np.bool_)
    for place, column in enumerate(recoding.columns):
        name = column.domain.column
        differs, gone, new = _of_column(column, recoding.frequencies.codes[:, place])
        changed[name], blanked[name], filled[name] = (int(counts[cells].sum()) for cells in (differs, gone, new))
        anywhere |= differs
    return Changes(
        rows=recoding.frequencies.rows,
        rows_changed=int(counts[anywhere].sum()),
        rows_suppressed=recoding.rows_suppressed,
        changed=changed,
        blanked=blanked,
        filled=filled,
    )


def _of_column(column: RecodedColumn, leaves: npt.NDArray[np.int64]) -> tuple[Mask, Mask, Mask]:
    """Return of each combination whether its cell reads otherwise, is blanked, is filled."""
    if column.is_unchanged:
        nothing = np.zeros(len(leaves), dtype=np.bool_)
        return nothing, nothing, nothing
    before = np.array(texts_of(list(column.domain.values)), dtype=object)[leaves]
    after = np.array(texts_of(list(column.labels.texts)), dtype=object)[column.numbers]
    was, still = before != None, after != None  # noqa: E711 - of each cell
    return before != after, was & ~still, ~was & still
