"""Few people are unique in the population from which the table is sampled."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Final, Literal, Self

from annotated_types import Interval
from pydantic import Field, model_validator

from checks._contract import (
    Check,
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
from checks._judge import without_rows
from checks._outcome import Message
from checks.classes.incremental import SIZES, SIZES_BY, SizesParameters
from checks.classes.individual import UNFIT, Weights
from checks.parameters.columns import ColumnName, QuasiIdentifiers, quasi_identifiers_of
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
_FEW_APART: Final = Message(
    "an estimated {share:ratio} of the population is unique, limit {limit:number}% ({model}; {other:ratio} by "
    "{other_model}); {sample:ratio} of the sample is unique"
)
_MANY_APART: Final = Message(
    "an estimated {share:ratio} of the population is unique, more than {limit:number}% ({model}; {other:ratio} by "
    "{other_model}); {sample:ratio} of the sample is unique"
)
_RISKY: Final = Message(
    "the highest individual risk is {risk:ratio}, more than {limit:number}%; of {records:count} records, "
    "{expected:number} are expected to be re-identified"
)
_RISKY_GROUP: Final = Message(
    "the highest risk of a group of '{column}' is {risk:ratio}, more than {limit:number}%; of {records:count} records, "
    "{expected:number} are expected to be re-identified"
)
_SAFE: Final = Message(
    "the highest individual risk is {risk:ratio}; of {records:count} records, {expected:number} are expected to be "
    "re-identified"
)
_UNWEIGHTED: Final = Message(
    "{bad:count} of {rows:count} rows have no weight from 1 to 1e12 in '{column}', so no risk can be estimated"
)
_UNSETTLED: Final = Message("population uniqueness cannot be estimated with the model {model}: {problem}")
_TOO_SMALL: Final = Message("the table has {rows:count} rows, more than the configured population size of {size:count}")
_NAMES: Final = {
    PopulationModel.ZAYATZ: "Zayatz",
    PopulationModel.PITMAN: "Pitman",
    PopulationModel.SNB: "slide negative binomial",
    PopulationModel.POISSON_GAMMA: "Poisson-gamma",
}
_RISKS, _RISKS_BY = "risks", "risks by "
_COUNTS: Final = {"records", "groups"}
_APART_BY: Final = 2
"""Models whose estimates differ by more than this factor are both shown."""


class PopulationUniquenessCheck(SizesParameters):
    """At most a share of the population, of which the table is a sample, is unique in the quasi-identifiers."""

    summary: ClassVar[str] = "Few people are unique in the population from which the table is sampled."
    main_number: ClassVar[MainNumber | None] = MainNumber(
        "fraction_of_population", high="max_population_unique_fraction"
    )
    warn_limits: ClassVar[frozenset[str]] = frozenset(
        {"max_population_unique_fraction", "max_individual_risk", "max_group_risk"}
    )
    kind: ClassVar[Kind] = Kind.DISCLOSURE
    looks_again: ClassVar[bool] = True

    type: Literal["population_uniqueness"] = "population_uniqueness"
    quasi_identifiers: QuasiIdentifiers = ()
    sampling_fraction: Annotated[float, Interval(ge=1e-9, le=1)] | None = Field(
        None,
        description="Share of the population that is in the table, up to 1. This, 'population_size' or 'weight'.",
    )
    population_size: Annotated[int, Interval(ge=1, le=10**18)] | None = Field(
        None, description="Number of rows of the whole population. This, 'sampling_fraction' or 'weight'."
    )
    weight: ColumnName | None = Field(
        None, description="Column of sampling weights: how many of the population a row stands for, at least 1."
    )
    group_key: ColumnName | None = Field(
        None, description="Column of groups (households) whose members name one another: adds the risk of a group."
    )
    max_population_unique_fraction: Annotated[float, Interval(ge=0, le=1)] | None = Field(
        None, description="Maximum share of population uniques, 0 to 1."
    )
    max_individual_risk: Annotated[float, Interval(gt=0, le=1)] | None = Field(
        None, description="Maximum individual risk of a record (Benedetti and Franconi), above 0 up to 1."
    )
    max_group_risk: Annotated[float, Interval(gt=0, le=1)] | None = Field(
        None, description="Maximum risk of a group of 'group_key', above 0 up to 1."
    )
    model: Literal["decision", "zayatz", "pitman", "snb", "poisson_gamma"] = Field(
        "decision", description="Estimation model; 'decision' selects one by the sampling fraction."
    )

    @model_validator(mode="after")
    def _knows_the_population(self) -> Self:
        if [self.sampling_fraction, self.population_size, self.weight].count(None) != 2:
            raise ValueError("exactly one of 'sampling_fraction', 'population_size' and 'weight'")
        limits = (self.max_population_unique_fraction, self.max_individual_risk, self.max_group_risk)
        if not any(limit is not None for limit in limits):
            raise ValueError("a limit: 'max_population_unique_fraction', 'max_individual_risk' or 'max_group_risk'")
        if self.max_group_risk is not None and self.group_key is None:
            raise ValueError("'max_group_risk' goes with 'group_key'")
        if self._weights is not None and (self.incremental is not None or self.population_size is not None):
            raise ValueError(
                "individual risks go with 'weight' or 'sampling_fraction', and not with 'incremental', which keeps "
                "counts of rows only"
            )
        return self

    @property
    def _weights(self) -> Weights | None:
        """Return what a record stands for; None where no individual risk is asked for."""
        if (self.weight, self.group_key, self.max_individual_risk) == (None, None, None):
            return None
        return Weights(self.weight, self.sampling_fraction or 1.0, self.group_key)

    def wants(self, context: Context) -> Wants:
        """Request how many classes there are of each size, and the individual risks."""
        wants, weights = self.wanted_sizes(context, self.quasi_identifiers), self._weights
        if weights is None:
            return wants
        names = quasi_identifiers_of(context, self.quasi_identifiers)
        classes = {**wants.classes, _RISKS: ClassQuestion(names, weights.risks)}
        return replace(wants, aggregates={**wants.aggregates, **weights.unfit(context)}, classes=classes)

    def follow_up(self, context: Context, measurement: Measurement) -> Wants | Measurement:
        """Request the sizes of classes in people, and their risks, where a column says whose a row is."""
        of_people, weights = dict(self.people_questions(context, measurement)), self._weights
        if weights is not None and of_people:
            names = quasi_identifiers_of(context, self.quasi_identifiers)
            for person in self.people_columns(measurement):
                of_people[f"{_RISKS_BY}{person.column}"] = ClassQuestion(names, weights.risks, person=person)
        return Wants(classes=of_people) if of_people.keys() - measurement.tables.keys() else measurement

    def judge(self, measurement: Measurement, history: Sequence[PastMeasurement]) -> Outcome:
        """Fail when an estimate or a risk is above its limit; below it, an estimate must be one to rely on."""
        readings = {by: _sizes(measurement, by) for by in self.counted_by(measurement)}
        column = max(readings, key=lambda by: readings[by].uniques / max(readings[by].rows, 1))
        sizes = readings[column]
        if not sizes.count:
            return without_rows(self)
        if self.weight is not None and (unfit := measurement.number(UNFIT)):
            current_values: dict[str, Json] = {"rows": sizes.rows, "rows_without_weight": unfit}
            refused = _UNWEIGHTED.given(bad=unfit, rows=sizes.rows, column=self.weight)
            return unknown(UnknownReason.MISCONFIGURED, refused, current_values)
        if self.population_size is not None and self.population_size < sizes.rows:
            current_values = {"rows": sizes.rows, "population_size": self.population_size}
            too_small = _TOO_SMALL.given(rows=sizes.rows, size=self.population_size)
            return unknown(UnknownReason.MISCONFIGURED, too_small, current_values)
        risks = self._risks(measurement, readings)
        of_risks = self._judged_risks(risks, {"counted_by": column, "rows": sizes.rows, **self.counting(measurement)})
        if self.max_population_unique_fraction is None:
            return of_risks
        uniques = self._judged_uniques(sizes, risks, of_risks.observed)
        return of_risks if of_risks.status is Status.FAIL else replace(uniques, expected=of_risks.expected)

    def _judged_risks(self, risks: Mapping[str, Any], observed: dict[str, Json]) -> Outcome:
        """Judge the individual risks, and those of groups; without any a pass."""
        expected = {name: limit for name in sorted(self.warn_limits) if (limit := getattr(self, name)) is not None}
        if not risks:
            return Outcome(Status.PASS, _SAFE.given(risk=0.0, records=0, expected=0.0), observed, expected)
        values = {"records": risks["records"], "expected": _few_digits(risks["expected"]), "risk": risks["highest"]}
        observed |= {
            "highest_individual_risk": risks["highest"],
            "expected_reidentifications": risks["expected"],
            "global_risk": risks["expected"] / risks["records"],
        }
        outcome = Outcome(Status.PASS, _SAFE.given(**values), observed, expected)
        if self.max_individual_risk is not None and risks["highest"] > self.max_individual_risk:
            message = _RISKY.given(**values, limit=100 * self.max_individual_risk)
            outcome = replace(outcome, status=Status.FAIL, message=message)
        if self.group_key is None:
            return outcome
        of_groups = risks["expected_in_groups"]
        values |= {"expected": _few_digits(of_groups), "risk": risks["highest_of_group"]}
        observed |= {
            "groups": risks["groups"],
            "highest_group_risk": values["risk"],
            "expected_reidentifications_in_groups": of_groups,
        }
        if outcome.status is Status.PASS and self.max_group_risk is not None and values["risk"] > self.max_group_risk:
            message = _RISKY_GROUP.given(**values, limit=100 * self.max_group_risk, column=self.group_key)
            outcome = replace(outcome, status=Status.FAIL, message=message)
        return outcome

    def _judged_uniques(self, sizes: ClassSizes, risks: Mapping[str, Any], observed: Mapping[str, Json]) -> Outcome:
        """Judge the estimate of population uniques."""
        size = self.population_size if self.weight is None else max(round(risks["population"]), sizes.rows)
        uniqueness = population_uniqueness(sizes, sampling_fraction=self.sampling_fraction, population_size=size)
        model = uniqueness.decision if self.model == "decision" else PopulationModel(self.model)
        estimate, limit = uniqueness.of(model), self.max_population_unique_fraction or 0.0
        other = _model_apart(uniqueness, model)
        observed = {**_figures(uniqueness, model), "model_apart": other and str(other), **observed}
        values: dict[str, Any] = {
            "share": estimate.fraction_of_population,
            "limit": 100 * limit,
            "model": _NAMES[model],
        }
        values["sample"] = uniqueness.sample_unique_fraction
        is_above = estimate.fraction_of_population > limit
        text = _MANY if is_above else _FEW
        if other is not None:
            text = _MANY_APART if is_above else _FEW_APART
            values |= {"other": uniqueness.of(other).fraction_of_population, "other_model": _NAMES[other]}
        if is_above:
            return Outcome(Status.FAIL, text.given(**values), observed)
        if estimate.degenerate:
            unsettled = _UNSETTLED.given(model=_NAMES[model], problem=estimate.problem)
            return unknown(UnknownReason.MISCONFIGURED, unsettled, observed)
        return Outcome(Status.PASS, text.given(**values), observed)

    def _risks(self, measurement: Measurement, readings: Mapping[str | None, ClassSizes]) -> Mapping[str, Any]:
        """Return the risks of the count of records or people in which they are highest; nothing where none is asked."""
        names = [_RISKS if by is None else f"{_RISKS_BY}{by}" for by in readings]
        found = [measurement.tables[name][0] for name in reversed(names) if name in measurement.tables]  # people first
        rows = [{name: (int if name in _COUNTS else float)(value) for name, value in row.items()} for row in found]
        return max(rows, key=lambda row: (row.get("highest_of_group") or 0, row["highest"]), default={})


def _few_digits(number: float) -> float:
    return float(f"{number:.3g}") if number < 1000 else round(number)


def _model_apart(uniqueness: PopulationUniqueness, model: PopulationModel) -> PopulationModel | None:
    """Return the model whose estimate is more than twice that of another one, or else less than half; None of none."""
    share = uniqueness.of(model).fraction_of_population
    shares = {
        item: uniqueness.of(item).fraction_of_population
        for item in PopulationModel
        if not uniqueness.of(item).degenerate
    }
    most, least = (chosen(shares, key=shares.__getitem__, default=model) for chosen in (max, min))
    if shares.get(most, share) > _APART_BY * share:
        return most
    return least if share > _APART_BY * shares.get(least, share) else None


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
