"""Times that are filled into compiled text are those that the dialect itself would have written (ADR 26)."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.scan.sql_template import Placeholders, TimeLiterals
from sources.expressions import ibis, ir

DIALECTS = ("duckdb", "sqlite", "postgres", "pyspark", "mysql", "mssql", "trino", "snowflake", "bigquery", "clickhouse")
MOMENTS = st.integers(0, 930 * 365 * 86_400).map(
    lambda seconds: datetime(1971, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
)
SHIFTS = st.integers(-400 * 86_400, 400 * 86_400).map(lambda seconds: timedelta(seconds=seconds))


@dataclass(frozen=True)
class _Dialect:
    """What a template needs of a source: a dialect and its compiler."""

    dialect: str

    def compile(self, expression: ir.Expr) -> str:
        return str(ibis.to_sql(expression, dialect=self.dialect))


def _words(sql: str) -> str:
    """Return SQL without its layout, which depends on the length of literals."""
    return "".join(sql.split())


def _table() -> ir.Table:
    return ibis.table({"loaded_at": "timestamp", "country": "string"}, name="orders")


@pytest.mark.parametrize("dialect", DIALECTS)
@given(now=MOMENTS, shift=SHIFTS)
def test_filled_text_is_what_the_dialect_compiles(dialect, now, shift):
    """For naive local times in each dialect, whatever the moment and the shift."""
    source, table = _Dialect(dialect), _table()
    placeholders = Placeholders(source)

    def late(limit):
        return table.aggregate(late=(table.loaded_at < limit).sum(), rows=table.count())

    template = placeholders.compile(late(placeholders.now(shift, "UTC")))
    expected = (now + shift).replace(microsecond=0, tzinfo=None)
    assert _words(template.fill(now, TimeLiterals(source))) == _words(source.compile(late(ibis.literal(expected))))


@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "pyspark"])
@given(now=MOMENTS, shift=SHIFTS)
def test_times_with_a_zone_too(dialect, now, shift):
    """Where the engine has them, moments are written in UTC."""
    source, table = _Dialect(dialect), ibis.table({"loaded_at": "timestamp('UTC')"}, name="orders")
    placeholders = Placeholders(source)
    template = placeholders.compile(table.filter(table.loaded_at >= placeholders.now(shift)))
    limit = ibis.literal((now + shift).replace(microsecond=0))
    assert _words(template.fill(now, TimeLiterals(source))) == _words(
        source.compile(table.filter(table.loaded_at >= limit))
    )


def test_two_times_and_a_predicate_have_their_own_places():
    """Two shifts are two literals; the same shift is one; a predicate of the configuration stands in brackets."""
    source, table = _Dialect("duckdb"), _table()
    placeholders = Placeholders(source)
    first, second = placeholders.now(timedelta(hours=-1)), placeholders.now(timedelta(hours=-2))
    assert placeholders.now(timedelta(hours=-1)) is first
    wanted = table.filter(table.loaded_at.between(second, first), placeholders.filter("country <> 'JP' OR TRUE"))
    text = placeholders.compile(wanted.count().as_table()).fill(
        datetime(2026, 11, 23, 12, tzinfo=UTC), TimeLiterals(source)
    )
    assert "(country <> 'JP' OR TRUE)" in text
    assert (text.count("11, 0, 0"), text.count("10, 0, 0"), text.count("2999")) == (1, 1, 0)
