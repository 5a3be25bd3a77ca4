"""A table that is dropped is an answer, one that was never there is not."""

import sqlite3
from datetime import timedelta

import pytest

from checks import Status, UnknownReason
from checks.volume import Volume
from monitor.config.selector import select
from monitor.scan.planner import plan
from monitor.scan.results import Subject, not_evaluated
from monitor.scan.run import run_checks
from sources import SourceError, SourceSpec, open_source
from store import IncidentFilter
from tests.monitor.shop import NOW, build_shop

_CHECKS = """
      - {type: not_null, columns: [customer]}
      - {type: volume, min: 1}
      - {type: schema, columns: [id, customer, amount, loaded_at]}
"""


def _look(shop, store):
    shop.clock.advance(timedelta(hours=1))
    results = run_checks(shop.project(), select([], shop.project().config), store=store).results
    return {result.check_id.partition(".")[2]: result.outcome for result in results}


@pytest.mark.parametrize("change", ["DROP TABLE orders", "ALTER TABLE orders RENAME TO orders_2026"])
def test_a_table_that_is_gone_fails_schema_and_volume(tmp_path, change):
    """They open incidents that say when it was there, last as long as it is gone, and end when it is back."""
    shop = build_shop(tmp_path, checks=_CHECKS)
    with shop.project().open_store() as store:
        _look(shop, store)
        was_there = NOW + timedelta(hours=1)
        shop.sql(change)
        for _ in range(2):
            outcomes = _look(shop, store)
            for name in ("volume", "schema"):
                assert outcomes[name].status is Status.FAIL
                assert str(outcomes[name].message).startswith("the table is not found; it was there at 2026-11-20")
                assert outcomes[name].message.values["at"] == was_there
            assert outcomes["not-null"].reason is UnknownReason.MISCONFIGURED
        with store.reading() as tx:
            assert {incident.check_id for incident in tx.incidents.matching(IncidentFilter())} == {
                "orders.volume",
                "orders.schema",
            }
        shop.sql("DROP TABLE IF EXISTS orders_2026; CREATE TABLE orders (id, customer, amount, loaded_at)")
        shop.sql("INSERT INTO orders VALUES (1, 'ann', 5, '2026-11-20')")
        for _ in range(2):
            assert {outcome.status for outcome in _look(shop, store).values()} == {Status.PASS}
        with store.reading() as tx:
            assert all(incident.resolution is not None for incident in tx.incidents.matching(IncidentFilter()))


def test_a_table_that_was_never_there_is_a_matter_of_the_configuration(tmp_path):
    """Whatever its checks are, they cannot be evaluated, and nothing opens."""
    shop = build_shop(tmp_path, checks=_CHECKS)
    shop.sql("DROP TABLE orders")
    with shop.project().open_store() as store:
        for _ in range(2):
            assert {outcome.reason for outcome in _look(shop, store).values()} == {UnknownReason.MISCONFIGURED}
        with store.reading() as tx:
            assert list(tx.incidents.matching(IncidentFilter())) == []


def _edit(shop, old, new):
    shop.config.write_text(shop.config.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("- name: orders\n", "- name: orders\n    table: orderz\n"),
        ('shop: {url: "sqlite:///shop.sqlite"', 'shop: {url: "sqlite:///other.sqlite"'),
    ],
    ids=["relation", "source"],
)
def test_a_changed_place_in_the_configuration_is_no_absence(tmp_path, old, new):
    """A table that is not where the configuration names it now opens no incident, until it was seen there."""
    shop = build_shop(tmp_path, checks=_CHECKS)
    sqlite3.connect(tmp_path / "other.sqlite").close()
    with shop.project().open_store() as store:
        _look(shop, store)
        _edit(shop, old, new)
        for _ in range(2):
            assert {outcome.reason for outcome in _look(shop, store).values()} == {UnknownReason.MISCONFIGURED}
        with store.reading() as tx:
            assert list(tx.incidents.matching(IncidentFilter())) == []
        _edit(shop, new, old)
        shop.sql("DROP TABLE orders")
        assert _look(shop, store)["volume"].status is Status.FAIL


def test_a_file_that_is_removed_while_it_is_read_is_no_absence(tmp_path):
    """It may be replaced at this moment: its checks are unknown, and the next run tells whether it is gone."""
    (tmp_path / "orders.csv").write_text("id\n1\n", encoding="utf-8")
    checks = (("orders.volume", Volume(min=1)),)
    spec = SourceSpec("s", tmp_path, files="*.csv")
    with open_source(spec) as source:
        (tmp_path / "orders.csv").unlink()
        with pytest.raises(SourceError) as caught:
            plan(Subject("orders", "orders", checks), source)
    assert not_evaluated(caught.value).reason is UnknownReason.NO_DATA
