"""Every equivalence class has several sensitive values: who finds a group does not learn one."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Final, Literal, Self

from annotated_types import Gt
from pydantic import Field, model_validator

from checks._contract import (
    Check,
    CheckParameters,
    ClassQuestion,
    Context,
    Json,
    Kind,
    Measurement,
    Outcome,
    PastMeasurement,
    Status,
    Wants,
)
from checks._outcome import Message
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


class LDiversityCheck(CheckParameters):
    """Every equivalence class is diverse in its sensitive values."""

    summary: ClassVar[str] = "Every equivalence class has at least l distinct sensitive values (l-diversity)."
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
        softer = self.softened()
        diversity_limits = [self._limit, *([] if softer is None else [softer._limit])]  # noqa: SLF001 - the same check
        return Wants(
            classes={
                name: ClassQuestion(names, diversity_of(name, list(dict.fromkeys(diversity_limits))), (name,))
                for name in sensitive_of(context, self.sensitive, names)
            }
        )

    def follow_up(self, context: Context, measurement: Measurement) -> Measurement:
        """Return how many rows there are, and which columns were meant."""
        rows = next(iter(measurement.tables.values()))[0]["rows"]
        names = quasi_identifiers_of(context, self.quasi_identifiers)
        return replace(measurement, values={"rows": rows or 0, "quasi_identifiers": names})

    def judge(self, measurement: Measurement, history: Sequence[PastMeasurement]) -> Outcome:
        """Fail when a group has less than the wanted diversity in one of the columns."""
        results = {name: self._figures(rows[0]) for name, rows in measurement.tables.items()}
        worst = worst_of(results, "records_below_l")
        item = next(iter(measurement.tables.values()))[0]
        observed: dict[str, Json] = {
            "rows": measurement.number("rows"),
            "classes": int(item["classes"]),
            **{name: _smallest(results, name) for name in ("l_distinct", "l_entropy", "l_recursive")},
            **{name: results[worst][name] for name in ("records_below_l", "classes_below_l")},
            "sensitive": results,
            "quasi_identifiers": list(measurement.values["quasi_identifiers"]),
        }
        expected: dict[str, Json] = {"l": self.l, "variant": self.variant.value}
        texts: dict[str, Any] = {"l": self.l, "columns": list(results), "column": worst}
        if self.c is not None:
            expected["c"] = texts["c"] = self.c
        bad = observed["records_below_l"]
        if bad:
            exposed = _UNIFORM[self.variant].given(bad=bad, rows=observed["rows"], **texts)
            return Outcome(Status.FAIL, exposed, observed, expected)
        return Outcome(Status.PASS, _DIVERSE[self.variant].given(**texts), observed, expected)

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
