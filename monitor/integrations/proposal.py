"""Text to put into the configuration, as the imports of definitions print it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import yaml

COST_EXAMPLE: Final = (
    "# cost:                       # cost of an hour of data downtime; set the tier of a table in `tier:`",
    "#   currency: USD",
    "#   tiers: {gold: {per_hour: 1000}, silver: {per_hour: 100}}",
)


@dataclass(frozen=True, slots=True)
class ProposedConfiguration:
    """Text to put into the configuration, and what it holds."""

    text: str
    tables: int
    checks: int
    notes: Sequence[str]


def in_one_line(value: Any) -> str:
    """Return a value as YAML in one line; `$` stands for itself."""
    text = yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, sort_keys=False, width=10**6)
    return text.strip().removesuffix("...").strip().replace("$", "$$")


def slug(text: str) -> str:
    """Return a text as a key of the configuration."""
    return re.sub("[^a-z0-9]+", "-", text.lower()).strip("-") or "owner"


def head_of(project: str, command: str) -> Sequence[str]:
    """Return the first lines of a whole configuration, written by a command."""
    return (
        f"# Written by `{command}`.",
        "version: 1",
        f"project: {in_one_line(project)}",
        "timezone: UTC                 # time zone of this file and of reports, such as Asia/Tokyo",
        'storage: {url: "sqlite:///${here}/tablewatch.db"}   # the store, next to this file',
        "",
        *COST_EXAMPLE,
        "",
    )
