"""Every equivalence class has several sensitive values: who finds a group does not learn one."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Final, Literal, Self

from annotated_types import Gt
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
    Wants,
)
from checks._outcome import Message
from checks.classes.readings import Answer, Asked, ReadingName, SensitiveParameters, asked_of
from checks.classes.sensitive import DiversityLimit, Variant, broken_in, diversity_of, entropy_l, sensitive_of, worst_of
from checks.parameters.columns import QuasiIdentifiers, SensitiveColumns, quasi_identifiers_of
from checks.risk.l_measures import ratio_of

_DIVERSE: Final[Mapping[Variant, Message]] = {
    Variant.DISTINCT: Message("every equivalence class has at least {l:number} distinct values of {columns}"),
    Variant.ENTROPY: Message("every equivalence class has an entropy l of at least {l:number} in {columns}"),
    Variant.RECURSIVE: Message("every equivalence class is recursively ({c:number}, {l:number})-diverse in {columns}"),
}
_UNIFORM: Final[Mapping[Variant, Message]] = {
    Variant.DISTINCT: Message(
        "{bad:count} of {rows:count} records are in equivalence classes with fewer than {l:number} distinct values "
        "of {column}"
    ),
    Variant.ENTROPY: Message(
        "{bad:count} of {rows:count} records are in equivalence classes with an entropy l below {l:number} in {column}"
    ),
    Variant.RECURSIVE: Message(
        "{bad:count} of {rows:count} records are in equivalence classes that are not recursively ({c:number}, "
        "{l:number})-diverse "
        "in {column}"
    ),
}

_UNIFORM_AS_READ: Final = Message(
    "{bad:count} of {rows:count} records are in equivalence classes with an l below {l:number} in {column}, where "
    "missing values do not count and spellings of one value count once"
)
_UNIFORM_PEOPLE: Final = Message(
    "{bad:count} people are in equivalence classes with an l below {l:number} in {column} (people by {by}; a value "
    "shared by a whole class is the only one)",
    one="{bad:count} person is in an equivalence class with an l below {l:number} in {column} (people by {by}; a value "
    "shared by a whole class is the only one)",
    counted="bad",
)


class LDiversityCheck(SensitiveParameters):
    """Every equivalence class is diverse in its sensitive values."""

    summary: ClassVar[str] = "Every equivalence class has at least l distinct sensitive values (l-diversity)."
    main_number: ClassVar[MainNumber | None] = MainNumber("records_below_l")
    warn_limits: ClassVar[frozenset[str]] = frozenset({"l", "c"})
    kind: ClassVar[Kind] = Kind.DISCLOSURE
    looks_again: ClassVar[bool] = True

    type: Literal["l_diversity"] = "l_diversity"
    quasi_identifiers: QuasiIdentifiers = ()
    sensitive: SensitiveColumns = ()
    l: Annotated[int | float, Gt(1)] = Field(description="Minimum diversity of an equivalence class.")
    variant: Variant = Field(
        Variant.DISTINCT,
        description="Variant: distinct values, exp of their entropy, or recursive (c, l)-diversity.",
    )
    c: float | None = Field(
        None,
        description="For recursive diversity: the most frequent value occurs less than c times as often as the "
        "l-th and later ones.",
    )

    @model_validator(mode="after")
    def _c_is_of_recursive(self) -> Self:
        if (self.variant is Variant.RECURSIVE) != (self.c is not None):
            raise ValueError("'c' and 'variant: recursive' go together")
        if self.c is not None:
            ratio_of(self.c)
        return self

    @property
    def _limit(self) -> DiversityLimit:
        return DiversityLimit(self.variant, self.l, self.c)

    def wants(self, context: Context) -> Wants:
        """Request how diverse the classes are in each sensitive column."""
        names = quasi_identifiers_of(context, self.quasi_identifiers)
        columns = sensitive_of(context, self.sensitive, names)
        questions = {name: ClassQuestion(names, self._diversity(name), (name,)) for name in columns}
        spellings = self.spellings(context, names, columns)
        return Wants(aggregates=self.evidence(context, columns), classes={**questions, **spellings})

    def _diversity(self, column: str) -> Answer:
        softer = self.softened()
        limits = [self._limit, *([] if softer is None else [softer._limit])]  # noqa: SLF001 - the same check
        return diversity_of(column, list(dict.fromkeys(limits)))

    def follow_up(self, context: Context, measurement: Measurement) -> Wants | Measurement:
        """Request the other readings; then return how many rows there are, and what was asked."""
        names = quasi_identifiers_of(context, self.quasi_identifiers)
        columns = sensitive_of(context, self.sensitive, names)
        others = {
            asked: question
            for name in columns
            for asked, question in self.asked(context, measurement, name, self._diversity(name))
        }
        if any(asked.label not in measurement.tables for asked in others):
            return Wants(classes={asked.label: question for asked, question in others.items()})
        every = [*(Asked(name) for name in columns), *others]
        tables = {asked.label: measurement.tables[asked.label] for asked in every}
        rows = tables[columns[0]][0]["rows"] or 0
        values = {"rows": rows, "quasi_identifiers": names, "asked": [asked.packed for asked in every]}
        return replace(measurement, tables=tables, values=values)

    def judge(self, measurement: Measurement, history: Sequence[PastMeasurement]) -> Outcome:
        """Fail when a group has less than the wanted diversity in one of the columns."""
        every = {asked: self._figures(measurement.tables[asked.label][0]) for asked in asked_of(measurement)}
        results = {name: self._stricter(name, every) for name in dict.fromkeys(asked.column for asked in every)}
        worst = worst_of(results, "records_below_l")
        item = next(iter(measurement.tables.values()))[0]
        observed: dict[str, Json] = {
            "rows": measurement.number("rows"),
            "classes": int(item["classes"]),
            **{name: _smallest(results, name) for name in ("l_distinct", "l_entropy", "l_recursive")},
            **{name: _smallest(results, name) for name in ("l_exact", "l_known", "l_normalised")},
            **{name: results[worst][name] for name in ("records_below_l", "classes_below_l", "counted_by")},
            "sensitive": results,
            "quasi_identifiers": list(measurement.values["quasi_identifiers"]),
        }
        expected: dict[str, Json] = {"l": self.l, "variant": self.variant.value}
        texts: dict[str, Any] = {"l": self.l, "columns": list(results), "column": worst}
        if self.c is not None:
            expected["c"] = texts["c"] = self.c
        bad = observed["records_below_l"]
        if bad:
            text = _UNIFORM[self.variant] if results[worst]["reading"] == ReadingName.EXACT else _UNIFORM_AS_READ
            if (by := results[worst]["counted_by"]) is not None and every[Asked(worst)]["records_below_l"] != bad:
                text, texts = _UNIFORM_PEOPLE, {**texts, "by": by}
            exposed = text.given(bad=bad, rows=observed["rows"], **texts)
            return Outcome(Status.FAIL, exposed, observed, expected)
        return Outcome(Status.PASS, _DIVERSE[self.variant].given(**texts), observed, expected)

    def _stricter(self, column: str, every: Mapping[Asked, Mapping[str, Any]]) -> dict[str, Json]:
        """Return the figures of a column: the smallest l and the most records of all readings that decide."""
        own = {asked: figures for asked, figures in every.items() if asked.column == column}
        deciding = self.judged(list(own))
        worst = max(deciding, key=lambda asked: float(own[asked]["records_below_l"]))
        by_name = {str(number): own[asked] for number, asked in enumerate(deciding)}
        shown = {"l_distinct": Variant.DISTINCT, "l_entropy": Variant.ENTROPY, "l_recursive": Variant.RECURSIVE}
        variant = next(name for name, item in shown.items() if item is self.variant)
        read = {
            name: _smallest({str(asked): own[asked] for asked in deciding if asked.reading is name}, variant)
            for name in ReadingName
        }
        return {
            **own[worst],
            **{name: _smallest(by_name, name) for name in shown},
            "l_exact": read[ReadingName.EXACT],
            "l_known": self._read(column, read, ReadingName.KNOWN, self.missing_is_a_value),
            "l_normalised": self._read(column, read, ReadingName.NORMALISED, self.spelling_is_a_value),
            "counted_by": worst.by,
            "reading": worst.reading.value,
        }

    def _read(self, column: str, read: Mapping[ReadingName, Json], name: ReadingName, declared: Sequence[str]) -> Json:
        """Return the l of a reading: that of the exact values where it is the same, None where it is not asked."""
        if column in declared:
            return None
        return read[ReadingName.EXACT] if read[name] is None else read[name]

    def _figures(self, row: Mapping[str, Any]) -> dict[str, Json]:
        records, classes = broken_in(row, self._limit.name)
        depth = row[self._limit.depth] if self.c is not None else None
        return {
            "l_distinct": None if row["distinct"] is None else int(row["distinct"]),
            "l_entropy": entropy_l(row["entropy"]),
            "l_recursive": None if depth is None else int(depth),
            "records_below_l": records,
            "classes_below_l": classes,
        }


def _smallest(results: Mapping[str, Mapping[str, Any]], name: str) -> Json:
    return min((result[name] for result in results.values() if result[name] is not None), default=None)


CHECK: Final[type[Check]] = LDiversityCheck
