"""A query of one's own returns no row."""

import pytest
from pydantic import ValidationError

from checks import Misconfigured, Status, UnknownReason
from checks.sql import Sql
from tests.checks.ask import Question, Rows, ask, place
from tests.monitor.config.effects.effect import ABSENT

OBSERVED = {"rows", "violations"}
EFFECTS = {
    "query": ({}, "SELECT * FROM t WHERE id > 9", "SELECT * FROM t"),
    "max": ({"query": "SELECT * FROM t"}, 0, 4),
    "warn": ({"query": "SELECT * FROM t", "max": 4}, ABSENT, {"max": 3}),
    "on_empty": ({"query": "SELECT * FROM t"}, "unknown", "pass"),
}
CANARIES = [
    {"query": "SELECT name, email FROM {relation} WHERE age > 5"},
    {"query": "SELECT CAST(code AS INTEGER) AS n FROM {relation} WHERE CAST(code AS INTEGER) > 1"},
    {"query": "SELECT CAST(name AS DATE) AS n FROM {relation}"},
    {"query": "SELECT age / 0 AS n FROM {relation} WHERE nowhere = 1"},
    {"query": "SELECT name FROM nothing_of_this_name"},
    {"query": "SELECT name FROM {relation} WHERE name = 'nobody'"},
]

TYPES = {"a": "int", "b": "text"}
QUERY = 'SELECT * FROM t WHERE a < 0 -- who pays "less" than nothing?'


@pytest.mark.parametrize(
    ("values", "status", "message"),
    [
        ([1, 2], Status.PASS, "the number of rows returned is within the limit"),
        ([-1, 2], Status.FAIL, "the query returns 1 row, limit 0"),
        ([-1, -2], Status.FAIL, "the query returns 2 rows, limit 0"),
    ],
)
def test_counts_what_the_query_returns(dialect, values, status, message):
    """Counts the rows that the query returns, beside those of the table."""
    with place(dialect, t=Rows(TYPES, [(value, "x") for value in values])) as here:
        outcome = ask(Sql(query=QUERY), here)
    assert outcome.observed == {"rows": 2, "violations": sum(value < 0 for value in values)}
    assert outcome.status is status
    assert str(outcome.message) == message


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT x.a, y.a FROM t x JOIN t y ON x.a = y.a WHERE x.a < 0", 2),
        ("SELECT a + 1, a + 1, A FROM t WHERE a < 0 ORDER BY a LIMIT 1", 1),
        ("SELECT * FROM t x JOIN t y ON x.a = y.a WHERE x.a < 0 ORDER BY x.a", 2),
        ("SELECT *, a FROM t WHERE a < 0", 2),
        ("SELECT DISTINCT b, b FROM t WHERE a < 0", 1),
        ('SELECT b, b AS "b", count(*) FROM t WHERE a < 0 GROUP BY b HAVING count(*) > 1', 1),
        ("SELECT a, a FROM t WHERE a < 0 UNION ALL SELECT a, a FROM t WHERE a < 0", 4),
        ("SELECT max(a), max(a) FROM t", 1),
    ],
)
def test_columns_of_one_name(dialect, query, rows):
    """A query may return two columns of one name, also where the engine allows none of a query in FROM."""
    if dialect == "mysql":
        query = query.replace('"', "`")
    with place(dialect, t=Rows(TYPES, [(-1, "x"), (-2, "x"), (3, "y")])) as here:
        assert ask(Sql(query=query), here).observed["violations"] == rows


def test_limits(dialect):
    """Allows the configured number of rows, and warns before."""
    with place(dialect, t=Rows(TYPES, [(-1, "x"), (-2, "x")])) as here:
        assert ask(Sql(query=QUERY, max=2), here).status is Status.PASS
        assert ask(Sql(query=QUERY, max=2, warn={"max": 1}), here).status is Status.WARN
        assert ask(Sql(query=QUERY, max=1), here).expected == {"max": 1}


def test_grouped_query(dialect):
    """Takes WITH, UNION, GROUP BY, windows and a trailing semicolon."""
    query = """
        WITH copies AS (SELECT b, count(*) AS n FROM t GROUP BY b HAVING count(*) > 1)
        SELECT b FROM copies UNION ALL
        SELECT b FROM (SELECT b, row_number() OVER (PARTITION BY b ORDER BY a) AS place FROM t) AS q WHERE place > 1;
    """
    with place(dialect, t=Rows(TYPES, [(1, "x"), (2, "x"), (3, "y")])) as here:
        assert ask(Sql(query=query), here).observed["violations"] == 2


def test_empty_table(dialect):
    """A query over an empty table finds nothing, which is unknown and no pass."""
    with place(dialect, t=Rows(TYPES, [])) as here:
        assert ask(Sql(query=QUERY), here).reason is UnknownReason.NO_DATA
        assert ask(Sql(query=QUERY, on_empty="pass"), here).status is Status.PASS


def test_only_reads(dialect):
    """A query that writes is refused before anything runs."""
    with place(dialect, t=Rows(TYPES, [(1, "x")])) as here:
        for query in (
            "DELETE FROM t",
            "SELECT 1; DELETE FROM t",
            "WITH x AS (DELETE FROM t RETURNING *) SELECT * FROM x",
        ):
            with pytest.raises(Misconfigured):
                Question(Sql(query=query), here).wants()
        assert ask(Sql(query=QUERY), here).observed["rows"] == 1


def test_functions_with_effects_are_refused(dialect):
    """DuckDB's logging would write files and can end the process: it never gets there."""
    with place(dialect, t=Rows(TYPES, [(1, "x")])) as here:
        for query in (
            "SELECT * FROM enable_logging(storage='file')",
            "SELECT * FROM Enable_Logging('QueryLog', storage => 'file')",
            "FROM enable_logging(storage='file')",
            "SELECT * FROM t, LATERAL enable_logging(storage='file')",
            "SELECT a FROM t WHERE a IN (SELECT 1 FROM enable_logging(storage='file'))",
            "SELECT * FROM \"enable_logging\"(storage='file')",
            "SELECT enable_logging('file') FROM t",
        ):
            with pytest.raises(Misconfigured):
                Question(Sql(query=query), here).wants()


def test_takes_no_filter():
    """A filter belongs into the query."""
    with pytest.raises(ValidationError, match="does not support 'where'"):
        Sql(query=QUERY, where="a = 1")
