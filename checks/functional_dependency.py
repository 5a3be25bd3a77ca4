"""Some columns determine another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Final, Literal, Self

from pydantic import Field, model_validator

from checks._contract import Check, CheckParameters, Context, MainNumber, Measurement, Outcome, PastMeasurement, Wants
from checks._judge import Share, count_compared, free_name, judge_violations
from checks._outcome import Message
from checks.parameters.columns import ColumnName, ColumnNames, without_null
from sources.expressions import ir

_COPIES: Final = "copies"
_DIFFERENT: Final = Message(
    "{dependent}: {bad:count} of {rows:count} rows differ from other rows with the same {determinant} ({ratio:ratio})"
)


class FunctionalDependency(CheckParameters):
    """Rows that agree in some columns agree in another; a row with a NULL in one of them is not compared."""

    summary: ClassVar[str] = "Rows that agree in some columns agree in another; NULL is not compared."
    main_number: ClassVar[MainNumber | None] = MainNumber("violations", again="share")
    warn_limits: ClassVar[frozenset[str]] = frozenset({"max_ratio"})

    type: Literal["functional_dependency"] = "functional_dependency"
    determinant: ColumnNames = Field(description="Columns that determine the other one.")
    dependent: ColumnName = Field(description="Column whose value they determine.")
    max_ratio: Share = 0.0

    @model_validator(mode="after")
    def _is_no_truism(self) -> Self:
        if self.dependent in self.determinant:
            raise ValueError(f"'determinant' names '{self.dependent}', which is 'dependent': it determines itself")
        return self

    def wants(self, context: Context) -> Wants:
        """Count the rows, and by one two-level GROUP BY those that hold another value than most of their group."""
        pairs = self._pairs(context, loads=context.loaded_at is not None)
        first = {"arrived": pairs["loaded"].max()} if context.loaded_at is not None else {}
        copies = pairs[_COPIES]
        groups = pairs.group_by([name for name in pairs.columns if name.startswith("key")]).aggregate(
            values=pairs.count(), others=copies.sum() - copies.max(), **first
        )
        groups = groups.filter(groups["values"] > 1)
        since = {"first_bad_load": context.readable(groups["arrived"].min())} if first else {}
        contradicted = groups.aggregate(groups=groups.count(), violations=groups["others"].sum(), **since)
        return Wants(
            {"rows": context.rows, **count_compared(context, [*self.determinant, self.dependent])},
            {"contradicted": contradicted},
        )

    def _pairs(self, context: Context, *, loads: bool) -> ir.Table:
        """Count the rows of each combination without NULL, with the load time of the first."""
        rows = context.filtered
        keys = {f"key{at}": rows[context.column(name).get_name()] for at, name in enumerate(self.determinant)}
        value = rows[context.column(self.dependent).get_name()]
        loaded = {"loaded": rows[context.column(context.loaded_at).get_name()]} if loads and context.loaded_at else {}
        narrow = without_null(rows.select(**keys, value=value, **loaded), (*keys, "value"), context.dialect)
        first = {"loaded": narrow["loaded"].min()} if loaded else {}
        return narrow.group_by([*keys, "value"]).aggregate(**{_COPIES: narrow.count()}, **first)

    def violations(self, context: Context) -> ir.Table:
        """Return each combination of a determinant that has several values."""
        pairs = self._pairs(context, loads=False)
        keys = [name for name in pairs.columns if name.startswith("key")]
        groups = pairs.group_by(keys).aggregate(values=pairs.count())
        shown = pairs.semi_join(groups.filter(groups["values"] > 1), keys)
        names = dict(zip((*self.determinant, self.dependent), (*keys, "value"), strict=True))
        shown = shown.order_by([*keys, shown[_COPIES].desc(), "value"])
        copies = {free_name(_COPIES, names): shown[_COPIES]}
        return shown.select(**{name: shown[key] for name, key in names.items()}, **copies)

    def judge(self, measurement: Measurement, history: Sequence[PastMeasurement]) -> Outcome:
        """Fail when more rows than allowed hold another value than most rows of their group."""
        result = measurement.tables["contradicted"][0]
        outcome = judge_violations(
            measurement,
            _DIFFERENT.given(dependent=self.dependent, determinant=", ".join(self.determinant)),
            max_ratio=self.max_ratio,
            bad=int(result["violations"] or 0),
            since=result.get("first_bad_load"),
        )
        return replace(outcome, observed={**outcome.observed, "groups": int(result["groups"])})


CHECK: Final[type[Check]] = FunctionalDependency
