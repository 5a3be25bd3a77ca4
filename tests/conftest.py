"""What every test may use: the reference data that lies beside the repository."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests._postgres import postgres_url

__all__ = ["postgres_url", "reference_data"]

# a law holds or it does not: how long an example takes on a busy machine decides nothing
settings.register_profile("house", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("house")


@pytest.fixture(scope="session")
def reference_data() -> Path:
    """Give the folder of reference data, or skip."""
    beside = Path(__file__).resolve().parents[1].parent / "shared" / "data"
    folder = Path(os.environ.get("TABLEWATCH_REFERENCE_DATA", beside))
    if not folder.is_dir():
        pytest.skip("no reference data: expected beside the repository, or where TABLEWATCH_REFERENCE_DATA says")
    return folder
