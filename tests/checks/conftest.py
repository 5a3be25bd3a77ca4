"""What the tests of checks share: every engine in turn."""

import os

import pytest

from tests.checks.ask import POSTGRES


@pytest.fixture(params=["duckdb", "sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def dialect(request: pytest.FixtureRequest) -> str:
    """Return each engine's dialect in turn."""
    if request.param == "postgres" and not os.environ.get(POSTGRES):
        pytest.skip(f"no PostgreSQL server is named by {POSTGRES}")
    return request.param
