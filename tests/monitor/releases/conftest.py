"""What the tests of releases may use."""

from pathlib import Path

import pytest

from tests.monitor.releases.desk import Desk, people


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """Return a desk with forty people, in a folder of its own."""
    return Desk(tmp_path).write(people())
