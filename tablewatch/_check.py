"""Check a table without a configuration."""

import atexit
import os
from collections.abc import Iterable, Mapping
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING, Any

from tablewatch._errors import InvalidInput
from tablewatch._report import Report, report_of

if TYPE_CHECKING:
    from checks import Severity
    from monitor.workers import WorkerCalls


def check(
    data: Any,
    checks: Iterable[Any],
    *,
    name: str | None = None,
    references: Mapping[str, Any] | None = None,
    timezone: str | None = None,
    loaded_at: str | None = None,
    csv: Mapping[str, Any] | None = None,
    query_timeout: str | timedelta | None = None,
    fail_on: str = "info",
) -> Report:
    """Run checks on a table once, and store nothing.

    Args:
        data: A pandas, polars or Arrow table, a DuckDB relation, an Ibis table, or a path or glob of CSV or Parquet.
        checks: Mappings as in a configuration, such as `{"type": "not_null", "columns": ["id"]}`, or what the functions
            of `tablewatch.checks` return. Checks of one type that have no `id` are named after their columns.
        name: The table's name in results and in the SQL of checks; by default the file's stem, the name that an Ibis
            table has, or `data`.
        references: Other tables by name, for checks that refer to them.
        timezone: The IANA zone of naive time columns; without it, checks on them are unknown.
        loaded_at: The column with the load time of a row.
        csv: How CSV files are written, as `csv` of a source: `{"delimiter": ";"}`.
        query_timeout: The longest that a statement may take; one minute by default.
        fail_on: Minimum severity of a failure that makes the report not ok.

    Raises:
        InvalidInput: the data is no table, or the checks are wrong; the message has every problem.
    """
    from monitor.config import ConfigError
    from monitor.scan.ad_hoc import AdHocTable, check_data
    from monitor.terminal.redaction import Redactor

    severity = severity_of(fail_on)
    source = {"timezone": timezone, "csv": csv, "query_timeout": query_timeout}
    about = AdHocTable(
        name=name,
        references=references or {},
        source={key: value for key, value in source.items() if value is not None},
        table={} if loaded_at is None else {"loaded_at": loaded_at},
    )
    try:
        result = check_data(data, checks, about, fail_on=severity, caller=shared_caller())
    except ConfigError as error:
        raise InvalidInput(error.problems) from None
    return report_of(result, Redactor(), result.targets)


def build_check(kind: str, /, **parameters: Any) -> Any:
    """Return a check of a type.

    Raises:
        InvalidInput: a parameter is missing, unknown or wrong.
    """
    from monitor.config import ConfigError
    from monitor.config.checks import build_check as build
    from monitor.config.python_values import node_of

    try:
        return build(node_of({"type": kind, **parameters}, kind))
    except ConfigError as error:
        raise InvalidInput(error.problems) from None


@cache
def shared_caller() -> "WorkerCalls":
    """Return who calls Great Expectations for this process: its worker is kept until the process ends."""
    from checks.gx.caller import PRELOAD
    from monitor.workers import WorkerCalls

    calls = WorkerCalls(PRELOAD)
    atexit.register(_close, calls, os.getpid())
    return calls


def _close(calls: "WorkerCalls", owner: int) -> None:
    if os.getpid() == owner:  # a forked child leaves the worker to its parent
        calls.close()


os.register_at_fork(after_in_child=shared_caller.cache_clear)  # a forked child has its own


def severity_of(word: str) -> "Severity":
    """Return the severity that a word names.

    Raises:
        InvalidInput: it names none.
    """
    from checks import Severity
    from monitor.terminal.problem import Problem

    if word not in set(Severity):
        message = f"'{word}' is not a severity; expected one of {', '.join(Severity)}"
        raise InvalidInput([Problem("usage", message, "fail_on")])
    return Severity(word)
