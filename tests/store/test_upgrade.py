"""Stores of earlier releases: upgraded with every row as it was; those of later ones are refused."""

import hashlib
from collections.abc import Mapping

import pytest
from sqlalchemy import text

from incidents import Resolution, Resolved
from store import Changed, StoreNewer, open_store
from store._engines import address_of, migration_engine
from store._open import PATIENCE
from store._schema import HEAD, REVISION_TABLE
from tests.store.made import AT, HOUR, opened
from tests.store.older import make_first_revision

ADDED = {("incident_event", "checksum")}
"""Columns that later revisions add to tables of the first one."""
FIRST_TABLES = ("project", "run", "measurement", "check_state", "incident", "episode", "incident_event", "gap")


def _hashes(url: str) -> Mapping[str, tuple[int, str]]:
    """Return for each of the first tables how many rows it has, and a hash over all that is in them."""
    engine = migration_engine(address_of(url), patience=PATIENCE)
    try:
        with engine.begin() as connection:
            found = {}
            for table in FIRST_TABLES:
                cells = (
                    [cell for name, cell in row.items() if (table, name) not in ADDED]
                    for row in connection.execute(text(f"SELECT * FROM {table}")).mappings()
                )
                rows = sorted(map(repr, map(tuple, cells)))
                found[table] = (len(rows), hashlib.sha256("\n".join(rows).encode()).hexdigest())
            return found
    finally:
        engine.dispose()


def test_a_store_of_the_first_revision_keeps_every_row(url: str) -> None:
    """Upgrading from 0001 changes no row of any table, and the history still folds to what is stored."""
    make_first_revision(url)
    before = _hashes(url)
    assert all(count > 0 for count, _ in before.values())
    with open_store(url) as store:
        assert store.revision() == HEAD
        assert store.rebuild_check() == []
        with store.reading() as view:
            assert view.project() == "shop"
            assert view.waiting_transitions(9) == []  # what happened before anybody listened is not told
    assert _hashes(url) == before


def test_an_upgraded_store_is_used_like_a_new_one(url: str) -> None:
    """After the upgrade incidents go on where they stood, new ones get new numbers, and both are heard of."""
    make_first_revision(url)
    with open_store(url) as store:
        with store.writing() as book:
            new = book.open_incident(opened("new"), recorded_at=AT, actor="tablewatch")
            old = book.incident(1)
            book.append(old, [Resolved(AT + 9 * HOUR, Resolution.FIXED)], recorded_at=AT, actor="mia")
            heard = [
                (waiting_transition.incident_id, waiting_transition.change)
                for waiting_transition in book.waiting_transitions(9)
            ]
        assert heard == [(new.id, Changed.OPENED), (old.id, Changed.RESOLVED)]
        assert new.id == 3
        assert store.rebuild_check() == []


def test_a_newer_store_is_refused_and_left_alone(url: str) -> None:
    """A store of a later release is named as such, and nothing of it changes."""
    make_first_revision(url)
    open_store(url).close()
    engine = migration_engine(address_of(url), patience=PATIENCE)
    with engine.begin() as connection:
        connection.execute(text(f"UPDATE {REVISION_TABLE} SET version_num = '{int(HEAD) + 1:04}'"))
    engine.dispose()
    before = _hashes(url)
    with pytest.raises(StoreNewer, match="newer Tablewatch"):
        open_store(url)
    assert _hashes(url) == before
