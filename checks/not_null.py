"""Values must be there."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Final, Literal

from annotated_types import Ge, Le
from pydantic import Field

from checks._contract import Check, CheckParameters, Context, Json, Measurement, Outcome, Past, Status, Wants
from checks._literals import is_nan
from checks._message import Message
from checks._occurrence import from_bad_rows
from checks.parameters.columns import ColumnNames, is_null
from checks.parameters.numbers import decimal

_SHOWN: Final = 8


class NotNull(CheckParameters):
    """Named columns hold no NULL, or at most a share of them."""

    summary: ClassVar[str] = "Columns have no NULL, or at most a share of NULL."
    limits: ClassVar[frozenset[str]] = frozenset({"max_ratio"})

    type: Literal["not_null"] = "not_null"
    columns: ColumnNames = Field(description="Columns, each checked separately.")
    max_ratio: Annotated[float, Ge(0), Le(1)] = Field(0.0, description="Maximum share of NULL in each column, 0 to 1.")

    def wants(self, context: Context) -> Wants:
        """Count the rows, the NULLs of each column, and find when the first bad row was loaded."""
        missing = {name: is_null(context.column(name), context.dialect) for name in self.columns}
        counts = {f"nulls_{name}": context.count(is_missing) for name, is_missing in missing.items()}
        first, *others = missing.values()
        any_missing = first
        for other in others:
            any_missing |= other
        return Wants({"rows": context.rows, **counts, **self._nan(context), **context.first_bad_load(any_missing)})

    def _nan(self, context: Context) -> dict[str, Any]:
        """Count NaN, which is a value: people who take it for a missing one are told."""
        conditions = {name: is_nan(context.column(name), context.dialect) for name in self.columns}
        return {f"nan_{name}": context.count(which) for name, which in conditions.items() if which is not None}

    def judge(self, measurement: Measurement, history: Sequence[Past]) -> Outcome:
        """Fail when a column has more NULLs than its share of the rows."""
        rows = measurement.number("rows")
        nulls = {name: measurement.number(f"nulls_{name}") for name in self.columns}
        observed: dict[str, Json] = {"rows": rows, "nulls": nulls}
        expected: dict[str, Json] = {"max_ratio": self.max_ratio}
        nan = {name: int(measurement.values.get(f"nan_{name}") or 0) for name in self.columns}
        if any(nan.values()):
            observed["nan"] = {name: count for name, count in nan.items() if count}
        broken = [name for name, count in nulls.items() if Fraction(count, rows or 1) > decimal(self.max_ratio)]
        if not broken:
            return Outcome(Status.PASS, _fine(sum(nan.values())), observed, expected)
        worst, *others = sorted(broken, key=lambda name: -nulls[name])
        message = _say(worst, [f"{name} ({nulls[name]:,})" for name in others], nulls=nulls[worst], rows=rows)
        return Outcome(Status.FAIL, message, observed, expected, occurrence=from_bad_rows(measurement))


def _fine(nan: int) -> Message:
    if not nan:
        return Message("no column exceeds its NULL limit")
    return Message(
        "no column exceeds its NULL limit; {nan:count} values are NaN, which does not count as NULL",
        {"nan": nan},
        one="no column exceeds its NULL limit; {nan:count} value is NaN, which does not count as NULL",
        counted="nan",
    )


def _say(worst: str, others: Sequence[str], *, nulls: int, rows: int) -> Message:
    values: dict[str, Any] = {"column": worst, "nulls": nulls, "rows": rows, "ratio": nulls / rows}
    if not others:
        return Message("{column}: {nulls:count} of {rows:count} rows are NULL ({ratio:ratio})", values)
    more = len(others) - _SHOWN
    values["others"] = [*others[:_SHOWN], *([f"… (+{more})"] if more > 0 else [])]
    return Message("{column}: {nulls:count} of {rows:count} rows are NULL ({ratio:ratio}); also {others}", values)


CHECK: Final[type[Check]] = NotNull
