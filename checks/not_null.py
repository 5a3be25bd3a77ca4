"""Values must be there."""

from collections.abc import Sequence
from typing import Annotated, ClassVar, Final, Literal

from annotated_types import Ge, Le, MinLen
from pydantic import Field

from checks._contract import Check, CheckParameters, Context, Measurement, Outcome, Past, Status, Wants
from checks._message import Message
from checks._occurrence import from_bad_rows


class NotNull(CheckParameters):
    """Named columns hold no NULL, or at most a share of them."""

    summary: ClassVar[str] = "Values are there: columns hold no NULL, or at most a share of it."
    limits: ClassVar[frozenset[str]] = frozenset({"max_ratio"})

    type: Literal["not_null"] = "not_null"
    columns: Annotated[tuple[str, ...], MinLen(1)]
    max_ratio: Annotated[float, Ge(0), Le(1)] = Field(0.0, description="Largest share of NULL allowed in each column, 0 to 1.")

    def wants(self, context: Context) -> Wants:
        """Count the rows, the NULLs of each column, and find when the first bad row was loaded."""
        missing = {name: context.column(name).isnull() for name in self.columns}
        counts = {f"nulls_{name}": context.count(is_missing) for name, is_missing in missing.items()}
        first, *others = missing.values()
        any_missing = first
        for other in others:
            any_missing |= other
        return Wants({"rows": context.rows, **counts, **context.first_bad_load(any_missing)})

    def judge(self, measurement: Measurement, history: Sequence[Past]) -> Outcome:  # noqa: ARG002 - part of the contract
        """Fail when a column has more NULLs than its share of the rows."""
        rows = measurement.number("rows")
        nulls = {name: measurement.number(f"nulls_{name}") for name in self.columns}
        observed = {"rows": rows, "nulls": nulls}
        expected = {"max_ratio": self.max_ratio}
        broken = [name for name, count in nulls.items() if count > self.max_ratio * rows]
        if not broken:
            return Outcome(Status.PASS, Message("no column has too many NULLs"), observed, expected)
        worst = max(broken, key=lambda name: nulls[name])
        values = {"column": worst, "nulls": nulls[worst], "rows": rows, "ratio": nulls[worst] / rows, "others": len(broken) - 1}
        message = Message("{column}: {nulls:count} of {rows:count} rows are NULL ({ratio:ratio})", values)
        if len(broken) > 1:
            text = "{column}: {nulls:count} of {rows:count} rows are NULL ({ratio:ratio}), and {others:count} more columns"
            one = "{column}: {nulls:count} of {rows:count} rows are NULL ({ratio:ratio}), and one more column"
            message = Message(text, values, one=one, counted="others")
        return Outcome(Status.FAIL, message, observed, expected, occurrence=from_bad_rows(measurement))


CHECK: Final[type[Check]] = NotNull
