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
    """The texts of a team: its files, and those that they name with `${file:...}`; None: a file that cannot be read."""

    files: Mapping[str, str | None] = field(default_factory=dict)
    beside: Mapping[Path, str | None] = field(default_factory=dict)


class ConfigError(Exception):
    """The configuration is invalid; `problems` lists every error, `of_teams` has the texts of each team."""

    def __init__(
        self,
        problems: Sequence[Problem],
        redactor: Redactor | None = None,
        of_teams: Mapping[str, TeamTexts] | None = None,
    ) -> None:
        super().__init__(sum_up(problems))
        self.problems = tuple(problems)
        self.redactor = redactor or Redactor()
        self.of_teams: Mapping[str, TeamTexts] = of_teams or {}

    def summary(self, team: str | None = None) -> str:
        """Return the first error with its place, masked, and how many more there are.

        Of those in files of the team, or of no team, where there are any; else of all.
        """
        problems = [problem for problem in self.problems if problem.team == team] or self.problems
        place, text = problems[0].place, sum_up(problems)
        return self.redactor(f"{place}: {text}" if place else text)
