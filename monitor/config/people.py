"""Find the tables of people: those with a release, a privacy budget or a column that is classified as about people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from checks import ColumnClass, PeopleTable

if TYPE_CHECKING:
    from monitor.config.model import Config, Table

_DEFAULT_K: Final = 5
"""A value is shown from this many people on, where no release of the table has a `k`."""


def people_tables(config: Config) -> Mapping[str, PeopleTable]:
    """Return the tables of people by name, with the strictest of what is said of them.

    Two names of one table count as one where source and name in the source are the same. A column is `other` only
    where nothing classifies it as more than that.
    """
    places: dict[tuple[str, str], list[Table]] = {}
    for table in config.tables:
        places.setdefault((table.source, table.table or table.name), []).append(table)
    named = {release.table for release in config.releases.values()} | set(config.budgets)
    results: dict[str, PeopleTable] = {}
    for tables in places.values():
        names = {table.name for table in tables}
        if names & named or any(set(table.columns.values()) - {ColumnClass.OTHER} for table in tables):
            results |= dict.fromkeys(names, _people_table(config, tables))
    return results


def _people_table(config: Config, tables: list[Table]) -> PeopleTable:
    names = {table.name for table in tables}
    releases = [release for release in config.releases.values() if release.table in names]
    classes = [*(table.columns for table in tables), *(release.columns for release in releases)]
    columns: dict[str, ColumnClass] = {}
    for name in dict.fromkeys(name for part in classes for name in part):
        given = [part[name] for part in classes if name in part]
        columns[name] = next(item for item in ColumnClass if item in given)
    k = max((release.limits.least_k or _DEFAULT_K for release in releases), default=_DEFAULT_K)
    keys = [release.person_key for release in releases if release.person_key is not None]
    return PeopleTable(k, columns, keys[0] if keys else None)
