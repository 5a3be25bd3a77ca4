"""Releases that are remembered, and a table that is compared with them."""

from datetime import timedelta

import pytest

from checks import Status
from monitor.config.selector import select
from monitor.releases.remember import ReleaseNotStored, remember_release
from monitor.scan.run import run_checks
from store import StoreConflict
from tests.monitor.shop import build_shop

CHECK = "      - {type: re_release, person: [id], quasi_identifiers: [customer], k: 2}\n"


@pytest.fixture
def shop(tmp_path):
    """Return a shop with four orders: two groups of two."""
    made = build_shop(tmp_path, CHECK)
    made.sql("DELETE FROM orders")
    made.sql("INSERT INTO orders VALUES (?, ?, 1.0, NULL)", [(1, "x"), (2, "x"), (3, "y"), (4, "y"), (None, "y")])
    return made


def _outcome(shop, store):
    shop.clock.advance(timedelta(hours=1))
    project = shop.project()
    (result,) = run_checks(project, select([], project.config), store=store).results
    return result.outcome


def test_a_later_table_is_compared_with_a_remembered_release(shop):
    """Remembering takes signatures of people and classes; a regrouping that singles people out then fails."""
    with shop.project().open_store() as store:
        (remembered,) = remember_release(shop.project(), store, table="orders", name="spring", actor="desk")
        assert (remembered.check_id, remembered.rows, remembered.unnamed) == ("orders.re-release", 4, 1)
        assert _outcome(shop, store).status is Status.PASS
        shop.sql("UPDATE orders SET customer = CASE WHEN id % 2 = 0 THEN 'even' ELSE 'odd' END")
        outcome = _outcome(shop, store)
        assert outcome.status is Status.FAIL
        assert outcome.observed["releases"] == [
            {"name": "spring", "persons_in_both": 4, "exposed": 4, "smallest_group": 1}
        ]
        assert outcome.observed["rows_without_person"] == 1


def test_what_a_later_table_has_more_meets_l(shop):
    """Two newcomers of one value are known by subtracting; three of two values are not."""
    text = shop.config.read_text(encoding="utf-8")
    shop.config.write_text(text.replace("k: 2}", "k: 2, sensitive: [amount], l: 2}"), encoding="utf-8")
    shop.sql("UPDATE orders SET amount = id % 2")
    with shop.project().open_store() as store:
        remember_release(shop.project(), store, table="orders", name="spring", actor="desk")
        assert _outcome(shop, store).status is Status.PASS
        shop.sql("INSERT INTO orders VALUES (?, 'x', 7.0, NULL)", [(5,), (6,)])
        outcome = _outcome(shop, store)
        assert outcome.status is Status.FAIL
        assert "the difference of this table and release spring has groups whose values of amount" in str(
            outcome.message
        )
        shop.sql("INSERT INTO orders VALUES (?, 'x', 8.0, NULL)", [(7,)])
        assert _outcome(shop, store).status is Status.PASS


def test_an_earlier_release_may_have_had_other_quasi_identifiers(shop):
    """What is compared are groups, whatever they were made of."""
    with shop.project().open_store() as store:
        remember_release(shop.project(), store, table="orders", name="spring", actor="desk")
        text = shop.config.read_text(encoding="utf-8")
        shop.config.write_text(text.replace("[customer]", "[amount, customer]"), encoding="utf-8")
        assert _outcome(shop, store).status is Status.PASS


def test_another_key_cannot_be_compared(shop):
    """Without the key under which a release was remembered, the outcome is unknown, never a pass."""
    with shop.project().open_store() as store:
        remember_release(shop.project(), store, table="orders", name="spring", actor="desk")
        (shop.folder / "store.db.key").unlink()
        outcome = _outcome(shop, store)
        assert outcome.status is Status.UNKNOWN
        assert "release spring cannot be compared" in str(outcome.message)


def test_a_name_is_used_once_until_it_is_forgotten(shop):
    """Two releases of one name would be one in every report."""
    with shop.project().open_store() as store:
        remember_release(shop.project(), store, table="orders", name="spring", actor="desk")
        with pytest.raises(StoreConflict, match="'spring' is already recorded"):
            remember_release(shop.project(), store, table="orders", name="spring", actor="desk")
        with store.writing() as tx:
            tx.releases.forget_all_but("orders.re-release", [])
        remember_release(shop.project(), store, table="orders", name="spring", actor="desk")


def test_what_cannot_be_remembered_is_told(shop):
    """An unknown table, one without the check, and one without people: each says what to do."""
    project = shop.project()
    with project.open_store() as store:
        with pytest.raises(ReleaseNotStored, match="table 'order' is not configured"):
            remember_release(project, store, table="order", name="spring", actor="desk")
        shop.sql("UPDATE orders SET id = NULL")
        with pytest.raises(ReleaseNotStored, match="the person columns are NULL in every row"):
            remember_release(project, store, table="orders", name="spring", actor="desk")
        shop.sql("DROP TABLE orders")
        with pytest.raises(ReleaseNotStored, match="the table cannot be read: table 'orders' not found"):
            remember_release(project, store, table="orders", name="spring", actor="desk")
        text = shop.config.read_text(encoding="utf-8")
        other = text.replace("re_release, person: [id], quasi_identifiers: [customer], k: 2", "volume, min: 1")
        shop.config.write_text(other, encoding="utf-8")
        with pytest.raises(ReleaseNotStored, match="no check of type re_release"):
            remember_release(shop.project(), store, table="orders", name="spring", actor="desk")
