"""The page about the store says what is so."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path

from store import open_store
from store._columns import map_all_rows
from store._open import CHECKED_WHOLE, LOCK_TIMEOUT
from tests.store.made import AT, opened

PAGE = Path(__file__).parents[2] / "docs" / "store.md"
TABLES = PAGE.with_name("store-tables.md")


def _documented() -> dict[str, list[str]]:
    rows = re.findall(r"^\| `(\w+)` \|[^|]*\| (.*) \|$", TABLES.read_text(), re.MULTILINE)
    without_notes = ((table, re.sub(r"\([^)]*\)", "", columns)) for table, columns in rows)
    return {table: re.findall(r"`(\w+)`", columns) for table, columns in without_notes}


def test_every_table_and_column_is_documented() -> None:
    """The table of tables names each column of each table, in order, and nothing else."""
    tables = {table.name: [column.name for column in table.c] for table in map_all_rows().sorted_tables}
    assert _documented() == {**tables, "store_revision": ["version_num"]}


def test_the_numbers_of_the_page_are_those_of_the_code() -> None:
    """What the page says of sizes and waiting is what the code does."""
    page = PAGE.read_text()
    assert f"Files up to {CHECKED_WHOLE // 2**20} MiB" in page
    assert f"longer than {LOCK_TIMEOUT.seconds} s" in page


def test_the_backup_of_the_page_is_a_store(file: Path, tmp_path: Path) -> None:
    """The documented copy, made while the store is in use, opens as a store with everything that was committed."""
    said = re.search(r'^sqlite3 tablewatch\.db "(.*)"$', PAGE.read_text(), re.MULTILINE)
    assert said is not None
    copy = tmp_path / "copy.db"
    with open_store(f"sqlite:///{file}") as store:
        with store.writing() as tx:
            incident = tx.incidents.open(opened(), recorded_at=AT, actor="tablewatch")
        with closing(sqlite3.connect(file)) as connection:
            connection.execute(said[1].replace("tablewatch-backup.db", str(copy)))
    with open_store(f"sqlite:///{copy}", thorough=True) as backup, backup.reading() as tx:
        assert tx.incidents.matching() == [incident]
