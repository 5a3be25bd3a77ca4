"""The error of this room.

ConfigError     the configuration cannot be used; holds every problem, and what must be masked when they are shown
"""

from collections.abc import Mapping, Sequence

from monitor.terminal.problem import Problem, sum_up
from monitor.terminal.redaction import Redactor


class ConfigError(Exception):
    """The configuration is invalid; `problems` lists every error, `team_of` names the teams by their files."""

    def __init__(
        self,
        problems: Sequence[Problem],
        redactor: Redactor | None = None,
        team_of: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(sum_up(problems))
        self.problems = tuple(problems)
        self.redactor = redactor or Redactor()
        self.team_of: Mapping[str, str] = team_of or {}
