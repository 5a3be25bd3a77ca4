"""What the tests of checks share: every engine in turn."""

import os

import pytest

from tests.checks.ask import SERVERS
from tests.needs import skip


@pytest.fixture(
    params=[
        "duckdb",
        "sqlite",
        pytest.param("postgres", marks=pytest.mark.postgres),
        pytest.param("mysql", marks=pytest.mark.mysql),
    ]
)
def dialect(request: pytest.FixtureRequest) -> str:
    """Return each engine's dialect in turn."""
    variable = SERVERS.get(request.param)
    if variable is not None and not os.environ.get(variable):
        skip(request.param)
    return request.param
