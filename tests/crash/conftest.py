"""The nursery that all these tests share."""

import pytest

from tests.crash import strace
from tests.crash.nursery import Nursery
from tests.store.conftest import url

__all__ = ["nursery", "tracing", "url"]


@pytest.fixture(scope="session")
def nursery():
    """Return the process that forks those who are killed."""
    with Nursery() as found:
        yield found


@pytest.fixture(scope="session")
def tracing():
    """See that strace can inject faults here, or skip."""
    reason = strace.missing()
    if reason is not None:
        pytest.skip(reason)
