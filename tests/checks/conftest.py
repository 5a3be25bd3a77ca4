"""What the tests of checks share: every engine in turn."""

import pytest

from tests.checks.ask import ENGINES


@pytest.fixture(params=ENGINES)
def dialect(request: pytest.FixtureRequest) -> str:
    """Give each engine's dialect in turn."""
    return request.param
