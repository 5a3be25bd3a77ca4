"""Tables with a token in every sensitive cell, on every engine: `people` breaks checks, `tidy` keeps to them."""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import duckdb

from tests.duckdb_rows import insert_rows
from tests.privacy.tokens import Tokens

COLUMNS: Final = {
    "id": "BIGINT",
    "twin": "BIGINT",
    "name": "VARCHAR",
    "email": "VARCHAR",
    "note": "VARCHAR",
    "code": "VARCHAR",
    "age": "BIGINT",
    "wage": "DOUBLE PRECISION",
    "fee": "DECIMAL(14, 2)",
    "born": "DATE",
    "seen": "TIMESTAMP",
    "loaded_at": "TIMESTAMP",
}
"""All but `loaded_at` is sensitive. `twin` holds a number that the other table has too."""

Row = Sequence[Any]
LONG: Final = 70_000


class Harvest:
    """The rows of the two tables, the same for every engine."""

    def __init__(self, tokens: Tokens, *, loaded_at: datetime) -> None:
        self.tokens = tokens
        self._loaded_at = loaded_at.replace(tzinfo=None)
        self.tidy = [self._row() for _ in range(8)]
        self.people = [self._row() for _ in range(8)]
        self._spoil()

    def _row(self) -> list[Any]:
        give = self.tokens
        day = give.day()
        seen = datetime.combine(give.day(), datetime.min.time())
        return [
            give.whole(), give.whole(), give.word(), f"{give.word()}@{give.word()}.example", f"{give.word()} of old",
            str(give.whole()), give.whole(), float(give.decimal()), give.decimal(), day, seen, self._loaded_at,
        ]  # fmt: skip

    def _spoil(self) -> None:
        """Break what can be broken: keys, NULL, and texts that quoting, logs, terminals and pages trip over."""
        rows, word = self.people, self.tokens.word
        rows[1][0] = rows[0][0]  # a key that occurs twice
        rows[2][0] = None
        rows[3][2] = None
        rows[4][2] = f"O'{word()}\"; DROP TABLE people; --"
        rows[5][2] = f"<script>alert('{word()}')</script>&amp;"
        rows[6][2] = f"\x1b[31m{word()}\x1b]0;{word()}\x07"
        rows[7][2] = f"{word()}\n2026-11-20 09:00:00 ERROR {word()}\r\n,\t{word()}"
        rows[0][4] = " ".join(word() for _ in range(LONG // 12))
        rows[1][4] = f"{word()} é 売上 {word()} \U0001f600"
        rows[2][5] = word()  # does not cast to a number
        rows[3][5] = f"99{word()}"
        self.tidy[0][1] = rows[0][1]  # the only twin that is found over there


def plant_sqlite(folder: Path, harvest: Harvest) -> str:
    """Make a SQLite file, with texts in columns of numbers and bytes that are no UTF-8; give its URL."""
    strange = harvest.tokens.word()
    with closing(sqlite3.connect(folder / "planted.sqlite")) as connection, connection:
        for table, rows in {"people": harvest.people, "tidy": harvest.tidy}.items():
            columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
            connection.execute(f"CREATE TABLE {table} ({columns})")
            marks = ", ".join("?" * len(COLUMNS))
            connection.executemany(f"INSERT INTO {table} VALUES ({marks})", [[*map(_plain, row)] for row in rows])
        connection.execute(f"UPDATE people SET age = '{strange}' WHERE rowid = 1")
        connection.execute(f"UPDATE people SET wage = '{strange}', born = '{strange}' WHERE rowid = 2")
        bad = strange.encode() + b"\xff\xfe\x80"
        connection.execute("UPDATE people SET email = CAST(? AS TEXT) WHERE rowid = 3", [bad])
        connection.execute("UPDATE people SET seen = ? WHERE rowid = 4", [bad])
    return "sqlite:///planted.sqlite"


def _plain(value: object) -> object:
    return value if value is None or isinstance(value, int | float | str) else str(value)


def plant_duckdb(folder: Path, harvest: Harvest) -> str:
    """Make a DuckDB file; give its URL."""
    with duckdb.connect(str(folder / "planted.duckdb")) as connection:
        _fill_duckdb(connection, harvest)
    return "duckdb:///planted.duckdb"


def _fill_duckdb(connection: duckdb.DuckDBPyConnection, harvest: Harvest) -> None:
    for table, rows in {"people": harvest.people, "tidy": harvest.tidy}.items():
        connection.execute(create_table(table))
        marks = ", ".join("?" * len(COLUMNS))
        insert_rows(connection, f"INSERT INTO {table} VALUES ({marks})", rows)


def create_table(table: str) -> str:
    """Return the statement that makes one of the tables, as DuckDB and PostgreSQL take it."""
    return f"CREATE TABLE {table} ({', '.join(f'{name} {kind}' for name, kind in COLUMNS.items())})"


def plant_files(folder: Path, harvest: Harvest, kind: str) -> str:
    """Make CSV or Parquet files; give their glob."""
    with duckdb.connect() as connection:
        _fill_duckdb(connection, harvest)
        for table in ("people", "tidy"):
            connection.execute(f"COPY {table} TO '{folder / table}.{kind}'")
    return f"*.{kind}"


def plant_broken(folder: Path, tokens: Tokens) -> Mapping[str, Mapping[str, Any]]:
    """Make files that no engine can read whole; give the sources that read them."""
    (folder / "latin.csv").write_bytes(f"name,age\n{tokens.word()},1\n{tokens.word()}".encode() + b"\xe9\xff,2\n")
    lines = "\n".join(f"{tokens.word()},{number}" for number in range(30))
    (folder / "typed.csv").write_text(f"name,age\n{lines}\n{tokens.word()},{tokens.word()}\n", encoding="utf-8")
    (folder / "ragged.csv").write_text(f'a,b\n{tokens.word()}\n1,2,{tokens.word()}\n"{tokens.word()}', encoding="utf-8")
    (folder / "torn.parquet").write_bytes(b"PAR1" + tokens.word().encode() * 40)
    (folder / "torn.sqlite").write_bytes(b"SQLite format 3\0" + tokens.word().encode() * 400)
    return {
        "latin": {"files": "latin.csv"},
        "typed": {"files": "typed.csv", "csv": {"types": {"age": "INTEGER"}}},
        "ragged": {"files": "ragged.csv"},
        "torn": {"files": "torn.parquet"},
        "torn_sqlite": {"url": "sqlite:///torn.sqlite"},
    }


PLANTS: Final[Mapping[str, Callable[[Path, Harvest], Mapping[str, Any]]]] = {
    "sqlite": lambda folder, harvest: {"url": plant_sqlite(folder, harvest)},
    "duckdb": lambda folder, harvest: {"url": plant_duckdb(folder, harvest)},
    "csv": lambda folder, harvest: {"files": plant_files(folder, harvest, "csv")},
    "parquet": lambda folder, harvest: {"files": plant_files(folder, harvest, "parquet")},
}
"""How to make each engine's tables in a folder of their own, and the source that reads them."""
