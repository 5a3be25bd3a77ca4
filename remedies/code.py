"""The largest and the smallest numbers of a column become its bounds: top and bottom coding."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from pydantic import AfterValidator, Field, WithJsonSchema, model_validator

from checks import Json
from checks._columns import ColumnName
from remedies._contract import Bill, Guarantee, Progress, Remedy, RemedyParameters, Treatment
from remedies._errors import Misfit, Refused
from remedies._recoded import check_columns
from remedies.generalisation import text_of
from remedies.generalisation._units import number_in

if TYPE_CHECKING:
    import pandas as pd

    from remedies.generalisation import Recoding

Mask: TypeAlias = npt.NDArray[np.bool_]


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

    summary: ClassVar[str] = "Numbers beyond a bound become the bound, so that extremes do not stand out."
    treats: ClassVar[frozenset[str]] = frozenset({"k_anonymity", "population_uniqueness", "reidentification_by_subset"})

    type: Literal["code"] = "code"
    top: Mapping[ColumnName, _Bound] = Field(
        default_factory=dict, description="Column: this number and all above become one, `80` or `>=80`."
    )
    bottom: Mapping[ColumnName, _Bound] = Field(
        default_factory=dict, description="Column: all numbers below this one become one, `20` or `<20`."
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
        """Name the columns that have a bound, each once."""
        return tuple(dict.fromkeys((*self.top, *self.bottom)))

    def apply(self, frame: pd.DataFrame, *, progress: Progress | None = None) -> Treatment:
        """Give a copy without numbers beyond the bounds, and the bill.

        Raises:
            Misfit: a column is missing or holds what is no number, or its type cannot hold the bound.
            Refused: the output was looked at and still has numbers beyond a bound; nothing is given out.
        """
        from remedies.generalisation import utilities

        check_columns(self.columns, frame)
        if not len(frame):
            raise Misfit("the table has no rows; there is nothing to code")
        began, treated, changed, lost = perf_counter(), frame.copy(deep=False), {}, {}
        for number, name in enumerate(self.columns):
            coded = self._coded(frame[name])
            treated[name], changed[name] = self._written(frame[name], coded)
            lost[name] = 100 * utilities(coded.recoding).columns[name].loss
            if progress is not None:
                progress((number + 1) / len(self.columns))
        guarantee = self.guarantee({name: self._beyond(treated[name]) for name in self.columns})
        bill = Bill(
            remedy=self.name,
            rows=len(frame),
            rows_changed=int(np.logical_or.reduce(list(changed.values())).sum()),
            rows_suppressed=0,
            cells_changed={name: int(cells.sum()) for name, cells in changed.items()},
            information_lost=lost,
            guarantee=guarantee,
            figures={"as": self.form.value, "seconds": perf_counter() - began},
        )
        return Treatment(treated, bill)

    def guarantee(self, found: Mapping[str, int]) -> Guarantee:
        """Say how many numbers of each column of an output lie beyond its bounds: none.

        Raises:
            Refused: some do.
        """
        for name, beyond in found.items():
            if beyond:
                raise Refused(f"column '{name}' of the output has {beyond:,} numbers beyond its bounds")
        limits = {name: [_json(self.bottom.get(name)), _json(self.top.get(name))] for name in self.columns}
        seen: dict[str, Json] = {name: {"beyond": beyond} for name, beyond in found.items()}
        asked = ", ".join(f"count(*) FILTER ({' OR '.join(self._tests(name))})" for name in self.columns)
        return Guarantee("range", self.columns, limits, seen, f"SELECT {asked} FROM output")  # noqa: S608 - shown, not run

    def beyond(self, name: str) -> tuple[Decimal | None, Decimal | None, bool]:
        """Give the bounds of a column, and whether the upper one is itself beyond: as a label it is coded too."""
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

    def _coded(self, column: pd.Series[Any]) -> _Coded:
        """Find the labels, as a hierarchy of one level has them.

        Raises:
            Misfit: the column holds no number, or what is none.
        """
        from remedies.generalisation import Recoding
        from remedies.generalisation._coding import coding
        from remedies.generalisation._frequencies import read_table

        name = str(column.name)
        if column.isna().all():
            raise Misfit(f"column '{name}' holds no value; expected numbers")
        try:
            hierarchy = coding(column, top=self.top.get(name), bottom=self.bottom.get(name), root=None)
        except Misfit as error:
            raise Misfit(f"column '{name}': {error}") from None
        frequencies, rows = read_table(column.to_frame(), {name: hierarchy})
        return _Coded(Recoding.of_node(frequencies, [1]), rows)

    def _written(self, column: pd.Series[Any], coded: _Coded) -> tuple[pd.Series[Any], Mask]:
        """Give a column as it leaves, and which cells of it read otherwise than before."""
        before, after = coded.texts()
        coded_cells = (before != after) & column.notna().to_numpy()  # NULL stays, though all others have one label
        if self.form is Form.LABEL:
            return coded.recoding.columns[0].written(column, coded.rows).mask(column.isna()), coded_cells
        name = str(column.name)
        written, changed = column, np.zeros(len(column), dtype=np.bool_)
        for bound, sign in ((self.top.get(name), ">"), (self.bottom.get(name), "<")):
            if bound is None:
                continue
            beyond = coded_cells & np.array([str(text).startswith(sign) for text in after])
            beyond &= before != text_of(bound)
            written, changed = written.mask(beyond, _in_type(column, bound)), changed | beyond
        return written, changed


@dataclass(frozen=True, slots=True)
class _Coded:
    """The labels of a column. `rows` int64 (rows,): the combination of each row."""

    recoding: Recoding
    rows: npt.NDArray[np.int64]

    def texts(self) -> tuple[npt.NDArray[np.object_], npt.NDArray[np.object_]]:
        """Give what each row reads before and after: object (rows,), None for NULL."""
        column, leaves = self.recoding.columns[0], self.recoding.frequencies.codes[:, 0]
        before = np.array([*map(text_of, column.domain.values)], dtype=object)[leaves]
        after = np.array([*map(text_of, column.labels.texts)], dtype=object)[column.numbers]
        return before[self.rows], after[self.rows]


def _upper(bound: Decimal | None) -> float:
    return math.nan if bound is None else float(bound)


def _in_type(column: pd.Series[Any], bound: Decimal) -> object:
    """Give a bound as a value of a column.

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
    """Give a bound as Python writes a value of a column.

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


def _json(bound: Decimal | None) -> Json:
    return None if bound is None else float(bound)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


REMEDY: Final[type[Remedy]] = Code
