"""The guard against packages that hide a room."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import monitor


def test_the_rooms_are_found_beside_the_house() -> None:
    """In a proper installation every room is the one next to `monitor`."""
    house = Path(monitor.__file__).parents[1]
    assert {monitor._find(room) for room in monitor.ROOMS} == {house / room for room in monitor.ROOMS}


@pytest.mark.parametrize(("room", "file"), [("store", "store/__init__.py"), ("checks", "checks.py")])
def test_a_package_that_hides_a_room_is_named(tmp_path: Path, room: str, file: str) -> None:
    """Importing `monitor` fails with both paths when something else answers to a room's name."""
    strange = tmp_path / file
    strange.parent.mkdir(exist_ok=True)
    strange.write_text("", encoding="utf-8")
    house = Path(monitor.__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(house)])}
    done = subprocess.run(
        [sys.executable, "-c", "import monitor"],
        capture_output=True,
        text=True,
        env=environment,
        cwd=tmp_path,
        check=False,
    )
    found = strange.parent if file.endswith("__init__.py") else strange
    assert done.returncode == 1
    assert f"ShadowedPackageError: package '{room}' was found at {found}, expected at {house / room};" in done.stderr
