"""A store to test with, on each database there is."""

import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, make_url, text

from store import Store, open_store

ON_BOTH = ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]


@pytest.fixture(params=ON_BOTH)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Yield the address of a place for a store: a file, and a schema of its own in PostgreSQL."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'store.db'}"
        return
    server = make_url(request.getfixturevalue("postgres_url")).set(drivername="postgresql+psycopg")
    schema = f"store_{secrets.token_hex(6)}"
    engine = create_engine(server)
    try:
        with engine.begin() as connection:
            connection.execute(text(f"CREATE SCHEMA {schema}"))
        own = server.set(drivername="postgresql").update_query_dict({"options": f"-csearch_path={schema}"})
        yield own.render_as_string(hide_password=False)
        with engine.begin() as connection:
            connection.execute(text(f"DROP SCHEMA {schema} CASCADE"))
    finally:
        engine.dispose()


@pytest.fixture(scope="session")
def empty_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an empty store to copy: making one takes longer than most tests."""
    file = tmp_path_factory.mktemp("empty") / "store.db"
    open_store(f"sqlite:///{file}").close()
    return file


@pytest.fixture
def store(url: str, file: Path, empty_file: Path) -> Iterator[Store]:
    """Yield an empty store."""
    if url.endswith(str(file)):
        shutil.copy(empty_file, file)
    with open_store(url) as opened:
        yield opened


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return the place of a SQLite store that is not there yet."""
    return tmp_path / "store.db"
