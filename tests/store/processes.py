"""Start our own interpreter with a module of these tests."""

import os
import subprocess
import sys
from pathlib import Path

import store as package

HOME = Path(__file__).parents[2]


def start(module: str, *arguments: str) -> "subprocess.Popen[str]":
    """Start `tests.store.<module>`; its input, output and errors are pipes."""
    paths = os.pathsep.join([str(Path(package.__file__).parents[1]), str(HOME)])
    return subprocess.Popen(
        [sys.executable, "-m", f"tests.store.{module}", *arguments],
        env={**os.environ, "PYTHONPATH": paths},
        cwd=HOME,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
