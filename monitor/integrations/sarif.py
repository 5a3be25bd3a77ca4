"""SARIF 2.1.0 (OASIS): problems of a configuration, for code scanning and editors.

Results of checks have no line of a file and are no SARIF. A question that could not be asked is no result either: it is
a notification of the invocation, which then was not successful.
"""

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from monitor.integrations.github import path_in_repository
from monitor.terminal.problem import Problem
from monitor.terminal.redaction import visible

_SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_ROOT: Final = "%SRCROOT%"


def as_sarif(
    problems: Sequence[Problem],
    notes: Sequence[Problem] = (),
    *,
    root: Path,
    version: str,
    not_evaluated: Collection[str] = (),
    redact: Callable[[str], str] = str,
) -> dict[str, Any]:
    """Return a log of one run: an error for each problem, a note for each note.

    `root`: the folder of the repository. `not_evaluated`: codes of questions that could not be asked.
    """
    open_questions = [problem for problem in problems if problem.code in not_evaluated]
    levelled = [("error", problem) for problem in problems if problem.code not in not_evaluated]
    levelled += [("note", problem) for problem in notes]
    codes = list(dict.fromkeys(problem.code for _, problem in levelled))

    def clean(text: str) -> str:
        return visible(redact(text), keep="\n")

    results = [
        {
            "ruleId": problem.code,
            "ruleIndex": codes.index(problem.code),
            "level": level,
            "message": {"text": clean(_text(problem))},
            "locations": _locations(problem, root, clean),
        }
        for level, problem in levelled
    ]
    invocation: dict[str, Any] = {"executionSuccessful": not open_questions}
    if open_questions:
        invocation["toolExecutionNotifications"] = [
            {"level": "error", "descriptor": {"id": problem.code}, "message": {"text": clean(_text(problem))}}
            for problem in open_questions
        ]
    run = {
        "tool": {"driver": {"name": "tablewatch", "version": version, "rules": [_rule(code) for code in codes]}},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_ROOT: {"description": {"text": "the folder of the repository"}}},
        "invocations": [invocation],
        "results": results,
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(code: str) -> dict[str, Any]:
    return {"id": code, "shortDescription": {"text": code.partition(".")[2].replace("_", " ").capitalize() or code}}


def _text(problem: Problem) -> str:
    return problem.message if problem.hint is None else f"{problem.message}\n{problem.hint}"


def _locations(problem: Problem, root: Path, clean: Callable[[str], str]) -> list[dict[str, Any]]:
    if problem.file is None:
        return []
    path = path_in_repository(clean(problem.file), root)
    outside = Path(path).is_absolute()
    artifact = {"uri": Path(path).as_uri()} if outside else {"uri": quote(path), "uriBaseId": _ROOT}
    physical: dict[str, Any] = {"artifactLocation": artifact}
    if problem.line is not None:
        column = {} if problem.column is None else {"startColumn": problem.column}
        physical["region"] = {"startLine": problem.line, **column}
    return [{"physicalLocation": physical}]
