"""Problems of a configuration as SARIF."""

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from sarif_pydantic import Level, Sarif

from monitor.integrations.sarif import as_sarif
from monitor.terminal.problem import Problem
from monitor.terminal.redaction import MASK, Redactor

_ROOT = Path("/repository")
_PROBLEM = Problem("config.unknown_key", "unknown key 'colums'", "/repository/a b/tablewatch.yaml", 8, 33, "columns?")
_PROBLEMS = st.lists(
    st.builds(
        Problem,
        st.sampled_from(["config.value", "config.type", "syntax", "config.not_checked"]),
        st.text(),
        st.none() | st.text(min_size=1),
        st.none() | st.integers(1, 9),
        st.none() | st.integers(1, 9),
        st.none() | st.text(),
    ),
    max_size=5,
)


def test_a_problem_is_a_result_with_its_place() -> None:
    """The path is that of the repository, as a URI; line and column count from 1."""
    log = Sarif.model_validate(as_sarif([_PROBLEM], root=_ROOT, version="1.2"))
    (run,) = log.runs
    (result,) = run.results or ()
    assert (log.version, run.tool.driver.name, run.tool.driver.version) == ("2.1.0", "tablewatch", "1.2")
    assert (result.rule_id, result.level, result.message.text) == (
        "config.unknown_key",
        Level.ERROR,
        "unknown key 'colums'\ncolumns?",
    )
    physical = (result.locations or ())[0].physical_location
    assert physical is not None
    assert physical.artifact_location is not None
    assert physical.region is not None
    assert (physical.artifact_location.uri, physical.artifact_location.uri_base_id) == (
        "a%20b/tablewatch.yaml",
        "%SRCROOT%",
    )
    assert (physical.region.start_line, physical.region.start_column) == (8, 33)


def test_a_question_that_could_not_be_asked_is_no_result() -> None:
    """The run was not successful then, so nothing takes an empty list for a configuration without errors."""
    problem = Problem("config.not_checked", "Great Expectations did not answer")
    (run,) = as_sarif([problem], root=_ROOT, version="1", not_evaluated={"config.not_checked"})["runs"]
    assert run["results"] == []
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    assert invocation["toolExecutionNotifications"][0]["message"]["text"] == "Great Expectations did not answer"


def test_notes_are_no_errors() -> None:
    """A note of a valid configuration has the level note."""
    (run,) = as_sarif([], [Problem("config.unpriced_tier", "no price")], root=_ROOT, version="1")["runs"]
    assert [(result["level"], result["locations"]) for result in run["results"]] == [("note", [])]


@given(_PROBLEMS, _PROBLEMS)
def test_every_log_has_the_shape_of_the_standard(problems: list[Problem], notes: list[Problem]) -> None:
    """Each result has a rule of the driver, a level and a text; rules are named once; URIs have no blank or control."""
    value = as_sarif(problems, notes, root=_ROOT, version="1", not_evaluated={"config.not_checked"})
    Sarif.model_validate(json.loads(json.dumps(value)))
    (run,) = value["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert len(rules) == len(set(rules))
    for result in run["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in {"error", "note"}
        for location in result["locations"]:
            uri = location["physicalLocation"]["artifactLocation"]["uri"]
            assert uri.isascii()
            assert " " not in uri


def test_secrets_are_masked() -> None:
    """In the message and in the path."""
    problem = Problem("config.value", "not hunter2", "/repository/hunter2.yaml", 1, 1)
    text = json.dumps(as_sarif([problem], root=_ROOT, version="1", redact=Redactor(["hunter2"])))
    assert "hunter2" not in text
    assert MASK in text
