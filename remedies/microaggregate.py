"""Records are grouped by k or more, and each becomes the centroid of its group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, ClassVar, Final, Literal, Self

import numpy as np
from annotated_types import Ge, Gt, MinLen
from pydantic import Field, model_validator

from checks import Json
from checks.parameters.columns import ColumnNames
from checks.parameters.scalars import PositiveDuration
from remedies._contract import (
    Guarantee,
    Progress,
    Remedy,
    RemedyParameters,
    Treatment,
    UtilityReport,
    check_columns,
    grouped_by,
)
from remedies._errors import Misfit, Refused

if TYPE_CHECKING:
    import pandas as pd

    from remedies.microaggregation import Microaggregation
    from remedies.microaggregation.attributes import Attribute, TableLoss
    from remedies.microaggregation.mixed import Grouped, Partition
    from remedies.microaggregation.numbers import Floats


class GroupingMethod(StrEnum):
    """How records are grouped; docs/remedies.md says when to prefer which."""

    BEST = "best"
    NPN = "npn"
    FDH = "fdh"
    MDAV = "mdav"
    VMDAV = "vmdav"


class Microaggregate(RemedyParameters):
    """Microaggregation of named columns. Numbers and times need no more than their name; other columns have a kind."""

    summary: ClassVar[str] = (
        "Records are grouped by k or more; in the named columns each value is replaced by its group's centroid."
    )
    treats: ClassVar[frozenset[str]] = frozenset({"k_anonymity", "population_uniqueness", "reidentification_by_subset"})

    type: Literal["microaggregate"] = "microaggregate"
    columns: ColumnNames = Field(description="Quasi-identifiers: columns an attacker may know about a person.")
    k: Annotated[int, Ge(2)] = Field(description="Minimum equivalence class size.")
    method: GroupingMethod = Field(GroupingMethod.BEST, description="How records are grouped.")
    ordinal: Mapping[str, tuple[str | int | float, ...]] = Field(
        default_factory=dict,
        description="Ordinal columns with their levels from lowest to highest, or [] for natural order.",
    )
    nominal: tuple[str, ...] = Field((), description="Nominal columns.")
    weights: Mapping[str, Annotated[float, Gt(0)]] = Field(
        default_factory=dict, description="Weight of a column's squared distances; 1 by default."
    )
    seed: Annotated[int, Ge(0)] = Field(
        0, description="Random seed of `best`, `fdh`; the same seed gives the same groups."
    )
    budget: PositiveDuration | None = Field(None, description="Time budget of `best`.")
    sweeps: Annotated[tuple[Annotated[int, Ge(0)], ...], MinLen(1)] | None = Field(
        None, description="Number of sweeps of `best`, from an earlier report, to reproduce its result exactly."
    )
    anchors: Annotated[int, Ge(1)] = Field(3, description="Number of anchors of `fdh`.")
    divisor: Annotated[float, Gt(0)] = Field(3, description="Divisor of the radius around an anchor, for `fdh`.")
    gamma: Annotated[float, Ge(0)] = Field(0.2, description="Group growth factor gamma of `vmdav`.")

    @model_validator(mode="after")
    def _names_are_columns(self) -> Self:
        for word, names in (("ordinal", self.ordinal), ("nominal", self.nominal), ("weights", self.weights)):
            unknown = sorted(set(names) - set(self.columns))
            if unknown:
                raise ValueError(
                    f"'{word}' names a column that is not in 'columns': {', '.join(unknown)}; name it there too"
                )
        both = sorted(set(self.ordinal) & set(self.nominal))
        if both:
            raise ValueError(f"a column is ordinal or nominal, not both: {', '.join(both)}")
        return self

    def compiles_first(self) -> bool:
        """Check whether this machine has yet to compile the search, which takes about a minute, once."""
        from remedies._compiled import is_kept
        from remedies.microaggregation.sweep import sweep_blocks

        return self.method is GroupingMethod.BEST and not is_kept(sweep_blocks)

    def apply(self, frame: pd.DataFrame, *, progress: Progress | None = None) -> Treatment:
        """Return a copy in which every combination of the columns belongs to at least k records, and the bill.

        Raises:
            Misfit: a column is missing, holds what its kind cannot be, or there are fewer than k records.
            Refused: a group by all columns of the output finds fewer than k records together; nothing is given out.
        """
        from remedies.microaggregation.mixed import group_records

        if len(frame) < self.k:
            text = "1 record" if len(frame) == 1 else f"{len(frame)} records"
            raise Misfit(f"{text} cannot form a class of {self.k}; expected at least k records, or a smaller k")
        attributes = [self._read(frame, name) for name in self.columns]
        partition = self._partition(len(frame), progress)
        grouped = group_records(attributes, k=self.k, weights=self.weights, partition=partition)
        treated = frame.copy(deep=False)
        for number, attribute in enumerate(attributes):
            treated[attribute.name] = attribute.write(grouped.codes[:, number], grouped.missing[:, number])
        return Treatment(treated, self._bill(attributes, grouped, self._prove(treated)))

    def _read(self, frame: pd.DataFrame, name: str) -> Attribute:
        from remedies.microaggregation.attributes import nominal, numeric, ordinal

        check_columns((name,), frame)
        if name in self.nominal:
            return nominal(frame[name])
        if name in self.ordinal:
            return ordinal(frame[name], self.ordinal[name] or None)
        return numeric(frame[name])

    def _prove(self, treated: pd.DataFrame) -> Guarantee:
        """Check the output alone: group it by all the columns, and count.

        Raises:
            Refused: fewer than k records are alike.
        """
        from checks.risk import class_sizes

        smallest = class_sizes(treated, self.columns).smallest or 0
        if smallest < self.k:
            raise Refused(f"the output has records that only {smallest} are alike with; {self.k} were promised")
        return Guarantee("k_anonymity", self.columns, {"k": self.k}, {"k": smallest}, grouped_by(self.columns))

    def _partition(self, rows: int, progress: Progress | None) -> Partition:
        """Return what groups the records of one block of a table of so many rows."""
        from remedies.microaggregation import microaggregate
        from remedies.microaggregation.standardisation import Coordinates

        done = 0

        def partition(axes: Floats, number: int) -> Microaggregation:
            nonlocal done
            share, before = len(axes) / rows, done / rows
            done += len(axes)
            return microaggregate(
                Coordinates(axes),
                self.k,
                method=self.method.value,
                seed=self.seed,
                budget=None if self.budget is None else share * self.budget.total_seconds(),
                sweeps=None if self.sweeps is None else self.sweeps[min(number, len(self.sweeps) - 1)],
                anchors=self.anchors,
                divisor=self.divisor,
                gamma=self.gamma,
                bound=len(axes) == rows and not (self.weights or self.nominal or self.ordinal),
                progress=None if progress is None else lambda part: progress(before + share * part),
            )

        return partition

    def _bill(self, attributes: Sequence[Attribute], grouped: Grouped, guarantee: Guarantee) -> UtilityReport:
        from remedies.microaggregation.attributes import cost

        current_cost = cost(attributes, grouped.codes, grouped.missing)
        return UtilityReport(
            remedy=self.name,
            rows=len(grouped.labels),
            rows_changed=current_cost.rows_changed,
            rows_suppressed=0,
            cells_changed=current_cost.changed,
            cells_blanked=current_cost.blanked,
            cells_filled=current_cost.filled,
            information_lost=current_cost.losses,
            guarantee=guarantee,
            figures=self._figures(grouped, current_cost),
        )

    def _figures(self, grouped: Grouped, cost: TableLoss) -> Mapping[str, Json]:
        from remedies.microaggregation.attributes import ColumnKind

        sizes = np.bincount(grouped.labels)
        plain = len(grouped.results) == 1 and not self.weights and set(cost.by_kind) == {ColumnKind.NUMERIC}
        return {
            "method": self.method.value,
            "seed": self.seed,
            "k": int(sizes.min()),
            "groups": len(sizes),
            "largest_group": int(sizes.max()),
            "information_loss": cost.by_kind.get(ColumnKind.NUMERIC),
            "rank_loss": cost.by_kind.get(ColumnKind.ORDINAL),
            "mismatches": cost.by_kind.get(ColumnKind.NOMINAL),
            "lower_bound": grouped.results[0].lower_bound if plain else None,
            "sweeps": [result.sweeps for result in grouped.results],
            "seconds": sum(result.seconds for result in grouped.results),
        }


REMEDY: Final[type[Remedy]] = Microaggregate
