"""What tests of alerts share."""

import pytest

from tests.monitor.alerts.desk import ALL_TO_DESK, Desk
from tests.monitor.alerts.made import project


@pytest.fixture
def desk_of(tmp_path):
    """Return a way to make a desk of a configuration."""
    opened = []

    def make(alerts=ALL_TO_DESK, **changes):
        made = project(tmp_path, alerts, **changes)
        opened.append(made.open_store())
        return Desk(made, opened[-1])

    yield make
    for store in opened:
        store.close()
