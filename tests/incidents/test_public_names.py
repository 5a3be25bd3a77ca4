"""What it costs to ask for a name of the package."""

import subprocess
import sys
from pathlib import Path

import incidents

ROOT = Path(incidents.__file__).resolve().parents[1]


def test_an_estimate_loads_nothing_heavy():
    """The planning figure needs neither numpy nor the machinery of checks."""
    program = (
        "import sys, incidents.estimate; "
        "print([name for name in ('numpy', 'ibis', 'pydantic', 'checks') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
