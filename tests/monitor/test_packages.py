"""The guard against packages that hide one of ours."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import monitor


def test_the_rooms_are_found_beside_the_house() -> None:
    """In a proper installation every package is the one next to `monitor`."""
    root = Path(monitor.__file__).parents[1]
    places = {Path(monitor._find(package) or "") for package in monitor.PACKAGES}
    assert places == {root / package for package in monitor.PACKAGES}


@pytest.mark.parametrize(("package", "file"), [("store", "store/__init__.py"), ("checks", "checks.py")])
def test_a_package_that_hides_a_package_is_named(tmp_path: Path, package: str, file: str) -> None:
    """Importing `monitor` fails with both paths when something else has the name of a package."""
    strange = tmp_path / file
    strange.parent.mkdir(exist_ok=True)
    strange.write_text("", encoding="utf-8")
    root = Path(monitor.__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(root)])}
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
    assert (
        f"ShadowedPackageError: package '{package}' was found at {found}, expected at {root / package};" in done.stderr
    )
