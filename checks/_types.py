"""Parse which type a column should have: by Ibis' own name, or by the name of a family."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Annotated, Final, TypeAlias

from pydantic import AfterValidator, Field

from sources import did_you_mean
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


def _known_type(text: str) -> str:
    if text.casefold() not in FAMILIES and parse_type(text) is None:
        hint = did_you_mean(text, (*FAMILIES, "int64", "int32", "float64", "timestamp('UTC')", "decimal(18, 2)"))
        raise ValueError(f"an Ibis type such as int64 or a family such as decimal, not '{text}'{hint}")
    return text


TypeName: TypeAlias = Annotated[
    str,
    AfterValidator(_known_type),
    Field(
        description="A family (int, decimal, string, timestamp ...) or an Ibis type (int64, decimal(10, 2) ...).",
        examples=["int64", "decimal", "string", "timestamp('UTC')"],
    ),
]
