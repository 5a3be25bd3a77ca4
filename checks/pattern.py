"""Texts are written as a pattern says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final, Literal

from pydantic import Field

from checks._contract import Check, Context, MainNumber, Measurement, Misconfigured, Outcome, PastMeasurement, Wants
from checks._judge import Share, TakesSample, count_compared, judge_violations
from checks._outcome import Message
from checks.parameters.columns import ColumnName, type_name
from checks.parameters.regex import MOST_LETTERS, Regex, portable
from sources.expressions import ibis, ir


class Pattern(TakesSample):
    """Values of a column of texts match a regular expression; NULL is allowed."""

    summary: ClassVar[str] = "Texts match a regular expression; NULL is allowed."
    judges_values: ClassVar[bool] = True
    main_number: ClassVar[MainNumber | None] = MainNumber("violations", again="share")
    warn_limits: ClassVar[frozenset[str]] = frozenset({"max_ratio"})

    type: Literal["pattern"] = "pattern"
    column: ColumnName = Field(description="Column to check.")
    pattern: Regex
    max_ratio: Share = 0.0

    def wants(self, context: Context) -> Wants:
        """Count the rows, and those whose text is written otherwise."""
        invalid = self._invalid(context)
        counts = {"violations": context.count(invalid), **count_compared(context, [self.column])}
        return Wants({"rows": context.rows, **counts, **context.first_bad_load(invalid)})

    def violations(self, context: Context) -> ir.Table:
        """Return the rows whose text is written otherwise."""
        return context.rows_of(self._invalid(context))

    def _invalid(self, context: Context) -> ir.BooleanValue:
        column = context.column(self.column)
        kind = column.type()
        if not kind.is_string() and not (context.dialect == "sqlite" and kind.is_unknown()):
            raise Misconfigured(f"column '{self.column}' is of type {type_name(kind)}; a pattern needs a text column")
        text = column.cast("string")
        matches = text.re_search(portable(self.pattern)) & ~text.contains("\n")  # `$` matches before a last line break
        too_long = text.length() > MOST_LETTERS
        return too_long.ifelse(ibis.literal(value=True), ~matches)  # the engine does not look into what is too long

    def judge(self, measurement: Measurement, history: Sequence[PastMeasurement]) -> Outcome:
        """Fail when more rows than allowed are written otherwise."""
        text = "{column}: {bad:count} of {rows:count} rows do not match the pattern ({ratio:ratio})"
        return judge_violations(measurement, Message(text, {"column": self.column}), max_ratio=self.max_ratio)


CHECK: Final[type[Check]] = Pattern
