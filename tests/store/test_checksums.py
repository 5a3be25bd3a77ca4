"""Changed bytes in the events of incidents are found."""

import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from incidents import Commented
from store import open_store
from tests.store.made import AT, opened

CHANGES = [
    "actor = 'somebody'",
    "recorded_us = recorded_us + 1",
    "body = replace(body, 'late', 'lata')",
    "body = body || ' '",
    "checksum = NULL",
    "checksum = replace(replace(checksum, '0', '1'), 'a', 'b') || 'c'",
]


def _made(file: Path) -> str:
    url = f"sqlite:///{file}"
    with open_store(url) as store, store.writing() as tx:
        incident = tx.incidents.open(opened(), recorded_at=AT, actor="m.möri")
        tx.incidents.append(incident, [Commented("late")], recorded_at=AT + timedelta(hours=1), actor="日本")
    return url


def _change(file: Path, script: str) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(f"DROP TRIGGER incident_event_no_update; {script}")


@pytest.mark.parametrize("change", CHANGES)
def test_an_event_that_was_changed_in_the_store_is_found(file: Path, change: str) -> None:
    """Also where the incident that the events amount to is the same."""
    url = _made(file)
    with open_store(url) as store:
        assert store.rebuild_check() == []
    _change(file, f"UPDATE incident_event SET {change} WHERE number = 1")
    with open_store(url) as store:
        (wrong,) = store.rebuild_check()
    assert wrong.problem == "its event 1 is not what was written: it does not fit its checksum"
