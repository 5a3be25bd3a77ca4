"""Comparisons of floats in DuckDB that hold for NaN too.

The least and greatest value that a Parquet file keeps of its columns leave NaN out, and DuckDB decides comparisons by
them, for all rows at once: `x > 1` was true of no row where the greatest number is 1, though NaN is greater than every
number (duckdb#25521). Arrow, which reads tables of lakes, takes NaN for less. DuckDB compares what a function returns
itself, row by row: `greatest(x)`, which is x, also of structs and lists.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import sqlglot
from sqlglot import exp

from sources._names import quote_name

if TYPE_CHECKING:
    import duckdb
    import ibis.expr.types as ir

_FLOATS: Final = re.compile(r"float|double", re.IGNORECASE)


def hidden(types: Mapping[str, object]) -> str:
    """Return SQL for the columns that hold floats, also inside of others; "" where none does.

    Args:
        types: the types of columns, of Arrow, Ibis or DuckDB.
    """
    floats = (quote_name(name) for name, kind in types.items() if _FLOATS.search(str(kind)))
    return ", ".join(f"greatest({name}) AS {name}" for name in floats)


def hide_from_statistics(connection: duckdb.DuckDBPyConnection, view: ir.Table) -> ir.Table:
    """Return a view whose floats are compared row by row."""
    replaced = hidden(view.schema())
    if replaced:
        name = view.get_name()
        rows = quote_name(f"{name}\x1frows")
        connection.execute(f"ALTER VIEW {quote_name(name)} RENAME TO {rows}")
        connection.execute(f"CREATE TEMPORARY VIEW {quote_name(name)} AS FROM {rows} SELECT * REPLACE ({replaced})")
    return view


def hide_in_query(sql: str, query: exp.Query, types_of: Callable[[str], Mapping[str, object]]) -> str:
    """Return a query that compares the floats of each relation row by row; for connections that are not ours.

    Args:
        sql: its text, which is returned where no relation has floats.
        query: its tree; it is changed.
        types_of: the types of a relation's columns, by the text that stands after FROM.
    """
    changed = False
    for table in list(query.find_all(exp.Table)):
        relation = exp.Table(**{part: table.args.get(part) for part in ("this", "db", "catalog")}).sql("duckdb")
        replaced = "" if _is_of_with(table) else hidden(types_of(relation))
        if replaced:
            rows: Any = sqlglot.parse_one(f"(FROM {relation} SELECT * REPLACE ({replaced}))", read="duckdb")
            alias = table.args.get("alias") or exp.TableAlias(this=exp.to_identifier(table.name, quoted=True))
            rest = {part: table.args.get(part) for part in ("joins", "laterals", "pivots", "sample")}
            table.replace(exp.Subquery(this=rows.this, alias=alias, **rest))
            changed = True
    if not changed:
        return sql
    for column in query.find_all(exp.Column):  # its table stands in no schema now
        column.set("db", None)
        column.set("catalog", None)
    return query.sql("duckdb")


def _is_of_with(table: exp.Table) -> bool:
    """Return whether a name is that of a query in a WITH around it."""
    inner: exp.Expr | None = table
    passed: exp.Expr | None = None
    while inner is not None and not table.db:
        for cte in getattr(inner, "ctes", ()):
            if cte is passed and not inner.args["with_"].args.get("recursive"):
                break
            if cte.alias.casefold() == table.name.casefold():
                return True
        passed = inner if isinstance(inner, exp.CTE) else passed
        inner = inner.parent
    return False
