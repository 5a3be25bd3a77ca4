"""Tables of any other engine that Ibis reaches by URL (MySQL, Snowflake, BigQuery, Trino ...).

What is known of such an engine is what Ibis knows. Nothing but a single SELECT is sent, but the session itself may
write, and no timeout is set here: give an account that may only read, and rely on the deadline of the worker.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from datetime import UTC, datetime
from functools import partial
from types import TracebackType
from typing import Any, Final

import ibis
import ibis.expr.types as ir
from ibis.backends.sql import SQLBackend
from ibis.common.exceptions import IbisError
from ibis.util import backend_entry_points
from sqlglot import exp

from sources._contract import PermissionDenied, QueryFailed, RowEstimate, Source, SourceError, Unreachable
from sources._engine import FetchedRows, UnlistedSource, refuse_other_statements
from sources._floats import hide_in_query
from sources._names import did_you_mean
from sources._spec import SourceSpec, scheme_of

_PEP_249: Final = {"Error", "InterfaceError", "DatabaseError"}
_OF_CLIENTS: Final = {"GoogleAPIError", "GoogleAuthError", "ClickHouseError", "TrinoConnectionError", "RpcError"}
_FORBIDDEN: Final = {"Forbidden", "PermissionDenied", "InsufficientPrivilege", "Unauthorized"}
_ODD_URL: Final = (ValueError, TypeError, LookupError, AttributeError)


_TABLES: Final = "SELECT table_name, {rows}, last_altered FROM {{catalog}}information_schema.tables"
_FIGURES: Final[Mapping[str, tuple[str, str]]] = {
    "snowflake": (_TABLES.format(rows="row_count") + " WHERE table_schema = {text}", "table_name"),
    "databricks": (_TABLES.format(rows="NULL") + " WHERE table_schema = {text}", "table_name"),
    "bigquery": (
        "SELECT table_id, row_count, TIMESTAMP_MILLIS(last_modified_time) FROM {schema}.__TABLES__ WHERE TRUE",
        "table_id",
    ),
}
"""Rows and last change of the tables of a schema, and the column with their names, by dialect."""


class IbisUrl(UnlistedSource):
    """An engine by the URL that `ibis.connect` takes."""

    dialect = "ansi"  # until it is open: then the engine's own

    def __init__(self, spec: SourceSpec) -> None:
        super().__init__(spec)
        self._relations: dict[str, Mapping[str, Any]] = {}

    def _open(self, closing: ExitStack) -> None:
        with _ErrorTranslation(self._why_closed):
            backend = ibis.connect(self._spec.url or "")
        if not isinstance(backend, SQLBackend):
            raise Unreachable(f"source '{self.name}': '{backend.name}' is not an SQL engine")
        closing.callback(backend.disconnect)
        self.dialect = backend.dialect.__name__.lower()
        self._own = backend

    def _make_backend(self) -> SQLBackend:
        return self._own

    def row_estimate(self, name: str) -> RowEstimate | None:
        """Return the number of rows that the information schema of Snowflake or BigQuery says; None of others."""
        rows = self._figures_of(name)[0]
        return None if rows is None else RowEstimate(int(rows), 0, None)

    def last_write(self, name: str) -> datetime | None:
        """Return when the information schema says that a table last changed, which a new column does, too."""
        if self.dialect not in _FIGURES:
            return super().last_write(name)
        changed = self._figures_of(name)[1]
        return changed if changed is None or changed.tzinfo else changed.replace(tzinfo=UTC)

    def _figures_of(self, name: str) -> tuple[int | None, datetime | None]:
        if self.dialect not in _FIGURES:
            self._find(name)
            return None, None
        entry = self._find(name)
        with self._talking():
            return self._of_catalogue("figures", entry, partial(self._read_figures, entry.catalog)) or (None, None)

    def _read_figures(self, catalog: str, schema: str, table: str | None) -> Mapping[str, Any]:
        """Read rows and last change by table, in one statement for a schema."""
        named, dialect = schema or self._own.current_database, self.dialect
        place = [exp.to_identifier(part, quoted=True).sql(dialect) for part in (catalog, named) if part]
        text, column = (exp.Literal.string(word).sql(dialect) for word in (named, table or ""))
        sql, name = _FIGURES[dialect]
        sql = sql.format(catalog="".join(f"{part}." for part in place[:-1]), schema=".".join(place), text=text)
        sql += "" if table is None else f" AND {name} = {column}"
        return {name: tuple(figures) for name, *figures in self._run(sql).cells}

    def _look_up(self, table: str, place: Sequence[str]) -> ir.Table:
        return self._backend.table(table, database=tuple(place) or None)

    def _run(self, sql: str) -> FetchedRows:
        query = refuse_other_statements(sql, dialect=self.dialect, source=self.name)
        if self.dialect == "duckdb":
            sql = hide_in_query(sql, query, self._types_of)
        return self._rows(self._backend.raw_sql(sql))

    def _types_of(self, relation: str) -> Mapping[str, Any]:
        """Return the types of what DuckDB can read from; none where it cannot be read by itself, as LATERAL."""
        if relation not in self._relations:
            self._relations[relation] = {}
            with suppress(SourceError), _ErrorTranslation(self._why_failed):
                columns = self._rows(self._backend.raw_sql(f"DESCRIBE FROM {relation}")).cells
                self._relations[relation] = {name: kind for name, kind, *_ in columns}
        return self._relations[relation]

    def _rows(self, result: Any) -> FetchedRows:
        """Read what `raw_sql` gave: a PEP 249 cursor, else what the clients of ClickHouse and BigQuery give."""
        if hasattr(result, "fetchall"):
            return FetchedRows([column[0] for column in result.description], [tuple(row) for row in result.fetchall()])
        if hasattr(result, "result_rows"):
            return FetchedRows(result.column_names, [tuple(row) for row in result.result_rows])
        if hasattr(result, "schema"):
            return FetchedRows([field.name for field in result.schema], [tuple(row.values()) for row in result])
        raise QueryFailed(f"source '{self.name}': {self.dialect} returns results in an unsupported form")

    def _asking(self) -> AbstractContextManager[None]:
        return _ErrorTranslation(self._why_failed)

    def _why_closed(self, error: BaseException) -> SourceError | None:
        scheme = scheme_of(self._spec.url or "")
        entries = {entry.name for entry in backend_entry_points()}
        if not scheme:
            return Unreachable(f"source '{self.name}': its URL does not start with an engine; expected ENGINE://...")
        if scheme not in entries:
            hint = did_you_mean(scheme, entries)
            return Unreachable(f"source '{self.name}': Ibis has no backend '{scheme}'{hint}")
        if isinstance(error, ImportError):
            text = f"the driver of {scheme} is not installed; install 'ibis-framework[{scheme}]'"
            return Unreachable(self._error_text(text, error))
        if _is_driver_error(error) or isinstance(error, _ODD_URL):
            return Unreachable(self._error_text(f"{scheme} cannot be reached with this URL; check its parts", error))
        return None

    def _why_failed(self, error: BaseException) -> SourceError | None:
        if not _is_driver_error(error):
            return None
        if _names_of(error) & _FORBIDDEN:
            return PermissionDenied(
                self._error_text("the account may not read this; expected the right to SELECT", error)
            )
        if isinstance(error, OSError) or "InterfaceError" in _names_of(error):
            return Unreachable(self._error_text("the connection was lost", error))
        return QueryFailed(self._error_text(f"{self.dialect} refused the statement", error))


class _ErrorTranslation:
    """Replace an error that `say` has words for; others pass. For drivers that are unknown before they are loaded."""

    def __init__(self, say: Callable[[BaseException], SourceError | None]) -> None:
        self._source_error_of = say

    def __enter__(self) -> None:
        """Start to listen."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if (
            error is not None
            and not isinstance(error, SourceError)
            and (text := self._source_error_of(error)) is not None
        ):
            raise text from None


def _is_driver_error(error: BaseException) -> bool:
    return isinstance(error, (IbisError, OSError)) or bool(_names_of(error) & (_PEP_249 | _OF_CLIENTS | _FORBIDDEN))


def _names_of(error: BaseException) -> set[str]:
    return {kind.__name__ for kind in type(error).__mro__}


SOURCE: Final[type[Source]] = IbisUrl
