"""The page on continuous integration is what the commands and the files say."""

import re
import shlex
from pathlib import Path
from typing import Final

import pytest
import yaml

from docs.refresh import ROOT
from tests.monitor.commands.terminal import Terminal

_PAGE: Final = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
_BLOCK: Final = re.compile(r"```(?P<kind>\w+) (?P<file>\S+)\n(?P<text>.*?)```", re.DOTALL)
_TIMES: Final = re.compile(r'(?<=time=")[0-9.]+|(?<=in )[0-9.]+(?= s)')
_FILES: Final = {block["file"]: block["text"] for block in _BLOCK.finditer(_PAGE)}


def test_the_example_is_what_the_command_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On standard output and in the file, but for lengths of time."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    for name in ("tablewatch.yaml", "orders.csv"):
        Path(name).write_text(_FILES[name], encoding="utf-8")
    ((command, output),) = re.findall(r"```console\n\$ tablewatch (.*?)\n(.*?)```", _PAGE, re.DOTALL)
    said = Terminal(tmp_path, capsys)(*shlex.split(command))
    assert (said.code, _TIMES.sub("N", said.out)) == (1, _TIMES.sub("N", output))
    written = Path("results.xml").read_text(encoding="utf-8")
    assert _TIMES.sub("N", written) == _TIMES.sub("N", _FILES["results.xml"])


def test_the_inputs_of_the_action_are_described() -> None:
    """All of them, and no other; the workflow of the page uses them."""
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    table = _PAGE.split("| input | default | |")[1].split("\n\n")[0]
    assert re.findall(r"^\| `([a-z-]+)` ", table, re.MULTILINE) == list(action["inputs"])
    steps = yaml.safe_load(_FILES["workflow.yaml"])["jobs"]["tables"]["steps"]
    (used,) = (step["with"] for step in steps if "tablewatch" in step["uses"])
    assert set(used) <= set(action["inputs"])


def test_the_hooks_of_the_page_are_those_of_the_manifest() -> None:
    """By id, and the local one does the same."""
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    (remote,) = yaml.safe_load(_FILES[".pre-commit-config.yaml"])["repos"]
    (local,) = yaml.safe_load(_FILES["local.yaml"])["repos"]
    assert remote["hooks"] == [{"id": hook["id"]}]
    for key in ("id", "name", "entry", "pass_filenames"):
        assert local["hooks"][0][key] == hook[key]
    assert hook["files"].startswith(local["hooks"][0]["files"])
