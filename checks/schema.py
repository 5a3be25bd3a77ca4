"""The columns are those that were agreed on; a type is agreed on by Ibis' own name, or by the name of a family."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Annotated, ClassVar, Final, Literal, Self, TypeAlias

from annotated_types import MinLen
from pydantic import AfterValidator, Field, model_validator

from checks._contract import (
    Check,
    CheckParameters,
    Context,
    Earlier,
    Json,
    Measurement,
    Outcome,
    PastMeasurement,
    Status,
    UnknownReason,
    Wants,
    unknown,
)
from checks._outcome import Message
from checks.parameters.columns import ColumnName, ColumnNames
from sources import did_you_mean, is_engine_type, is_misspelling
from sources.expressions import dt, ibis

FAMILIES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "number": ("Integer", "Floating", "Decimal"),
        "int": ("Integer",),
        "integer": ("Integer",),
        "float": ("Floating",),
        "decimal": ("Decimal",),
        "numeric": ("Decimal",),
        "string": ("String",),
        "text": ("String",),
        "varchar": ("String",),
        "boolean": ("Boolean",),
        "bool": ("Boolean",),
        "date": ("Date",),
        "time": ("Time",),
        "timestamp": ("Timestamp",),
        "datetime": ("Timestamp",),
        "interval": ("Interval",),
        "binary": ("Binary",),
        "json": ("JSON",),
        "uuid": ("UUID",),
        "array": ("Array",),
        "map": ("Map",),
        "struct": ("Struct",),
    }
)
"""Names that stand for every type of a kind, whatever its size, precision or zone; by Ibis' names of the kinds."""


@cache
def parse_type(text: str) -> dt.DataType | None:
    """Return Ibis' type of a name, without the mark for NOT NULL; None if Ibis knows none of that name."""
    try:
        return ibis.dtype(text.removeprefix("!"))
    except (RuntimeError, ValueError, TypeError):  # parsy's ParseError is a RuntimeError
        return None


def is_of_type(text: str, expected: str) -> bool:
    """Check whether a column's type is the one expected: in its family, or exactly that type.

    A timestamp's precision counts only if it is spelled out.
    """
    data_type = parse_type(text)
    family = FAMILIES.get(expected.casefold())
    if data_type is None:
        return text == expected
    if family is not None:
        return isinstance(data_type, tuple(getattr(dt, name) for name in family))
    current_data_type = parse_type(expected)
    if (
        isinstance(current_data_type, dt.Timestamp)
        and isinstance(data_type, dt.Timestamp)
        and current_data_type.scale is None
    ):
        return bool(current_data_type.timezone == data_type.timezone)
    return bool(current_data_type == data_type)


_NAMES: Final = (*FAMILIES, "int64", "int32", "float64", "timestamp('UTC')", "decimal(18, 2)")
"""Names of types that a misspelt one is compared with."""


def is_type_name(text: str) -> bool:
    """Check whether a type may be named so: a family, a type of Ibis, or what else an engine calls a type."""
    if text.casefold() in FAMILIES or parse_type(text) is not None:
        return True
    word = text.casefold().partition("(")[0]
    return is_engine_type(text) and not is_misspelling(word, {name.partition("(")[0] for name in _NAMES})


def _known_type(text: str) -> str:
    if is_type_name(text):
        return text
    hint = did_you_mean(text, _NAMES)
    raise ValueError(f"an Ibis type such as int64 or a family such as decimal, not '{text}'{hint}")


TypeName: TypeAlias = Annotated[
    str,
    AfterValidator(_known_type),
    Field(
        description="A family (int, decimal, string, timestamp ...), an Ibis type (int64, decimal(10, 2) ...), or the "
        "engine's own name of a type that Ibis has none for (tsvector).",
        examples=["int64", "decimal", "string", "timestamp('UTC')"],
    ),
]


_SHOWN: Final = 8

Columns: TypeAlias = Annotated[dict[ColumnName, TypeName | None], MinLen(1)] | ColumnNames


class Schema(CheckParameters):
    """The columns are the agreed ones, or, if none are named, those of the last accepted measurement."""

    summary: ClassVar[str] = "The columns and their types match the declared or last accepted schema."
    takes_where: ClassVar[bool] = False
    takes_on_empty: ClassVar[bool] = False
    judges_empty: ClassVar[bool] = True
    judges_absence: ClassVar[bool] = True

    type: Literal["schema"] = "schema"
    columns: Columns | None = Field(
        None, description="Names with types (null: any type), or names only; by default the last accepted columns."
    )
    extra: Literal["forbid", "allow"] = Field("forbid", description="Whether additional columns are allowed.")
    order: bool = Field(default=False, description="Whether the column order is checked.")
    on_change: Literal["incident", "notify"] = Field(
        "incident",
        description="Whether a change fails, or only warns once and is accepted.",
    )

    @model_validator(mode="after")
    def _notifies_of_accepted(self) -> Self:
        if self.on_change == "notify" and self.columns is not None:
            raise ValueError("'on_change: notify' compares with the columns seen last; remove 'columns'")
        return self

    def wants(self, context: Context) -> Wants:
        """Read the columns from the catalogue; without agreed ones, also those last accepted."""
        return Wants(schema=True, earlier=Earlier(accepted=True) if self.columns is None else None)

    def judge(self, measurement: Measurement, history: Sequence[PastMeasurement]) -> Outcome:
        """Fail when a column is missing, of another type, in the wrong place, or not expected."""
        columns = {name: kind.removeprefix("!") for name, kind in measurement.columns.items()}
        observed: dict[str, Json] = {"columns": columns, "order": list(columns)}
        agreed = self._agreed(history)
        if agreed is None:
            text = "no baseline yet; the first stored run records these {columns:count} columns as accepted"
            observed |= {"missing": None, "extra": None, "changed": None}
            return unknown(UnknownReason.NO_DATA, Message(text, {"columns": len(columns)}), observed)
        drift = _compare(columns, agreed.types, agreed.order if self.order else None)
        unexpected = drift.extra if self.extra == "forbid" else ()
        observed |= {"missing": drift.missing, "extra": drift.extra, "changed": drift.changed}
        expected: dict[str, Json] = {"columns": agreed.display_number, "extra": self.extra, "order": self.order}
        if not (drift.missing or drift.changed or unexpected or drift.reordered):
            return Outcome(Status.PASS, Message("the columns are as expected"), observed, expected)
        status = Status.FAIL if self.on_change == "incident" else Status.WARN
        return Outcome(status, _message_of(drift, unexpected), observed, expected)

    def _agreed(self, history: Sequence[PastMeasurement]) -> _ExpectedColumns | None:
        if isinstance(self.columns, dict):
            return _ExpectedColumns(self.columns, tuple(self.columns), dict(self.columns))
        if self.columns is not None:
            return _ExpectedColumns(dict.fromkeys(self.columns), self.columns, list(self.columns))
        pasts = [past for past in history if past.accepted and past.observed.get("columns")]
        if not pasts:
            return None
        last = max(pasts, key=lambda past: past.measured_at).observed
        types = dict(last["columns"])
        return _ExpectedColumns(types, tuple(last.get("order") or types), types)


def family_of(kind: str, families: Iterable[str]) -> str | None:
    """Return the first of some families that a type, by Ibis' name, is of; None if it is of none."""
    return next((name for name in families if is_of_type(kind, name)), None)


@dataclass(frozen=True, slots=True)
class _ExpectedColumns:
    """The columns to compare with: types by name (None: any type), their order, and how messages name them."""

    types: Mapping[str, str | None]
    order: tuple[str, ...]
    display_number: Json


@dataclass(frozen=True, slots=True)
class _Drift:
    missing: Sequence[str]
    extra: Sequence[str]
    changed: Sequence[Mapping[str, str]]
    reordered: bool


def _compare(columns: Mapping[str, str], agreed: Mapping[str, str | None], order: Sequence[str] | None) -> _Drift:
    common = [name for name in agreed if name in columns]
    return _Drift(
        missing=[name for name in agreed if name not in columns],
        extra=[name for name in columns if name not in agreed],
        changed=[
            {"column": name, "expected": kind, "observed": columns[name]}
            for name, kind in agreed.items()
            if kind is not None and name in columns and not is_of_type(columns[name], kind)
        ],
        reordered=order is not None
        and [name for name in order if name in columns] != [name for name in columns if name in common],
    )


_MESSAGES: Final = {
    (True, True, True): Message("missing columns: {missing}; unexpected: {extra}; changed type: {changed}"),
    (True, True, False): Message("missing columns: {missing}; unexpected: {extra}"),
    (True, False, True): Message("missing columns: {missing}; changed type: {changed}"),
    (True, False, False): Message("missing columns: {missing}"),
    (False, True, True): Message("unexpected columns: {extra}; changed type: {changed}"),
    (False, True, False): Message("unexpected columns: {extra}"),
    (False, False, True): Message("columns with a changed type: {changed}"),
    (False, False, False): Message("the column order has changed"),
}
"""What is said, by whether columns are missing, unexpected, of another type."""


def _message_of(drift: _Drift, unexpected: Sequence[str]) -> Message:
    changed = [f"{item['column']} ({item['expected']} → {item['observed']})" for item in drift.changed]
    text = _MESSAGES[bool(drift.missing), bool(unexpected), bool(changed)]
    return text.given(missing=_some(drift.missing), extra=_some(unexpected), changed=_some(changed))


def _some(names: Iterable[str]) -> str:
    every = list(names)
    more = len(every) - _SHOWN
    return ", ".join(every[:_SHOWN]) + (f" … (+{more})" if more > 0 else "")


CHECK: Final[type[Check]] = Schema
