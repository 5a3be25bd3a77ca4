"""A `where` is one boolean expression over the table's own columns, and nothing else."""

import re
import sqlite3
from collections.abc import Iterator

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks import Misconfigured
from checks.sql_text.grammar import LONGEST
from checks.sql_text.where import is_timeless, predicate_sql

COLUMNS = ("id", "Name", "amount", "at", "ok", "order", "it's", 'a"b')
DIALECTS = ("duckdb", "sqlite", "postgres", "mysql", "bigquery", "snowflake", "trino", "spark")


def predicate(text, dialect="duckdb", columns=COLUMNS):
    """Return the regenerated text."""
    return predicate_sql(text, columns=columns, dialect=dialect)


@pytest.mark.parametrize(
    ("text", "regenerated"),
    [
        ("id = 1", '"id" = 1'),
        ("NAME = 'x'", "\"Name\" = 'x'"),
        ('"order" > 2', '"order" > 2'),
        ("id in (1, 2) and not ok", '"id" IN (1, 2) AND NOT "ok"'),
        ("amount between 1 and 2 or name is null", '"amount" BETWEEN 1 AND 2 OR "Name" IS NULL'),
        ("name like 'a%' escape '!'", "\"Name\" LIKE 'a%' ESCAPE '!'"),
        ("coalesce(amount, 0) >= 0.5", 'COALESCE("amount", 0) >= 0.5'),
        ("lower(trim(name)) <> 'n/a'", "LOWER(TRIM(\"Name\")) <> 'n/a'"),
        ("case when ok then amount > 1 else true end", 'CASE WHEN "ok" THEN "amount" > 1 ELSE TRUE END'),
        ("cast(at as date) = date '2026-01-01'", "CAST(\"at\" AS DATE) = CAST('2026-01-01' AS DATE)"),
        ("at > current_timestamp - interval '7 days'", "\"at\" > CURRENT_TIMESTAMP - INTERVAL '7' DAYS"),
        ("(ok)", '("ok")'),
        ("true", "TRUE"),
        ("starts_with(name, 'x')", "STARTS_WITH(\"Name\", 'x')"),
        ("name is distinct from 'x'", "\"Name\" IS DISTINCT FROM 'x'"),
        ("id % 2 = 0 and id // 2 = 1", '"id" % 2 = 0 AND "id" // 2 = 1'),
        ('"a""b" = 1', '"a""b" = 1'),
        ("id = 1 -- a comment", '"id" = 1'),
        ("id /* another */ = 1", '"id" = 1'),
        ("id = 1;", '"id" = 1'),
        ("isfinite(amount)", 'ISFINITE("amount")'),
    ],
)
def test_is_regenerated_with_quoted_names(text, regenerated):
    """Return text written from the syntax tree: exact quoted names, no comment, one expression."""
    assert predicate(text) == regenerated


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite", "postgres"])
def test_nothing_leaves_its_string(dialect):
    """Quotes, semicolons and comment marks inside of a string stay inside of it."""
    text = "name = 'x''; DROP TABLE t; -- /*' OR name = ';' OR name = '\\'"
    assert predicate(text, dialect) == "\"Name\" = 'x''; DROP TABLE t; -- /*' OR \"Name\" = ';' OR \"Name\" = '\\'"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("name REGEXP '^a'", "`name` REGEXP '^a'"),
        ("name RLIKE '^a'", "`name` REGEXP '^a'"),
        ("name NOT REGEXP '^a'", "NOT `name` REGEXP '^a'"),
        ("REGEXP_LIKE(name, '^a')", "`name` REGEXP '^a'"),
        ("id DIV 2 = 25", "`id` DIV 2 = 25"),
        ("CAST(id AS INTEGER) >= 0", "CAST(`id` AS SIGNED) >= 0"),
        ("CAST(id AS TEXT) = '1'", "CAST(`id` AS CHAR) = '1'"),
        ("IF(id = 1, 1, 0) = 1", "CASE WHEN `id` = 1 THEN 1 ELSE 0 END = 1"),
    ],
)
def test_words_of_mariadb_are_written_as_it_reads_them(text, written):
    """MariaDB has no REGEXP_LIKE, a cast would round where DIV cuts, and each type has one name in a cast."""
    assert predicate_sql(text, columns=("id", "name"), dialect="mysql") == written


ATTACKS = [
    "1=1; DROP TABLE t",
    "1=1) OR (1=1",
    "id = 1) FROM t; DELETE FROM t WHERE (1=1",
    "id IN (SELECT id FROM users)",
    "EXISTS (SELECT 1)",
    "id = (SELECT max(id) FROM t)",
    "id = ANY (SELECT 1)",
    "1=1 UNION SELECT 1",
    "1=1 ORDER BY 1",
    "1=1 LIMIT 1",
    "1=1 GROUP BY id",
    "count(*) > 1",
    "sum(amount) > 1",
    "row_number() OVER () = 1",
    "amount > avg(amount) OVER ()",
    "*",
    "count(*) FILTER (WHERE ok) > 1",
    "id = ?",
    "id = :name",
    "id = $1",
    "id = version",
    "id = @x",
    "pg_sleep(10) IS NULL",
    "PG_SLEEP(10) IS NULL",
    '"pg_sleep"(10) IS NULL',
    "pg_catalog.pg_sleep(10) IS NULL",
    "pg_read_file('/etc/passwd') <> ''",
    "read_text('/etc/passwd') <> ''",
    "read_csv('/etc/passwd') IS NULL",
    "getenv('HOME') = 'x'",
    "current_setting('data_directory') = 'x'",
    "set_config('a', 'b', false) = 'x'",
    "dblink('host=x', 'select 1') = 'x'",
    "lo_import('/etc/passwd') = 1",
    "load_extension('x') IS NULL",
    "nextval('s') > 0",
    "query_to_xml('select 1', true, true, '') IS NULL",
    "sleep(5) = 0",
    "benchmark(1000000, md5('x')) = 0",
    "load_file('/etc/passwd') IS NOT NULL",
    "random() < 0.5",
    "current_user = 'x'",
    "version() = 'x'",
    "nobody_knows(id) = 1",
    "t.id = 1",
    "public.t.id = 1",
    "id::regclass IS NULL",
    "CAST(name AS evil_type) = 'x'",
    "$$x$$ = name",
    "$a$' OR '1'='1$a$ = name",
    "name = E'\\''",
    "name = U&'\\0041'",
    "id = 1 AS x",
    "id = 1, id = 2",
    "id := 1",
    "[x for x in [1]] = [1]",
    "{'a': id} = {'a': 1}",
    "id -> 'x' = 'y'",
    "list_filter([1], x -> x > 0) = [1]",
    "COLUMNS('.*') = 1",
    "id = 1 COLLATE",
    "id = {{ id }}",
    "'x'",
    "1",
    "NULL",
    "amount + 1",
    "",
    " ",
    "-- nothing",
    ";",
    ";;",
    "id = 1;;",
    "id = 1; -- x\n;",
    "id = 'open",
    "id = 1 /* open",
    "id = \x00 1",
    "missing = 1",
    "(SELECT 1) = 1",
    "WITH x AS (SELECT 1) SELECT * FROM x",
    "DELETE FROM t",
    "PRAGMA table_info(t)",
    "id = 1 INTO OUTFILE '/tmp/x'",
    "id BETWEEN 1 AND (SELECT 1)",
    "CASE WHEN (SELECT 1) = 1 THEN ok END",
    "coalesce((SELECT ok FROM t LIMIT 1), ok)",
    "(" * 3000 + "ok" + ")" * 3000,
    "NOT " * 2000 + "ok",
    "ok AND " * 2000 + "ok",
]


def _is_taken(text, dialect):
    try:
        predicate(text, dialect)
    except Misconfigured as error:
        return not str(error).startswith("'where' ")
    return True


@pytest.mark.parametrize("dialect", DIALECTS)
def test_refuses_everything_else(dialect):
    """Subqueries, aggregates, windows, parameters, second statements, unknown functions and tricks are refused."""
    assert not [attack[:60] for attack in ATTACKS if _is_taken(attack, dialect)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("naem = 'x'", "'where' names column 'naem', which does not exist; did you mean 'Name'?"),
        ("pg_sleep(1) > 0", "'where' calls 'pg_sleep', which is not among the functions allowed; put it in a view"),
        ("id in (select 1)", "'where' holds a subquery, which is not allowed"),
        ("id = 1; drop table t", "'where' holds more than one statement; write exactly one"),
        ("id = = 1", "'where' is not one boolean expression in the dialect duckdb (line 1, column 6)"),
        ("amount", None),
        ("amount + 1", "'where' is not true or false for a row; write a comparison such as status = 'paid'"),
        ("name !~* 'x'", "'where' cannot be written out unambiguously; add parentheses or simplify it"),
        ("t.id = 1", "'where' names 't.id'; name columns of the table itself, without a table"),
        ("x" * (LONGEST + 1), f"'where' is longer than {LONGEST:,} characters or holds a zero byte"),
    ],
)
def test_message(text, message):
    """Says what was seen and what to do; a bare column may be a truth value."""
    if message is None:
        assert predicate(text) == '"amount"'
        return
    with pytest.raises(Misconfigured) as error:
        predicate(text)
    assert str(error.value) == message


def test_what_the_engine_cannot_say():
    """An expression that would lose a part in the dialect is refused, not shortened."""
    with pytest.raises(
        Misconfigured, match="'where' cannot be expressed in mysql: AT TIME ZONE is not supported by MySQL"
    ):
        predicate("at at time zone 'UTC' > '2026-01-01'", "mysql")


def test_names_that_differ_in_case():
    """An unquoted name is taken in any case if only one column fits; a quoted one exactly."""
    assert predicate("ID = 1", columns=("Id",)) == '"Id" = 1'
    with pytest.raises(Misconfigured, match="which matches Id and ID; quote the intended name"):
        predicate("id = 1", columns=("Id", "ID"))
    assert predicate('"ID" = 1', columns=("Id", "ID")) == '"ID" = 1'
    with pytest.raises(Misconfigured, match="did you mean 'Id'"):
        predicate('"ID" = 1', columns=("Id",))


ROWS = [(1, "x", 1.5, True), (2, "y'z", None, False), (3, None, -1.0, None), (4, "%", 0.0, True), (5, "", 2.5, False)]
EXPRESSIONS = [
    "id > 2",
    "NOT id > 2 AND ok",
    "NOT (id > 2 AND ok)",
    "id > 2 OR ok AND amount > 0",
    "(id > 2 OR ok) AND amount > 0",
    "name IS NULL OR name = ''",
    "name IS NOT NULL AND NOT name IS NULL",
    "(name IS NULL) = (amount IS NULL)",
    "id - 1 - 1 = 1",
    "id - (1 - 1) = 1",
    "id * 2 + 1 > 5 AND -id < -1",
    "name LIKE '%z'",
    "name LIKE '!%' ESCAPE '!'",
    "name IN ('x', 'y''z')",
    "name NOT IN ('x')",
    "amount BETWEEN -1 AND 1.5",
    "amount NOT BETWEEN 0 AND 1.5",
    "CASE WHEN ok THEN amount > 1 WHEN id = 3 THEN TRUE ELSE FALSE END",
    "COALESCE(amount, 99) > 1 AND LENGTH(name) >= 1",
    "UPPER(name) = 'X' OR REPLACE(name, '''', '') = 'yz'",
    "SUBSTR(name, 1, 1) = 'y'",
    "ABS(amount) = 1 OR ROUND(amount) = 2",
    "id % 2 = 1",
    "CAST(id AS VARCHAR) = '3'",
    "name || 'q' = 'xq'",
    "name IS DISTINCT FROM 'x'",
    "NULLIF(id, 3) IS NULL",
    "id & 1 = 1",
]


@pytest.fixture(params=["duckdb", "sqlite"])
def engine(request: pytest.FixtureRequest) -> Iterator[object]:
    """Yield a connection to a table of the rows above."""
    connection = duckdb.connect() if request.param == "duckdb" else sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (id INTEGER, name VARCHAR, amount DOUBLE, ok BOOLEAN)")
    connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", ROWS)
    yield request.param, connection
    connection.close()


def test_means_what_was_written(engine):
    """The regenerated text selects the same rows as the text that was written."""
    dialect, connection = engine
    for text in EXPRESSIONS:
        regenerated = predicate(text, dialect, ("id", "name", "amount", "ok"))
        found = [
            connection.execute(f"SELECT id FROM t WHERE {sql} ORDER BY id").fetchall() for sql in (text, regenerated)
        ]
        assert found[0] == found[1], text


ATOMS = st.sampled_from(["id", "amount", "name", "ok", "1", "0", "NULL", "'x'", "'''; --'", "TRUE"])
TREES = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["=", "<", "AND", "OR", "+", "-", "*", "||", "IS"]), inner).map(" ".join),
        inner.map(lambda text: f"({text})"),
        inner.map(lambda text: f"NOT {text}"),
        inner.map(lambda text: f"COALESCE({text}, 0)"),
        inner.map(lambda text: f"{text} IS NULL"),
    ),
    max_leaves=8,
)


@given(TREES, st.sampled_from(["duckdb", "sqlite", "postgres"]))
def test_is_stable(text, dialect):
    """What is taken reads back as itself; what is not is refused by name, never by another error."""
    try:
        once = predicate(text, dialect)
    except Misconfigured:
        return
    assert predicate(once, dialect) == once


FRAGMENTS = re.findall(
    r"\S+",
    "id ok ( ) ( ) , * = <> < + - / || [ ] { } ' \" ` -- /* */ ? : :: -> 1 0.5 'x' and or not null true is in like "
    "between case when then else end cast as date interval select from where group order limit union exists any all "
    "over filter array coalesce extract year at time zone collate escape $$x$$ e'x' x'00' n'x' x :x date_add rlike",
)
TEXTS = st.one_of(st.text(max_size=60), st.lists(st.sampled_from(FRAGMENTS), max_size=12).map(" ".join))


@given(TEXTS, st.sampled_from(DIALECTS))
def test_any_text_is_taken_or_refused(text, dialect):
    """No text breaks the reader."""
    _is_taken(text, dialect)


def test_unknown_dialect():
    """SQL of an engine that cannot be read is refused, not guessed."""
    with pytest.raises(Misconfigured, match="the SQL dialect 'klingon' is not supported"):
        predicate("id = 1", "klingon")


@pytest.mark.parametrize(
    "text",
    [
        "at < now()",
        "at < current_date",
        "at >= current_timestamp - interval '1' day",
        "at > cast('yesterday 12:00' as timestamp)",
        "at > cast(' NOW ' as timestamp)",
        "age(at) > interval '1' day",
    ],
)
def test_a_predicate_with_a_clock_is_not_timeless(text):
    """What such a predicate says of a row depends on when it is asked."""
    assert predicate_sql(text, columns=["at"], dialect="postgres")
    assert not is_timeless(text, dialect="postgres")
    assert is_timeless("at < date '2026-01-01' and name <> 'known'", dialect="postgres")
