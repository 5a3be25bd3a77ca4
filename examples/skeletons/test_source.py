import sqlite3
from contextlib import closing

import pytest

from sources import QueryFailed, SourceSpec
from sources.skeleton import Skeleton


def test_tables_are_listed_and_read(tmp_path):
    """A table has its name, its columns and its rows; an error has no value, and nothing is written."""
    with closing(sqlite3.connect(tmp_path / "shop.db")) as connection, connection:
        connection.executescript("CREATE TABLE orders (id INTEGER); INSERT INTO orders VALUES (1), (2);")
    with Skeleton(SourceSpec("shop", tmp_path, url="sqlite:///shop.db")) as source:
        assert source.tables() == ["orders"]
        assert source.fetch(source.compile(source.table("orders").count().name("rows"))) == [{"rows": 2}]
        for statement in ("DELETE FROM orders", "SELECT canary FROM orders"):
            with pytest.raises(QueryFailed):
                source.fetch(statement)
