"""Group the service levels of tables by owner, domain or tier: in how many tables each was kept, and what broke it.

A group counts the verdicts of its tables and computes none of its own. Unknown verdicts are neither in `kept` nor in
`broken`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from incidents import Level, LevelResult, LevelVerdict, share_kept
from monitor.summaries.service_levels import JudgedContract


@dataclass(frozen=True, slots=True)
class GroupedLevel:
    """A level that is promised of tables of a group: the verdict of each table, and the episodes of all.

    The level of error budgets is `downtime`: it has no episodes of its own.
    """

    level: str
    verdicts: Sequence[LevelVerdict]
    results: Sequence[LevelResult] = ()

    @property
    def verdict(self) -> LevelVerdict:
        """Return the worst verdict of its tables."""
        return max(self.verdicts, key=tuple(LevelVerdict).index)

    @property
    def tables(self) -> Mapping[LevelVerdict, int]:
        """Return the number of tables by verdict."""
        return {verdict: list(self.verdicts).count(verdict) for verdict in LevelVerdict}

    @property
    def judged(self) -> int:
        """Return the number of episodes with a promised time."""
        return sum(result.judged for result in self.results if result.is_time)

    @property
    def kept(self) -> int:
        """Return the number of episodes that kept it."""
        return sum(result.kept for result in self.results)

    @property
    def broken(self) -> int:
        """Return the number of episodes that broke it."""
        return sum(result.broken for result in self.results)

    @property
    def share_kept(self) -> tuple[Fraction, Fraction] | None:
        """Return which share of the episodes kept it, at least and at most; None without any."""
        return share_kept(judged=self.judged, kept=self.kept, broken=self.broken)

    @property
    def incidents(self) -> Sequence[int]:
        """Return the incidents that broke it."""
        return sorted({number for result in self.results for number in result.incidents})

    @property
    def undecided(self) -> Sequence[int]:
        """Return the incidents of which it is not known, or not known yet."""
        return sorted({number for result in self.results for number in result.undecided})

    def as_json(self) -> dict[str, Any]:
        """Return the published shape."""
        low, high = self.share_kept or (None, None)
        return {
            "level": self.level,
            "verdict": self.verdict.value,
            "tables": dict(self.tables),
            "judged": self.judged,
            "kept": self.kept,
            "broken": self.broken,
            "share_kept_low": None if low is None else float(low),
            "share_kept_high": None if high is None else float(high),
            "incidents": list(self.incidents),
            "undecided": list(self.undecided),
        }


@dataclass(frozen=True, slots=True)
class LevelGroup:
    """The service levels of the tables of an owner, a domain or a tier; `name` is None for tables without."""

    by: str
    name: str | None
    contracts: Sequence[JudgedContract]

    @property
    def levels(self) -> Sequence[GroupedLevel]:
        """Return what is promised of its tables, level by level."""
        verdicts: dict[str, list[LevelVerdict]] = {}
        for contract in self.contracts:
            for level, verdict in contract.verdicts:
                verdicts.setdefault(level, []).append(verdict)
        results = [result for contract in self.contracts for result in contract.levels]
        return [
            GroupedLevel(level, verdicts[level], [result for result in results if result.level == level])
            for level in (*Level, "downtime")
            if level in verdicts
        ]

    @property
    def whole(self) -> GroupedLevel:
        """Return all that is promised of its tables as one: the worst verdict of each table."""
        return GroupedLevel("all", [contract.verdict for contract in self.contracts])

    def as_json(self) -> dict[str, Any]:
        """Return the published shape."""
        return {
            "by": self.by,
            "name": self.name,
            "tables": dict(self.whole.tables),
            "verdict": self.whole.verdict.value,
            "levels": [level.as_json() for level in self.levels],
        }


def level_groups(contracts: Sequence[JudgedContract], by: str) -> Sequence[LevelGroup]:
    """Return the service levels of tables by `table`, `owner`, `domain` or `tier`, in the order of their names.

    What is promised of several tables together belongs to no group. Tables without come last.
    """
    groups: dict[str | None, list[JudgedContract]] = {}
    for contract in contracts:
        if contract.is_of_table:
            groups.setdefault(contract.labels[by], []).append(contract)
    names = sorted(groups, key=lambda name: (name is None, name or ""))
    return [LevelGroup(by, name, groups[name]) for name in names]


def groups_in_report(contracts: Sequence[JudgedContract]) -> Sequence[LevelGroup]:
    """Return the groups that reports show: by tier, then by owner; none of those where no table has one."""
    kinds = [level_groups(contracts, by) for by in ("tier", "owner")]
    return [group for groups in kinds if any(other.name is not None for other in groups) for group in groups]
