"""Class counts of tables of PostgreSQL that are kept from run to run: those of a full recomputation, in each mode."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from monitor.scan.results import Subject, Target
from sources import SourceSpec
from store import Store, open_store
from tests.monitor.scan.test_incremental import APPEND, CHANGES, START, People

pytestmark = pytest.mark.postgres


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Yield a store in a file."""
    with open_store(f"sqlite:///{tmp_path / 'store.db'}") as opened:
        yield opened


@dataclass
class PostgresqlPeople(People):
    """The same people in PostgreSQL."""

    url: str = ""

    def run(self, statement: str, rows: Sequence[Sequence[Any]] = ()) -> None:
        """Change the data."""
        import psycopg

        with psycopg.connect(self.url) as connection, connection.cursor() as cursor:
            said: Any = statement.replace("?", "%s")
            if rows:
                cursor.executemany(said, rows)
            else:
                cursor.execute(said)

    @property
    def target(self) -> Target:
        """Return the table."""
        source = SourceSpec(name="people", base=self.folder, url=self.url)
        return Target(Subject("people", "people", (("people.k", self.check),)), source)


@pytest.mark.parametrize("incremental", [APPEND, CHANGES], ids=["append", "changes"])
def test_kept_counts_are_those_of_a_full_recomputation(
    postgres_url: str, tmp_path: Path, store: Store, incremental: Any
) -> None:
    """After each batch of inserts, changes and deletes the numbers are those of counting all again."""
    people, hour = PostgresqlPeople(tmp_path, "postgresql", store, incremental, url=postgres_url), timedelta(hours=1)
    try:
        people.insert([(1980, "a", "mon", START), (1980, None, "mon", START), (None, "東", "tue", START + hour)])
        assert people.agrees().outcome.observed["recounted_because"] == "first"
        people.insert([(1980, "a", "tue", START + hour), (1981, "b", None, START + 2 * hour)])
        assert people.agrees().outcome.observed["counted"] == "changes"
        people.delete([1, 2])
        if incremental is not APPEND:
            people.update({3: (1980, "a", "wed")})
        why = "rows-differ" if incremental is APPEND else None
        assert people.agrees().outcome.observed["recounted_because"] == why
        people.delete(sorted(people.rows))
        people.look()
        people.insert([(1990, "c", "thu", START + 3 * hour)])
        people.agrees()
    finally:
        for table in ("people", "log"):
            people.run(f"DROP TABLE {table}")
