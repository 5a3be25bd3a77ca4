"""Compare two tables without a configuration."""

from collections.abc import Sequence
from typing import Any

from tablewatch._check import build_check
from tablewatch._errors import InvalidInput
from tablewatch._report import Report, report_of


def diff(
    left: Any,
    right: Any,
    *,
    key: str | Sequence[str],
    columns: Sequence[str] | None = None,
    where: str | None = None,
    at_most: int = 0,
    names: tuple[str, str] = ("left", "right"),
    timezone: str | None = None,
) -> Report:
    """Compare the rows of two tables by a key, and store nothing: by checksums, of two Ibis tables by one statement.

    The report has one result, of type `diff`; its `observed` has the numbers of rows that differ, by column too. It is
    unknown, and not ok, where a key is repeated or the types of a column do not compare.

    Args:
        left: A table in any form that `check` takes.
        right: The other one; they may be in different forms.
        key: The columns that identify a row in both.
        columns: The columns to compare; by default all of both.
        where: A boolean SQL expression over the columns of both: which rows to compare.
        at_most: The number of differing rows that is no failure.
        names: How the tables are called in results.
        timezone: The IANA zone of naive time columns; those of UTC compare with times that know their zone.

    Raises:
        InvalidInput: an argument is wrong; the message has every problem.
    """
    from monitor.clock import SystemClock
    from monitor.config import ConfigError
    from monitor.scan.ad_hoc import AdHocTable, check_data, is_ibis, target_of
    from monitor.scan.two_tables import diff_tables
    from monitor.terminal.problem import Problem
    from monitor.terminal.redaction import Redactor

    if names[0] == names[1]:
        message = f"both tables are named '{names[0]}'; expected two names"
        raise InvalidInput([Problem("usage", message, "names")])
    keys = [key] if isinstance(key, str) else list(key)
    wanted = None if columns is None else list(columns)
    check = build_check("diff", against=names[1], key=keys, columns=wanted, where=where, at_most=at_most)
    source = {} if timezone is None else {"timezone": timezone}
    try:
        if is_ibis(left) and is_ibis(right):  # a connection is asked by one thread at a time
            about = AdHocTable(name=names[0], references={names[1]: right}, source=source)
            result = check_data(left, [check], about)
            return report_of(result, Redactor(), result.targets)
        one, other = (
            target_of(data, AdHocTable(name=name, source=source))
            for data, name in zip((left, right), names, strict=True)
        )
    except ConfigError as error:
        raise InvalidInput(error.problems) from None
    result = diff_tables(one, other, check, SystemClock())
    return report_of(result, Redactor(), result.targets)
