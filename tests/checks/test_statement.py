"""The query of a `sql` check is one SELECT that only reads."""

import sqlite3

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks import Misconfigured
from checks.sql_text.statement import select_sql
from tests.checks.test_where import TEXTS

DIALECTS = ("duckdb", "sqlite", "postgres", "mysql", "bigquery", "snowflake", "trino", "spark")

ATTACKS = [
    "",
    ";",
    "-- nothing",
    "SELECT 1; DROP TABLE t",
    "SELECT 1; SELECT 2",
    "SELECT 1) q; DROP TABLE t; SELECT * FROM (SELECT 1",
    "SELECT 1) AS q UNION SELECT count(*) FROM (SELECT 1",
    "SELECT 1 --\n; DELETE FROM t",
    "DELETE FROM t",
    "DELETE FROM t RETURNING *",
    "UPDATE t SET id = 1",
    "INSERT INTO t VALUES (1)",
    "MERGE INTO t USING u ON TRUE WHEN MATCHED THEN DELETE",
    "DROP TABLE t",
    "CREATE TABLE x AS SELECT 1",
    "ALTER TABLE t ADD COLUMN x INT",
    "TRUNCATE t",
    "WITH x AS (DELETE FROM t RETURNING *) SELECT * FROM x",
    "WITH x AS (INSERT INTO t VALUES (1) RETURNING *) SELECT * FROM x",
    "WITH x AS (UPDATE t SET id = 1 RETURNING *) SELECT * FROM x",
    "SELECT * FROM (DELETE FROM t RETURNING *) AS x",
    "SELECT * INTO x FROM t",
    "SELECT * FROM t FOR UPDATE",
    "SELECT * FROM t FOR SHARE NOWAIT",
    "COPY t TO '/tmp/x'",
    "COPY (SELECT 1) TO '/tmp/x'",
    "SET a = 1",
    "PRAGMA writable_schema = 1",
    "ATTACH 'x' AS y",
    "INSTALL httpfs",
    "LOAD httpfs",
    "EXPORT DATABASE 'x'",
    "CALL x()",
    "EXECUTE x",
    "PREPARE x AS SELECT 1",
    "EXPLAIN ANALYZE SELECT 1",
    "DO $$ BEGIN END $$",
    "VACUUM",
    "BEGIN",
    "COMMIT",
    "GRANT ALL ON t TO x",
    "KILL 1",
    "USE x",
    "DESCRIBE t",
    "SHOW TABLES",
    "SUMMARIZE t",
    "VALUES (1)",
    "TABLE t",
    "id = 1",
    "SELECT",
    "SELECT * FROM",
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM read_csv_auto('/etc/passwd')",
    "SELECT * FROM read_parquet('x')",
    "SELECT * FROM read_text('/etc/passwd')",
    "SELECT * FROM read_blob('/etc/passwd')",
    "SELECT * FROM read_json('x')",
    "SELECT * FROM glob('/etc/*')",
    "SELECT * FROM sniff_csv('x')",
    "SELECT * FROM sqlite_scan('x', 'y')",
    "SELECT * FROM postgres_query('x', 'DROP TABLE t')",
    "SELECT * FROM query('DROP TABLE t')",
    "SELECT * FROM query_table('t')",
    "SELECT * FROM duckdb_secrets()",
    "SELECT * FROM pragma_table_info('t')",
    "SELECT * FROM pg_read_file('/etc/passwd')",
    "SELECT * FROM dblink('x', 'DROP TABLE t') AS x(a int)",
    "SELECT * FROM '/etc/passwd'",
    'SELECT * FROM "s3://bucket/x"',
    "SELECT * FROM 'data/*'",
    "SELECT pg_sleep(100)",
    "SELECT pg_terminate_backend(1)",
    "SELECT pg_cancel_backend(1)",
    "SELECT lo_import('/etc/passwd')",
    "SELECT lo_export(1, '/tmp/x')",
    "SELECT nextval('s')",
    "SELECT setval('s', 1)",
    "SELECT set_config('a', 'b', false)",
    "SELECT current_setting('data_directory')",
    "SELECT getenv('HOME')",
    "SELECT load_extension('x')",
    "SELECT writefile('x', 'y')",
    "SELECT readfile('x')",
    "SELECT pg_advisory_lock(1)",
    "SELECT query_to_xml('DROP TABLE t', true, true, '')",
    "SELECT nobody_knows(1)",
    "SELECT x.nobody_knows(1)",
    "SELECT * FROM t WHERE id = ?",
    "SELECT * FROM t WHERE id = $1",
    "SELECT * FROM t WHERE id = :x",
    "SELECT $$; DROP TABLE t$$",
    "SELECT '1'::regclass",
    "SELECT * FROM t TABLESAMPLE SYSTEM (10)",
    "SELECT random()",
    "SELECT 1 \x00",
    "SELECT 'open",
    "SELECT 1 /* open",
    "SELECT " + "(" * 3000 + "1" + ")" * 3000,
    "SELECT 1" + " UNION SELECT 1" * 1500,
]


def _is_taken(text, dialect):
    try:
        select_sql(text, dialect=dialect)
    except Misconfigured as error:
        return not str(error).startswith("'query' ")
    return True


@pytest.mark.parametrize("dialect", DIALECTS)
def test_refuses_everything_else(dialect):
    """Statements that write, lock or set, second statements, files, and functions that are not named are refused."""
    assert not [attack[:60] for attack in ATTACKS if _is_taken(attack, dialect)]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM sales.orders WHERE amount < 0",
        "SELECT * FROM t AS a JOIN u AS b ON a.id = b.id LEFT JOIN v USING (id) WHERE b.x IS NULL",
        "WITH x AS (SELECT id, COUNT(*) AS n FROM t GROUP BY id HAVING COUNT(*) > 1) SELECT * FROM x",
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 9) SELECT * FROM r",
        "SELECT id FROM t EXCEPT SELECT id FROM u",
        "SELECT id FROM t INTERSECT SELECT id FROM u ORDER BY id LIMIT 10",
        "(SELECT 1) UNION ALL SELECT 2",
        "SELECT * FROM (SELECT id, ROW_NUMBER() OVER (PARTITION BY a ORDER BY b DESC) AS n FROM t) AS q WHERE n > 1",
        "SELECT * FROM t WHERE id IN (SELECT id FROM u) AND NOT EXISTS(SELECT 1 FROM v WHERE v.id = t.id)",
        "SELECT a, SUM(b) FILTER(WHERE c > 0) FROM t GROUP BY a ORDER BY 2 DESC",
        "SELECT LAG(a, 1) OVER (ORDER BY b) FROM t",
        "SELECT CASE WHEN a > 1 THEN 'x;''--' ELSE b END FROM t CROSS JOIN u",
        "SELECT DISTINCT a FROM t",
        "SELECT t.* FROM t",
    ],
)
@pytest.mark.parametrize("dialect", ["duckdb", "sqlite", "postgres"])
def test_takes_any_plain_select(text, dialect):
    """WITH, UNION, joins, subqueries, windows and aggregates may be used, and come back as written."""
    assert select_sql(text, dialect=dialect) == text
    assert select_sql(f"{text.lower() if chr(39) not in text else text} ; ", dialect=dialect)


def test_series():
    """A series of numbers may stand in place of a table: it reads nothing."""
    text = "SELECT n FROM GENERATE_SERIES(1, 9) AS s(n) LEFT JOIN t ON t.day = n WHERE t.day IS NULL"
    assert select_sql(text, dialect="postgres") == text


def test_comments_are_left_out():
    """Comments, also those that some engines run or obey, do not come back."""
    text = "SELECT /*+ hint */ a -- x\nFROM /* ; DROP TABLE t */ t"
    assert select_sql(text.replace("/*+ hint */ ", ""), dialect="mysql") == "SELECT a FROM t"
    assert select_sql("SELECT /*!50000 1, */ a FROM t", dialect="mysql") == "SELECT a FROM t"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("EXPLAIN SELECT 1", "'query' begins with 'EXPLAIN'; write one SELECT"),
        ("SELECT 1; SELECT 2", "'query' holds more than one statement; write exactly one"),
        ("SELECT * INTO x FROM t", "'query' holds INTO, which is not allowed"),
        ("SELECT * FROM t FOR UPDATE", "'query' holds a locking clause, which is not allowed"),
        ("SELECT pg_sleep(1)", "'query' calls 'pg_sleep', which is not among the functions allowed; put it in a view"),
        ("SELECT * FROM 'x.csv'", "'query' reads the file 'x.csv'; name a table of the source"),
        ('SELECT * FROM "X.Parquet" AS t', "'query' reads the file 'X.Parquet'; name a table of the source"),
        ("SELECT * FROM glob('*')", "'query' reads from the function 'glob'; name a table of the source"),
        ("SELECT", "'query' selects no column"),
        ("SELECT FROM WHERE", "'query' is not one SELECT in the dialect duckdb (line 1, column 17)"),
    ],
)
def test_message(text, message):
    """Says what was seen and what to do."""
    with pytest.raises(Misconfigured) as error:
        select_sql(text, dialect="duckdb")
    assert str(error.value) == message


def test_counts_the_same_rows():
    """The regenerated query returns as many rows as the one that was written."""
    queries = [
        "SELECT a FROM t WHERE b > 1 UNION SELECT b FROM t",
        "WITH x AS (SELECT a, count(*) n FROM t GROUP BY a) SELECT * FROM x WHERE n > 1",
        "SELECT a, a FROM t x WHERE NOT EXISTS (SELECT 1 FROM t y WHERE y.a = x.a AND y.b <> x.b)",
        "SELECT * FROM t WHERE a IS NOT NULL AND (b - 1 - 1 = 0 OR NOT b = 1)",
    ]
    for dialect, connection in [("duckdb", duckdb.connect()), ("sqlite", sqlite3.connect(":memory:"))]:
        connection.execute("CREATE TABLE t (a INTEGER, b INTEGER)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", [(1, 1), (1, 2), (2, 2), (None, 3), (3, None)])
        for query in queries:
            counts = [
                connection.execute(f"SELECT count(*) FROM (\n{sql}\n) AS q").fetchone()
                for sql in (query, select_sql(query, dialect=dialect))
            ]
            assert counts[0] == counts[1], query
        connection.close()


@given(TEXTS, st.sampled_from(DIALECTS))
def test_any_text_is_taken_or_refused(text, dialect):
    """No text breaks the reader."""
    _is_taken("SELECT " + text, dialect)
