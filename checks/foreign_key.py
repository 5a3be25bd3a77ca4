"""A row points to a row that is there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final, Literal, Self

from pydantic import Field, model_validator

from checks._contract import (
    Check,
    CheckParameters,
    Context,
    MainNumber,
    Measurement,
    Misconfigured,
    Outcome,
    PastMeasurement,
    Wants,
)
from checks._judge import Share, count_compared, judge_violations
from checks._outcome import Message
from checks.parameters.columns import ColumnName, ColumnNames, type_name, without_null
from sources import did_you_mean
from sources.expressions import dt, ir


class ForeignKey(CheckParameters):
    """Every value is found in another table; a NULL in it points to nothing and is no orphan (MATCH SIMPLE)."""

    summary: ClassVar[str] = "Every value exists in another table; NULL is allowed."
    judges_values: ClassVar[bool] = True
    main_number: ClassVar[MainNumber | None] = MainNumber("orphans", again="share")
    warn_limits: ClassVar[frozenset[str]] = frozenset({"max_ratio"})

    type: Literal["foreign_key"] = "foreign_key"
    column: ColumnName | None = Field(None, description="Foreign key column.")
    columns: ColumnNames | None = Field(None, description="Foreign key columns.")
    references: str | ColumnNames = Field(
        description="`table.column`, split at the last dot; for several columns a list in their order.",
        examples=["crm.customers.customer_id", ["orders.shop", "orders.number"]],
    )
    max_ratio: Share = 0.0

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if (self.column is None) == (self.columns is None):
            raise ValueError("exactly one of 'column' and 'columns'")
        if len(self._targets) != len(self._sources):
            raise ValueError(
                f"'references' names {len(self._targets)} columns for {len(self._sources)}; expected one for each"
            )
        invalid = [target for target in self._targets if not all(target.rpartition("."))]
        if invalid:
            raise ValueError(f"'references' is table.column, split at the last dot; seen: {', '.join(invalid)}")
        if len({target.rpartition(".")[0] for target in self._targets}) > 1:
            raise ValueError("'references' names columns of one table only")
        return self

    @property
    def _sources(self) -> tuple[str, ...]:
        return self.columns or ((self.column,) if self.column is not None else ())

    @property
    def _targets(self) -> tuple[str, ...]:
        return (self.references,) if isinstance(self.references, str) else self.references

    @property
    def refers_to(self) -> tuple[str, ...]:
        """Return the table that is pointed to."""
        return (self._targets[0].rpartition(".")[0],)

    def wants(self, context: Context) -> Wants:
        """Count the rows, and those that point to nothing, by one anti join."""
        return Wants(
            {"rows": context.rows, **count_compared(context, self._sources)}, {"orphans": self._orphans(context)}
        )

    def violations(self, context: Context) -> ir.Table:
        """Return the rows that point to nothing."""
        pairs, referenced = self._referenced(context)
        complete = without_null(context.filtered, [name for name, _ in pairs], context.dialect)
        return complete.anti_join(referenced, [(name, f"known{at}") for at, (name, _) in enumerate(pairs)])

    def _referenced(self, context: Context) -> tuple[Sequence[tuple[str, str]], ir.Table]:
        """Return the pairs of columns, and the table that is pointed to with columns `known0`, `known1` ..."""
        other = context.references[self.refers_to[0]]
        pairs = [self._pair(context, other, *names) for names in zip(self._sources, self._targets, strict=True)]
        return pairs, other.select(**{f"known{at}": other[name] for at, (_, name) in enumerate(pairs)})

    def _orphans(self, context: Context) -> ir.Table:
        pairs, referenced = self._referenced(context)
        rows = context.filtered
        loads = {} if context.loaded_at is None else {"loaded": rows[context.column(context.loaded_at).get_name()]}
        own = rows.select(**{f"own{at}": rows[name] for at, (name, _) in enumerate(pairs)}, **loads)
        complete = without_null(own, [f"own{at}" for at in range(len(pairs))], context.dialect)
        orphans = complete.anti_join(referenced, [(f"own{at}", f"known{at}") for at in range(len(pairs))])
        first = {"first_bad_load": context.readable(orphans["loaded"].min())} if loads else {}
        return orphans.aggregate(orphans=orphans.count(), **first)

    def _pair(self, context: Context, other: ir.Table, source: str, target: str) -> tuple[str, str]:
        name = target.rpartition(".")[2]
        if name not in other.columns:
            hint = did_you_mean(name, other.columns)
            raise Misconfigured(f"column '{name}' not found in {self.refers_to[0]}{hint}")
        own, referenced = context.column(source).type(), other[name].type()
        if _family(own) != _family(referenced):
            raise Misconfigured(
                f"column '{source}' is of type {type_name(own)} and {target} of type {type_name(referenced)}; "
                "a foreign key and its referenced column must have the same type"
            )
        return source, name

    def judge(self, measurement: Measurement, history: Sequence[PastMeasurement]) -> Outcome:
        """Fail when more rows than allowed point to nothing."""
        result = measurement.tables["orphans"][0]
        values = {"table": self.refers_to[0]}
        return judge_violations(
            measurement,
            Message("{bad:count} of {rows:count} rows have no matching row in {table} ({ratio:ratio})", values),
            max_ratio=self.max_ratio,
            bad=int(result["orphans"]),
            counted_as="orphans",
            since=result.get("first_bad_load"),
        )


def _family(kind: dt.DataType) -> Any:
    """Return what two columns have in common when an engine can compare them."""
    return "number" if kind.is_numeric() and not kind.is_boolean() else type(kind)


CHECK: Final[type[Check]] = ForeignKey
