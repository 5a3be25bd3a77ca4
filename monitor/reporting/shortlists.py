"""The first rows of long lists: what reports show of tables and checks, and how many more there are."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Final, NamedTuple

from incidents import AnsweredAlarms, LevelVerdict, Repeats
from monitor.summaries.level_groups import LevelGroup, groups_in_report
from monitor.summaries.patterns import RETURNS_WITHIN, IncidentPatterns
from monitor.summaries.service_levels import JudgedContract

_SHOWN: Final = 10


class Offenders(NamedTuple):
    """The tables and checks with the most that came back; `more` counts those left out."""

    rows: list[tuple[str, Repeats]]
    more: int
    days: int


class ShownAlarms(NamedTuple):
    """The alarms of all checks, and of those that have answered ones; `more` counts those left out."""

    all: AnsweredAlarms
    rows: list[tuple[str, AnsweredAlarms]]
    more: int


class ShownContracts(NamedTuple):
    """All contracts, and the service levels of the tables that are worst off.

    `more` counts the tables left out, `tables` those of each verdict; `groups` has the owners and tiers that are worst
    off, `more_groups` counts those left out.
    """

    rows: list[JudgedContract]
    more: int
    tables: Mapping[LevelVerdict, int]
    groups: list[LevelGroup]
    more_groups: int


def first_contracts(contracts: Sequence[JudgedContract]) -> ShownContracts:
    """Return all contracts, and of the service levels of tables the broken ones first, then those not known."""
    rows = [contract for contract in contracts if not contract.is_of_table]
    tables = [contract for contract in contracts if contract.is_of_table]
    order = tuple(LevelVerdict)
    worst = sorted(tables, key=lambda contract: -order.index(contract.verdict))
    verdicts = [contract.verdict for contract in tables]
    counts = {verdict: verdicts.count(verdict) for verdict in reversed(order)}
    groups = sorted(groups_in_report(tables), key=lambda group: -group.whole.tables[LevelVerdict.BROKEN])
    return ShownContracts(
        rows=[*rows, *worst[:_SHOWN]],
        more=max(0, len(tables) - _SHOWN),
        tables=counts,
        groups=sorted(groups[:_SHOWN], key=lambda group: group.by != "tier"),
        more_groups=max(0, len(groups) - _SHOWN),
    )


def first_offenders(patterns: IncidentPatterns) -> Offenders:
    """Return the tables and checks with the most that came back, or the most incidents."""
    rows = list(chain(patterns.tables.items(), patterns.checks.items()))
    ordered = sorted(rows, key=lambda row: (-row[1].returned, -row[1].incidents))
    return Offenders(ordered[:_SHOWN], max(0, len(rows) - _SHOWN), RETURNS_WITHIN.days)


def first_alarms(patterns: IncidentPatterns) -> ShownAlarms:
    """Return the alarms of checks that have answered ones, most false ones first."""
    rows = [(name, alarms) for name, alarms in patterns.alarms.items() if alarms.answered]
    return ShownAlarms(patterns.all_alarms, rows[:_SHOWN], max(0, len(rows) - _SHOWN))
