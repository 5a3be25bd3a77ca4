"""Compiled kernels are kept, and never outlive their sources."""

import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from remedies._compiled import is_kept

ROOT = Path(__file__).resolve().parents[2]
RUN = """
import numpy as np
from remedies._compiled import is_kept
from remedies.microaggregation._npn import outermost
before = is_kept(outermost)
outermost(np.eye(2))
assert (before, is_kept(outermost)) == (outermost.stats.cache_hits != {}, True)
print(sum(outermost.stats.cache_hits.values()), sum(outermost.stats.cache_misses.values()))
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a copy of the packages that this one imports, to change."""
    for package in ("sources", "checks", "remedies", "monitor"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def _hits_and_misses(root: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": str(root), "NUMBA_CACHE_DIR": str(root / "kept")}
    ran = subprocess.run([sys.executable, "-c", RUN], env=environment, cwd=root, capture_output=True, check=True)
    return ran.stdout.decode().strip()


def test_a_second_process_does_not_compile_again(root: Path):
    """What one process compiled, the next one takes from disk, until a file changes that the kernel's file needs."""
    folder = root / "remedies" / "microaggregation"
    assert _hits_and_misses(root) == "0 1"
    (folder / "_fdh.py").write_text((folder / "_fdh.py").read_text(encoding="utf-8") + "# another\n", encoding="utf-8")
    assert _hits_and_misses(root) == "1 0"
    needed = folder / "_extremes.py"  # by _leaves, which _walk needs
    needed.write_text(needed.read_text(encoding="utf-8") + "# another\n", encoding="utf-8")
    assert _hits_and_misses(root) == "0 1"


def test_what_an_earlier_build_kept_of_classes_with_other_names_is_left(root: Path):
    """The index of kept code names classes; when they were renamed since, the kernel is compiled again."""
    assert _hits_and_misses(root) == "0 1"
    (index,) = (root / "kept").rglob("*outermost*.nbi")
    version, rest = pickle.dumps("an earlier build"), b"cremedies.microaggregation._walk\nNoSuchClass\n."
    index.write_bytes(version + rest)
    assert _hits_and_misses(root) == "0 1"
    assert _hits_and_misses(root) == "1 0"


def test_what_is_no_kernel_is_not_kept():
    """Nor is one that numba keeps in another way than today's: then it is unknown."""
    assert not is_kept(print)
