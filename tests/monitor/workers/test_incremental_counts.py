"""What is known of kept counts goes to the workers, and what they found of them comes back."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import timedelta

import duckdb

from checks import Measurement
from checks.classes.counts import ClassChange
from checks.k_anonymity import KAnonymityCheck
from monitor.scan.incremental import stage_counts, with_count_states
from monitor.scan.results import LookbackWindow
from monitor.workers import TableScanned
from sources import SourceSpec
from store import open_store
from tests.monitor.workers.conftest import job, target

KEY = b"a key for tests, 32 bytes long.."
BY_ID = {"mode": "append", "watermark": "id"}


def test_a_worker_counts_what_changed_since_the_store_knows(ear, shop, tmp_path):
    """The first look counts all; the next one knows how far that came, by another worker as well."""
    check = KAnonymityCheck(quasi_identifiers=("id",), k=2, incremental=BY_ID)
    asked = target(shop, "a", [("k", check)])
    with open_store(f"sqlite:///{tmp_path / 'store.db'}") as store:
        for number, counted in ((1, "all"), (2, "changes"), (3, "changes")):
            (known,) = with_count_states([asked], store=store, key=lambda: KEY)
            job_ = job(known, alone=number == 3)
            table_result = next(
                event.table_result
                for event in ear.run(job_)
                if isinstance(event, TableScanned) and event.job == job_.id
            )
            answer = table_result.measured[0].answer
            assert isinstance(answer, Measurement)
            assert isinstance(answer.kept, ClassChange)
            assert (answer.values["rows"], answer.values["counted"]) == (1 + number, counted)
            kept = stage_counts([table_result], store)
            assert {"size": 1, "classes": 1 + number} in kept.batch[0].measured[0].answer.tables["sizes"]
            with store.writing() as tx:
                kept.settle(tx, kept.batch)
            with closing(sqlite3.connect(tmp_path / "shop.sqlite")) as connection, connection:
                connection.execute("INSERT INTO a VALUES (?)", (10 + number,))


def test_a_worker_reads_what_is_not_closed(ear, tmp_path):
    """What is kept of rows that are no longer read goes to a worker, and what is kept then comes back."""
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as connection:
        connection.execute("CREATE TABLE a AS SELECT DATE '2026-01-01' + i::INT AS id FROM range(20) AS r(i)")
    asked = target(SourceSpec("shop", tmp_path, url="duckdb:///shop.duckdb"), "a")
    lookback = LookbackWindow("id", timedelta(days=3), timedelta(days=7), checks=2)
    asked = replace(asked, subject=replace(asked.subject, incremental=lookback))
    with open_store(f"sqlite:///{tmp_path / 'store.db'}") as store:
        for read, why in ((20, "first"), (4, None)):
            (known,) = with_count_states([asked], store=store, key=lambda: KEY)
            heard = ear.run(job(known))
            *_, table_result = (event.table_result for event in heard if isinstance(event, TableScanned))
            assert table_result.closed is not None
            assert (table_result.closed.read, table_result.closed.rows, table_result.closed.why) == (read, 20, why)
            staged = stage_counts([table_result], store)
            assert staged.batch[0].closed is None
            assert staged.batch[0].measured[1].answer.values["rows"] == 20
            with store.writing() as tx:
                staged.settle(tx, staged.batch)


def test_the_key_is_not_told(shop):
    """A printed target, as in a log, has no key."""
    keeper = with_keepers_key(target(shop, "a"))
    assert "secret" not in repr(keeper)
    assert "secret" not in repr(keeper.keeper)


def with_keepers_key(asked):
    """Return a target that knows a key."""
    from monitor.scan.results import CountState

    return replace(asked, keeper=CountState(b"secret" * 4))
