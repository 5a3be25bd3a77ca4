"""The rows agree with those of another table, by a key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal

from annotated_types import Ge, MinLen
from pydantic import Field

from checks._contract import (
    Check,
    CheckParameters,
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
from checks._judge import without_rows
from checks._measurement import BESIDE
from checks._outcome import Message
from checks.parameters.columns import ColumnName, ColumnNames

if TYPE_CHECKING:
    from sources.table_diff import DiffSide

_FINE: Final = Message("the rows agree with those of {table}")
_DIFFERS: Final = Message(
    "{left:count} of {rows:count} rows are not in {table}, {right:count} of its rows are missing, "
    "{changed:count} have other values"
)
_REPEATED: Final = Message(
    "the key {key} is not unique: {left:count} keys are of several rows, and {right:count} in {table}; "
    "name the columns that identify a row"
)


class Diff(CheckParameters):
    """Every row is in another table with equal values and the other way round; rows with the same key are compared."""

    summary: ClassVar[str] = "Rows agree with those of another table, of this source or another one, by a key."
    main_number: ClassVar[MainNumber | None] = MainNumber("differences", high="at_most")
    warn_limits: ClassVar[frozenset[str]] = frozenset({"at_most"})
    compares_sources: ClassVar[bool] = True

    type: Literal["diff"] = "diff"
    against: Annotated[str, MinLen(1)] = Field(
        description="Other table: its name in the configuration, `source.table`, or a table of the same source.",
        examples=["warehouse.orders"],
    )
    key: ColumnName | ColumnNames = Field(description="Column or columns that identify a row in both tables.")
    columns: ColumnNames | None = Field(None, description="Columns to compare; by default all of both tables.")
    at_most: Annotated[int, Ge(0)] = Field(0, description="Maximum number of rows that differ.")

    @property
    def key_columns(self) -> tuple[str, ...]:
        """Return the columns of the key."""
        return (self.key,) if isinstance(self.key, str) else self.key

    @property
    def refers_to(self) -> tuple[str, ...]:
        """Return the other table."""
        return (self.against,)

    def wants(self, context: Context) -> Wants:
        """Compare by one statement in one engine, else beside the other source."""
        if self.against in context.elsewhere:
            for name in self.key_columns:
                context.column(name)
            return Wants(beside=self.against)
        from sources.table_diff import ComparedColumns, DiffTable, NotComparable, difference

        filtered = [context.table, context.references[self.against]]
        if context.where is not None:
            filtered = [table.filter(context.where) for table in filtered]
        left, right = (
            DiffTable(name=name, table=table, dialect=context.dialect)
            for name, table in zip(("this table", self.against), filtered, strict=True)
        )
        try:
            compared = ComparedColumns.of(left, right, key=self.key_columns, columns=self.columns)
        except NotComparable as error:
            raise Misconfigured(str(error)) from None
        return Wants(queries={BESIDE: difference(left, right, compared)}, every_column=self.columns is None)

    def beside(self, left: DiffSide, right: AbstractContextManager[DiffSide]) -> Sequence[Mapping[str, Any]]:
        """Compare with a table of another source, by checksums that each engine computes."""
        from sources.table_diff import NotComparable, side_by_side

        try:
            with side_by_side(left, right, key=self.key_columns, columns=self.columns, where=self.where) as comparison:
                return [comparison.run().as_row]
        except NotComparable as error:
            raise Misconfigured(str(error)) from None

    def judge(self, measurement: Measurement, history: Sequence[PastMeasurement]) -> Outcome:
        """Fail when more rows differ than allowed; a key that is not unique cannot be compared by."""
        from sources.table_diff import TableDifference

        found = TableDifference.of_row(measurement.tables[BESIDE][0])
        differences = found.only_left + found.only_right + found.changed
        observed: dict[str, Json] = {"differences": differences, **found.counts, "columns": dict(found.columns)}
        if found.left_repeated or found.right_repeated:
            message = _REPEATED.given(
                key=f"({', '.join(self.key_columns)})",
                left=found.left_repeated,
                right=found.right_repeated,
                table=self.against,
            )
            return unknown(UnknownReason.MISCONFIGURED, message, observed)
        if not found.left_rows and not found.right_rows:
            return without_rows(self, observed=observed)
        expected: dict[str, Json] = {"at_most": self.at_most}
        if differences <= self.at_most:
            return Outcome(Status.PASS, _FINE.given(table=self.against), observed, expected)
        message = _DIFFERS.given(
            left=found.only_left,
            rows=found.left_rows,
            right=found.only_right,
            changed=found.changed,
            table=self.against,
        )
        return Outcome(Status.FAIL, message, observed, expected)


CHECK: Final[type[Check]] = Diff
