"""Rules that the configuration itself must follow."""

from typing import Literal, Self, TypeAlias

from pydantic import Field, model_validator

from monitor.config.scalars import PositiveDuration, Section

Entry: TypeAlias = Literal[
    "owner",
    "domain",
    "tier",
    "description",
    "schedule",
    "upstream",
    "consumers",
    "loaded_at",
    "columns",
    "checks",
    "contract",
]


class Rule(Section):
    """What `tablewatch config test` requires of tables and their checks."""

    tables: tuple[str, ...] = Field(
        (), description="Which tables, as for `check`: names, patterns, 'tier:gold', '!domain:lab'; by default all."
    )
    require: tuple[Entry, ...] = Field((), description="What each table states; `owner` also by ownership or domain.")
    checks: tuple[str, ...] = Field(
        (), description="Types of check that each table has; 'primary_key or unique' is met by either."
    )
    forbid: tuple[str, ...] = Field((), description="Types of check that no table has.")
    of_checks: tuple[Literal["why", "runbook"], ...] = Field((), description="What each check of the tables states.")
    at_least_every: PositiveDuration | None = Field(None, description="Longest time between two runs of a table.")
    reason: str | None = Field(None, description="Why the rule is there, shown where it is broken.")

    @model_validator(mode="after")
    def _demands(self) -> Self:
        if not (self.require or self.checks or self.forbid or self.of_checks or self.at_least_every):
            raise ValueError("at least one of require, checks, forbid, of_checks, at_least_every")
        return self
