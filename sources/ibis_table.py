"""Tables that are Ibis expressions already, asked where they live, over the connection that made them.

The connection belongs to the caller: its settings are left as they are and it is not closed. A table without an
SQL engine behind it (memtables, polars), and one of SQLite, whose connections stay in their thread, is read as Arrow.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from typing import Any, Final

import ibis.expr.operations as ops
import ibis.expr.types as ir
from ibis.backends.sql import SQLBackend
from ibis.common.exceptions import IbisError

from sources._contract import Source, Unreachable
from sources._engine import CatalogueEntry
from sources.ibis_url import IbisUrl


class IbisTable(IbisUrl):
    """Ibis tables of one engine, by the name that each has here."""

    _is_own_backend = False

    def _open(self, closing: ExitStack) -> None:
        del closing
        backend = sql_backend(*self._tables.values())
        if backend is None:
            raise Unreachable(f"source '{self.name}': its tables are not of one SQL engine")
        self.dialect = backend.dialect.__name__.lower()
        self._own = backend

    def _make_backend(self) -> SQLBackend:
        return self._own

    @property
    def _tables(self) -> Mapping[str, ir.Table]:
        return self._spec.frames or {}

    def _list(self) -> Iterable[CatalogueEntry]:
        return (CatalogueEntry("", "", name, bare=True) for name in self._tables)

    def _describe(self, entry: CatalogueEntry) -> ir.Table:
        return self._tables[entry.table]


def is_ibis_table(value: Any) -> bool:
    """Check whether a value is a table of Ibis."""
    return isinstance(value, ir.Table)


def sql_backend(*tables: ir.Table) -> SQLBackend | None:
    """Return the SQL engine that all of these tables live in and that may be asked from any thread; None without."""
    backends = []
    for table in tables:
        if table.op().find(ops.InMemoryTable):
            return None
        try:
            backends.append(table.get_backend())
        except IbisError:
            return None
    first, *others = backends
    usable = isinstance(first, SQLBackend) and first.name != "sqlite" and all(other is first for other in others)
    return first if usable else None


def name_of(table: ir.Table) -> str | None:
    """Return the name of a table as its engine has it; None of an expression over tables."""
    return table.get_name() if isinstance(table.op(), ops.DatabaseTable) else None


def as_stream(table: ir.Table) -> Any:
    """Return the rows of a table as a stream of Arrow batches.

    Raises:
        Unreachable: its engine cannot compute it.
    """
    try:
        with warnings.catch_warnings():  # Ibis 12 asks pandas 3 for an option that went out of use
            warnings.filterwarnings("ignore", "The 'future.infer_string' option")
            if table.op().find(ops.InMemoryTable):  # Ibis 12 streams from DuckDB by a method that DuckDB 2 removed
                return table.to_pyarrow().to_reader()
            return table.to_pyarrow_batches()
    except IbisError as error:
        raise Unreachable(f"the Ibis table cannot be computed ({type(error).__name__})") from None


SOURCE: Final[type[Source]] = IbisTable
