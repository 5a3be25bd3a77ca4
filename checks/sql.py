"""A query of one's own returns no row."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final, Literal

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
    Wants,
)
from checks._outcome import Message
from checks.parameters.numbers import Count, plain


class Sql(CheckParameters):
    """A SELECT of one's own, which returns the bad rows, returns none; only their number is read."""

    summary: ClassVar[str] = "A SELECT of one's own, which returns the bad rows, returns none."
    main_number: ClassVar[MainNumber | None] = MainNumber("violations", high="max", again="number")
    warn_limits: ClassVar[frozenset[str]] = frozenset({"max"})
    takes_where: ClassVar[bool] = False

    type: Literal["sql"] = "sql"
    query: str = Field(description="One SELECT in the source's dialect that returns the bad rows; it is only counted.")
    max: Count = Field(0, description="Maximum number of rows the query may return.")

    def sql_errors(self, dialect: str) -> Mapping[str, str]:
        """Read the query."""
        try:
            _select_sql(self.query, dialect)
        except Misconfigured as error:
            return {"query": str(error)}
        return {}

    def wants(self, context: Context) -> Wants:
        """Count the rows of the table and of the query."""
        return Wants({"rows": context.rows}, statements={"violations": _select_sql(self.query, context.dialect)})

    def violations(self, context: Context) -> str:
        """Return the query."""
        del context
        return self.query.strip().removesuffix(";")

    def judge(self, measurement: Measurement, history: Sequence[PastMeasurement]) -> Outcome:
        """Fail when the query returns more rows than allowed."""
        result = measurement.number("violations")
        observed: dict[str, Json] = {"rows": measurement.number("rows"), "violations": result}
        expected: dict[str, Json] = {"max": plain(self.max)}
        if result <= self.max:
            return Outcome(Status.PASS, Message("the number of rows returned is within the limit"), observed, expected)
        values = {"violations": result, "max": self.max}
        many = "the query returns {violations:count} rows, limit {max:count}"
        name = "the query returns {violations:count} row, limit {max:count}"
        return Outcome(Status.FAIL, Message(many, values, one=name, counted="violations"), observed, expected)


def _select_sql(query: str, dialect: str) -> str:
    from checks.sql_text.statement import select_sql  # imports sqlglot

    return select_sql(query, dialect=dialect)


CHECK: Final[type[Check]] = Sql
