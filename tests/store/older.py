"""Stores as earlier releases of the tables left them, with rows in every table that there was."""

from pathlib import Path

from sqlalchemy import text

from store import _open
from store._engines import address_of, migration_engine

_ROWS = Path(__file__).parent / "rows_0001.sql"
"""Written by the code of revision 0001; never edit it."""

_NUMBERED = {"run": "number", "measurement": "id", "incident": "id", "incident_event": "id", "gap": "id"}


def make_first_revision(url: str) -> None:
    """Make a store of revision 0001 with its rows, as its own code wrote them."""
    address = address_of(url)
    if address.file is not None:
        address.file.touch()
    _open.migrate(address, to="0001", patience=_open.PATIENCE)
    engine = migration_engine(address, patience=_open.PATIENCE)
    try:
        with engine.begin() as connection:
            for statement in _ROWS.read_text(encoding="utf-8").splitlines():
                connection.exec_driver_sql(statement)
            if address.file is None:  # its own code let the server number rows
                for table, column in _NUMBERED.items():
                    number = f"pg_get_serial_sequence('{table}', '{column}')"
                    connection.execute(text(f"SELECT setval({number}, max({column})) FROM {table}"))
    finally:
        engine.dispose()
