"""Check a table without a configuration."""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from tablewatch._errors import InvalidInput
from tablewatch._report import Report, report_of

if TYPE_CHECKING:
    from checks import Severity


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
        result = check_data(data, checks, about, fail_on=severity)
    except ConfigError as error:
        raise InvalidInput(error.problems) from None
    return report_of(result, Redactor())


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
