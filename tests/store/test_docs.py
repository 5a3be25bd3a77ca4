"""The page about the store says what is so."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path

from store import open_store
from store._columns import Blob, Json, Line, map_all_rows
from store._names import NAME_COLUMNS
from store._open import CHECKED_WHOLE, LOCK_TIMEOUT
from tests.store.later import make_store_with_rows
from tests.store.made import AT, opened

PAGE = Path(__file__).parents[2] / "docs" / "store.md"
TABLES = PAGE.with_name("store-tables.md")
OF_NAMES = (Line, Json, Blob)
"""The types of columns that can hold a name; words of closed sets, numbers and times cannot."""
WITHOUT_NAMES = {
    "answered_request": {"content", "digest"},
    "check_state": {"last_status", "place", "recent"},
    "class_count": {"part", "held", "pending"},
    "class_part": {"name"},
    "class_state": {"aborted", "digest", "token"},
    "clock": {"boot"},
    "closed_part": {"body", "digest"},
    "daemon": {"id", "host", "version", "config_error"},
    "daemon_config": {"daemon_id", "digest"},
    "daily_cost": {"day", "source"},
    "delivery": {"channel", "error", "holder", "id"},
    "disabled_channel": {"name", "why"},
    "external_item": {"channel", "item", "label", "status", "target"},
    "gap": {"reason"},
    "incident_event": {"checksum", "kind"},
    "ledger_entry": {"hash", "previous"},
    "logged_event": {"source"},
    "privacy_budget": {"delta", "unit"},
    "project": {"name"},
    "release": {"digest", "name"},
    "release_comparison": {"digest", "release"},
    "release_event": {"release"},
    "released_row": {"class_signature", "person"},
    "released_value": {"attribute", "class_signature", "value"},
    "run": {"id"},
    "schedule": {"schedule", "zone"},
    "slot": {"holder", "run_id"},
    "told": {"channel", "delivery_id", "reason"},
    "status_address": {"digest"},
    "web_user": {"password"},
    **{key: {"digest"} for key in ("api_token", "login_link", "web_session")},
}
"""The other columns of these types: keyed hashes, random ids, names of releases, channels, sources and data sets."""


def _documented() -> dict[str, list[str]]:
    rows = re.findall(r"^\| `(\w+)` \|[^|]*\| (.*) \|$", TABLES.read_text(), re.MULTILINE)
    without_notes = ((table, re.sub(r"\([^)]*\)", "", columns)) for table, columns in rows)
    return {table: re.findall(r"`(\w+)`", columns) for table, columns in without_notes}


def test_every_table_and_column_is_documented() -> None:
    """The table of tables names each column of each table, in order, and nothing else."""
    tables = {table.name: [column.name for column in table.c] for table in map_all_rows().sorted_tables}
    assert _documented() == {**tables, "store_revision": ["version_num"]}


def test_the_page_lists_the_columns_with_names() -> None:
    """The table of the page is the list by which a rename goes."""
    rows = [
        f"| {group.holds} | {group.on_rename} | {' '.join(f'`{name}`' for name in group.columns)} |"
        for group in NAME_COLUMNS
    ]
    assert "\n".join(rows) in TABLES.read_text().partition("## Names")[2]


def test_every_column_with_names_is_listed() -> None:
    """A column that can hold names stands in the list of them, or in that of those which hold none."""
    documented = {name for group in NAME_COLUMNS for name in group.columns}
    without = [f"{table}.{column}" for table, columns in WITHOUT_NAMES.items() for column in columns]
    columns = [column for table in map_all_rows().sorted_tables for column in table.c]
    assert not documented.intersection(without)
    assert {*documented, *without} == {str(item) for item in columns if isinstance(item.type, OF_NAMES)}


def test_names_stand_in_documented_columns_only(tmp_path: Path) -> None:
    """In a store with rows, no other column holds the name of a table or person."""
    make_store_with_rows(f"sqlite:///{tmp_path}/store.db")
    names = re.compile(r"crm\.customers|shop\.orders|\bmia\b")
    with closing(sqlite3.connect(tmp_path / "store.db")) as connection:
        for table, columns in WITHOUT_NAMES.items():
            for column in columns - {"id"}:  # the rows' own runs are named for their table
                cells = connection.execute(f'SELECT "{column}" FROM "{table}"').fetchall()
                assert not any(names.search(str(cell)) for (cell,) in cells), f"{table}.{column}"


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
