"""What remedies share that give cells other labels, by the frequency table of the columns' combinations.

Count what a recoding changed: cells that are read otherwise, and rows that are gone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from checks import Json
from remedies._contract import Guarantee, Progress, Treatment, UtilityReport, check_columns
from remedies._errors import Misfit
from remedies.generalisation.frequencies import EarlierOutput
from remedies.generalisation.limits import Limited
from remedies.generalisation.recoding import RecodedColumn, Recoding
from remedies.generalisation.spelling import texts_of

if TYPE_CHECKING:
    import pandas as pd

    from checks.risk import Hierarchy
    from remedies.generalisation import HierarchyFault, Recoding
    from remedies.generalisation.frequencies import Frequencies

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
        differs, blank, new = _of_column(column, recoding.frequencies.codes[:, place])
        changed[name], blanked[name], filled[name] = (int(counts[cells].sum()) for cells in (differs, blank, new))
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


@dataclass(frozen=True, slots=True)
class ChosenLevels:
    """The recoding that was chosen for a table, and figures of its search."""

    recoding: Recoding
    figures: Mapping[str, Json]


class Recodes(Limited, ABC):
    """A remedy whose cost is that of the distinct combinations, however many rows have them.

    `apply` treats a frame. A caller with the counts alone, from a GROUP BY in an engine, calls `built`, `choose` and
    `bill`, and writes the rows itself.
    """

    def faults(self, table: pd.DataFrame) -> Iterator[tuple[str, HierarchyFault]]:
        """Return what is fatally wrong with each column's hierarchy, for the values that a table has in it.

        Raises:
            Misfit: a column is not there, or its values have no place in its hierarchy.
        """
        del table
        return iter(())

    def built(self, table: pd.DataFrame) -> Mapping[str, Hierarchy]:
        """Return the hierarchy of each column, for the values that a table has in it.

        Raises:
            Misfit: as `faults`, or there is a fault: all of them are named.
        """
        from remedies.generalisation.levels import with_plain

        check_columns(self.columns, table)
        every = with_plain(table, {}, self.columns)
        return {name: every[name] for name in self.columns}

    @abstractmethod
    def choose(
        self, frequencies: Frequencies, *, progress: Progress | None = None, key: bytes | None = None
    ) -> ChosenLevels:
        """Choose what becomes of a frequency table.

        `key`: chooses what is hidden in addition, the same in each run; None for a key that no other run has.

        Raises:
            Misfit: it has fewer than k rows, or does not fit what is asked.
            Refused: nothing that holds was found.
        """

    def apply(
        self,
        frame: pd.DataFrame,
        *,
        progress: Progress | None = None,
        key: bytes | None = None,
        earlier: Sequence[EarlierOutput] = (),
    ) -> Treatment:
        """Return a copy in which every combination of the columns belongs to at least k records, and the bill.

        `key`: as of `choose`. Give one, and keep it secret, where more than one output of a table is published.
        `earlier`: what earlier outputs did with each row of the frame, the last one first.

        A column whose cells hold what they held, or nothing, keeps its type; all others hold texts. Suppressed rows are
        gone.

        Raises:
            Misfit: a column is missing, a hierarchy does not fit it, or there are fewer than k records.
            Refused: nothing holds what is asked for, or the output was looked at and does not; nothing is given out.
        """
        from remedies.generalisation.frequencies import read_table

        self.check_size(len(frame))
        frequencies, combinations = read_table(frame, self.built(frame), sensitive=self.sensitive)
        size = len(frequencies.counts)
        before = tuple(output.of_combinations(combinations, size) for output in earlier)
        choice = self.choose(replace(frequencies, earlier=before), progress=progress, key=key)
        treated = choice.recoding.apply(frame, combinations)
        hidden = replace(choice.recoding, suppressed=~choice.recoding.suppressed).apply(frame, combinations)
        return Treatment(treated, self.bill(choice, self.prove(frame, treated)), hidden)

    def check_size(self, rows: int) -> None:
        """Refuse a table that is too small.

        Raises:
            Misfit: it has fewer than k rows.
        """
        if rows < self.k:
            text = "1 record" if rows == 1 else f"{rows:,} records"
            raise Misfit(f"{text} cannot form a class of {self.k}; expected at least k records, or a smaller k")

    def bill(self, choice: ChosenLevels, guarantee: Guarantee) -> UtilityReport:
        """Return what it cost. A column's information that is lost is its `loss`: of utilities, in per cent."""
        from remedies.generalisation import utilities

        result = changes(choice.recoding)
        return UtilityReport(
            remedy=self.name,
            rows=result.rows,
            rows_changed=result.rows_changed,
            rows_suppressed=result.rows_suppressed,
            cells_changed=result.changed,
            cells_blanked=result.blanked,
            cells_filled=result.filled,
            information_lost={name: 100 * column.loss for name, column in utilities(choice.recoding).columns.items()},
            guarantee=guarantee,
            figures=choice.figures,
        )


def plain_number(value: Any) -> Json:
    """Return a number as JSON can write it."""
    from remedies.generalisation.utility import INFINITE

    number: Json = INFINITE if value == float("inf") else value
    return number
