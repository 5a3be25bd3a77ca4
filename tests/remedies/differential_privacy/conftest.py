"""Bytes that fall alike in every run, in the place of the operating system's: the private door of the sub-package."""

import numpy as np
import pytest

from remedies.differential_privacy import random_bytes as _bytes


@pytest.fixture
def fixed_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every draw of a test come from one fixed stream, so that no test of a distribution can fail by chance."""
    monkeypatch.setattr(_bytes, "operating_system_bytes", np.random.default_rng(20261121).bytes)
