"""The default store lies beside the configuration, and reading with one from another folder makes none."""

import json
from pathlib import Path

import pytest

from monitor.cli import run
from monitor.config import load
from monitor.terminal.output import Invocation

CONFIG = """
version: 1
project: p
sources: {near: {files: "*.csv"}}
tables:
  - {name: here, source: near, checks: [{type: volume, min: 2}]}
"""


@pytest.fixture
def far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a configuration and a table; the working folder is another one."""
    folder, elsewhere = tmp_path / "a far [folder]", tmp_path / "elsewhere"
    folder.mkdir()
    elsewhere.mkdir()
    (folder / "tablewatch.yaml").write_text(CONFIG, encoding="utf-8")
    (folder / "here.csv").write_text("id\n1\n", encoding="utf-8")
    monkeypatch.chdir(elsewhere)
    return folder


@pytest.mark.parametrize("config", ["tablewatch.yaml", "."])
def test_it_is_the_same_store_from_every_folder(
    far: Path, config: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was found from another folder is there in the configuration's own, which is a file or a folder of files."""
    assert run(("-c", str(far / config), "check"), Invocation()) == 1
    assert (far / "tablewatch.db").is_file()
    assert list(Path.cwd().iterdir()) == []
    monkeypatch.chdir(far)
    capsys.readouterr()
    assert run(("incident", "list", "--format", "json"), Invocation()) == 0
    assert len(json.loads(capsys.readouterr().out)["incidents"]) == 1


READING = (
    "incident list",
    "incident ack 1",
    "downtime",
    "table list",
    "status",
    "report",
    "alert log",
    "silence list",
    "event remove 1",
    "account user list",
    "account user add mia --no-password",
    "account login-link --as mia",
)


@pytest.mark.parametrize("words", READING)
@pytest.mark.parametrize("storage", ["", 'storage: {url: "sqlite:///mine.db"}\n'])
@pytest.mark.parametrize("elsewhere", [True, False])
def test_reading_makes_no_store(
    far: Path,
    words: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    *,
    storage: str,
    elsewhere: bool,
) -> None:
    """A store that is not there is named, with exit code 3, and no "no incidents" is said of it."""
    if not elsewhere:
        monkeypatch.chdir(far)
    (far / "tablewatch.yaml").write_text(storage + CONFIG, encoding="utf-8")
    assert run(("-c", str(far / "tablewatch.yaml"), *words.split()), Invocation()) == 3
    place = Path.cwd() / "mine.db" if storage else far / "tablewatch.db"
    assert f"there is no store at {place}" in "".join(capsys.readouterr().err.split("\n"))
    assert not place.exists()


def test_what_is_written_stays_as_it_is(far: Path) -> None:
    """A path that the configuration names is relative to the working folder."""
    assert load(far / "tablewatch.yaml").config.storage.url.endswith("/a%20far%20%5Bfolder%5D/tablewatch.db")
    (far / "tablewatch.yaml").write_text('storage: {url: "sqlite:///tablewatch.db"}\n' + CONFIG, encoding="utf-8")
    assert load(far / "tablewatch.yaml").config.storage.url == "sqlite:///tablewatch.db"
