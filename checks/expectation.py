"""A Great Expectations expectation passes."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Final, Literal, Self

from pydantic import Field, model_validator

from checks._contract import (
    Check,
    CheckParameters,
    Context,
    Frame,
    Json,
    MainNumber,
    Measurement,
    Misconfigured,
    Outcome,
    PastMeasurement,
    Status,
    Wants,
    unknown,
)
from checks._judge import count_compared, without_rows
from checks._outcome import Message
from checks.gx.arguments import (
    NAMES_ONLY,
    QUERY_ARGUMENT,
    ROW_COUNT,
    check_arguments,
    named_columns,
    safe_query,
    snake_case,
)

_WITHOUT_VALUES: Final = ("_null", "_of_type", "_type_list")
_SQL_DIALECTS: Final = frozenset({"sqlite", "postgres"})


class Expectation(CheckParameters):
    """A Great Expectations expectation, built-in or custom, holds for the table."""

    summary: ClassVar[str] = "A Great Expectations expectation passes."
    main_number: ClassVar[MainNumber | None] = MainNumber("violations")
    takes_where: ClassVar[bool] = False

    type: Literal["expectation"] = "expectation"
    expectation: Annotated[str, Field(pattern=r"^[A-Za-z_][\w.]*(:[A-Za-z_]\w*)?$", max_length=200)] = Field(
        description="Name such as ExpectColumnValuesToMatchRegex, or in snake_case; custom ones as module:Class."
    )
    kwargs: dict[str, Any] = Field(default_factory=dict, description="The arguments of the expectation.")
    columns: tuple[str, ...] = Field(
        (), description="On files and DuckDB: columns to pass in addition to those named in the arguments."
    )

    @model_validator(mode="after")
    def _arguments_are_safe(self) -> Self:
        check_arguments(self.expectation, self.kwargs)
        return self

    @property
    def asks_for_names(self) -> bool:
        """Return whether it looks at the names of the columns only."""
        return snake_case(self.expectation) in NAMES_ONLY

    def wants(self, context: Context) -> Wants:
        """Count the rows, and have Great Expectations look at the columns that the arguments name."""
        if QUERY_ARGUMENT in self.kwargs:
            if context.dialect not in _SQL_DIALECTS:
                raise Misconfigured(f"{self.expectation} works on SQLite and PostgreSQL only; use a check of type sql")
            safe_query(self.kwargs[QUERY_ARGUMENT], dialect=context.dialect)
        column = str(self.kwargs.get("column"))
        compared = count_compared(context, [column]) if self.asks_for_values and column in context.table.columns else {}
        return Wants({"rows": context.rows, **compared}, frame=self._frame(context))

    @property
    def asks_for_values(self) -> bool:
        """Check whether each value of a column is compared with something, and NULL is ignored."""
        name = snake_case(self.expectation)
        return name.startswith("expect_column_values_to_") and not name.endswith(_WITHOUT_VALUES)

    def _frame(self, context: Context) -> Frame:
        if self.asks_for_names:
            return Frame(tuple(context.table.columns), 0)
        columns = tuple(dict.fromkeys([*named_columns(self.kwargs), *self.columns]))
        for name in columns:
            context.column(name)
        if not columns and snake_case(self.expectation) in ROW_COUNT:
            columns = tuple(context.table.columns[:1])
        if not columns and context.dialect not in _SQL_DIALECTS:
            raise Misconfigured(f"the arguments of {self.expectation} name no column; name the columns in 'columns'")
        return Frame(columns, context.frame_rows)

    def judge(self, measurement: Measurement, history: Sequence[PastMeasurement]) -> Outcome:
        """Fail when Great Expectations says so; what it could not evaluate is unknown."""
        results = measurement.frame_result
        rows = measurement.number("rows")
        if "reason" in results:
            return unknown(results["reason"], results["message"], {"rows": rows})
        if results.get("empty"):
            return without_rows(self)
        observed: dict[str, Json] = {"rows": rows, "violations": results["violations"]}
        expected: dict[str, Json] = {"expectation": self.expectation}
        if "mostly" in self.kwargs:
            expected["mostly"] = self.kwargs["mostly"]
        if results["met"]:
            return Outcome(
                Status.PASS, Message("{expectation} passed", {"expectation": self._title}), observed, expected
            )
        return Outcome(Status.FAIL, self._broken(results["violations"], results["elements"]), observed, expected)

    @property
    def _title(self) -> str:
        columns = ", ".join(named_columns(self.kwargs))
        return f"{self.expectation} ({columns})" if columns else self.expectation

    def _broken(self, violations: int | None, elements: int | None) -> Message:
        if violations is None:
            return Message("{expectation} failed", {"expectation": self._title})
        values = {"expectation": self._title, "violations": violations, "elements": elements}
        if elements is None:
            name = "{expectation}: one row fails"
            return Message("{expectation}: {violations:count} rows fail", values, one=name, counted="violations")
        many = "{expectation}: {violations:count} of {elements:count} rows fail"
        name = "{expectation}: one of {elements:count} rows fails"
        return Message(many, values, one=name, counted="violations")


CHECK: Final[type[Check]] = Expectation
