"""Refuse whatever is not one SELECT, before the engine sees it."""

import re
from typing import Final

import sqlglot
from sqlglot import exp

from sources._contract import QueryFailed

_READS: Final = re.compile(r"[\s(]*(?:SELECT|WITH|VALUES)\b", re.IGNORECASE)
_WRITES: Final = (exp.DML, exp.DDL, exp.Command, exp.Into)


def refuse_other_words(sql: str, source: str) -> None:
    """Refuse a statement that does not begin as a query; for drivers that take a single statement and only read.

    Raises:
        QueryFailed: it begins otherwise.
    """
    if _READS.match(sql) is None:
        raise _refused(source)


def refuse_other_statements(sql: str, *, dialect: str, source: str) -> None:
    """Parse a statement and refuse all but one query that writes nowhere; for engines whose session may write.

    Raises:
        QueryFailed: it is something else, or cannot be parsed.
    """
    try:
        statements = sqlglot.parse(sql, read=dialect)
    except sqlglot.errors.SqlglotError as error:
        text = f"source '{source}': the statement cannot be parsed as {dialect} ({type(error).__name__})"
        raise QueryFailed(f"{text}; expected one SELECT") from None
    results = [statement for statement in statements if statement is not None]
    if len(results) != 1 or not isinstance(results[0], exp.Query) or any(results[0].find_all(*_WRITES)):
        raise _refused(source)


def _refused(source: str) -> QueryFailed:
    return QueryFailed(f"source '{source}': only one SELECT is run, the statement is something else; nothing was sent")
