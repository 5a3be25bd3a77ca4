"""Every record hides among at least k that are alike in the quasi-identifiers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, ClassVar, Final, Literal, Self

from annotated_types import Ge, Interval
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
from checks._judge import free_name
from checks._outcome import Message
from checks.classes.incremental import PEOPLE_BY, SIZES, SIZES_BY, SizesParameters
from checks.classes.population import NO_POPULATION, Population, PopulationColumns, PopulationName
from checks.classes.spellings import merged_spellings
from checks.classes.tables import (
    MOST_MERGED,
    MOST_PATTERNS,
    MOST_VALUES,
    SIZE,
    ClassTables,
    PersonColumn,
    patterns_of,
    sizes_as_wildcards,
    sizes_with,
    sizes_without,
    values_of,
)
from checks.parameters.columns import QuasiIdentifiers, quasi_identifiers_of
from checks.risk.presence import JournalistRisk
from checks.risk.sizes import ClassSizes, KAnonymity
from sources.expressions import ir

_HIDDEN: Final = Message(
    "every record shares its quasi-identifiers with at least {others:count} others",
    one="every record shares its quasi-identifiers with at least {others:count} other",
    counted="others",
)
_CONTINUOUS: Final = Message(
    "{columns}: floating-point quasi-identifier; only exactly equal values form a group, so bin the values unless "
    "they are already grouped"
)
_EXPOSED: Final = Message(
    "{bad:count} of {rows:count} records are in equivalence classes smaller than {k}; {column} contributes most",
)
_EXPOSED_BY_EACH: Final = Message(
    "{bad:count} of {rows:count} records are in equivalence classes smaller than {k}; {columns} contribute most, "
    "each equally",
)
_EXPOSED_BY_ALL: Final = Message(
    "{bad:count} of {rows:count} records are in equivalence classes smaller than {k}; no single column is the cause",
)
_EXPOSED_BY_SOME: Final = Message("{bad:count} of {rows:count} records are in equivalence classes smaller than {k}")
_EXPOSED_PEOPLE: Final = Message(
    "{bad:count} of {people:count} people are in equivalence classes of fewer than {k} people (by {column}; the table "
    "has {rows:count} rows)"
)
_HIDDEN_PEOPLE: Final = Message(
    "every person shares the quasi-identifiers with at least {others:count} other people (by {column})",
    one="every person shares the quasi-identifiers with at least {others:count} other person (by {column})",
    counted="others",
)
_EXPOSED_LINKED: Final = Message(
    "{bad:count} of {people:count} people are alike in all of their rows with fewer than {others:count} others (by "
    "{column}, whose pseudonyms link rows; the table has {rows:count} rows)"
)
_HIDDEN_LINKED: Final = Message(
    "every person is alike in all rows with at least {others:count} other people (by {column}, whose pseudonyms link "
    "rows)",
    one="every person is alike in all rows with at least {others:count} other person (by {column}, whose pseudonyms "
    "link rows)",
    counted="others",
)
_RISKY: Final = Message("the average risk of a record is {risk:ratio}, at most {limit:ratio} expected")
_VALUES, _WITHOUT, _POPULATION = "values:", "without:", "population"


class KAnonymityCheck(SizesParameters):
    """No combination of quasi-identifiers belongs to fewer than k records."""

    summary: ClassVar[str] = "Every record shares its quasi-identifier values with at least k - 1 others (k-anonymity)."
    main_number: ClassVar[MainNumber | None] = MainNumber("records_below_k")
    warn_limits: ClassVar[frozenset[str]] = frozenset({"k", "max_average_risk"})
    kind: ClassVar[Kind] = Kind.DISCLOSURE
    looks_again: ClassVar[bool] = True

    type: Literal["k_anonymity"] = "k_anonymity"
    quasi_identifiers: QuasiIdentifiers = ()
    k: Annotated[int, Ge(2)] = Field(description="Minimum equivalence class size.")
    max_average_risk: Annotated[float, Interval(gt=0, le=1)] | None = Field(
        None, description="Maximum mean re-identification risk: equivalence classes per record."
    )
    other_readings: bool = Field(
        default=True,
        description="Also measure k with NULL as a wildcard, and with normalised spelling.",
    )
    population: PopulationName | None = Field(
        None,
        description="Population table, one row per person, generalised in the same way: adds journalist risk.",
    )
    population_columns: PopulationColumns = Field({})

    @model_validator(mode="after")
    def _population_is_counted_whole(self) -> Self:
        if self.population is None and self.population_columns:
            raise ValueError("'population_columns' goes with 'population'")
        if self.population is not None and self.incremental is not None:
            raise ValueError("'population' evaluates all rows and cannot be combined with 'incremental'")
        return self

    @property
    def refers_to(self) -> tuple[str, ...]:
        """Return the population table, or that of changes."""
        return super().refers_to if self.population is None else (self.population,)

    def wants(self, context: Context) -> Wants:
        """Request how many classes there are of each size, and what the other readings need to know."""
        wants = self.wanted_sizes(context, self.quasi_identifiers)
        if self.incremental is not None:
            return wants
        names = quasi_identifiers_of(context, self.quasi_identifiers)
        request: dict[str, Callable[[ClassTables], ir.Table]] = {}
        if self.other_readings:
            request["patterns"] = patterns_of
            texts = (name for name in names if context.column(name).type().is_string())
            request |= {f"{_VALUES}{name}": values_of(name) for name in texts}
        if self.population is not None:
            request[_POPULATION] = Population.of(context, self.population, names, self.population_columns).sizes
        person = next(iter(self.declared_person), None)
        return replace(wants, classes={**wants.classes, **_questions(names, request, person)})

    def violations(self, context: Context) -> ir.Table:
        """Return the classes of fewer than k records, or people."""
        names = quasi_identifiers_of(context, self.quasi_identifiers)
        tables = ClassTables(context.filtered, names, person=next(iter(self.declared_person), None))
        size, classes = free_name("records" if self.person is None else "people", names), tables.classes
        groups = classes.select(**{name: classes[tables.key(name)] for name in names}, **{size: classes[SIZE]})
        return groups.filter(groups[size] < self.k).order_by(size, *names)

    def follow_up(self, context: Context, measurement: Measurement) -> Wants | Measurement:
        """Request which column does the damage, and the other readings where they differ; then drop the values."""
        names = quasi_identifiers_of(context, self.quasi_identifiers)
        floats = [name for name in names if context.column(name).type().is_floating()]
        if self.incremental is not None:  # who counts what changed must not look at all rows for the rest
            return replace(measurement, values={**measurement.values, "quasi_identifiers": names, "floats": floats})
        tables, sizes = measurement.tables, _sizes(measurement, SIZES)
        of_people = self.people_questions(context, measurement)
        if of_people.keys() - tables.keys():
            return Wants(classes=of_people)
        column, worst = self._judged(measurement)
        person = next((item for item in self.people_columns(measurement) if item.column == column), None)
        request: dict[str, Callable[[ClassTables], ir.Table]] = {}
        if worst.records_below_k:
            request |= {f"{_WITHOUT}{name}": sizes_without(name) for name in names}
        patterns = [int(row["pattern"]) for row in tables.get("patterns", ())]
        if any(patterns) and len(patterns) <= MOST_PATTERNS and person is None:
            request["wildcard"] = sizes_as_wildcards(sorted(patterns))
        merged = _merged(measurement)
        if merged:
            request["normalised"] = sizes_with(merged)
        pending = {name: answer for name, answer in request.items() if name not in tables}
        if pending:
            return Wants(classes=_questions(names, pending, person))
        remaining = {name: rows for name, rows in tables.items() if not name.startswith(_VALUES)}
        values = {"rows": sizes.rows, "quasi_identifiers": names, "floats": floats, "spelled": merged is not None}
        return replace(measurement, tables=remaining, values=values)

    def _judged(self, measurement: Measurement, k: int | None = None) -> tuple[str | None, KAnonymity]:
        """Return the worst of the counts, and the column by which its people were counted; None for rows.

        `k`: by default the larger one of the limit and its `warn:`.
        """
        softer = self.softened()
        wanted = k or max(self.k, softer.k if softer is not None else 0)
        counts: list[tuple[str | None, KAnonymity]] = [(None, KAnonymity.of(_sizes(measurement, SIZES), wanted))]
        by = [column for column in self.counted_by(measurement) if column is not None]
        counts += [(column, _people(measurement, column, wanted)) for column in by]
        judged = counts[1:] if self.person is not None and by else counts
        return max(judged, key=lambda item: (item[1].records_below_k > 0, -(item[1].k or 0), item[1].average_risk or 0))

    def judge(self, measurement: Measurement, history: Sequence[PastMeasurement]) -> Outcome:
        """Fail when a group is smaller than k, or the average risk too large; a floating point column is a warning.

        A population that is none of this table is unknown, unless a limit is broken anyway.
        """
        by_rows = KAnonymity.of(_sizes(measurement, SIZES), self.k)
        column, result = self._judged(measurement, self.k)
        damage, journalist = _damage(measurement, result), _journalist(measurement, self.k)
        observed: dict[str, Json] = {
            **_figures(result),
            "rows": by_rows.rows,
            "people": None if column is None else result.rows,
            "counted_by": column,
            "k_of_rows": by_rows.k,
            **_journalist_figures(journalist),
            **self._other_readings(measurement, result),
            "damage": dict(damage),
            "quasi_identifiers": list(measurement.values["quasi_identifiers"]),
            "continuous": list(measurement.values["floats"]),
            **self.counting(measurement),
        }
        expected: dict[str, Json] = {"k": self.k}
        if self.max_average_risk is not None:
            expected["max_average_risk"] = self.max_average_risk
        outcome = partial(Outcome, observed=observed, expected=expected)
        if result.rows == by_rows.rows:  # each person has one row
            column = None
        if result.records_below_k:
            of_people = None if column is None else self._exposed_people(result, column, by_rows.rows)
            return outcome(Status.FAIL, of_people or _exposed(result, damage))
        risk = result.average_risk or 0.0
        if self.max_average_risk is not None and risk > self.max_average_risk:
            return outcome(Status.FAIL, _RISKY.given(risk=risk, limit=self.max_average_risk))
        if journalist is not None and journalist.outside:
            text = NO_POPULATION.given(outside=journalist.outside, table=self.population)
            return unknown(UnknownReason.MISCONFIGURED, text, observed)
        if measurement.values["floats"]:
            return outcome(Status.WARN, _CONTINUOUS.given(columns=measurement.values["floats"]))
        others = (result.k or 1) - 1
        of_column = {} if column is None else {"column": column}
        text = _HIDDEN if column is None else _HIDDEN_LINKED if self.pseudonyms else _HIDDEN_PEOPLE
        return outcome(Status.PASS, text.given(others=others, **of_column))

    def _exposed_people(self, result: KAnonymity, column: str, rows: int) -> Message:
        values: dict[str, Any] = {"bad": result.records_below_k, "people": result.rows, "rows": rows, "column": column}
        if self.pseudonyms:
            return _EXPOSED_LINKED.given(others=self.k - 1, **values)
        return _EXPOSED_PEOPLE.given(k=self.k, **values)

    def _other_readings(self, measurement: Measurement, k_anonymity: KAnonymity) -> dict[str, Json]:
        """Return k as the other readings have it; None where it was not measured."""
        if not self.other_readings or self.incremental is not None:
            return {"k_wildcard": None, "k_normalised": None}
        has_null = any(row["pattern"] for row in measurement.tables["patterns"])
        wildcard = k_anonymity.k if not has_null else None
        normalised = k_anonymity.k if measurement.values["spelled"] else None
        if "wildcard" in measurement.tables:
            wildcard = _sizes(measurement, "wildcard").smallest
        if "normalised" in measurement.tables:
            normalised = _sizes(measurement, "normalised").smallest
        return {"k_wildcard": wildcard, "k_normalised": normalised}


def _questions(
    names: tuple[str, ...], request: Mapping[str, Callable[[ClassTables], ir.Table]], person: PersonColumn | None
) -> dict[str, ClassQuestion]:
    return {name: ClassQuestion(names, answer, person=person) for name, answer in request.items()}


def _people(measurement: Measurement, column: str, k: int) -> KAnonymity:
    people = {int(row["size"]): int(row["people"]) for row in measurement.tables[f"{PEOPLE_BY}{column}"]}
    return KAnonymity.of(_sizes(measurement, f"{SIZES_BY}{column}"), k, people)


def _sizes(measurement: Measurement, name: str) -> ClassSizes:
    return ClassSizes.of((int(row["size"]), int(row["classes"])) for row in measurement.tables[name])


def _merged(measurement: Measurement) -> Mapping[str, Mapping[str, str]] | None:
    """Return, per column, the spellings to merge.

    Empty where there is none, None where there is too much to compare.
    """
    results: dict[str, Mapping[str, str]] = {}
    for name, rows in measurement.tables.items():
        if name.startswith(_VALUES):
            merged = merged_spellings(sorted(str(row["value"]) for row in rows))
            if len(rows) > MOST_VALUES or len(merged) > MOST_MERGED:
                return None
            if merged:
                results[name.removeprefix(_VALUES)] = merged
    return results


def _damage(measurement: Measurement, k_anonymity: KAnonymity) -> Mapping[str, int]:
    """Return, per quasi-identifier, how many records would be in large enough groups without it."""
    return {
        name.removeprefix(_WITHOUT): k_anonymity.records_below_k
        - sum(
            int(row["people"] if "people" in row else row["size"] * row["classes"])
            for row in rows
            if row["size"] < k_anonymity.wanted
        )
        for name, rows in measurement.tables.items()
        if name.startswith(_WITHOUT)
    }


def _exposed(k_anonymity: KAnonymity, damage: Mapping[str, int]) -> Message:
    values = {"bad": k_anonymity.records_below_k, "rows": k_anonymity.rows, "k": k_anonymity.wanted}
    if not damage:  # counts that are kept do not tell columns apart
        return _EXPOSED_BY_SOME.given(**values)
    most = max(damage.values())
    worst = [name for name, records in damage.items() if records == most]
    if not most:
        return _EXPOSED_BY_ALL.given(**values)
    if len(worst) > 1:
        return _EXPOSED_BY_EACH.given(**values, columns=worst)
    return _EXPOSED.given(**values, column=worst[0])


def _figures(k_anonymity: KAnonymity) -> dict[str, Json]:
    return {
        "rows": k_anonymity.rows,
        "classes": k_anonymity.classes,
        "k": k_anonymity.k,
        "sample_uniques": k_anonymity.sample_uniques,
        "records_below_k": k_anonymity.records_below_k,
        "classes_below_k": k_anonymity.classes_below_k,
        "highest_risk": k_anonymity.highest_risk,
        "average_risk": k_anonymity.average_risk,
        "histogram": [list(bar) for bar in k_anonymity.histogram],
    }


def _journalist(measurement: Measurement, k: int) -> JournalistRisk | None:
    if _POPULATION not in measurement.tables:
        return None
    rows = measurement.tables[_POPULATION]
    counts = ((int(row["population_size"]), int(row["rows"])) for row in rows)
    return JournalistRisk.of(counts, k=k, outside=sum(int(row["outside"]) for row in rows))


def _journalist_figures(journalist_risk: JournalistRisk | None) -> dict[str, Json]:
    """Return the risk for who does not know who is in; all None without a population."""
    return {
        "journalist_highest_risk": None if journalist_risk is None else journalist_risk.highest,
        "journalist_average_risk": None if journalist_risk is None else journalist_risk.average,
        "journalist_records_at_risk": None if journalist_risk is None else journalist_risk.at_risk,
        "records_outside_population": None if journalist_risk is None else journalist_risk.outside,
    }


CHECK: Final[type[Check]] = KAnonymityCheck
