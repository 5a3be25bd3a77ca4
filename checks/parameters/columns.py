"""Name columns, and say which types a question can be asked of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from operator import or_
from typing import Annotated, Any, Final, TypeAlias

from annotated_types import MinLen
from pydantic import AfterValidator, Field

from checks._contract import ColumnClass, Context, Misconfigured
from sources import did_you_mean
from sources.expressions import dt, ibis, ir


def _named_once(names: tuple[str, ...]) -> tuple[str, ...]:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"each column once; seen twice: {', '.join(twice)}")
    return names


ColumnName: TypeAlias = Annotated[str, MinLen(1)]
ColumnNames: TypeAlias = Annotated[tuple[ColumnName, ...], MinLen(1), AfterValidator(_named_once)]
QuasiIdentifiers: TypeAlias = Annotated[
    tuple[ColumnName, ...],
    AfterValidator(_named_once),
    Field(description="Quasi-identifiers; by default those the table classifies as such."),
]
SensitiveColumns: TypeAlias = Annotated[
    tuple[ColumnName, ...],
    AfterValidator(_named_once),
    Field(description="Sensitive columns, each evaluated separately; by default those the table classifies as such."),
]


_MOST_IN_A_ROW: Final = 16


def fit(context: Context, name: str, kinds: Iterable[type[dt.DataType]], *, text: str) -> ir.Column:
    """Return a column whose type is of one of these kinds. `text` says what for: `a range needs numbers or times`.

    Raises:
        Misconfigured: there is no such column, or its type does not fit; both are named.
    """
    column = context.column(name)
    if not isinstance(column.type(), tuple(kinds)):
        raise Misconfigured(f"column '{name}' is of type {type_name(column.type())}; {text}")
    return column


def is_null(column: ir.Column, dialect: str) -> ir.BooleanValue:
    """Return which values are NULL. NaN is none, though Ibis takes it for one on Spark."""
    null = column.isnull()
    return null & ~column.isnan() if dialect == "spark" and column.type().is_floating() else null


def without_null(rows: ir.Table, columns: Iterable[str], dialect: str) -> ir.Table:
    """Return the rows in which none of some columns is NULL."""
    return rows.filter(~joined(or_, [is_null(rows[name], dialect) for name in columns]))


def joined(operator: Callable[[Any, Any], Any], facts: Sequence[ir.BooleanValue]) -> Any:
    """Join predicates by `|` or `&`. Their depth grows with the logarithm of their number: compilers recurse."""
    if len(facts) <= _MOST_IN_A_ROW:
        return reduce(operator, facts)
    half = len(facts) // 2
    return operator(joined(operator, facts[:half]), joined(operator, facts[half:]))


def type_name(datatype: dt.DataType) -> str:
    """Return Ibis' name of a type, without the mark for NOT NULL."""
    return str(datatype).removeprefix("!")


def number_types() -> tuple[type[dt.DataType], ...]:
    """Return the types whose values are numbers."""
    return dt.Integer, dt.Floating, dt.Decimal


def common_kind(context: Context, own: str, other: str, *, of: str, must: str) -> dt.DataType:
    """Return a type in which a column and one of the reference table `of` compare; `must` says why they have to.

    Raises:
        Misconfigured: there is no such column, or it is of another kind.
    """
    table = context.references[of]
    if other not in table.columns:
        raise Misconfigured(f"column '{other}' not found in {of}{did_you_mean(other, table.columns)}")
    own_type, other_type = context.column(own).type(), table[other].type()
    kind = common_type(own_type, other_type)
    if kind is None:
        raise Misconfigured(
            f"column '{own}' is of type {type_name(own_type)} and {of}.{other} of type {type_name(other_type)}; {must}"
        )
    return kind


def common_type(own: dt.DataType, other: dt.DataType) -> dt.DataType | None:
    """Return a type in which values of both compare as they are; None if they are of two kinds."""
    kinds = (own, other)
    if all(kind.is_string() for kind in kinds):
        return dt.string
    if all(kind.is_integer() for kind in kinds):
        return dt.int64
    first, second = (kind.copy(nullable=True) for kind in kinds)
    if first == second:
        return first
    if all(kind.is_numeric() and not kind.is_boolean() for kind in kinds):
        return dt.float64
    return None


WITHOUT_NAN: Final = frozenset({"sqlite", "mssql"})
"""Engines that cannot be asked for NaN."""


def is_nan(column: ir.Column, dialect: str) -> ir.BooleanValue | None:
    """Return which values are NaN; None where there can be none.

    SQLite and SQL Server have no NaN, nor a word for it; of the others only PostgreSQL has decimals that are none.
    """
    kind = column.type()
    if dialect in WITHOUT_NAN:
        return None
    if kind.is_floating():
        return column.isnan()
    if kind.is_decimal() and dialect == "postgres":
        return column == ibis.literal("NaN").cast(dt.decimal)
    return None


def quasi_identifiers_of(context: Context, names: Sequence[str]) -> tuple[str, ...]:
    """Return the quasi-identifiers that a check names, else those that the table's configuration classifies as such.

    Raises:
        Misconfigured: there is none, or the table has no such column.
    """
    classified = [name for name, word in context.classified.items() if word is ColumnClass.QUASI_IDENTIFIER]
    if not names and not classified:
        raise Misconfigured(
            "no quasi-identifier: name them with 'quasi_identifiers', or classify the table's columns with 'columns'"
        )
    return tuple(context.column(name).get_name() for name in names or classified)
