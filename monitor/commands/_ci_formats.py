"""Formats for continuous integration: which there are, and what a command writes in them when it ends early."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Final

from monitor.terminal.output import Invocation
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


def repository() -> Path:
    """Return the folder of the repository: as GitHub Actions declares it, else the working folder."""
    return Path(os.environ.get("GITHUB_WORKSPACE") or Path.cwd())


@contextmanager
def annotated_problems(invocation: Invocation) -> Iterator[None]:
    """With `--format github`, write the problems that end the block as annotations of their lines."""
    try:
        yield
    except Stop as stop:
        if invocation.format != CheckFormat.GITHUB or not stop.problems:
            raise
        from monitor.integrations.github import problems_as_annotations

        invocation.write(problems_as_annotations(stop.problems, root=repository(), redact=invocation.redactor))
        raise Stop(stop.code) from None
