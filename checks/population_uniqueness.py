"""Few people are unique in the population from which the table is sampled."""

from collections.abc import Sequence
from typing import Annotated, ClassVar, Final, Literal, Self

from annotated_types import Interval
from pydantic import Field, model_validator

from checks._contract import (
    Check,
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
from checks._judge import without_rows
from checks._outcome import Message
from checks.classes.incremental import SIZES, SIZES_BY, SizesParameters
from checks.parameters.columns import QuasiIdentifiers
from checks.risk.population import PopulationEstimate, PopulationModel, PopulationUniqueness, population_uniqueness
from checks.risk.sizes import ClassSizes

_FEW: Final = Message(
    "an estimated {share:ratio} of the population is unique, limit {limit:number}% ({model}); {sample:ratio} of the "
    "sample is unique"
)
_MANY: Final = Message(
    "an estimated {share:ratio} of the population is unique, more than {limit:number}% ({model}); {sample:ratio} of "
    "the sample is unique"
)
_UNSETTLED: Final = Message("population uniqueness cannot be estimated with the model {model}: {problem}")
_TOO_SMALL: Final = Message("the table has {rows:count} rows, more than the configured population size of {size:count}")
_NAMES: Final = {
    PopulationModel.ZAYATZ: "Zayatz",
    PopulationModel.PITMAN: "Pitman",
    PopulationModel.SNB: "slide negative binomial",
    PopulationModel.POISSON_GAMMA: "Poisson-gamma",
}


class PopulationUniquenessCheck(SizesParameters):
    """At most a share of the population, of which the table is a sample, is unique in the quasi-identifiers."""

    summary: ClassVar[str] = "Few people are unique in the population from which the table is sampled."
    main_number: ClassVar[MainNumber | None] = MainNumber(
        "fraction_of_population", high="max_population_unique_fraction"
    )
    warn_limits: ClassVar[frozenset[str]] = frozenset({"max_population_unique_fraction"})
    kind: ClassVar[Kind] = Kind.DISCLOSURE
    looks_again: ClassVar[bool] = True

    type: Literal["population_uniqueness"] = "population_uniqueness"
    quasi_identifiers: QuasiIdentifiers = ()
    sampling_fraction: Annotated[float, Interval(ge=1e-9, le=1)] | None = Field(
        None, description="Share of the population whose rows are in the table, up to 1. This or 'population_size'."
    )
    population_size: Annotated[int, Interval(ge=1, le=10**18)] | None = Field(
        None, description="Number of rows of the whole population. This or 'sampling_fraction'."
    )
    max_population_unique_fraction: Annotated[float, Interval(ge=0, le=1)] = Field(
        description="Maximum share of population uniques, 0 to 1."
    )
    model: Literal["decision", "zayatz", "pitman", "snb", "poisson_gamma"] = Field(
        "decision", description="Estimation model; 'decision' selects one by the sampling fraction."
    )

    @model_validator(mode="after")
    def _knows_the_population(self) -> Self:
        if (self.sampling_fraction is None) == (self.population_size is None):
            raise ValueError("exactly one of 'sampling_fraction' and 'population_size'")
        return self

    def wants(self, context: Context) -> Wants:
        """Request how many classes there are of each size."""
        return self.wanted_sizes(context, self.quasi_identifiers)

    def follow_up(self, context: Context, measurement: Measurement) -> Wants | Measurement:
        """Request the sizes of classes in people, where a column says whose a row is."""
        of_people = self.people_questions(context, measurement)
        return Wants(classes=of_people) if of_people.keys() - measurement.tables.keys() else measurement

    def judge(self, measurement: Measurement, history: Sequence[PastMeasurement]) -> Outcome:
        """Fail when the estimate is above the limit; below it, it must be one to rely on."""
        readings = {by: _sizes(measurement, by) for by in self.counted_by(measurement)}
        column = max(readings, key=lambda by: readings[by].uniques / max(readings[by].rows, 1))
        sizes = readings[column]
        if not sizes.count:
            return without_rows(self)
        if self.population_size is not None and self.population_size < sizes.rows:
            current_values: dict[str, Json] = {"rows": sizes.rows, "population_size": self.population_size}
            too_small = _TOO_SMALL.given(rows=sizes.rows, size=self.population_size)
            return unknown(UnknownReason.MISCONFIGURED, too_small, current_values)
        uniqueness = population_uniqueness(
            sizes, sampling_fraction=self.sampling_fraction, population_size=self.population_size
        )
        model = uniqueness.decision if self.model == "decision" else PopulationModel(self.model)
        estimate, limit = uniqueness.of(model), self.max_population_unique_fraction
        observed = {**_figures(uniqueness, model), "counted_by": column, **self.counting(measurement)}
        values = {"share": estimate.fraction_of_population, "limit": 100 * limit, "model": _NAMES[model]}
        values["sample"] = uniqueness.sample_unique_fraction
        expected: dict[str, Json] = {"max_population_unique_fraction": limit}
        if estimate.fraction_of_population > limit:
            return Outcome(Status.FAIL, _MANY.given(**values), observed, expected)
        if estimate.degenerate:
            unsettled = _UNSETTLED.given(model=_NAMES[model], problem=estimate.problem)
            return unknown(UnknownReason.MISCONFIGURED, unsettled, observed)
        return Outcome(Status.PASS, _FEW.given(**values), observed, expected)


def _sizes(measurement: Measurement, column: str | None) -> ClassSizes:
    rows = measurement.tables[SIZES if column is None else f"{SIZES_BY}{column}"]
    return ClassSizes.of((int(row["size"]), int(row["classes"])) for row in rows)


def _figures(population_uniqueness: PopulationUniqueness, model: PopulationModel) -> dict[str, Json]:
    return {
        "rows": population_uniqueness.rows,
        "population_size": population_uniqueness.population_size,
        "sampling_fraction": population_uniqueness.sampling_fraction,
        "sample_uniques": population_uniqueness.sample_uniques,
        "sample_unique_fraction": population_uniqueness.sample_unique_fraction,
        **{str(item): _estimate(population_uniqueness.of(item)) for item in PopulationModel},
        "dis": population_uniqueness.dis,
        "decision": str(population_uniqueness.decision),
        "decision_reason": population_uniqueness.reason,
        "model": str(model),
        "fraction_of_population": population_uniqueness.of(model).fraction_of_population,
    }


def _estimate(estimate: PopulationEstimate) -> dict[str, Json]:
    return {
        "population_uniques": estimate.population_uniques,
        "fraction_of_population": estimate.fraction_of_population,
        "p_unique_given_sample_unique": estimate.p_unique_given_sample_unique,
        "fit": estimate.fit,
        "degenerate": estimate.degenerate,
        "problem": estimate.problem,
    }


CHECK: Final[type[Check]] = PopulationUniquenessCheck
