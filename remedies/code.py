"""The largest and the smallest numbers of a column become its bounds: top and bottom coding."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from enum import StrEnum
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from pydantic import AfterValidator, Field, WithJsonSchema, model_validator

from checks import Json
from checks.parameters.columns import ColumnName
from remedies._contract import Guarantee, Progress, Remedy, RemedyParameters, Treatment, UtilityReport, check_columns
from remedies._errors import Misfit, Refused
from remedies.generalisation import coding, text_of
from remedies.generalisation.spelling import distinct_texts, scalars_of
from remedies.generalisation.units import number_in
from remedies.generalisation.value_counts import CodedCells, CodingCounts, Distinct

if TYPE_CHECKING:
    import pandas as pd

    from checks.risk import Hierarchy


def is_number(column: pd.Series[Any]) -> bool:
    """Check whether a column has a type of numbers."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    return is_numeric_dtype(column.dtype) and not is_bool_dtype(column.dtype)


def in_type(column: pd.Series[Any], bound: Decimal) -> object:
    """Return a bound as a value of a column.

    Raises:
        Misfit: the column holds whole numbers, and the bound is none, or its type cannot hold the bound exactly.
    """
    import pandas as pd
    import pyarrow as pa

    value = _of_kind(column, bound)
    try:
        held = text_of(pd.Series([value], dtype=column.dtype).iloc[0])
    except (pa.ArrowException, ArithmeticError, TypeError, ValueError):
        held = None
    if number_in(held or "") != bound:
        hint = "name one that it can hold, or ask for labels"
        raise Misfit(f"column '{column.name}' has a type that cannot hold its bound {bound}; {hint}")
    return value


def _of_kind(column: pd.Series[Any], bound: Decimal) -> object:
    """Return a bound as Python writes a value of a column.

    Raises:
        Misfit: the column holds whole numbers, and the bound is none.
    """
    from pandas.api.types import infer_dtype, is_float_dtype, is_integer_dtype

    if is_integer_dtype(column.dtype) or infer_dtype(column, skipna=True) == "integer":
        if bound != int(bound):
            raise Misfit(f"column '{column.name}' holds whole numbers, and its bound {bound} is none; name a whole one")
        return int(bound)
    if is_float_dtype(column.dtype):
        return float(bound)
    kind = infer_dtype(column, skipna=True)
    return {"string": str(bound), "floating": float(bound)}.get(kind, bound)


def _bounded(bound: Decimal) -> Decimal:
    if math.isinf(float(bound)):
        raise ValueError("no 64-bit number is as large")
    return bound


_Bound: TypeAlias = Annotated[
    Decimal, Field(allow_inf_nan=False), AfterValidator(_bounded), WithJsonSchema({"type": "number"})
]


class Form(StrEnum):
    """What stands in the place of a coded number."""

    NUMBER = "number"
    LABEL = "label"


class Code(RemedyParameters):
    """Top and bottom coding of numbers. What lies in between is kept as it is, and so is NULL."""

    summary: ClassVar[str] = "Numbers beyond a bound are replaced by the bound (top and bottom coding)."
    treats: ClassVar[frozenset[str]] = frozenset({"k_anonymity", "population_uniqueness", "reidentification_by_subset"})

    type: Literal["code"] = "code"
    top: Mapping[ColumnName, _Bound] = Field(
        default_factory=dict, description="Top code by column: this number and all above are merged, `80` or `>=80`."
    )
    bottom: Mapping[ColumnName, _Bound] = Field(
        default_factory=dict, description="Bottom code by column: all numbers below are merged, `20` or `<20`."
    )
    form: Form = Field(
        Form.NUMBER, alias="as", description="`number`: the bound itself, in the column's type; `label`: a text."
    )

    @model_validator(mode="after")
    def _bounds_are_in_order(self) -> Self:
        if not self.columns:
            raise ValueError("no bound is given; expected 'top' or 'bottom', or both")
        for name in self.columns:
            low, high = self.bottom.get(name), self.top.get(name)
            if low is not None and high is not None and low >= high:
                raise ValueError(f"'bottom' {low} of {name} is not below 'top' {high}")
        return self

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns that have a bound, each once."""
        return tuple(dict.fromkeys((*self.top, *self.bottom)))

    def apply(self, frame: pd.DataFrame, *, progress: Progress | None = None) -> Treatment:
        """Return a copy without numbers beyond the bounds, and the bill.

        Raises:
            Misfit: a column is missing or holds what is no number, or its type cannot hold the bound.
            Refused: the output was looked at and still has numbers beyond a bound; nothing is given out.
        """
        check_columns(self.columns, frame)
        began = perf_counter()
        distinct = {name: self.distinct(name, frame[name]) for name in self.columns}
        self.check(distinct, len(frame))
        tally = CodingCounts(self.columns)
        treated = self.piece(frame, tally)
        if progress is not None:
            progress(1.0)
        guarantee = self.guarantee({name: self._beyond(treated[name]) for name in self.columns})
        return Treatment(treated, self.bill(tally, distinct, guarantee, seconds=perf_counter() - began))

    def check(self, distinct: Mapping[str, Distinct], rows: int) -> None:
        """Check that there is something to code.

        Raises:
            Misfit: there is no row, or a column without a value.
        """
        if not rows:
            raise Misfit("the table has no rows; there is nothing to code")
        for name, numbers in distinct.items():
            if not numbers.every:
                raise Misfit(f"column '{name}' holds no value; expected numbers")

    def distinct(self, name: str, values: Iterable[object]) -> Distinct:
        """Count the distinct numbers of a column, and those that its bounds join.

        Raises:
            Misfit: a value is no number.
        """
        texts = distinct_texts(values)
        if not texts:
            return Distinct(0)
        coded = self._hierarchy(name, texts).levels[1]
        return Distinct(len(texts), coded.count(self._label(name, "top")), coded.count(self._label(name, "bottom")))

    def piece(self, frame: pd.DataFrame, tally: CodingCounts) -> pd.DataFrame:
        """Return a copy of some rows of a table without numbers beyond the bounds, and add to `tally` what was coded.

        Raises:
            Misfit: a column holds what is no number, or its type cannot hold the bound.
        """
        treated, cells = frame.copy(deep=False), {}
        for name in self.columns:
            treated[name], cells[name] = self._coded(frame[name])
        tally.add(cells, len(frame))
        return treated

    def bill(
        self, tally: CodingCounts, distinct: Mapping[str, Distinct], guarantee: Guarantee, *, seconds: float
    ) -> UtilityReport:
        """Return what it cost."""
        return UtilityReport(
            remedy=self.name,
            rows=tally.rows,
            rows_changed=tally.rows_changed,
            rows_suppressed=0,
            cells_changed=dict(tally.changed),
            information_lost=tally.losses(distinct),
            guarantee=guarantee,
            figures={"as": self.form.value, "seconds": seconds},
        )

    def guarantee(self, counts: Mapping[str, int]) -> Guarantee:
        """Return how many numbers of each column of an output lie beyond its bounds: none.

        Raises:
            Refused: some do.
        """
        for name, beyond in counts.items():
            if beyond:
                raise Refused(f"column '{name}' of the output has {beyond:,} numbers beyond its bounds")
        limits = {name: [_json(self.bottom.get(name)), _json(self.top.get(name))] for name in self.columns}
        values: dict[str, Json] = {name: {"beyond": beyond} for name, beyond in counts.items()}
        text = ", ".join(f"count(*) FILTER ({' OR '.join(self._tests(name))})" for name in self.columns)
        return Guarantee("range", self.columns, limits, values, f"SELECT {text} FROM output")  # noqa: S608 - shown, not run

    def beyond(self, name: str) -> tuple[Decimal | None, Decimal | None, bool]:
        """Return the bounds of a column, and whether the upper one is itself beyond: as a label it is coded too."""
        return self.bottom.get(name), self.top.get(name), self.form is Form.LABEL

    def _beyond(self, column: pd.Series[Any]) -> int:
        """Count the numbers of a column that lie beyond its bounds; what is no number, such as a label, does not."""
        import pandas as pd

        numbers = pd.to_numeric(column.astype(object), errors="coerce").astype("float64")
        low, high, with_top = self.beyond(str(column.name))
        above = numbers >= _upper(high) if with_top else numbers > _upper(high)
        return int((above | (numbers < (-math.inf if low is None else float(low)))).sum())

    def _tests(self, name: str) -> Sequence[str]:
        low, high, with_top = self.beyond(name)
        above = [] if high is None else [f"{_quoted(name)} {'>=' if with_top else '>'} {high}"]
        return [*above, *([] if low is None else [f"{_quoted(name)} < {low}"])]

    def _hierarchy(self, name: str, values: Iterable[object]) -> Hierarchy:
        """Return the hierarchy of one level that a column's bounds are.

        Raises:
            Misfit: a value is no number.
        """
        try:
            return coding(values, top=self.top.get(name), bottom=self.bottom.get(name), root=None)
        except Misfit as error:
            raise Misfit(f"column '{name}': {error}") from None

    def _label(self, name: str, side: Literal["top", "bottom"]) -> str | None:
        bound = (self.top if side == "top" else self.bottom).get(name)
        return None if bound is None else f"{'>=' if side == 'top' else '<'}{text_of(bound)}"

    def _coded(self, column: pd.Series[Any]) -> tuple[pd.Series[Any], CodedCells]:
        """Return a column as it leaves, and which cells of it are coded.

        Raises:
            Misfit: as `piece`.
        """
        name = str(column.name)
        if self.form is Form.NUMBER and is_number(column):
            cells = self._compared(column)
        else:
            after, cells = self._labelled(column)
            if self.form is Form.LABEL:
                return after, cells
        current_column = column
        for bound, beyond in ((self.top.get(name), cells.above), (self.bottom.get(name), cells.below)):
            if bound is not None:
                current_column = current_column.mask(beyond & cells.changed, in_type(column, bound))
        return current_column, cells

    def _compared(self, column: pd.Series[Any]) -> CodedCells:
        """Find the cells by comparing numbers: their type holds the bounds exactly, or refuses them."""
        name, nothing = str(column.name), np.zeros(len(column), dtype=np.bool_)
        if np.isinf(column.to_numpy(dtype=np.float64, na_value=np.nan)).any():
            raise Misfit(f"column '{name}' holds infinite values; expected finite numbers")
        results = {"above": nothing, "below": nothing, "changed": nothing}
        for side, bounds in (("above", self.top), ("below", self.bottom)):
            if name in bounds:
                bound: Any = in_type(column, bounds[name])
                beyond = column >= bound if side == "above" else column < bound
                results[side] = beyond.to_numpy(dtype=np.bool_, na_value=False)
                results["changed"] = results["changed"] | (
                    results[side] & (column != bound).to_numpy(dtype=np.bool_, na_value=False)
                )
        return CodedCells(**results)

    def _labelled(self, column: pd.Series[Any]) -> tuple[pd.Series[Any], CodedCells]:
        """Find the cells by the texts of their values, and return what these become."""
        import pandas as pd

        name = str(column.name)
        codes, values = pd.factorize(column, use_na_sentinel=True)
        before = np.array([*map(text_of, scalars_of(values, name)), None], dtype=object)  # NULL: the code -1, the last
        after = self._after(name, before)
        top, bottom = self._label(name, "top"), self._label(name, "bottom")
        above, below = (np.array([text is not None and text == label for text in after]) for label in (top, bottom))
        changed = before != after
        if self.form is Form.NUMBER:  # the bound itself stays what it is
            ends = [text_of(bound) for bound in (self.top.get(name), self.bottom.get(name)) if bound is not None]
            changed = changed & np.array([text not in ends for text in before])
        labels = pd.Series(after[codes], index=column.index, name=column.name, dtype="str")
        return labels, CodedCells(changed[codes], above[codes], below[codes])

    def _after(self, name: str, texts: npt.NDArray[np.object_]) -> npt.NDArray[np.object_]:
        """Return what each text becomes, None for None."""
        entries = [text for text in texts if text is not None]
        if not entries:
            return texts
        hierarchy = self._hierarchy(name, entries)
        labels = dict(zip(hierarchy.levels[0], hierarchy.levels[1], strict=True))
        return np.array([None if text is None else labels[text] for text in texts], dtype=object)


def _upper(bound: Decimal | None) -> float:
    return math.nan if bound is None else float(bound)


def _json(bound: Decimal | None) -> Json:
    return None if bound is None else float(bound)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


REMEDY: Final[type[Remedy]] = Code
