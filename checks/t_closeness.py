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
    ClassQuestion,
    Context,
    Json,
    Kind,
    MainNumber,
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
from checks.classes.readings import (
    MISSING,
    VALUES,
    Answer,
    Asked,
    ReadingName,
    SensitiveParameters,
    asked_of,
    is_missing,
)
from checks.classes.sensitive import broken_in, sensitive_of, worst_of
from checks.classes.tables import MOST_VALUES, VALUE, ClassTables
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
from sources.expressions import dt, ir

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
_FAR_PEOPLE: Final = Message(
    "{bad:count} people are in equivalence classes whose distribution of {column} is more than {t:number} from that of "
    "all (people by {by})",
    one="{bad:count} person is in an equivalence class whose distribution of {column} is more than {t:number} from "
    "that of all (people by {by})",
    counted="bad",
)
_EMPTY: Final = Message("{table} is empty")
_ALL_MISSING: Final = Message(
    "{column} has no value but missing ones, so no distribution was compared; 'missing_is_a_value' makes NULL a value"
)
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


class TClosenessCheck(SensitiveParameters):
    """In every equivalence class, sensitive values are distributed as in the whole table."""

    summary: ClassVar[str] = (
        "In every equivalence class, sensitive values are distributed as in the table (t-closeness)."
    )
    main_number: ClassVar[MainNumber | None] = MainNumber("t", high="t")
    warn_limits: ClassVar[frozenset[str]] = frozenset({"t"})
    kind: ClassVar[Kind] = Kind.DISCLOSURE
    looks_again: ClassVar[bool] = True
    drops_missing: ClassVar[bool] = True

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
        columns, tree = sensitive_of(context, self.sensitive, names), self._tree()
        if tree is not None and len(columns) > 1:
            raise Misconfigured("a hierarchy is of one sensitive column; name it with 'sensitive'")
        unknown = sorted(set(self.reference_columns) - set(columns))
        if unknown:
            raise Misconfigured(f"'{unknown[0]}' is not a sensitive column{did_you_mean(unknown[0], columns)}")
        class_questions: dict[str, ClassQuestion] = {}
        for name in columns:
            answers = self._closeness(context, name, tree)
            class_questions |= {
                f"{prefix}{name}": ClassQuestion(names, answer, (name,)) for prefix, answer in answers.items()
            }
            is_strange = self._distance(context, name, tree)[1]
            if is_strange is not None:
                values = own_values if self.reference is None else self._values(context, name, self.reference)
                class_questions[f"{_STRANGERS}{name}"] = ClassQuestion(
                    names, strangers_among(name, is_strange, values), (name,)
                )
        wants = Wants(
            aggregates=self.evidence(context, columns),
            classes={**class_questions, **self.spellings(context, names, columns)},
        )
        if self.reference is None:
            return wants
        reference, spelled = context.references[self.reference], {}
        for name in columns:
            if f"{VALUES}{name}" in wants.classes:
                values = partial(_texts, name, self._values(context, name, self.reference))
                spelled[f"{VALUES}{name}"] = ClassQuestion(names, values, (name,))
        missing = {
            f"{MISSING}{name}": is_missing(context, name)(reference[self.reference_columns.get(name, name)])
            for name in columns
        }
        counts = {name: reference.count(where=item) for name, item in missing.items()}
        query = reference.aggregate(rows=reference.count(), **counts)
        return replace(wants, queries={_REFERENCE: query}, classes={**wants.classes, **spelled})

    def has_missing(self, measurement: Measurement, column: str) -> bool:
        """Check whether a value of a column, or of the reference, counts as missing."""
        in_reference = self.reference is not None and measurement.tables[_REFERENCE][0][f"{MISSING}{column}"]
        return bool(in_reference) or super().has_missing(measurement, column)

    def _closeness(self, context: Context, name: str, tree: Hierarchy | None) -> Mapping[str, Answer]:
        """Return what is asked of the classes of a column, by whose distribution they are compared with."""
        softer, (far, _) = self.softened(), self._distance(context, name, tree)
        limits = list(dict.fromkeys([self.t, *([] if softer is None else [softer.t])]))
        answers = {_OWN: closeness_of(name, limits, far(own_values))}
        if self.reference is not None:
            values = self._values(context, name, self.reference)
            answers[_REFERENCE] = closeness_of(name, limits, far(values))
        return answers

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

    def follow_up(self, context: Context, measurement: Measurement) -> Wants | Measurement:
        """Request the other readings; then return how many rows there are, and what was asked."""
        names = quasi_identifiers_of(context, self.quasi_identifiers)
        columns, tree = sensitive_of(context, self.sensitive, names), self._tree()
        every = {Asked(name): None for name in columns}
        others: dict[str, ClassQuestion] = {}
        for name in columns:
            for prefix, answer in self._closeness(context, name, tree).items():
                asked = dict(self.asked(context, measurement, name, answer))
                others |= {f"{prefix}{item.label}": question for item, question in asked.items()}
                every |= dict.fromkeys(asked)
        if others.keys() - measurement.tables.keys():
            return Wants(classes=others)
        tables = {name: rows for name, rows in measurement.tables.items() if not name.startswith(VALUES)}
        values = {"rows": _first_row(measurement)["rows"] or 0, "quasi_identifiers": names}
        values["asked"] = [asked.packed for asked in every]
        values["without_value"] = [
            name for name in columns if values["rows"] and measurement.values.get(f"{MISSING}{name}") == values["rows"]
        ]
        return replace(measurement, tables=tables, values=values)

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
        for name in measurement.values["without_value"]:
            return unknown(UnknownReason.NO_DATA, _ALL_MISSING.given(column=name), {"rows": rows, "t": None})
        if self.reference is not None and not measurement.tables[_REFERENCE][0]["rows"]:
            return unknown(UnknownReason.NO_DATA, _EMPTY.given(table=self.reference), {"rows": rows, "t": None})
        own = self._columns(measurement, _OWN)
        reference_figures = self._columns(measurement, _REFERENCE) if self.reference is not None else {}
        observed: dict[str, Json] = {
            "rows": rows,
            "classes": int(_first_row(measurement)["classes"]),
            **_worst_figures(own),
            **{name: _largest(own, name) for name in ("t_exact", "t_known", "t_normalised")},
            "counted_by": own[worst_of(own, "records_above_t")]["counted_by"],
            "t_as_given": self._as_given(_worst_figures(own)["t"]),
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
                rows_say = self._figures(measurement.tables[f"{_OWN if found_of is own else _REFERENCE}{worst}"][0])
                by = None if rows_say["records_above_t"] == bad else found_of[worst]["counted_by"]
                wording = (text if by is None else _FAR_PEOPLE).given(bad=bad, column=worst, by=by, **said_of)
                return outcome(Status.FAIL, wording)
        return outcome(Status.PASS, (_CLOSE if self.reference is None else _CLOSE_TO_BOTH).given(**said_of))

    def _as_given(self, t: Any) -> Json:
        """Return t by the height of the hierarchy as it is given; None where that is the same."""
        tree = self._tree()
        if tree is None or t is None or tree.partitions >= tree.height:
            return None
        share: float = t * tree.partitions / tree.height
        return share

    def _columns(self, measurement: Measurement, prefix: str) -> dict[str, Mapping[str, Json]]:
        """Return the figures of each sensitive column: the largest t and the most records of all readings."""
        every = {
            asked: self._figures(measurement.tables[f"{prefix}{asked.label}"][0]) for asked in asked_of(measurement)
        }
        results: dict[str, Mapping[str, Json]] = {}
        for column in dict.fromkeys(asked.column for asked in every):
            own = {asked: every[asked] for asked in self.judged([item for item in every if item.column == column])}
            counts = ("records_above_t", "classes_above_t", "t")
            worst = max(own, key=lambda asked: [own[asked][name] for name in counts])
            by_name = {
                f"t_{name}": max(
                    (figures["t"] for asked, figures in own.items() if asked.reading is name), default=None
                )
                for name in ReadingName
                if name is not ReadingName.BOTH
            }
            exact = by_name["t_exact"]
            declared = {"t_known": self.missing_is_a_value, "t_normalised": self.spelling_is_a_value}
            shown = {name: exact if by_name[name] is None else by_name[name] for name in declared}
            shown |= {name: None for name, columns in declared.items() if column in columns}
            largest = max(figures["t"] for figures in own.values())
            results[column] = {**own[worst], "t": largest, "t_exact": exact, **shown, "counted_by": worst.by}
        return results

    def _figures(self, row: Mapping[str, Any]) -> dict[str, Any]:
        records, classes = broken_in(row, repr(self.t))
        return {"t": float(row["t"] or 0), "records_above_t": records, "classes_above_t": classes}


def _texts(name: str, values: Values, tables: ClassTables) -> ir.Table:
    """Return the values of a column and of the reference, at most one more than `MOST_VALUES`: `value`."""
    every = values(tables, name)
    return every.filter(every[VALUE].notnull()).select(VALUE).limit(MOST_VALUES + 1)


def _first_row(measurement: Measurement) -> Mapping[str, Any]:
    """Return what was found of a sensitive column, of which the rows and classes are those of all."""
    return next(rows[0] for name, rows in measurement.tables.items() if name.startswith(_OWN))


def _worst_figures(columns: Mapping[str, Mapping[str, Json]]) -> dict[str, Json]:
    """Return the largest distance of all columns, and what is above the limit in the column with the most."""
    if not columns:
        return {"t": None, "records_above_t": None, "classes_above_t": None}
    worst = columns[worst_of(columns, "records_above_t")]
    largest = columns[worst_of(columns, "t")]
    return {**{name: worst[name] for name in ("records_above_t", "classes_above_t")}, "t": largest["t"]}


def _largest(columns: Mapping[str, Mapping[str, Any]], name: str) -> Json:
    return max((figures[name] for figures in columns.values() if figures[name] is not None), default=None)


CHECK: Final[type[Check]] = TClosenessCheck
