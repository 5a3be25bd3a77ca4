"""The values of a column are distributed as in a reference: another table, or an earlier time of the same one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, ClassVar, Final, Literal, Self

from annotated_types import Ge, Gt, Interval, MinLen
from pydantic import Field, model_validator

from checks._aggregates import holds_no_number
from checks._contract import (
    Check,
    Context,
    Json,
    MainNumber,
    Measurement,
    Misconfigured,
    Outcome,
    PastMeasurement,
    Status,
    UnknownReason,
    Wants,
    unknown,
)
from checks._instants import reading_of, zoned_column
from checks._judge import without_rows
from checks._learned import LearnsNumber, number_in, rounded
from checks._outcome import Message
from checks.parameters.columns import ColumnName, common_kind, is_nan, is_null, number_types
from checks.parameters.scalars import PositiveDuration, Zone
from sources.expressions import ibis, ir

_FINE: Final = Message("{column} is distributed as in the reference: population stability index {psi:number}")
_PSI: Final = Message("{column}: population stability index {psi:number}, limit {limit:number}")
_LEARNED: Final = Message(
    "{column}: population stability index {psi:number}, above the learned limit {limit:number}; usual is {usual:number}"
)
_JENSEN_SHANNON: Final = Message("{column}: Jensen-Shannon distance {found:number}, limit {limit:number}")
_WASSERSTEIN: Final = Message("{column}: Wasserstein distance {found:number}, limit {limit:number}")
_WASSERSTEIN_HIDDEN: Final = Message("{column}: Wasserstein distance above {limit:number}")
_NEW: Final = Message(
    "{share:ratio} of the rows have one of {n:count} values of {column} that the reference lacks, limit {limit:ratio}",
    one="{share:ratio} of the rows have a value of {column} that the reference lacks, limit {limit:ratio}",
    counted="n",
)
_LOST: Final = Message(
    "{n:count} values of {column} that {share:ratio} of the reference had are gone, limit {limit:ratio}",
    one="a value of {column} that {share:ratio} of the reference had is gone, limit {limit:ratio}",
    counted="n",
)
_EMPTY: Final = Message("the reference has no row")
_NO_NUMBER: Final = Message("{column} has no number in the table or in the reference, so no distance was computed")
_BY_CHANCE: Final = Message(
    "{rows:count} rows and {reference:count} of the reference are too few: without any change, a population stability "
    "index of {chance:number} is expected, limit {limit:number}"
)
_COUNTS: Final = "counts"
_LEAST_SHARE: Final = 0.0001
"""What a share of 0 counts as in the population stability index, whose logarithm it has not (as Evidently does)."""


class Distribution(LearnsNumber):
    """The values of a column are distributed as in a reference."""

    summary: ClassVar[str] = "A column is distributed as in a reference table, or as in an earlier time window (drift)."
    judges_values: ClassVar[bool] = True
    main_number: ClassVar[MainNumber | None] = MainNumber("psi", high="max_psi")
    warn_limits: ClassVar[frozenset[str]] = frozenset(
        {"max_psi", "max_jensen_shannon", "max_wasserstein", "max_new_share", "max_lost_share", "limits", "deviation"}
    )

    type: Literal["distribution"] = "distribution"
    column: ColumnName = Field(description="Column of numbers, text, dates or booleans.")
    reference: Annotated[str, MinLen(1)] | None = Field(None, description="Reference table of the same source.")
    reference_column: ColumnName | None = Field(None, description="Its name in the reference table, if different.")
    time_column: ColumnName | None = Field(None, description="Without 'reference': column with the time of a row.")
    window: PositiveDuration | None = Field(None, description="Rows of this most recent period are compared ...")
    reference_window: PositiveDuration | None = Field(None, description="... with rows of this period before it.")
    timezone: Zone | None = Field(None, description="Time zone of naive times; overrides the table's.")
    bins: Annotated[int, Interval(ge=2, le=100)] = Field(
        10, description="Into how many parts of equal share the numbers of the reference are cut."
    )
    max_psi: Annotated[float, Gt(0)] | None = Field(
        None, description="Maximum population stability index; 0.1 is a small change, 0.25 a large one."
    )
    max_jensen_shannon: Annotated[float, Interval(gt=0, le=1)] | None = Field(
        None, description="Maximum Jensen-Shannon distance (base 2)."
    )
    max_wasserstein: Annotated[float, Ge(0)] | None = Field(
        None, description="Maximum Wasserstein distance of numbers, in units of the column."
    )
    max_new_share: Annotated[float, Interval(ge=0, le=1)] | None = Field(
        None, description="Maximum share of rows whose value the reference lacks; not of numbers."
    )
    max_lost_share: Annotated[float, Interval(ge=0, le=1)] | None = Field(
        None, description="Maximum share of the reference's rows whose value is gone; not of numbers."
    )

    @model_validator(mode="after")
    def _fits(self) -> Self:
        times = (self.time_column, self.window, self.reference_window)
        if (self.reference is None) == (None in times):
            raise ValueError("either 'reference', or 'time_column', 'window' and 'reference_window'")
        if self.reference is not None and any(item is not None for item in (*times, self.timezone)):
            raise ValueError("'time_column', 'window', 'reference_window' and 'timezone' go without 'reference'")
        if self.reference is None and self.reference_column is not None:
            raise ValueError("'reference_column' goes with 'reference'")
        if not self.learns and not any(getattr(self, name) is not None for name in self.warn_limits if "max" in name):
            raise ValueError(f"at least one of {', '.join(sorted(self.warn_limits))}")
        return self

    @property
    def refers_to(self) -> tuple[str, ...]:
        """Return the reference table."""
        return () if self.reference is None else (self.reference,)

    @property
    def value_column(self) -> str | None:
        """Return the column, whose Wasserstein distance is an aggregate of values."""
        return self.column

    def wants(self, context: Context) -> Wants:
        """Count the rows by value in both, and sum that up in the engine: no value comes back."""
        own = context.column(self.column)
        numbers = isinstance(own.type(), tuple(number_types()))
        for name in ("max_new_share", "max_lost_share") if numbers else ("max_wasserstein",):
            if getattr(self, name) is not None:
                raise Misconfigured(f"'{name}' is not of {own.type()}; column '{self.column}' has that type")
        earlier = self.learned_from()
        if self.time_column is None or self.window is None or self.reference_window is None:
            name, table = self.reference_column or self.column, self.reference or ""
            must = "they must have the same type to be compared"
            kind = common_kind(context, self.column, name, of=table, must=must)
            parts = _parts(context.filtered[self.column].cast(kind), context.references[table][name].cast(kind))
            return Wants({"rows": context.rows}, {_COUNTS: self._counts(context, parts, numbers)}, earlier=earlier)
        times = zoned_column(context, self.time_column, self.timezone)
        aggregates, queries = {"rows": context.rows, **times.evidence}, {}
        for clock in times.clocks:
            start, end = times.now(clock, -self.window), times.now(clock)
            before = (times.value <= start) & (times.value > times.now(clock, -self.window - self.reference_window))
            recent = (times.value > start) & (times.value <= end)
            aggregates[f"in_window_{clock.reading}"] = context.count(recent)
            parts = _parts(*(context.rows_of(part)[self.column] for part in (recent, before)))
            queries[f"{_COUNTS}_{clock.reading}"] = self._counts(context, parts, numbers)
        return Wants(aggregates, queries, earlier=earlier)

    def _counts(self, context: Context, parts: ir.Table, numbers: bool) -> ir.Table:
        return _of_numbers(parts, context.dialect, self.bins) if numbers else _of_categories(parts, context.dialect)

    def judge(self, measurement: Measurement, history: Sequence[PastMeasurement]) -> Outcome:
        """Fail when a distance is above its limit; unknown where chance alone makes one."""
        name = _COUNTS
        if self.time_column is not None:
            reading = reading_of(measurement, self.time_column, "in_window")
            if isinstance(reading, Outcome):
                return reading
            name = f"{_COUNTS}_{reading}"
        drift = _Drift.of(measurement.tables[name])
        hides = bool(measurement.k)
        observed = drift.observed | {"wasserstein": None if hides else drift.wasserstein}
        too_few = self._too_few(drift, observed)
        return self._compared(drift, measurement, history, observed) if too_few is None else too_few

    def _too_few(self, drift: _Drift, observed: Mapping[str, Json]) -> Outcome | None:
        """Return the outcome where there is nothing to compare, or where chance alone makes a difference."""
        if not drift.rows:
            return without_rows(self, observed=observed)
        if not drift.reference_rows:
            return unknown(UnknownReason.NO_DATA, _EMPTY, observed)
        if self.max_wasserstein is not None and drift.wasserstein is None:
            return unknown(UnknownReason.NO_DATA, _NO_NUMBER.given(column=self.column), observed)
        if self.max_psi is None or drift.chance < self.max_psi:
            return None
        sizes = {"rows": drift.rows, "reference": drift.reference_rows}
        message = _BY_CHANCE.given(chance=rounded(drift.chance), limit=self.max_psi, **sizes)
        return unknown(UnknownReason.NO_DATA, message, observed)

    def _compared(
        self, drift: _Drift, measurement: Measurement, history: Sequence[PastMeasurement], observed: dict[str, Json]
    ) -> Outcome:
        expected: dict[str, Json] = {
            name: getattr(self, name)
            for name in ("max_psi", "max_jensen_shannon", "max_wasserstein", "max_new_share", "max_lost_share")
            if getattr(self, name) is not None
        }
        problem = self._beyond(drift, hides=bool(measurement.k))
        verdict = None
        if self.learns:
            read = partial(number_in, name="psi")
            verdict = self.learn(measurement, history, value=drift.psi, read=read, above_only=True)
            observed["learned"] = verdict.observed or None
            if problem is None and verdict.side > 0:
                values = {"limit": rounded(verdict.bound), "usual": rounded(verdict.usual)}
                problem = _LEARNED.given(column=self.column, psi=rounded(drift.psi), **values)
        if problem is not None:
            return Outcome(Status.FAIL, problem, observed, expected)
        if verdict is not None and verdict.missing is not None:
            return replace(verdict.missing, observed=observed)
        return Outcome(Status.PASS, _FINE.given(column=self.column, psi=rounded(drift.psi)), observed, expected)

    def _beyond(self, drift: _Drift, *, hides: bool) -> Message | None:
        """Return which limit is broken."""
        column = self.column
        if self.max_psi is not None and drift.psi > self.max_psi:
            return _PSI.given(column=column, psi=rounded(drift.psi), limit=self.max_psi)
        if self.max_jensen_shannon is not None and drift.jensen_shannon > self.max_jensen_shannon:
            found = rounded(drift.jensen_shannon)
            return _JENSEN_SHANNON.given(column=column, found=found, limit=self.max_jensen_shannon)
        if self.max_wasserstein is not None and (drift.wasserstein or 0.0) > self.max_wasserstein:
            if hides:
                return _WASSERSTEIN_HIDDEN.given(column=column, limit=self.max_wasserstein)
            found = rounded(drift.wasserstein or 0.0)
            return _WASSERSTEIN.given(column=column, found=found, limit=self.max_wasserstein)
        for text, limit, share, n in (
            (_NEW, self.max_new_share, drift.new_share, drift.new),
            (_LOST, self.max_lost_share, drift.lost_share, drift.lost),
        ):
            if limit is not None and share is not None and share > limit:
                return text.given(column=column, share=share, n=n, limit=limit)
        return None


@dataclass(frozen=True, slots=True)
class _Drift:
    """How far apart two distributions are.

    `rows`, `reference_rows`: all of both. `cells`: rows of now and of the reference, and how many values (or bins) have
    so many; without NULL, of which `missing` has the rows.
    """

    rows: int
    reference_rows: int
    cells: Sequence[tuple[int, int, int]]
    missing: tuple[int, int]
    wasserstein: float | None
    has_categories: bool

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Any]]) -> Self:
        """Read what `_of_numbers` or `_of_categories` counted."""
        counted = [(bool(row["missing"]), int(row["now"]), int(row["before"]), int(row["n"])) for row in rows]
        areas = [float(row["area"]) for row in rows if row["area"] is not None]
        return cls(
            rows=sum(now * n for _, now, _, n in counted),
            reference_rows=sum(before * n for _, _, before, n in counted),
            cells=[(now, before, n) for missing, now, before, n in counted if not missing],
            missing=(sum(cell[1] for cell in counted if cell[0]), sum(cell[2] for cell in counted if cell[0])),
            wasserstein=math.fsum(areas) if areas else None,
            has_categories=any(row["is_category"] for row in rows),
        )

    @property
    def _all(self) -> Sequence[tuple[int, int, int]]:
        return [*self.cells, (*self.missing, 1)] if any(self.missing) else self.cells

    @property
    def psi(self) -> float:
        """Return the population stability index, at least 0."""
        return math.fsum(
            n * (p - q) * math.log(p / q)
            for now, before, n in self._all
            for p, q in [(now / self.rows or _LEAST_SHARE, before / self.reference_rows or _LEAST_SHARE)]
        )

    @property
    def jensen_shannon(self) -> float:
        """Return the Jensen-Shannon distance, 0 to 1: the root of the divergence, by logarithms to base 2."""
        divergence = math.fsum(
            n * share * math.log2(2 * share / (p + q)) / 2
            for now, before, n in self._all
            for p, q in [(now / self.rows, before / self.reference_rows)]
            for share in (p, q)
            if share
        )
        return math.sqrt(max(divergence, 0.0))

    @property
    def chance(self) -> float:
        """Return the population stability index that is expected of two samples of one distribution (Yurdakul 2018)."""
        return (sum(n for *_, n in self._all) - 1) * (1 / self.rows + 1 / self.reference_rows)

    @property
    def new(self) -> int:
        """Count the values that the reference lacks."""
        return sum(n for now, before, n in self.cells if now and not before)

    @property
    def lost(self) -> int:
        """Count the values that only the reference has."""
        return sum(n for now, before, n in self.cells if before and not now)

    @property
    def new_share(self) -> float | None:
        """Return the share of rows whose value the reference lacks; None of numbers."""
        return sum(now * n for now, before, n in self.cells if not before) / self.rows if self.has_categories else None

    @property
    def lost_share(self) -> float | None:
        """Return the share of the reference's rows whose value is gone; None of numbers."""
        if not self.has_categories:
            return None
        return sum(before * n for now, before, n in self.cells if not now) / self.reference_rows

    @property
    def observed(self) -> dict[str, Json]:
        """Return what is observed: shares, counts and distances, no value of the column."""
        found: dict[str, Json] = {"rows": self.rows, "reference_rows": self.reference_rows, **dict.fromkeys(_FIGURES)}
        if not (self.rows and self.reference_rows):
            return found
        now, before = self.missing
        found |= {
            "psi": self.psi,
            "jensen_shannon": self.jensen_shannon,
            "psi_by_chance": self.chance,
            "missing_share": now / self.rows,
            "reference_missing_share": before / self.reference_rows,
        }
        if self.has_categories:
            values = {"values": sum(n for *_, n in self.cells), "new": self.new, "lost": self.lost}
            found |= {**values, "new_share": self.new_share, "lost_share": self.lost_share}
        return found


_FIGURES: Final = (
    *("psi", "psi_by_chance", "jensen_shannon", "missing_share", "reference_missing_share"),
    *("values", "new", "lost", "new_share", "lost_share"),
)


def _parts(now: ir.Column, before: ir.Column) -> ir.Table:
    """Return the values of both, `value`, and `now`, `before`: 1 in the part that a row is of, else 0."""
    rows = [column.name("value").as_table() for column in (now, before)]
    return rows[0].mutate(now=1, before=0).union(rows[1].mutate(now=0, before=1))


def _grouped(parts: ir.Table) -> ir.Table:
    sums = {name: parts[name].sum().cast("int64") for name in ("now", "before")}
    return parts.group_by("value").aggregate(**sums)


def _of_categories(parts: ir.Table, dialect: str) -> ir.Table:
    """Count how many values have so many rows now and in the reference."""
    values = _grouped(parts)
    values = values.mutate(missing=is_null(values["value"], dialect).ifelse(1, 0))
    counts = values.group_by(["missing", "now", "before"]).aggregate(n=values.count())
    return counts.mutate(area=ibis.null().cast("float64"), is_category=1)


def _of_numbers(parts: ir.Table, dialect: str, bins: int) -> ir.Table:
    """Count the rows by parts of about equal share of the reference, with the area between the two distributions.

    The area is that of their distribution functions, the Wasserstein distance: the sum over all values of the
    difference of both, times the distance to the next value. Equal numbers are in one part; what is no finite number
    is missing.
    """
    value = parts["value"]
    missing = is_null(value, dialect)
    if dialect == "sqlite":
        missing |= holds_no_number(value)
    nan = is_nan(value, dialect)
    number = (missing if nan is None else missing | nan).ifelse(ibis.null(), value).cast("float64")
    number = (number.abs() > _LARGEST).ifelse(ibis.null(), number)
    groups = _grouped(parts.mutate(value=number))
    numbers, others = groups.filter(groups["value"].notnull()), groups.filter(groups["value"].isnull())
    upto = ibis.window(order_by="value", preceding=None, following=0)
    shares = {
        name: numbers[name].sum().over(upto).cast("float64") / numbers[name].sum().over(ibis.window()).nullif(0)
        for name in ("now", "before")
    }
    placed = numbers.mutate(
        after=shares["now"] - shares["before"],
        width=numbers["value"].lead().over(order_by="value") - numbers["value"],
        middle=shares["before"] - numbers["before"] / 2.0 / numbers["before"].sum().over(ibis.window()).nullif(0),
    )
    place = (placed["middle"] * bins).floor().cast("int64").fill_null(0)
    placed = placed.mutate(
        bin=(place >= bins).ifelse(bins - 1, (place < 0).ifelse(0, place)),
        area=(placed["after"].abs() * placed["width"]).fill_null(0.0),
        known=placed["after"].notnull().ifelse(1, 0),
    )
    sums = {name: placed[name].sum().cast("int64") for name in ("now", "before")}
    cut = placed.group_by("bin").aggregate(
        **sums, area=(placed["known"] == 1).ifelse(placed["area"], ibis.null()).sum()
    )
    cut = cut.select(missing=ibis.literal(0), now=cut["now"], before=cut["before"], area=cut["area"])
    gone = others.select(missing=ibis.literal(1), now="now", before="before", area=ibis.null().cast("float64"))
    return cut.union(gone).mutate(n=1, is_category=0)


_LARGEST: Final = 1.7e308

CHECK: Final[type[Check]] = Distribution
