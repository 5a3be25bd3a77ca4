"""Records, or as few cells as it takes, are left out so that no combination belongs to fewer than k records."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, ClassVar, Final, Literal, Self

from pydantic import Field, model_validator

from checks import Json
from checks.parameters.columns import ColumnName
from remedies._contract import Progress, Remedy
from remedies._errors import Refused
from remedies.generalisation.recoded import ChosenLevels, Recodes

if TYPE_CHECKING:
    from remedies.generalisation.frequencies import Frequencies


class Suppress(Recodes):
    """Suppression of whole records, or of cells of named columns."""

    summary: ClassVar[str] = "Records in classes below k are suppressed, entirely or in as few cells as possible."
    treats: ClassVar[frozenset[str]] = frozenset(
        {"k_anonymity", "l_diversity", "population_uniqueness", "reidentification_by_subset", "t_closeness"}
    )

    type: Literal["suppress"] = "suppress"
    cells: bool = Field(default=False, description="Suppress single cells first, then the remaining records.")
    weights: Mapping[ColumnName, Annotated[float, Field(gt=0, allow_inf_nan=False)]] = Field(
        default_factory=dict, description="Weight of a column's cells with `cells`; 1 by default."
    )

    @model_validator(mode="after")
    def _weights_are_of_cells(self) -> Self:
        unknown = sorted(set(self.weights) - set(self.columns))
        if unknown:
            raise ValueError(f"'weights' names a column that is not in 'columns': {', '.join(unknown)}")
        if self.weights and not self.cells:
            raise ValueError("'weights' goes with 'cells'")
        return self

    def choose(
        self, frequencies: Frequencies, *, progress: Progress | None = None, key: bytes | None = None
    ) -> ChosenLevels:
        """Choose which rows, or which cells, are left out.

        Raises:
            Misfit: there are fewer than k rows, or a sensitive column does not fit its limit.
            Refused: nothing would be left.
        """
        from remedies.generalisation import utilities
        from remedies.generalisation.suppression import blank_cells, mix_suppressed, without_broken

        began, criteria = perf_counter(), self.criteria(frequencies)
        if self.cells:
            recoding = blank_cells(frequencies, self.k, weights=self.weights, criteria=criteria, progress=progress)
        else:
            recoding = without_broken(frequencies, self.k, criteria=criteria)
        mixed = mix_suppressed(recoding, self.k, criteria, key=key)
        recoding = mixed.recoding
        if recoding.suppressed.all():
            raise Refused("no record would be left; name fewer columns, allow a smaller k, or generalise first")
        measured = utilities(recoding, k=self.k).as_json()
        seconds = perf_counter() - began
        figures: dict[str, Json] = {
            "cells": self.cells,
            "utilities": measured,
            "seconds": seconds,
            "mixed": mixed.as_json(),
        }
        return ChosenLevels(recoding, figures)


REMEDY: Final[type[Remedy]] = Suppress
