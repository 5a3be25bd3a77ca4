"""`tablewatch dev` writes modules that are like those of the product, in a checkout and nowhere else."""

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from monitor.cli import run
from monitor.terminal.output import Invocation

ROOT: Final = Path(__file__).parents[3]
FOLDERS: Final = (
    "sources", "checks", "incidents", "remedies", "store", "monitor", "templates", "tablewatch", "pytest_tablewatch",
    "tests", "examples",
)  # fmt: skip
NAMES: Final[Mapping[str, str]] = {"check": "parcel_weight", "channel": "pigeon_post", "source": "tape_store"}
WRITTEN: Final = {
    "check": ["checks/parcel_weight.py", "tests/checks/test_parcel_weight.py"],
    "channel": ["monitor/channels/pigeon_post.py", "tests/monitor/channels/test_pigeon_post.py"],
    "source": ["sources/tape_store.py", "tests/sources/test_tape_store.py"],
}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of this checkout in which one module of each kind was written."""
    copy = tmp_path_factory.mktemp("checkout")
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__", "*.nb[ic]"))
    for name in ("pyproject.toml", "CONTRIBUTING.md"):
        shutil.copy(ROOT / name, copy / name)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(copy)
        for kind, name in NAMES.items():
            assert run(["dev", f"new-{kind}", name], Invocation()) == 0
    return copy


def _python(folder: Path, *words: str) -> str:
    """Run this Python with the packages of a folder and return what it printed; it ends without an error."""
    command = [sys.executable, "-m", *words]
    done = subprocess.run(
        command, cwd=folder, env={"PYTHONPATH": str(folder)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_what_is_written_runs_and_keeps_the_conventions(checkout: Path) -> None:
    """The tests that are written pass, and so do those of all modules that hold for each of them."""
    tests = [test for _, test in WRITTEN.values()]
    rules = ["tests/test_conventions.py", "tests/test_architecture.py::test_public_class_names_are_defined_once"]
    output = _python(checkout, "pytest", "-q", "-n0", "-p", "no:cacheprovider", "-k", "not recipes", *tests, *rules)
    assert " passed" in output
    written = [file for files in WRITTEN.values() for file in files]
    assert _python(checkout, "ruff", "check", *written) == "All checks passed!\n"
    _python(checkout, "ruff", "format", "--check", *written)


def test_what_is_written_has_its_types(checkout: Path) -> None:
    """The modules are as strict as all others."""
    words = [word for modules, _ in WRITTEN.values() for word in ("-m", modules[:-3].replace("/", "."))]
    settings = checkout / "mypy.toml"
    text = (checkout / "pyproject.toml").read_text(encoding="utf-8")
    settings.write_text("\n".join(line for line in text.splitlines() if not line.startswith("packages = ")))
    _python(checkout, "mypy", "--config-file", str(settings), "--follow-imports=silent", *words)


def test_a_new_check_is_in_the_catalogue(checkout: Path) -> None:
    """A check is found by its file; nothing else is edited before it runs."""
    _python(checkout, "monitor", "config", "schema", "--write", "schema.json")
    assert "parcel_weight" in (checkout / "schema.json").read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", sorted(NAMES))
def test_shows_what_remains_to_be_changed(
    checkout: Path, kind: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The recipe of CONTRIBUTING.md follows, with the name; a file that exists is not replaced."""
    monkeypatch.chdir(checkout)
    assert run(["dev", f"new-{kind}", f"other_{kind}", "--format", "json"], Invocation()) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [Path(file).name for file in answer["written"]] == [f"other_{kind}.py", f"test_other_{kind}.py"]
    assert f"test_other_{kind}.py" in answer["recipe"]
    assert "NAME" not in answer["recipe"]
    for file in answer["written"]:
        assert "skeleton" not in (checkout / file).read_text(encoding="utf-8").lower()
    assert run(["dev", f"new-{kind}", f"other_{kind}"], Invocation()) == 2
    assert "exists; choose another name" in capsys.readouterr().err
    for file in answer["written"]:
        (checkout / file).unlink()


@pytest.mark.parametrize("name", ["Parcel", "../parcel", "class", "a__b", "_a", "1a", "x" * 61, ""])
def test_a_name_is_that_of_a_module(
    checkout: Path, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Any other name is refused, with what is expected."""
    monkeypatch.chdir(checkout)
    assert run(["dev", "new-check", name], Invocation()) == 2
    assert "is not a valid name; expected letters a to z" in capsys.readouterr().err


def test_nothing_is_written_outside_a_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An installed package has no tests to add to."""
    monkeypatch.chdir(tmp_path)
    assert run(["dev", "new-check", "parcel_weight"], Invocation()) == 2
    assert "run this at the root of a checkout" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
