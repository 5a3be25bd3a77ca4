"""Compiled kernels are kept, and never outlive their sources."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HOUSE = Path(__file__).resolve().parents[3]
RUN = "from remedies.microaggregation._labels import canonical, _by_first_appearance as kernel; \
canonical([3, 1]); print(sum(kernel.stats.cache_hits.values()), sum(kernel.stats.cache_misses.values()))"


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """Give a copy of the rooms that this one imports, to change."""
    for room in ("sources", "checks", "remedies", "monitor"):
        shutil.copytree(HOUSE / room, tmp_path / room, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def _hits_and_misses(house: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": str(house), "NUMBA_CACHE_DIR": str(house / "kept")}
    ran = subprocess.run([sys.executable, "-c", RUN], env=environment, cwd=house, capture_output=True, check=True)
    return ran.stdout.decode().strip()


def test_a_second_process_does_not_compile_again(house: Path):
    """What one process compiled, the next one takes from disk, until any file of the folder changes."""
    assert _hits_and_misses(house) == "0 1"
    assert _hits_and_misses(house) == "1 0"
    with (house / "remedies" / "microaggregation" / "_margin.py").open("a", encoding="utf-8") as other:
        other.write("# changed\n")
    assert _hits_and_misses(house) == "0 1"
