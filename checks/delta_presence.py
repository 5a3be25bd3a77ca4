"""Presence of members of a population in the table cannot be inferred."""

from collections.abc import Sequence
from typing import Annotated, ClassVar, Final, Literal, Self

from annotated_types import Interval
from pydantic import Field, model_validator

from checks._contract import (
    Check,
    CheckParameters,
    ClassQuestion,
    Context,
    Json,
    Kind,
    MainNumber,
    Measurement,
    Outcome,
    PastMeasurement,
    Status,
    UnknownReason,
    Wants,
    unknown,
)
from checks._outcome import Message
from checks.classes.population import NO_POPULATION, Population, PopulationColumns, PopulationName
from checks.parameters.columns import QuasiIdentifiers, quasi_identifiers_of

_EMPTY: Final = Message("{table} is empty")
_PRESENCE_INFERRED: Final = Message(
    "the presence of some people of {table} can be inferred with a probability of {high:ratio}, limit {max:ratio}"
)
_ABSENCE_INFERRED: Final = Message(
    "the absence of some people of {table} can be inferred: presence probability {low:ratio}, at least {min:ratio} "
    "expected"
)
_HIDDEN: Final = Message(
    "for every person of {table}, the probability of being in the table is {low:ratio} to {high:ratio}"
)


class DeltaPresence(CheckParameters):
    """For each member of the population, the probability of being in the table lies between two limits."""

    summary: ClassVar[str] = "Presence in the table cannot be inferred for people of a population (delta-presence)."
    main_number: ClassVar[MainNumber | None] = MainNumber("delta_max")
    warn_limits: ClassVar[frozenset[str]] = frozenset({"min", "max"})
    kind: ClassVar[Kind] = Kind.DISCLOSURE

    type: Literal["delta_presence"] = "delta_presence"
    quasi_identifiers: QuasiIdentifiers = Field(
        (), description="Columns an attacker knows; by default the quasi-identifiers of the table."
    )
    population: PopulationName = Field(
        description="Population table of the same source, one row per person, generalised in the same way."
    )
    population_columns: PopulationColumns = Field({})
    min: Annotated[float, Interval(ge=0, le=1)] | None = Field(
        None, description="Minimum probability; above 0, every class of the population must be in the table."
    )
    max: Annotated[float, Interval(ge=0, le=1)] | None = Field(None, description="Maximum probability.")

    @model_validator(mode="after")
    def _has_limits(self) -> Self:
        if self.min is None and self.max is None:
            raise ValueError("at least one of 'min' and 'max'")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError("'min' is larger than 'max'")
        return self

    @property
    def refers_to(self) -> tuple[str, ...]:
        """Return the population table."""
        return (self.population,)

    def wants(self, context: Context) -> Wants:
        """Count the rows of each class in the table and in the population, and sum that up in one row."""
        names = quasi_identifiers_of(context, self.quasi_identifiers)
        population = Population.of(context, self.population, names, self.population_columns)
        return Wants({"rows": context.rows}, classes={"presence": ClassQuestion(names, population.presence)})

    def judge(self, measurement: Measurement, history: Sequence[PastMeasurement]) -> Outcome:
        """Fail when presence or absence of a member is more certain than allowed."""
        result = measurement.tables["presence"][0]
        observed: dict[str, Json] = {"rows": measurement.number("rows")}
        observed |= {key: int(result[key] or 0) for key in ("population_rows", "classes", "population_classes")}
        outside = observed["records_outside_population"] = int(result["outside"] or 0)
        observed |= {"delta_min": None, "delta_max": None}
        expected: dict[str, Json] = {"min": self.min, "max": self.max}
        if not observed["population_rows"]:
            return unknown(UnknownReason.NO_DATA, _EMPTY.given(table=self.population), observed)
        if outside:
            message = NO_POPULATION.given(outside=outside, table=self.population)
            return unknown(UnknownReason.MISCONFIGURED, message, observed)
        low, high = float(result["delta_min"]), float(result["delta_max"])
        observed |= {"delta_min": low, "delta_max": high}
        values = {"table": self.population, "low": low, "high": high, "min": self.min, "max": self.max}
        if self.max is not None and high > self.max:
            return Outcome(Status.FAIL, _PRESENCE_INFERRED.given(**values), observed, expected)
        if self.min is not None and low < self.min:
            return Outcome(Status.FAIL, _ABSENCE_INFERRED.given(**values), observed, expected)
        return Outcome(Status.PASS, _HIDDEN.given(**values), observed, expected)


CHECK: Final[type[Check]] = DeltaPresence
