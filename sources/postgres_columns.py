"""Read the columns of a PostgreSQL table: a domain as the type below it, an enum as what it is, money as a number.

Ibis takes an enum that the search path shows for plain text and every domain for a type that it does not know. But the
server lets a text beside an enum only if it is one of its labels, so comparisons have to know.
"""

from collections.abc import Sequence
from typing import Any, Final

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.operations as ops
import ibis.expr.types as ir

_MONEY: Final = "money"
"""A type that compares with itself only; the server casts it to a number exactly."""


class Enum(dt.String):  # type: ignore[misc]  # Ibis has no types
    """Text of which the engine knows every label. A cast to `string` makes it any text."""

    def __str__(self) -> str:
        """Return the name by which a configuration and the store know it."""
        return str(dt.String(nullable=self.nullable))


def table_of(
    backend: Any, described: Sequence[tuple[str, str | None, bool]], *, catalog: str, schema: str, name: str
) -> ir.Table:
    """Return a table of Ibis' PostgreSQL backend as an expression.

    `described`: of each column its name, its type (None for an enum) and whether it may be NULL.
    """
    columns, money, type_of = {}, [], backend.compiler.type_mapper.from_string
    for column, kind, nullable in described:
        columns[column] = Enum(nullable=nullable) if kind is None else type_of(kind, nullable=nullable)
        money += [column] if kind == _MONEY else []
    place = ops.Namespace(catalog=catalog, database=schema)
    table = ops.DatabaseTable(name, schema=ibis.schema(columns), source=backend, namespace=place).to_expr()
    return table.mutate(**{column: table[column].cast(dt.Decimal()) for column in money}) if money else table
