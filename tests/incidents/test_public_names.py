"""The names of the room, and what it costs to ask for them."""

import subprocess
import sys
from pathlib import Path

import pytest

import incidents

ROOT = Path(incidents.__file__).resolve().parents[1]


def test_every_public_name_is_there():
    """What the room says it offers, it offers."""
    for name in incidents.__all__:
        assert getattr(incidents, name) is not None
    assert sorted(incidents.__all__) == sorted(set(incidents.__all__))


def test_other_names_are_not():
    """A name that the room does not offer is an error that names it."""
    with pytest.raises(AttributeError, match="module 'incidents' has no attribute 'measur'"):
        incidents.measur  # noqa: B018 - looking it up is the test


def test_an_estimate_loads_nothing_heavy():
    """The planning figure needs neither numpy nor the machinery of checks."""
    program = (
        "import sys, incidents.estimate; "
        "print([name for name in ('numpy', 'ibis', 'pydantic', 'checks') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
