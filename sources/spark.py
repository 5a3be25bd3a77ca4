"""Tables that Spark knows, by a master (`local[2]`, `spark://...`) or a Spark Connect address (`sc://...`).

Needs the extra `[spark]` and, for a master, Java. A master's session lives for the pass; a session that this process
has already is left running. Spark itself has no read-only mode: nothing but a single SELECT is sent to it.
"""

import logging
import re
import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from tempfile import TemporaryDirectory
from typing import Any, Final

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.types as ir
import pandas as pd
import pyarrow as pa
from ibis.backends.pyspark.datatypes import PySparkType
from ibis.backends.sql import SQLBackend
from ibis.common.exceptions import TableNotFound as NoSuchTable
from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import StructField, TimestampType
from sqlglot import exp

from sources._contract import PermissionDenied, QueryFailed, Source, SourceError, TimedOut, Unreachable
from sources._deadline import Deadlines
from sources._engine import FetchedRows, UnlistedSource, refuse_other_statements
from sources._spec import scheme_of

_SETTINGS: Final = {
    "spark.app.name": "tablewatch",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
}
_PORTS: Final = {"sc": "15002", "spark": "7077"}
_NOT_FOUND: Final = {
    "TABLE_OR_VIEW_NOT_FOUND",
    "SCHEMA_NOT_FOUND",
    "CATALOG_NOT_FOUND",
    "REQUIRES_SINGLE_PART_NAMESPACE",  # an unknown catalogue before a schema
}
_DENIED: Final = {"42501", "28000"}
_PRINT_VALUES: Final = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")


class Spark(UnlistedSource):
    """A Spark session."""

    dialect = "spark"
    _session: SparkSession
    _deadlines: Deadlines

    def _open(self, closing: ExitStack) -> None:
        address = self._spec.spark or ""
        self._probe(address)
        for name in _PRINT_VALUES:
            logging.getLogger(name).disabled = True
        try:
            self._session = _session(address, closing)
            self._deadlines = closing.enter_context(Deadlines(self.query_timeout, self._interrupt))
            self._own = ibis.pyspark.connect(self._session)
        except (PySparkException, Py4JError, ValueError, RuntimeError, OSError) as error:
            raise Unreachable(
                self._error_text("the Spark session could not be created; check the address, and Java", error)
            ) from None

    def _make_backend(self) -> SQLBackend:
        return self._own

    def _interrupt(self) -> None:
        """Stop what runs; a session that cannot be asked now is asked again, since the deadline has passed."""
        with suppress(PySparkException, Py4JError, OSError):
            self._session.interruptAll()

    def _probe(self, address: str) -> None:
        """Knock at the servers' doors first: Spark itself would wait for minutes."""
        port = _PORTS.get(scheme_of(address))
        if port is None:
            return
        hosts = re.split(r"[/;?]", address.partition("://")[2])[0].rpartition("@")[2].split(",")
        limit = self._spec.connect_timeout.total_seconds()
        if not any(_answers(host, port, limit) for host in hosts):
            text = f"no answer from the address within {limit:g} s; see connect_timeout"
            raise Unreachable(f"source '{self.name}': {text}")

    def _look_up(self, table: str, place: Sequence[str]) -> ir.Table:
        catalog, schema = (place[-2] if len(place) > 1 else None), (place[-1] if place else None)
        whole = exp.select("*").from_(exp.table_(table, db=schema, catalog=catalog, quoted=True)).limit(0)
        try:
            result = self._session.sql(whole.sql("spark")).schema
        except AnalysisException as error:
            if error.getCondition() in _NOT_FOUND:
                raise NoSuchTable(table) from None
            raise
        types = {field.name: _type(field) for field in result.fields}
        return ibis.table(types, name=table, catalog=catalog, database=schema)

    def _run(self, sql: str) -> FetchedRows:
        result = self._table(sql)
        return FetchedRows(result.column_names, [tuple(row.values()) for row in result.to_pylist()])

    def _run_frame(self, sql: str) -> pd.DataFrame:
        frame: pd.DataFrame = self._table(sql).to_pandas()
        return frame

    def _table(self, sql: str) -> pa.Table:
        refuse_other_statements(sql, dialect=self.dialect, source=self.name)
        return self._session.sql(sql).toArrow()  # collect() would tell moments in the zone of this machine

    @contextmanager
    def _asking(self) -> Iterator[None]:
        with self._deadlines.work() as deadline:
            try:
                yield
            except (PySparkException, Py4JError) as error:
                if deadline.passed:
                    limit = f"{self.query_timeout.total_seconds():g} s"
                    raise TimedOut(self._error_text(f"no answer within {limit}; see query_timeout", error)) from None
                raise self._source_error_of(error) from None

    def _source_error_of(self, error: PySparkException | Py4JError) -> SourceError:
        condition = error.getCondition() if isinstance(error, PySparkException) else None
        state = error.getSqlState() if isinstance(error, PySparkException) else None
        if state in _DENIED:
            return PermissionDenied(
                self._error_text("the account may not read this; expected the right to SELECT", error)
            )
        return QueryFailed(self._error_text(f"Spark refused the statement: {condition or 'no error condition'}", error))


def _answers(host: str, port: str, limit: float) -> bool:
    name, _, port_in_host = host.partition(":")
    try:
        socket.create_connection((name, int(port_in_host or port)), timeout=limit).close()
    except (OSError, ValueError):  # ValueError: the port is no number
        return False
    return True


def _session(address: str, closing: ExitStack) -> Any:  # a master's and Connect's sessions share no type
    if address.startswith("sc://"):
        # Not by SparkSession.builder, which would turn the whole process, and its children, to Spark Connect.
        from pyspark.sql.connect.session import SparkSession as Remote

        remote = Remote.builder.remote(address).create()
        closing.callback(remote.stop)
        return remote
    running = _running()
    if running is not None:
        return running.newSession()
    # Spark makes a folder for tables it might have to keep, by default in the folder where the command was started.
    unused = closing.enter_context(TemporaryDirectory(prefix="tablewatch-", ignore_cleanup_errors=True))
    builder = SparkSession.builder.master(address).config("spark.sql.warehouse.dir", unused)
    for name, value in _SETTINGS.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    closing.callback(session.stop)
    session.sparkContext.setLogLevel("OFF")  # its warnings print values
    return session


def _running() -> SparkSession | None:
    """Return a session that this process has already, in whichever thread."""
    try:
        return SparkSession.active()
    except PySparkException:
        return None


def _type(field: StructField) -> dt.DataType:
    """Return Ibis' type of a column; Ibis itself forgets that Spark's TIMESTAMP is a moment."""
    if isinstance(field.dataType, TimestampType):
        return dt.Timestamp(timezone="UTC", nullable=field.nullable)
    try:
        return PySparkType.to_ibis(field.dataType, nullable=field.nullable)
    except NotImplementedError:
        return dt.Unknown(nullable=field.nullable)


SOURCE: Final[type[Source]] = Spark
