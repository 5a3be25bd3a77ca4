"""The GitHub action and the pre-commit hook: their files are read, and what they run is run, in a shell."""

import os
import re
import stat
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from junitparser import JUnitXml

ROOT: Final = Path(__file__).resolve().parents[3]
ACTION: Final = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS: Final = {step["name"]: step for step in ACTION["runs"]["steps"]}
_INPUT: Final = re.compile(r"\$\{\{ inputs\.([a-z-]+) \}\}")
_CONFIG: Final = """\
version: 1
project: shop
sources: {lake: {files: "*.csv"}}
tables:
  - name: orders
    source: lake
    checks:
      - {type: unique, columns: [id]}
      - {type: not_null, columns: [id]}
"""


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a repository in the environment of a job, with `tablewatch` and a recording `python`."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, text in (
        ("tablewatch", f'exec "{sys.executable}" -P -m monitor "$@"'),
        ("python", f'printf "%s\\n" "$@" >> "{tmp_path / "installed"}"'),
    ):
        (programs / name).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        (programs / name).chmod(stat.S_IRWXU)
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "tablewatch.yaml").write_text(_CONFIG, encoding="utf-8")
    (workspace / "orders.csv").write_text("id\n1\n2\n", encoding="utf-8")
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("GITHUB_WORKSPACE", str(workspace))
    monkeypatch.setenv("GITHUB_ACTION_PATH", str(ROOT))
    monkeypatch.setenv("GITHUB_OUTPUT", str(tmp_path / "output"))
    return workspace


def _run(name: str, job: Path, inputs: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run a step as the runner does: with inputs filled into `env` and the working folder."""
    given = {key: str(value["default"]) for key, value in ACTION["inputs"].items()} | dict(inputs or {})
    step: Mapping[str, Any] = STEPS[name]

    def fill(text: str) -> str:
        return _INPUT.sub(lambda match: given[match[1]], text)

    environment = {key: fill(value) for key, value in step.get("env", {}).items()}
    return subprocess.run(
        ["/bin/bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        cwd=job / fill(step.get("working-directory", ".")),
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def _output(job: Path) -> dict[str, str]:
    lines = (job.parent / "output").read_text(encoding="utf-8").splitlines()
    return dict(line.split("=", 1) for line in lines)


def test_no_input_is_part_of_a_script() -> None:
    """What the author of a workflow, or of a pull request, gives reaches a script as a variable only."""
    assert [name for name, step in STEPS.items() if "${{" in step["run"]] == []
    assert {step["shell"] for step in STEPS.values()} == {"bash"}
    used = {name for step in STEPS.values() for text in map(str, step.values()) for name in _INPUT.findall(text)}
    assert used == set(ACTION["inputs"])


def test_outputs_are_those_of_the_step() -> None:
    """Each output is written by the step that it is read from."""
    for name, output in ACTION["outputs"].items():
        assert output["value"] == f"${{{{ steps.check.outputs.{name} }}}}"
        assert f'"{name}=' in STEPS["Check tables"]["run"]


def test_the_action_installs_its_own_version(job: Path) -> None:
    """With its constraints, and with the extras that are asked for."""
    assert _run("Install", job, {"extras": "postgres"}).returncode == 0
    words = (job.parent / "installed").read_text(encoding="utf-8").splitlines()
    assert words[:3] == ["-m", "pip", "install"]
    assert words[-2:] == [str(ROOT / "constraints.txt"), f"{ROOT}[postgres]"]


def test_a_failed_check_is_annotated_and_fails_the_step(job: Path) -> None:
    """The code of the command, an annotation at the line of the check, and JUnit XML."""
    (job / "orders.csv").write_text("id\n1\n1\n", encoding="utf-8")
    (job / "tablewatch.xml").write_text("of an earlier run", encoding="utf-8")
    done = _run("Check tables", job)
    assert done.returncode == 1, done.stderr
    assert "::error file=tablewatch.yaml,line=8,col=9,title=orders.unique::1 duplicate key" in done.stdout
    assert _output(job) == {"exit-code": "1", "junit": "tablewatch.xml"}
    assert JUnitXml.fromfile(str(job / "tablewatch.xml")).failures == 1
    assert not list(job.glob("*.db"))


def test_tables_can_be_selected_in_another_folder(job: Path) -> None:
    """Each input has its effect: a selector of two words, no JUnit, the store."""
    conf = job / "conf"
    conf.mkdir()
    for name in ("tablewatch.yaml", "orders.csv"):
        (job / name).rename(conf / name)
    inputs = {"working-directory": "conf", "config": "tablewatch.yaml", "select": "orders !type:unique"}
    done = _run("Check tables", job, {**inputs, "junit": "", "store": "true", "fail-on": "error"})
    assert done.returncode == 0, done.stderr
    assert "PASS 1  WARN 0  FAIL 0  UNKNOWN 0  of 1" in done.stdout
    assert _output(job) == {"exit-code": "0", "junit": ""}
    assert list(conf.rglob("*.db"))


def test_a_wrong_configuration_is_annotated(job: Path) -> None:
    """In its file, line and column."""
    (job / "tablewatch.yaml").write_text(_CONFIG.replace("unique", "uniq"), encoding="utf-8")
    done = _run("Check the configuration", job)
    assert done.returncode == 2
    assert done.stdout.startswith(
        "::error file=tablewatch.yaml,line=8,col=16,title=config.unknown_check::unknown check"
    )
    assert _run("Check tables", job).returncode == 2
    assert _output(job) == {"exit-code": "2"}


def test_the_hook_is_a_command_that_exists() -> None:
    """The manifest has what pre-commit asks for, and the hook runs for the files that a configuration is read from."""
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert (hook["id"], hook["entry"]) == ("tablewatch-config-check", "tablewatch config check")
    assert {"id", "name", "entry", "language"} <= set(hook)
    assert hook["pass_filenames"] is False
    files = re.compile(hook["files"])
    for name in ("tablewatch.yaml", "conf/tablewatch.yml", "tablewatch/tables/orders.yaml"):
        assert files.search(name), name
    for name in ("docs/tablewatch.md", "mytablewatch.yaml", "dbt_project.yml"):
        assert not files.search(name), name


def test_the_hook_names_every_error(job: Path) -> None:
    """It fails the commit with all of them, without a store and without a source."""
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    wrong = _CONFIG.replace("unique", "uniq").replace("columns: [id]}\n      - ", "colums: [id]}\n      - ")
    (job / "tablewatch.yaml").write_text(wrong.replace("{type: not_null, ", "{"), encoding="utf-8")
    done = subprocess.run(hook["entry"].split(), cwd=job, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert re.findall(r"--> (\S+)", done.stderr) == ["tablewatch.yaml:8:16", "tablewatch.yaml:9:9"]
