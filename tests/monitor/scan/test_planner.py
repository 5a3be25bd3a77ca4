"""Plans: one scan per table, holes that are filled late, checks that do not fit."""

from datetime import timedelta

import ibis
import pytest

from checks._catalog import load_catalog
from checks.not_null import NotNull
from checks.primary_key import PrimaryKey
from checks.sql import Sql
from checks.unique import Unique
from monitor.scan.planner import plan
from monitor.scan.results import Subject
from monitor.scan.sql_template import TimeLiterals
from sources import SourceSpec, open_source
from tests.monitor.shop import NOW, build_shop


@pytest.fixture
def source(tmp_path):
    """Return the shop's database as an open source."""
    build_shop(tmp_path)
    with open_source(SourceSpec(name="shop", base=tmp_path, url="sqlite:///shop.sqlite")) as opened:
        yield opened


def _plan(source, **checks):
    return plan(Subject("orders", "orders", tuple(checks.items())), source)


def test_plain_aggregates_of_all_checks_are_one_statement(source):
    """However many checks a table has, their plain aggregates are read in one scan."""
    found = _plan(
        source,
        a=NotNull(columns=("customer",)),
        b=NotNull(columns=("amount", "customer")),
        c=PrimaryKey(columns=("id",)),
    )
    assert found.fused is not None
    assert found.fused.sql.upper().count("FROM") == 1
    assert set(found.columns) == {"a", "b", "c"}


def test_an_aggregate_wanted_twice_is_computed_once(source):
    """Two checks that want the same number share one column."""
    found = _plan(source, a=NotNull(columns=("customer",)), b=NotNull(columns=("customer",), max_ratio=0.5))
    assert found.columns["a"] == found.columns["b"]


def test_equal_keys_share_one_group_by(source):
    """A primary key and a unique check on the same columns group once."""
    assert len(_plan(source, a=PrimaryKey(columns=("id",)), b=PrimaryKey(columns=("id",), id="again")).queries) == 1
    assert len(_plan(source, a=PrimaryKey(columns=("id",)), b=Unique(columns=("customer",))).queries) == 2


def test_a_check_that_does_not_fit_is_refused_alone(source):
    """A misspelt column makes its check unknown, with the name that was meant, and leaves the others."""
    found = _plan(source, good=NotNull(columns=("customer",)), bad=NotNull(columns=("custmer",)))
    assert set(found.wants) == {"good"}
    assert found.refused["bad"].reason == "misconfigured"
    assert "did you mean 'customer'?" in str(found.refused["bad"].message)


def test_a_where_is_spliced_as_a_filter_of_its_own_check_only(source):
    """A check's filter narrows its own aggregates only."""
    found = _plan(source, all=NotNull(columns=("customer",)), some=NotNull(columns=("customer",), where="amount > 6"))
    row = source.fetch(found.fused.fill(NOW, TimeLiterals(source)))[0]
    assert row[found.columns["all"]["rows"]] == 2
    assert row[found.columns["some"]["rows"]] == 1


def test_a_where_cannot_name_a_column_of_another_table(source):
    """A filter sees the table's own columns only."""
    found = _plan(source, some=NotNull(columns=("customer",), where="sqlite_master.name = 'x'"))
    assert found.refused["some"].reason == "misconfigured"


def test_the_time_is_filled_in_when_the_statement_runs(source):
    """A kept plan asks about the present of each run, not about the present of its making."""
    freshness = load_catalog()["freshness"](column="loaded_at", max_age="2h", timezone="UTC")
    found = _plan(source, fresh=freshness)
    early = found.fused.fill(NOW, TimeLiterals(source))
    late = found.fused.fill(NOW + timedelta(days=1), TimeLiterals(source))
    assert early != late
    assert "2999" not in early
    source.fetch(early)


def test_a_configured_query_runs_only_as_a_count_of_its_rows(source):
    """What a person wrote as SQL is wrapped, so that only a number comes back."""
    found = _plan(source, bad=Sql(query="select * from orders where amount < 6"))
    assert source.fetch(found.counts[0].template.fill(NOW, TimeLiterals(source))) == [{"n": 1}]


def test_holes_differ_from_every_literal_of_the_data(source):
    """A hole is an expression of its own, compiled like any other."""
    expression = ibis.literal("tablewatch where 0") == ibis.literal("tablewatch")
    assert "tablewatch where 0" in source.compile(expression.name("x"))
