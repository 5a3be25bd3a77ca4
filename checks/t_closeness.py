"""In every group of records that are alike, sensitive values are spread as in the whole table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import partial
from typing import Annotated, Any, ClassVar, Final, Literal, Self, TypeAlias

from annotated_types import Interval, MinLen
from pydantic import BeforeValidator, Field, model_validator

from checks._contract import (
    Check,
    CheckParameters,
    ClassQuestion,
    Context,
    Json,
    Kind,
    Measurement,
    Misconfigured,
    Outcome,
    PastMeasurement,
    Status,
    UnknownReason,
    Wants,
    unknown,
)
from checks._outcome import Message
from checks.classes.closeness import (
    Distances,
    Values,
    closeness_of,
    equally_far,
    far_in,
    not_in,
    not_in_order,
    orderly_far,
    own_values,
    strangers_among,
    values_of,
)
from checks.classes.sensitive import broken_in, sensitive_of, worst_of
from checks.parameters.columns import (
    ColumnName,
    QuasiIdentifiers,
    SensitiveColumns,
    common_kind,
    fit,
    number_types,
    quasi_identifiers_of,
)
from checks.risk.hierarchy import Hierarchy
from sources import did_you_mean
from sources.expressions import dt

_CLOSE: Final = Message("in every equivalence class the distribution of {columns} is within {t:number} of the table's")
_FAR: Final = Message(
    "{bad:count} of {rows:count} records are in equivalence classes whose distribution of {column} is more than "
    "{t:number} from the table's"
)
_CLOSE_TO_BOTH: Final = Message(
    "in every equivalence class the distribution of {columns} is within {t:number} of the table's and of {reference}"
)
_FAR_FROM_REFERENCE: Final = Message(
    "{bad:count} of {rows:count} records are in equivalence classes whose distribution of {column} is more than "
    "{t:number} from that of {reference}"
)
_EMPTY: Final = Message("{table} is empty")
_NOT_IN_HIERARCHY: Final = Message(
    "{column}: {strangers:count} values are not in the hierarchy",
    one="{column}: {strangers:count} value is not in the hierarchy",
    counted="strangers",
)
_NOT_ORDERABLE: Final = Message(
    "{column}: {strangers:count} values cannot be ordered, since their type differs from the column",
    one="{column}: {strangers:count} value cannot be ordered, since its type differs from the column",
    counted="strangers",
)
_MOST_VALUES: Final = 10_000
"""A larger hierarchy would take minutes: each value of the column is compared with each that it knows."""
_OWN, _REFERENCE, _STRANGERS = "t:", "reference:", "strangers:"
_Distance: TypeAlias = Callable[[Values], Distances]


def _as_texts(value: object) -> object:
    """Return numbers and days of a mapping, which YAML reads as such, as texts."""
    if isinstance(value, Mapping):
        return {_as_texts(key): _as_texts(path) for key, path in value.items()}
    if isinstance(value, list | tuple):
        return tuple(_as_texts(item) for item in value)
    return str(value) if isinstance(value, int | date) and not isinstance(value, bool) else value


class TClosenessCheck(CheckParameters):
    """In every equivalence class, sensitive values are distributed as in the whole table."""

    summary: ClassVar[str] = (
        "In every equivalence class, sensitive values are distributed as in the table (t-closeness)."
    )
    warn_limits: ClassVar[frozenset[str]] = frozenset({"t"})
    kind: ClassVar[Kind] = Kind.DISCLOSURE
    looks_again: ClassVar[bool] = True

    type: Literal["t_closeness"] = "t_closeness"
    quasi_identifiers: QuasiIdentifiers = ()
    sensitive: SensitiveColumns = ()
    t: Annotated[float, Interval(ge=0, le=1)] = Field(
        description="Maximum distance between the distribution of a class and of the table."
    )
    distance: Literal["equal", "ordered"] = Field(
        "equal", description="Distance between two values: all equal, or by rank (numbers and times)."
    )
    hierarchy: Annotated[dict[str, tuple[str, ...]] | str | None, BeforeValidator(_as_texts)] = Field(
        None,
        description="Alternative: distance by the common ancestor. Value to ancestors, or lines `value;ancestor;...`.",
    )

    reference: Annotated[str, MinLen(1)] | None = Field(
        None, description="Additional reference table of the same source, such as the original table."
    )
    reference_columns: Mapping[ColumnName, ColumnName] = Field(
        {}, description="Sensitive column: its name in the reference table, if different."
    )

    @model_validator(mode="after")
    def _names_are_of_a_reference(self) -> Self:
        if self.reference is None and self.reference_columns:
            raise ValueError("'reference_columns' goes with 'reference'")
        return self

    @property
    def refers_to(self) -> tuple[str, ...]:
        """Return the reference table."""
        return () if self.reference is None else (self.reference,)

    @model_validator(mode="after")
    def _one_distance(self) -> Self:
        if self.hierarchy is not None:
            if "distance" in self.model_fields_set and self.distance != "equal":
                raise ValueError("'hierarchy' defines the distance; remove 'distance'")
            tree = self._tree()
            if tree is not None and len(tree.values) > _MOST_VALUES:
                raise ValueError(f"a hierarchy of {len(tree.values):,} values; a statement takes {_MOST_VALUES:,}")
        return self

    def _tree(self) -> Hierarchy | None:
        if isinstance(self.hierarchy, str):
            return Hierarchy.from_csv(self.hierarchy)
        return None if self.hierarchy is None else Hierarchy.of(self.hierarchy)

    def wants(self, context: Context) -> Wants:
        """Request how far the classes are from the table in each sensitive column, and the values without a place."""
        names = quasi_identifiers_of(context, self.quasi_identifiers)
        columns, tree, softer = sensitive_of(context, self.sensitive, names), self._tree(), self.softened()
        if tree is not None and len(columns) > 1:
            raise Misconfigured("a hierarchy is of one sensitive column; name it with 'sensitive'")
        unknown = sorted(set(self.reference_columns) - set(columns))
        if unknown:
            raise Misconfigured(f"'{unknown[0]}' is not a sensitive column{did_you_mean(unknown[0], columns)}")
        limits = list(dict.fromkeys([self.t, *([] if softer is None else [softer.t])]))
        class_questions: dict[str, ClassQuestion] = {}
        for name in columns:
            values: Values = own_values
            far, is_strange = self._distance(context, name, tree)
            class_questions[f"{_OWN}{name}"] = ClassQuestion(names, closeness_of(name, limits, far(values)), (name,))
            if self.reference is not None:
                values = self._values(context, name, self.reference)
                class_questions[f"{_REFERENCE}{name}"] = ClassQuestion(
                    names, closeness_of(name, limits, far(values)), (name,)
                )
            if is_strange is not None:
                class_questions[f"{_STRANGERS}{name}"] = ClassQuestion(
                    names, strangers_among(name, is_strange, values), (name,)
                )
        if self.reference is None:
            return Wants(classes=class_questions)
        reference = context.references[self.reference]
        return Wants(classes=class_questions, queries={_REFERENCE: reference.aggregate(rows=reference.count())})

    def _distance(self, context: Context, name: str, tree: Hierarchy | None) -> tuple[_Distance, Any]:
        """Return the distance, and what says of a value that it has no place in it; None where each has one.

        Raises:
            Misconfigured: the column's type has no such distance.
        """
        if tree is not None:
            fit(context, name, (dt.String, dt.Integer, dt.Date), text="a hierarchy is of text, whole numbers or dates")
            return partial(far_in, tree), not_in(tree)
        if self.distance == "ordered":
            kinds = (*number_types(), dt.Date, dt.Timestamp)
            column = fit(context, name, kinds, text="'ordered' takes numbers, dates and times; else give a 'hierarchy'")
            return partial(orderly_far, context.dialect), not_in_order(column, context.dialect)
        return equally_far, None

    def _values(self, context: Context, name: str, reference: str) -> Values:
        """Return the values of the reference table.

        Raises:
            Misconfigured: it has no such column, or one of another kind.
        """
        column = self.reference_columns.get(name, name)
        must = "they must have the same type to be compared"
        kind = common_kind(context, name, column, of=reference, must=must)
        return values_of(context.references[reference], column, kind)

    def follow_up(self, context: Context, measurement: Measurement) -> Measurement:
        """Return how many rows there are, and which columns were meant."""
        names = quasi_identifiers_of(context, self.quasi_identifiers)
        return replace(measurement, values={"rows": _first_row(measurement)["rows"] or 0, "quasi_identifiers": names})

    def judge(self, measurement: Measurement, history: Sequence[PastMeasurement]) -> Outcome:
        """Fail when a group is farther than t in a column, from the table or from the reference.

        Unknown if values have no place in the distance, or the reference has no row.
        """
        rows = measurement.number("rows")
        for name, result in measurement.tables.items():
            if name.startswith(_STRANGERS) and result[0]["strangers"]:
                text = _NOT_ORDERABLE if self.hierarchy is None else _NOT_IN_HIERARCHY
                wording = text.given(column=name.removeprefix(_STRANGERS), strangers=int(result[0]["strangers"]))
                return unknown(UnknownReason.MISCONFIGURED, wording, {"rows": rows, "t": None})
        if self.reference is not None and not measurement.tables[_REFERENCE][0]["rows"]:
            return unknown(UnknownReason.NO_DATA, _EMPTY.given(table=self.reference), {"rows": rows, "t": None})
        own = self._columns(measurement, _OWN)
        reference_figures = self._columns(measurement, _REFERENCE) if self.reference is not None else {}
        observed: dict[str, Json] = {
            "rows": rows,
            "classes": int(_first_row(measurement)["classes"]),
            **_worst_figures(own),
            "distance": self.distance if self.hierarchy is None else "hierarchical",
            "reference": "table",
            "sensitive": own,
            **{f"reference_{name}": figure for name, figure in _worst_figures(reference_figures).items()},
            "reference_table": self.reference,
            "reference_sensitive": reference_figures or None,
            "quasi_identifiers": list(measurement.values["quasi_identifiers"]),
        }
        outcome = partial(Outcome, observed=observed, expected={"t": self.t})
        said_of = {"rows": rows, "t": self.t, "columns": list(own), "reference": self.reference}
        for found_of, text in ((own, _FAR), (reference_figures, _FAR_FROM_REFERENCE)):
            bad = _worst_figures(found_of)["records_above_t"]
            if bad:
                worst = worst_of(found_of, "records_above_t")
                return outcome(Status.FAIL, text.given(bad=bad, column=worst, **said_of))
        return outcome(Status.PASS, (_CLOSE if self.reference is None else _CLOSE_TO_BOTH).given(**said_of))

    def _columns(self, measurement: Measurement, prefix: str) -> dict[str, Mapping[str, Json]]:
        """Return the figures of each sensitive column."""
        return {
            name.removeprefix(prefix): self._figures(rows[0])
            for name, rows in measurement.tables.items()
            if name.startswith(prefix) and name != prefix
        }

    def _figures(self, row: Mapping[str, Any]) -> dict[str, Json]:
        records, classes = broken_in(row, repr(self.t))
        return {"t": float(row["t"]), "records_above_t": records, "classes_above_t": classes}


def _first_row(measurement: Measurement) -> Mapping[str, Any]:
    """Return what was found of a sensitive column, of which the rows and classes are those of all."""
    return next(rows[0] for name, rows in measurement.tables.items() if name.startswith(_OWN))


def _worst_figures(columns: Mapping[str, Mapping[str, Json]]) -> dict[str, Json]:
    """Return the largest distance of all columns, and what is above the limit in the column with the most."""
    if not columns:
        return {"t": None, "records_above_t": None, "classes_above_t": None}
    worst = columns[worst_of(columns, "records_above_t")]
    largest = columns[worst_of(columns, "t")]
    return {**worst, "t": largest["t"]}


CHECK: Final[type[Check]] = TClosenessCheck
