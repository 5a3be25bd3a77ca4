"""The error of this room.

ConfigError     the configuration cannot be used; holds every problem, and what must be masked when they are shown
"""

from collections.abc import Sequence

from monitor.terminal.problem import Problem, sum_up
from monitor.terminal.redaction import Redactor


class ConfigError(Exception):
    """The configuration is invalid; `problems` lists every error."""

    def __init__(self, problems: Sequence[Problem], redactor: Redactor | None = None) -> None:
        super().__init__(sum_up(problems))
        self.problems = tuple(problems)
        self.redactor = redactor or Redactor()
