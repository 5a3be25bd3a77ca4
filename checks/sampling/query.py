"""Draw the rows of a sample, and ask a check for its aggregates over them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from checks._contract import Check, Context, Misconfigured, Wants
from checks.parameters.rows import Sampling
from sources.expressions import engine_function, ibis, ir

SAMPLE: Final = "sample"
"""The name of the query, and of the table that comes back."""
BLOCKS: Final = "@blocks"
BLOCK_BYTES: Final = "@block_bytes"
_PART: Final = "@part"


def sampled_wants(check: Check, context: Context) -> Wants:
    """Return what a check wants of a sample: a row of aggregates, or a row for each kind of block.

    The load time of the first bad row is left out: that of a sample is not that of the table.

    Raises:
        Misconfigured: the parameters do not fit the table, or the engine cannot draw blocks of it.
    """
    sample = check.sampling
    if sample is None:
        raise TypeError("only a check with 'sample' is estimated")
    table = _drawn_blocks(sample, context) if sample.method == "blocks" else _drawn_rows(sample, context)
    wants = check.wants(replace(context, table=table, loaded_at=None))
    query = _of_blocks(table, wants.aggregates) if sample.method == "blocks" else table.aggregate(**wants.aggregates)
    return replace(wants, aggregates={}, queries={SAMPLE: query})


def _drawn_rows(sample: Sampling, context: Context) -> ir.Table:
    """Return each row with the same probability; a filter is evaluated once for each row, on every engine."""
    return context.table.filter(ibis.random() < sample.share)


def _drawn_blocks(sample: Sampling, context: Context) -> ir.Table:
    """Return the rows of blocks, with the place of each: PostgreSQL reads no other block.

    Raises:
        Misconfigured: it is another engine, or a table as of a past time.
    """
    import ibis.expr.operations as ops
    from sqlglot import exp

    if context.dialect != "postgres":
        text = f"'method: blocks' is for tables of PostgreSQL; of {context.dialect} every row is read: 'method: rows'"
        raise Misconfigured(text)
    table = context.table.op()
    if not isinstance(table, ops.DatabaseTable):
        raise Misconfigured("'method: blocks' reads a table as it is now, not as of a past time; use 'method: rows'")
    name = exp.table_(table.name, db=table.namespace.database, catalog=table.namespace.catalog, quoted=True)
    columns = ", ".join(f"q.{exp.to_identifier(column, quoted=True).sql('postgres')}" for column in table.schema)
    place = f'split_part(CAST(q.ctid AS text), \',\', 1) AS "{BLOCKS}", CAST(q.tableoid AS bigint) AS "{_PART}"'
    sampled = f"FROM {name.sql('postgres')} AS q TABLESAMPLE SYSTEM ({100 * sample.share})"
    schema = ibis.schema({**table.schema, BLOCKS: "string", _PART: "int64"})
    return ops.SQLQueryResult(f"SELECT {columns}, {place} {sampled}", schema, table.source).to_expr()


def _of_blocks(table: ir.Table, aggregates: Mapping[str, Any]) -> ir.Table:
    """Return how many blocks have the same aggregates. One that holds no visible row is none."""
    blocks = table.group_by(BLOCKS, _PART).aggregate(**aggregates).drop(BLOCKS, _PART)
    alike = blocks.group_by(list(aggregates)).aggregate(**{BLOCKS: blocks.count()})
    setting = engine_function("current_setting", ["string"], "string")
    return alike.mutate(**{BLOCK_BYTES: setting("block_size").cast("int64")})
