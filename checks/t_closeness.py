"""In every group of records that are alike, sensitive values are spread as in the whole table."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Annotated, Any, ClassVar, Final, Literal, Self

import ibis.expr.datatypes as dt
from annotated_types import Interval
from pydantic import BeforeValidator, Field, model_validator

from checks._classes import quasi_identifiers_of
from checks._closeness import Distances, closeness_of, equally_far, far_in, not_in, strangers_among
from checks._columns import NUMBERS, ColumnNames, fit
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
    Past,
    Status,
    UnknownReason,
    Wants,
    unknown,
)
from checks._message import Message
from checks._ordered import not_in_order, orderly_far
from checks._sensitive import broken_in, sensitive_of, worst_of
from checks.risk._hierarchy import Hierarchy

_CLOSE: Final = Message("in every group {columns} are spread as in the table, to within {t:number}")
_FAR: Final = Message(
    "{bad:count} of {rows:count} records are in groups whose {column} is farther than {t:number} from the table's"
)
_STRANGE: Final = Message(
    "{column}: {strangers:count} values are not in the hierarchy",
    one="{column}: {strangers:count} value is not in the hierarchy",
    counted="strangers",
)
_DISORDERLY: Final = Message(
    "{column}: {strangers:count} values have no place in the order, being of another kind than the column",
    one="{column}: {strangers:count} value has no place in the order, being of another kind than the column",
    counted="strangers",
)
_MOST_VALUES: Final = 10_000
"""A larger hierarchy would take minutes: each value of the column is compared with each that it knows."""
_FAR_FROM, _STRANGERS = "t:", "strangers:"


def _as_texts(value: object) -> object:
    """Take numbers and days of a mapping, which YAML reads as such, as they are written."""
    if isinstance(value, Mapping):
        return {_as_texts(key): _as_texts(path) for key, path in value.items()}
    if isinstance(value, list | tuple):
        return tuple(_as_texts(one) for one in value)
    return str(value) if isinstance(value, int | date) and not isinstance(value, bool) else value


class TClosenessCheck(CheckParameters):
    """No group of records that are alike in the quasi-identifiers says much that the table does not say."""

    summary: ClassVar[str] = "In every group of records that are alike, sensitive values are spread as in the table."
    limits: ClassVar[frozenset[str]] = frozenset({"t"})
    kind: ClassVar[Kind] = Kind.DISCLOSURE
    looks_again: ClassVar[bool] = True

    type: Literal["t_closeness"] = "t_closeness"
    quasi_identifiers: ColumnNames | tuple[()] = Field(
        (), description="Columns that together may single a person out; by default those the table classifies so."
    )
    sensitive: ColumnNames | tuple[()] = Field(
        (), description="Columns that nobody should learn, each on its own; by default those the table classifies so."
    )
    t: Annotated[float, Interval(ge=0, le=1)] = Field(
        description="The largest distance allowed between the values of a group and those of the table."
    )
    distance: Literal["equal", "ordered"] = Field(
        "equal", description="How far two values lie apart: all alike, or by their places in order (numbers and times)."
    )
    hierarchy: Annotated[dict[str, tuple[str, ...]] | str | None, BeforeValidator(_as_texts)] = Field(
        None, description="Instead: by the level at which they meet. Value to ancestors, or lines `value;ancestor;...`."
    )

    @model_validator(mode="after")
    def _one_distance(self) -> Self:
        if self.hierarchy is not None:
            if "distance" in self.model_fields_set and self.distance != "equal":
                raise ValueError("'hierarchy' is itself the distance; leave 'distance' out")
            tree = self._tree()
            if tree is not None and len(tree.values) > _MOST_VALUES:
                raise ValueError(f"a hierarchy of {len(tree.values):,} values; a statement takes {_MOST_VALUES:,}")
        return self

    def _tree(self) -> Hierarchy | None:
        if isinstance(self.hierarchy, str):
            return Hierarchy.from_csv(self.hierarchy)
        return None if self.hierarchy is None else Hierarchy.of(self.hierarchy)

    def wants(self, context: Context) -> Wants:
        """Ask of each sensitive column how far the groups are from the table, and for values without a place."""
        names = quasi_identifiers_of(context, self.quasi_identifiers)
        columns, tree, softer = sensitive_of(context, self.sensitive, names), self._tree(), self.softened()
        if tree is not None and len(columns) > 1:
            raise Misconfigured("a hierarchy is of one sensitive column; name it with 'sensitive'")
        wanted = list(dict.fromkeys([self.t, *([] if softer is None else [softer.t])]))
        asked: dict[str, ClassQuestion] = {}
        for name in columns:
            far, is_strange = self._distance(context, name, tree)
            asked[f"{_FAR_FROM}{name}"] = ClassQuestion(names, closeness_of(name, wanted, far), (name,))
            if is_strange is not None:
                asked[f"{_STRANGERS}{name}"] = ClassQuestion(names, strangers_among(name, is_strange), (name,))
        return Wants(classes=asked)

    def _distance(self, context: Context, name: str, tree: Hierarchy | None) -> tuple[Distances, Any]:
        """Give the distance, and what says of a value that it has no place in it; None where each has one.

        Raises:
            Misconfigured: the column's type has no such distance.
        """
        if tree is not None:
            fit(context, name, (dt.String, dt.Integer, dt.Date), asked="a hierarchy is of text, whole numbers or dates")
            return far_in(tree), not_in(tree)
        if self.distance == "ordered":
            kinds = (*NUMBERS, dt.Date, dt.Timestamp)
            column = fit(
                context, name, kinds, asked="'ordered' takes numbers, dates and times; else give a 'hierarchy'"
            )
            return orderly_far(context.dialect), not_in_order(column, context.dialect)
        return equally_far, None

    def look_again(self, context: Context, measurement: Measurement) -> Measurement:
        """Say how many rows there are, and which columns were meant."""
        names = quasi_identifiers_of(context, self.quasi_identifiers)
        rows = next(one[0]["rows"] for name, one in measurement.tables.items() if name.startswith(_FAR_FROM))
        return replace(measurement, values={"rows": rows or 0, "quasi_identifiers": names})

    def judge(self, measurement: Measurement, history: Sequence[Past]) -> Outcome:
        """Fail when a group is farther than t in a column; unknown if values have no place in the distance."""
        columns: dict[str, Mapping[str, Any]] = {}
        for name, (row,) in measurement.tables.items():
            if name.startswith(_FAR_FROM):
                columns[name.removeprefix(_FAR_FROM)] = row
            elif row["strangers"]:
                text = _DISORDERLY if self.hierarchy is None else _STRANGE
                said = text.given(column=name.removeprefix(_STRANGERS), strangers=int(row["strangers"]))
                return unknown(UnknownReason.MISCONFIGURED, said, {"rows": measurement.number("rows"), "t": None})
        found = {name: self._figures(row) for name, row in columns.items()}
        worst, farthest = worst_of(found, "records_above_t"), worst_of(found, "t")
        observed: dict[str, Json] = {
            "rows": measurement.number("rows"),
            "classes": int(columns[worst]["classes"]),
            "t": found[farthest]["t"],
            **{name: found[worst][name] for name in ("records_above_t", "classes_above_t")},
            "distance": self.distance if self.hierarchy is None else "hierarchical",
            "reference": "table",
            "sensitive": found,
            "quasi_identifiers": list(measurement.values["quasi_identifiers"]),
        }
        expected: dict[str, Json] = {"t": self.t}
        bad = observed["records_above_t"]
        if bad:
            exposed = _FAR.given(bad=bad, rows=observed["rows"], column=worst, t=self.t)
            return Outcome(Status.FAIL, exposed, observed, expected)
        return Outcome(Status.PASS, _CLOSE.given(columns=list(found), t=self.t), observed, expected)

    def _figures(self, row: Mapping[str, Any]) -> dict[str, Json]:
        records, classes = broken_in(row, repr(self.t))
        return {"t": float(row["t"]), "records_above_t": records, "classes_above_t": classes}


CHECK: Final[type[Check]] = TClosenessCheck
