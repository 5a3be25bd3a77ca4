"""The formats for continuous integration, on the command line."""

import json
from pathlib import Path

import pytest
from junitparser import JUnitXml
from sarif_pydantic import Sarif

from tests.monitor.commands.terminal import Terminal

_BROKEN = "INSERT INTO orders VALUES (2, NULL);"


def test_check_writes_junit(terminal: Terminal) -> None:
    """One document on standard output, the exit code of the pass, and the incidents in it."""
    terminal.sql(_BROKEN)
    said = terminal("check", "--format", "junit")
    document = JUnitXml.fromstring(said.out.encode())
    assert (said.code, document.tests, document.failures) == (1, 3, 2)
    assert "incident: #1" in said.out
    assert said.err == ""


@pytest.mark.parametrize("name", ["results.xml", "results.json"])
def test_a_file_is_written_beside_what_is_shown(terminal: Terminal, name: str) -> None:
    """In the format of its ending; it is replaced with --force only, before which nothing is checked."""
    said = terminal("check", "--out", name)
    assert "PASS 3  WARN 0  FAIL 0  UNKNOWN 0  of 3" in said.out
    assert said.err == f"wrote {name}\n"
    text = Path(name).read_text(encoding="utf-8")
    if name.endswith(".json"):
        assert json.loads(text)["schema"] == "tablewatch.check/1"
    else:
        assert JUnitXml.fromstring(text.encode()).tests == 3
    (refused,) = terminal.refused("check", "--out", name)
    assert refused["code"] == "check.out"
    assert terminal("check", "--out", name, "--force").code == 0


def test_a_file_of_another_kind_is_refused(terminal: Terminal) -> None:
    """Its ending says the format, and nothing is checked before it is known."""
    (refused,) = terminal.refused("check", "--out", "results.html")
    assert "expected .xml (JUnit) or .json" in refused["message"]


def test_check_annotates_for_github(terminal: Terminal) -> None:
    """With the line of each failed check; problems that end the command are annotations too."""
    terminal.sql(_BROKEN)
    said = terminal("check", "--format", "github")
    assert "::error file=tablewatch.yaml,line=19,col=9,title=orders.primary-key::" in said.out
    assert "incident #1" in said.out
    said = terminal("check", "--format", "github", "order")
    assert (said.code, said.err) == (5, "")
    assert said.out.startswith("::error title=selector.nothing::no table or check matches 'order'%0Adid you mean")


def test_problems_of_a_configuration_in_every_format(terminal: Terminal) -> None:
    """All of them, with their places."""
    terminal.configure(not_null="not_nul", primary_key="primary_kex")
    said = terminal("config", "check", "--format", "github")
    assert (said.code, said.out.count("::error file=tablewatch.yaml,line="), said.err) == (2, 3, "")
    said = terminal("config", "check", "--format", "sarif")
    assert (said.code, said.err) == (2, "")
    (run,) = Sarif.model_validate_json(said.out).runs
    assert len(run.results or ()) == 3


def test_notes_of_a_valid_configuration(terminal: Terminal) -> None:
    """They are notices of GitHub and notes of SARIF, and the exit code stays 0."""
    said = terminal("config", "check", "--format", "github")
    assert (said.code, said.err) == (0, said.err)
    assert "::notice " in said.out
    assert "::error" not in said.out
    said = terminal("config", "check", "--format", "sarif")
    levels = {result["level"] for result in json.loads(said.out)["runs"][0]["results"]}
    assert (said.code, levels) == (0, {"note"})


def test_a_missing_configuration_is_a_problem_without_a_place(terminal: Terminal) -> None:
    """In both formats."""
    (terminal.folder / "tablewatch.yaml").unlink()
    assert terminal("config", "check", "--format", "github").out.startswith("::error title=config.not_found::")
    results = json.loads(terminal("config", "check", "--format", "sarif").out)["runs"][0]["results"]
    assert [result["ruleId"] for result in results] == ["config.not_found"]
