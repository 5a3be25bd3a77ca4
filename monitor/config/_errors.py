"""The error of this folder, and what it tells of the files of teams.

ConfigError     the configuration cannot be used; holds every problem, and what must be masked when they are shown
TeamTexts       what was read of a team, by which it is seen whether its files may be at fault
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from monitor.terminal.problem import Problem, sum_up
from monitor.terminal.redaction import Redactor


@dataclass(frozen=True, slots=True)
class TeamTexts:
    """What was read of a team: its files, and those that they name with `${file:...}`; None: it cannot be read."""

    files: Mapping[str, str | None] = field(default_factory=dict)
    beside: Mapping[Path, str | None] = field(default_factory=dict)


class ConfigError(Exception):
    """The configuration is invalid; `problems` lists every error.

    `team_of` names the teams by their files, `of_teams` is what was read of each.
    """

    def __init__(
        self,
        problems: Sequence[Problem],
        redactor: Redactor | None = None,
        team_of: Mapping[str, str] | None = None,
        of_teams: Mapping[str, TeamTexts] | None = None,
    ) -> None:
        super().__init__(sum_up(problems))
        self.problems = tuple(problems)
        self.redactor = redactor or Redactor()
        self.team_of: Mapping[str, str] = team_of or {}
        self.of_teams: Mapping[str, TeamTexts] = of_teams or {}
