"""Formats for continuous integration: which there are."""

from enum import StrEnum
from pathlib import Path
from typing import Final

from monitor.terminal.problem import ExitCode, Problem, Stop


class CheckFormat(StrEnum):
    """How the results of checks are written."""

    HUMAN = "human"
    JSON = "json"
    JUNIT = "junit"
    GITHUB = "github"


class ConfigFormat(StrEnum):
    """How the problems of a configuration are written."""

    HUMAN = "human"
    JSON = "json"
    SARIF = "sarif"
    GITHUB = "github"


BY_SUFFIX: Final = {".xml": CheckFormat.JUNIT, ".json": CheckFormat.JSON}


def file_format(out: Path) -> CheckFormat:
    """Return the format that the name of a file asks for.

    Raises:
        Stop: its ending is of no format.
    """
    written = BY_SUFFIX.get(out.suffix.lower())
    if written is None:
        message = f"{out} ends in '{out.suffix}', expected .xml (JUnit) or .json"
        raise Stop(ExitCode.USAGE, Problem("check.out", message))
    return written
