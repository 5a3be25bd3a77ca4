"""Ibis' view of a DuckDB connection whose settings are made and locked."""

from collections.abc import Sequence
from typing import Any

import duckdb
import sqlglot.expressions as sge
from ibis.backends.duckdb import Backend
from ibis.backends.sql.compilers.base import STAR
from ibis.backends.sql.compilers.duckdb import DuckDBCompiler


class _Compiler(DuckDBCompiler):
    """Ibis' compiler, with a rule of our own."""

    __slots__ = ()

    def visit_CountStar(self, op: object, *, arg: object, where: sge.Expression | None) -> Any:
        """Count the rows that meet a condition by CASE, which DuckDB runs in two thirds of the time of FILTER."""
        del op, arg
        return self.f.count(STAR if where is None else self.if_(where, sge.convert(1), sge.null()))


class _Backend(Backend):
    """Ibis' backend, which changes no settings of a connection that is given to it."""

    compiler = _Compiler()

    def _post_connect(self, extensions: Sequence[str] | None = None) -> None:
        del extensions
        self._record_batch_readers_consumed: dict[str, bool] = {}


def backend_of(connection: duckdb.DuckDBPyConnection) -> Backend:
    """Return the view of a connection."""
    return _Backend.from_connection(connection)
