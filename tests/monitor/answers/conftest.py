"""What the tests of noisy answers use."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from store import Store, open_store
from tests.monitor.answers.asked import table


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Yield a store in a file, beside the table."""
    table(tmp_path)
    with open_store(f"sqlite:///{tmp_path / 'store.db'}") as opened:
        yield opened
