"""Hash rows inside the engine that holds them, so that a change of any is seen without reading one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Final

from sources import engine_function
from sources.expressions import dt, ibis, ir

_SQLITE_HASH: Final = "tablewatch_hash"
_HALF: Final = 0xFFFF_FFFF
_POSITIVE: Final = 0x7FFF_FFFF_FFFF_FFFF


def row_hash(columns: Sequence[ir.Column], dialect: str) -> ir.IntegerColumn | None:
    """Hash each row's cells to 63 bits; None where it is not known how.

    Equal rows have equal hashes, for as long as the engine is not upgraded.
    """
    if dialect == "duckdb":
        hashed = engine_function("hash", [column.type() for column in columns], dt.uint64)(*columns)
        return (hashed >> 1).cast("int64")
    if dialect == "sqlite":
        return engine_function(_SQLITE_HASH, [column.type() for column in columns], dt.int64)(*columns)
    if dialect == "postgres":
        return reduce(_chained, columns, ibis.literal(0, "int64"))
    if dialect == "spark":
        return engine_function("xxhash64", [column.type() for column in columns], dt.int64)(*columns) & _POSITIVE
    return None


def hash_sums(hashed: ir.IntegerColumn, dialect: str) -> tuple[ir.Value, ir.Value]:
    """Add up hashes in two halves, neither of which overflows below 2^31 rows: the same sums for the same rows."""
    low, high = hashed & _HALF, (hashed >> 32) & _HALF
    return _whole(low.sum(), dialect), _whole(high.sum(), dialect)


def _whole(total: ir.IntegerScalar, dialect: str) -> ir.Value:
    """Take a sum as 8 bytes; Ibis takes it for such, where these engines have a wider type for it."""
    wide = total.cast("decimal(38, 0)") if dialect in {"duckdb", "postgres"} else total
    return wide.cast("int64")


def _chained(seed: ir.IntegerValue, column: ir.Column) -> ir.IntegerColumn:
    chain = engine_function("hashtextextended", [dt.string, dt.int64], dt.int64)
    return column.isnull().ifelse(chain(ibis.literal("NULL"), seed ^ 1), chain(column.cast("string"), seed))
