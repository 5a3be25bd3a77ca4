"""Values must be there."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from statistics import median
from typing import Annotated, Any, ClassVar, Final, Literal

from annotated_types import Ge, Le
from pydantic import Field

from checks._contract import Check, Context, Json, MainNumber, Measurement, Outcome, PastMeasurement, Status, Wants
from checks._judge import TakesSample, any_null, estimate, from_bad_rows
from checks._learned import LearnsLimits, rounded
from checks._outcome import Message
from checks.parameters.columns import ColumnNames, is_nan, is_null
from checks.parameters.numbers import decimal
from sources.expressions import ir

_SHOWN: Final = 8
_UNUSUALLY_MANY: Final = Message("{column}: {ratio:ratio} of the rows are NULL, above the learned limit {limit:ratio}")


class NotNull(TakesSample, LearnsLimits):
    """Named columns hold no NULL, or at most a share of them."""

    summary: ClassVar[str] = "Columns have no NULL, or at most a share of NULL."
    judges_values: ClassVar[bool] = True
    main_number: ClassVar[MainNumber | None] = MainNumber("nulls", again="share")
    warn_limits: ClassVar[frozenset[str]] = frozenset({"max_ratio", "limits", "deviation"})

    type: Literal["not_null"] = "not_null"
    columns: ColumnNames = Field(description="Columns, each checked separately.")
    max_ratio: Annotated[float, Ge(0), Le(1)] | None = Field(
        None, description="Maximum share of NULL in each column, 0 to 1; 0 unless limits are learned."
    )

    @property
    def _numbers(self) -> int:
        return len(self.columns)

    @property
    def _largest_share(self) -> float:
        """Return the share of NULL that is allowed, whatever is learned."""
        return (1.0 if self.learns else 0.0) if self.max_ratio is None else self.max_ratio

    def wants(self, context: Context) -> Wants:
        """Count the rows, the NULLs of each column, and find when the first bad row was loaded."""
        missing = {name: is_null(context.column(name), context.dialect) for name in self.columns}
        counts = {f"nulls_{name}": context.count(is_missing) for name, is_missing in missing.items()}
        since = context.first_bad_load(any_null(context, self.columns))
        aggregates = {"rows": context.rows, **counts, **self._nan(context), **since}
        return Wants(aggregates, earlier=self.learned_from())

    def violations(self, context: Context) -> ir.Table:
        """Return the rows with a NULL in one of the columns."""
        return context.rows_of(any_null(context, self.columns))

    def _nan(self, context: Context) -> dict[str, Any]:
        """Count NaN, which is a value: the outcome names it, as it may be taken for a missing one."""
        conditions = {name: is_nan(context.column(name), context.dialect) for name in self.columns}
        return {f"nan_{name}": context.count(bad) for name, bad in conditions.items() if bad is not None}

    def judge(self, measurement: Measurement, history: Sequence[PastMeasurement]) -> Outcome:
        """Fail when a column has more NULLs than its share of the rows."""
        if measurement.sample is not None:
            columns = [(name, f"nulls_{name}") for name in self.columns]
            return estimate(measurement, columns, decimal(self._largest_share))
        rows = measurement.number("rows")
        nulls = {name: measurement.number(f"nulls_{name}") for name in self.columns}
        observed: dict[str, Json] = {"rows": rows, "nulls": nulls}
        expected: dict[str, Json] = {"max_ratio": self._largest_share}
        nan = {name: int(measurement.values.get(f"nan_{name}") or 0) for name in self.columns}
        if any(nan.values()):
            observed["nan"] = {name: count for name, count in nan.items() if count}
        share = decimal(self._largest_share)
        broken = [name for name, count in nulls.items() if count and Fraction(count, rows or 1) > share]
        if self.learns and not broken:
            problem = self._judge_learned(measurement, history, nulls=nulls, rows=rows, observed=observed)
            if problem is not None:
                return problem
        if not broken:
            return Outcome(Status.PASS, _fine(sum(nan.values())), observed, expected)
        worst, *others = sorted(broken, key=lambda name: -nulls[name])
        message = _message_of(worst, [f"{name} ({nulls[name]:,})" for name in others], nulls=nulls[worst], rows=rows)
        return Outcome(Status.FAIL, message, observed, expected, occurrence=from_bad_rows(measurement))

    def _judge_learned(
        self,
        measurement: Measurement,
        history: Sequence[PastMeasurement],
        *,
        nulls: Mapping[str, int],
        rows: int,
        observed: dict[str, Json],
    ) -> Outcome | None:
        """Judge the share of each column by what was learned of it; None where none is above its limit."""
        verdicts = {}
        for name in self.columns:
            read = partial(_share_in, name=name)
            typical = median([share for past in history if past.in_span and (share := read(past)) is not None] or [0.0])
            # the binomial standard deviation of the usual share, or of one row where it is usually none
            share = (typical * rows + 1) / (rows + 2)
            spread = math.sqrt(share * (1 - share) / rows)
            verdicts[name] = self.learn(
                measurement, history, value=nulls[name] / rows, read=read, above_only=True, floor=spread
            )
        observed["learned"] = {name: verdict.observed or None for name, verdict in verdicts.items()}
        high = [name for name, verdict in verdicts.items() if verdict.side]
        if high:
            worst = max(high, key=lambda name: nulls[name])
            message = _UNUSUALLY_MANY.given(
                column=worst, ratio=nulls[worst] / rows, limit=rounded(verdicts[worst].bound)
            )
            return Outcome(Status.FAIL, message, observed, occurrence=None)
        missing = next((verdict.missing for verdict in verdicts.values() if verdict.missing is not None), None)
        return None if missing is None else replace(missing, observed=observed)


def _share_in(past: PastMeasurement, *, name: str) -> float | None:
    nulls, rows = past.observed.get("nulls"), past.observed.get("rows")
    return None if not rows or not isinstance(nulls, Mapping) or name not in nulls else nulls[name] / rows


def _fine(nan: int) -> Message:
    if not nan:
        return Message("no column exceeds its NULL limit")
    return Message(
        "no column exceeds its NULL limit; {nan:count} values are NaN, which does not count as NULL",
        {"nan": nan},
        one="no column exceeds its NULL limit; {nan:count} value is NaN, which does not count as NULL",
        counted="nan",
    )


def _message_of(worst: str, others: Sequence[str], *, nulls: int, rows: int) -> Message:
    values: dict[str, Any] = {"column": worst, "nulls": nulls, "rows": rows, "ratio": nulls / rows}
    if not others:
        return Message("{column}: {nulls:count} of {rows:count} rows are NULL ({ratio:ratio})", values)
    more = len(others) - _SHOWN
    values["others"] = [*others[:_SHOWN], *([f"… (+{more})"] if more > 0 else [])]
    return Message("{column}: {nulls:count} of {rows:count} rows are NULL ({ratio:ratio}); also {others}", values)


CHECK: Final[type[Check]] = NotNull
