"""What a check is: the question, the numbers it wants, and the verdict.

A check is one file of this package. It is a frozen, typed set of parameters with two pure methods: `wants` says which
numbers must be measured, as Ibis expressions; `judge` turns the measured numbers into an outcome. It never touches a
connection, a clock or a store: the planner merges the wants of all checks of a table into as few statements as
possible, the engine runs them where the data lives, and only aggregates come back.
"""

# Ibis is only named in annotations, so that `import checks` stays cheap.
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Protocol, Self

from annotated_types import Ge
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from checks._errors import CheckError, Misconfigured
from checks._measurement import (
    ClassQuestion,
    ColumnClass,
    Earlier,
    Frame,
    Measurement,
    PastMeasurement,
    PeopleTable,
    Wants,
    Zones,
)
from checks._outcome import Json, Kind, Occurrence, OccurrenceMethod, Outcome, Severity, Status, UnknownReason, unknown
from checks.parameters.errors import describe_error
from checks.parameters.rows import Sampling, SegmentBy
from checks.parameters.scalars import Confirmation, ConfirmRule
from sources import did_you_mean
from sources.moments import within_years

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    import ibis.expr.types as ir

    from sources.table_diff import DiffSide


__all__ = [
    "Check",
    "CheckError",
    "CheckParameters",
    "ClassQuestion",
    "ColumnClass",
    "Context",
    "Earlier",
    "Frame",
    "Json",
    "Kind",
    "Measurement",
    "Misconfigured",
    "Occurrence",
    "OccurrenceMethod",
    "Outcome",
    "PastMeasurement",
    "PeopleTable",
    "Severity",
    "Status",
    "UnknownReason",
    "Wants",
    "Zones",
    "unknown",
]


@dataclass(frozen=True, slots=True)
class Context:
    """The table as a check sees it when it states what is to be measured.

    `where` is the check's own filter as a predicate (None without one): pass it to every aggregate, or filter the bare
    table with it before a GROUP BY. `zones` are the declared zones of naive time columns. `loaded_at` is the column
    that says when a row arrived. `references` holds the tables named by `refers_to`, but for those of other sources,
    whose names are `elsewhere`. `classified` says of
    which class columns are, where the configuration says it. `now(shift, zone)` is the time of
    the measurement plus `shift`: with a zone, as the latest naive wall clock which that zone has shown (see
    `checks._instants`); without, as UTC. `frame_rows` is the most rows that the source hands over as a frame
    (`expectation_rows`). `people`: what is known of a table of people; None of others.
    """

    table: ir.Table
    dialect: str
    now: Callable[[timedelta, str | None], ir.TimestampValue]
    where: ir.BooleanValue | None = None
    zones: Zones = field(default_factory=Zones)
    loaded_at: str | None = None
    references: Mapping[str, ir.Table] = field(default_factory=dict)
    frame_rows: int = 1_000_000
    classified: Mapping[str, ColumnClass] = field(default_factory=dict)
    people: PeopleTable | None = None
    elsewhere: frozenset[str] = frozenset()

    @property
    def rows(self) -> ir.IntegerScalar:
        """Count the rows that the check looks at."""
        return self.table.count(where=self.where)

    @property
    def filtered(self) -> ir.Table:
        """Return the rows that the check looks at, for a GROUP BY."""
        return self.table if self.where is None else self.table.filter(self.where)

    def column(self, name: str) -> ir.Column:
        """Return a column of the table.

        Raises:
            Misconfigured: the table has no such column.
        """
        if name not in self.table.columns:
            raise Misconfigured(f"column '{name}' not found{did_you_mean(name, self.table.columns)}")
        return self.table[name]

    def count(self, bad: ir.BooleanValue) -> ir.IntegerScalar:
        """Count the rows for which a predicate is true; never NULL."""
        return self.table.count(where=bad if self.where is None else bad & self.where)

    def rows_of(self, bad: ir.BooleanValue) -> ir.Table:
        """Return the rows for which a predicate is true, as `count` counts them."""
        return self.table.filter(bad if self.where is None else bad & self.where)

    def first_bad_load(self, bad: ir.BooleanValue) -> Mapping[str, ir.Value]:
        """Return the earliest load time among bad rows as `first_bad_load`; nothing without `loaded_at`."""
        if self.loaded_at is None:
            return {}
        condition = bad if self.where is None else bad & self.where
        return {"first_bad_load": self.readable(self.column(self.loaded_at).min(where=condition))}

    def readable(self, time: ir.Scalar) -> ir.Scalar:
        """Return a time that a driver can read: of the years 1 to 9999."""
        return within_years(time, self.dialect)


@dataclass(frozen=True, slots=True)
class MainNumber:
    """The number that stands for a check in histories: its key among what is observed, and its unit (`s` or none).

    `low`, `high`: the parameters that limit the number itself. `again`: how a stored number is judged by other limits:
    as a `share` of the rows, by `max_ratio`, or as a `number`, by its limits; None where it cannot be.
    """

    key: str
    unit: Literal["s"] | None = None
    low: str | None = None
    high: str | None = None
    again: Literal["share", "number"] | None = None


def _describe_parameters(schema: dict[str, Any], check: type[Any]) -> None:
    """Show editors what `warn:` takes, and no parameter that the check refuses."""
    properties = schema.get("properties", {})
    limits = {name: properties[name] for name in sorted(check.warn_limits) if name in properties}
    if limits:
        description = properties["warn"].get("description", "")
        properties["warn"] = {"type": "object", "description": description, "properties": limits}
        properties["warn"] |= {"additionalProperties": False, "minProperties": 1}
    else:
        properties.pop("warn", None)
    if not check.takes_where:
        properties.pop("where", None)
    if not check.takes_on_empty:
        properties.pop("on_empty", None)


class CheckParameters(BaseModel):
    """The parameters every check has."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True, json_schema_extra=_describe_parameters)

    warn_limits: ClassVar[frozenset[str]] = frozenset()
    """Names of the parameters that a `warn:` block may soften."""
    judged_only: ClassVar[frozenset[str]] = frozenset()
    """Names of optional limits that `wants` does not look at: tables that differ in them share a plan (ADR 39)."""
    kind: ClassVar[Kind] = Kind.QUALITY
    takes_where: ClassVar[bool] = True
    takes_on_empty: ClassVar[bool] = True
    judges_empty: ClassVar[bool] = False
    judges_absence: ClassVar[bool] = False  # whether it fails where a table that was there is gone
    """Whether `judge` has an answer of its own for a table without rows; else `on_empty` decides."""
    looks_again: ClassVar[bool] = False
    """Whether `follow_up` has something to say."""
    judges_values: ClassVar[bool] = False
    """Whether a failure is one of the values of its `column` or `columns`, and not of whole rows."""
    compares_sources: ClassVar[bool] = False
    """Whether the table that it refers to may be in another source."""
    main_number: ClassVar[MainNumber | None] = None
    """The number that histories draw; None: the status alone is drawn."""
    summary: ClassVar[str]

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$", max_length=80)] | None = Field(
        None, description="Name of the check within its table; by default the type with hyphens."
    )
    severity: Severity = Field(Severity.ERROR, description="Severity of a failure.")
    open_on: Literal["fail", "warn"] | None = Field(
        None, description="Whether a warning opens an incident too, of severity `warning`."
    )
    open_after: Annotated[int, Ge(1)] | None = Field(None, description="Failing runs in a row that open an incident.")
    resolve_after: Annotated[int, Ge(1)] | None = Field(None, description="Passing runs in a row that resolve it.")
    confirm: ConfirmRule = Field(None, description="A second run before an incident opens.")
    why: str | None = Field(None, description="Why it matters, shown to the person handling the incident.")
    runbook: str | None = Field(
        None, description="What to do when it fails: a URL, Markdown, or a `.md` file in the configuration's folder."
    )
    where: str | None = Field(
        None, description="A boolean SQL expression over the table's own columns, in the source's dialect."
    )
    on_empty: Literal["unknown", "pass", "fail"] = Field(
        "unknown", description="Outcome without rows or values to evaluate."
    )
    warn: dict[str, Any] | None = Field(
        None, description="Warning limits; violating only these is a warning, not a failure."
    )

    @property
    def name(self) -> str:
        """Return the check's id within its table."""
        return self.id or str(getattr(self, "type", "")).replace("_", "-")

    @property
    def refers_to(self) -> tuple[str, ...]:
        """Return the other tables this check looks at."""
        return ()

    @property
    def learned_numbers(self) -> int:
        """Return how many numbers of the check are judged by limits that keep a promise."""
        return 0

    @property
    def is_pooled(self) -> bool:
        """Check whether limits are learned together with those of other tables."""
        return False

    @property
    def keeps(self) -> bool:
        """Check whether the store keeps counts, releases or segments for this check, under names that need a key."""
        return self.segments is not None

    @property
    def segments(self) -> SegmentBy | None:
        """Return how the table is cut into segments; None where it is judged as a whole."""
        by: SegmentBy | None = getattr(self, "by", None)
        return by

    @property
    def value_column(self) -> str | None:
        """Return the column of which an aggregate is shown; None where only rows are counted."""
        return None

    @property
    def sampling(self) -> Sampling | None:
        """Return how the rows are drawn of which the check is estimated; None where all are looked at."""
        sample: Sampling | None = getattr(self, "sample", None)
        return sample

    @property
    def results_every(self) -> timedelta | None:
        """Return the longest time between two results of another tool; None for a check that a pass evaluates."""
        return None

    def stands_still(self, measurement: Measurement) -> bool:
        """Check whether these numbers hold at any later time while no row of the table changes; a window moves."""
        del measurement
        return getattr(self, "window", None) is None

    @model_validator(mode="before")
    @classmethod
    def _is_a_share_of_rows(cls, data: Any) -> Any:
        if isinstance(data, Mapping) and "sample" in data and "sample" not in cls.model_fields:
            raise ValueError(
                "'sample' is of shares of rows (not_null, range, accepted_values, pattern, metric with 'share'): "
                "copies of a key, small classes, sums and totals do not follow from a sample"
            )
        return data

    @field_validator("where")
    @classmethod
    def _where_is_taken(cls, value: str | None) -> str | None:
        if value is not None and not cls.takes_where:
            raise ValueError("this check does not support 'where'")
        return value

    @field_validator("on_empty")
    @classmethod
    def _on_empty_is_taken(cls, value: str) -> str:
        if value != "unknown" and not cls.takes_on_empty:
            raise ValueError("this check does not support 'on_empty': it evaluates columns, not rows; remove it")
        return value

    @model_validator(mode="after")
    def _warn_holds_limits(self) -> Self:
        if self.warn is not None:
            unknown = sorted(set(self.warn) - self.warn_limits)
            if unknown or not self.warn:
                text = ", ".join(sorted(self.warn_limits)) or "none, this check has no warning level"
                raise ValueError(f"'warn' accepts limits only ({text}); seen: {', '.join(unknown) or 'nothing'}")
            try:
                self.softened()
            except ValidationError as error:
                raise ValueError(f"in 'warn', {describe_error(error.errors()[0])}") from None
        return self

    def next_due(self, observed: Mapping[str, Json], zone: str) -> datetime | None:
        """Return when newer data is due at the latest, by what was observed last; None where none is expected."""
        return None

    def violations(self, context: Context) -> ir.Table | str | None:
        """Return the rows or keys that break the check, or a SELECT of them; None where it is of the whole table.

        They are data: shown on request, never stored.
        """
        return None

    def follow_up(self, context: Context, measurement: Measurement) -> Wants | Measurement:
        """Return further questions that follow from these numbers, or the measurement for `judge`."""
        del context
        return measurement

    def beside(self, left: DiffSide, right: AbstractContextManager[DiffSide]) -> Sequence[Mapping[str, Any]]:
        """Return what comes of comparing the table with one of another source; for checks that compare sources.

        Raises:
            Misconfigured, SourceError: they cannot be compared.
        """
        raise NotImplementedError

    def sql_errors(self, dialect: str) -> Mapping[str, str]:
        """Return what is wrong with the SQL in the parameters, by parameter, as far as it shows without the table."""
        if self.where is None:
            return {}
        from checks.sql_text.where import where_errors  # imports sqlglot

        return where_errors(self.where, dialect=dialect)

    def softened(self) -> Self | None:
        """Return the same check with the limits of its `warn:` block, None without one."""
        if self.warn is None:
            return None
        return type(self).model_validate({**self.model_dump(exclude={"warn"}, exclude_unset=True), **self.warn})


class Check(Protocol):
    """The interface every file of this package fulfils.

    `CheckParameters` gives all of it but `type`, `summary`, `wants` and `judge`.
    """

    warn_limits: ClassVar[frozenset[str]]
    kind: ClassVar[Kind]
    takes_where: ClassVar[bool]
    judges_empty: ClassVar[bool]
    judges_absence: ClassVar[bool]
    looks_again: ClassVar[bool]
    judges_values: ClassVar[bool]
    compares_sources: ClassVar[bool]
    main_number: ClassVar[MainNumber | None]
    summary: ClassVar[str]

    @property
    def type(self) -> str:
        """The word that people write in a configuration: the name of the check's file."""

    @property
    def why(self) -> str | None:
        """Why it matters."""

    @property
    def runbook(self) -> str | None:
        """Return what to do when it fails: a URL, Markdown, or the name of a file of Markdown."""

    @property
    def severity(self) -> Severity:
        """Severity of a failure."""

    @property
    def open_on(self) -> Literal["fail", "warn"] | None:
        """Which outcomes open an incident; None where its severity or the project says it."""

    @property
    def open_after(self) -> int | None:
        """Return how many failing runs in a row open an incident; None where its severity or the project says it."""

    @property
    def resolve_after(self) -> int | None:
        """Return how many passing runs in a row resolve an incident; None where its severity or the project says it."""

    @property
    def confirm(self) -> Confirmation | None:
        """Return whether it is run again before an incident opens; None where its severity or the project says it."""

    @property
    def where(self) -> str | None:
        """The filter as it was typed."""

    @property
    def on_empty(self) -> Literal["unknown", "pass", "fail"]:
        """Outcome when the table has no rows."""

    def softened(self) -> Self | None:
        """The same check with the limits of its `warn:` block, None without one."""

    @property
    def name(self) -> str:
        """The check's id within its table."""

    @property
    def refers_to(self) -> tuple[str, ...]:
        """Other tables this check looks at."""

    @property
    def learned_numbers(self) -> int:
        """Return how many numbers of the check are judged by limits that keep a promise."""

    @property
    def is_pooled(self) -> bool:
        """Return whether limits are learned together with those of other tables."""

    @property
    def keeps(self) -> bool:
        """Return whether the store keeps counts or releases for this check."""

    @property
    def segments(self) -> SegmentBy | None:
        """Return how the table is cut into segments; None where it is judged as a whole."""

    @property
    def value_column(self) -> str | None:
        """Return the column of which an aggregate is shown; None where only rows are counted."""

    @property
    def sampling(self) -> Sampling | None:
        """Return how the rows are drawn of which the check is estimated; None where all are looked at."""

    @property
    def results_every(self) -> timedelta | None:
        """The longest time between two results of another tool; None for a check that a pass evaluates."""

    def next_due(self, observed: Mapping[str, Json], zone: str) -> datetime | None:
        """Return when newer data is due at the latest, by what was observed last; None where none is expected.

        `zone`: that of the project, for calendars that name none.
        """

    def violations(self, context: Context) -> ir.Table | str | None:
        """The rows or keys that break the check, or a SELECT of them; None where it is of the whole table."""

    def beside(self, left: DiffSide, right: AbstractContextManager[DiffSide]) -> Sequence[Mapping[str, Any]]:
        """Return what comes of comparing the table with one of another source.

        Raises:
            Misconfigured, SourceError: they cannot be compared.
        """

    def sql_errors(self, dialect: str) -> Mapping[str, str]:
        """Return what is wrong with the SQL in the parameters, by parameter, as far as it shows without the table."""

    def wants(self, context: Context) -> Wants:
        """Return what must be measured. Pure.

        Raises:
            Misconfigured: the parameters do not fit the table.
        """

    def follow_up(self, context: Context, measurement: Measurement) -> Wants | Measurement:
        """Return further questions that follow from these numbers, or the measurement for `judge`. Pure.

        Called only where `looks_again` is true, by the process that measures, until it gives a measurement. What was
        measured is under its name in the next one. Text that came back ends here: the measurement it gives holds none.
        """

    def judge(self, measurement: Measurement, history: Sequence[PastMeasurement]) -> Outcome:
        """Return what the numbers mean. Pure."""
