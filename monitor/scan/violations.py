"""Which rows break a check: the SELECT that lists them, and some of them, read from the source when asked for."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from checks import Check, Misconfigured
from monitor.config.project import Project
from monitor.scan.planner import violations
from monitor.scan.results import Target, targets_of
from monitor.scan.sql_template import TimeLiterals
from sources import Source, SourceError, open_source


class NoRows(Exception):
    """Why there are no rows to list: no row alone breaks such a check, or the table cannot be read."""


def violations_sql(project: Project, table: str, check: Check | None, at: datetime) -> str:
    """Return the SELECT, in the dialect of the source, of the rows or keys that break a check at a time.

    Its literals are those of the configuration, and the time. Reads the catalogue; never runs it.

    Raises:
        NoRows: there is none.
    """
    if check is None:
        raise NoRows("the check is not configured: there are no rows to list")
    (target,) = targets_of(project, {table: [check.name]})
    with _opened(target, check) as source:
        select = _select(source, target, check, at, limit=None)
    files = target.source.files
    return select if files is None else f"-- {target.subject.relation} is read from {files}\n{select}"


def violating_rows(target: Target, check: Check, at: datetime, *, limit: int) -> Sequence[Mapping[str, Any]]:
    """Read up to `limit` of the rows or keys that break a check, by column. They are data: never store them.

    Raises:
        NoRows: there are none to be listed.
    """
    with _opened(target, check) as source:
        return source.fetch(_select(source, target, check, at, limit=limit))


def _select(source: Source, target: Target, check: Check, at: datetime, *, limit: int | None) -> str:
    statement = violations(target.subject, check, source, limit=limit)
    if statement is None:
        raise NoRows(f"a check of type {check.type} is of the table as a whole: there are no rows to list")
    return statement.fill(at, TimeLiterals(source))


@contextmanager
def _opened(target: Target, check: Check) -> Iterator[Source]:
    if check.type in {"external", "expectation"}:
        raise NoRows("another tool evaluates this check, and knows the rows")
    if type((target.source.frames or {}).get(target.subject.relation)).__name__ == "RecordBatchReader":
        raise NoRows("the data was a stream, which is read once; check a table of it")
    try:
        with open_source(target.source) as source:
            yield source
    except (SourceError, Misconfigured) as error:
        raise NoRows(f"the rows cannot be listed: {error}") from None
