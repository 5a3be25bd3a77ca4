"""Coverage: since when tables are monitored, observed time, and gaps that the store learns of at the next run.

Also which tables and columns no check is of, which checks never ran, and what an hour of it would cost.
"""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Any, Final, Literal, Self

from pydantic import Field

from checks import Check, Message
from incidents import Gap, Watch, Window, gaps_after, to_us
from monitor.config import Config, Table
from monitor.config.project import Project
from monitor.summaries.shapes import Amount, Moment, Sentence
from store import ReadTransaction

_NOT_NAMES: Final = {"id", "type", "severity", "why", "runbook", "open_on"}
"""Parameters of checks that name no column."""


def table_of(check_id: str) -> str:
    """Return the table of a check, also of one that is gone; a table's name may have dots, a check's has none."""
    return check_id.rpartition(".")[0]


@dataclass(frozen=True, slots=True)
class MonitoringStart:
    """Since when tables are watched, as known at a moment.

    `since`: by table, when any of its checks first ran; also of checks that are no longer configured.
    """

    since: Mapping[str, datetime]

    @classmethod
    def of(cls, watches: Mapping[str, Watch], as_of: datetime) -> Self:
        """Return it from what is known of each check."""
        since: dict[str, datetime] = {}
        for check_id, watch in watches.items():
            table = table_of(check_id)
            if watch.monitored_since <= as_of:
                since[table] = min(watch.monitored_since, since.get(table, watch.monitored_since))
        return cls(since)

    @property
    def first(self) -> datetime | None:
        """Return when the first check ran, None before that."""
        return min(self.since.values(), default=None)

    def had_begun(self, by: datetime) -> bool:
        """Check whether any table was watched before a moment."""
        return self.first is not None and self.first < by

    def partly(self, tables: Iterable[Table], start: datetime, end: datetime) -> tuple[str, ...]:
        """Name those of some tables with a check of which the first ran inside of `(start, end)`."""
        return tuple(name for name in _checked(tables) if name in self.since and start < self.since[name] < end)

    def not_yet(self, tables: Iterable[Table], end: datetime) -> tuple[str, ...]:
        """Name those of some tables with a check of which none had run before `end`."""
        return tuple(name for name in _checked(tables) if name not in self.since or self.since[name] >= end)


@dataclass(frozen=True, slots=True)
class Observed:
    """When at least one check of any table saw something, as sorted, disjoint intervals `[start, end)` (microseconds).

    What a check found holds until its next run is due, or until it could not be evaluated; of a check that is no longer
    configured, until its last run.
    """

    starts: tuple[int, ...]
    ends: tuple[int, ...]

    @classmethod
    def of(cls, watches: Mapping[str, Watch], gaps: Iterable[Gap], config: Config, until: datetime) -> Self:
        """Return it for the time that the gaps are known of; `gaps` has the ones that still last, too."""
        return cls.by_group(watches, gaps, config, until, group_of=lambda _: None).get(None, cls((), ()))

    @classmethod
    def by_group(
        cls,
        watches: Mapping[str, Watch],
        gaps: Iterable[Gap],
        config: Config,
        until: datetime,
        *,
        group_of: Callable[[str], str | None],
    ) -> dict[str | None, Self]:
        """Return the same for each group of tables, such as a domain; groups without any are left out."""
        seen: dict[str | None, list[tuple[int, int]]] = defaultdict(list)
        for check_id, start, end in _seen(watches, gaps, config, until):
            seen[group_of(table_of(check_id))].append((start, end))
        return {group: cls._union(intervals) for group, intervals in seen.items()}

    @classmethod
    def _union(cls, intervals: Iterable[tuple[int, int]]) -> Self:
        starts: list[int] = []
        ends: list[int] = []
        for start, end in sorted(intervals):
            if ends and start <= ends[-1]:
                ends[-1] = max(ends[-1], end)
            else:
                starts.append(start)
                ends.append(end)
        return cls(tuple(starts), tuple(ends))

    def in_some_of(self, window: Window) -> bool:
        """Check whether something was seen in a part of a window."""
        at = bisect_right(self.ends, window.start_us)
        return at < len(self.starts) and self.starts[at] < window.end_us


def observed_tables(
    watches: Mapping[str, Watch], gaps: Iterable[Gap], config: Config, start: datetime, end: datetime
) -> frozenset[str]:
    """Return the tables of which any check saw something between two moments; `gaps` as for `Observed`."""
    start_us = to_us(start)
    seen = _seen(watches, gaps, config, end) if start < end else ()
    return frozenset(table_of(check_id) for check_id, _, over in seen if over > start_us)


def _seen(
    watches: Mapping[str, Watch], gaps: Iterable[Gap], config: Config, until: datetime
) -> Iterator[tuple[str, int, int]]:
    """Yield when each check saw something, up to a moment."""
    unseen: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for gap in gaps:
        unseen[gap.check_id].append((to_us(gap.start), to_us(gap.end)))
    for check_id, watch in watches.items():
        table = config.table(check_id.rpartition(".")[0])
        is_configured = table is not None and table.check(check_id) is not None
        end = until if is_configured else min(until, watch.last_run_at)
        for start_us, end_us in _between(unseen[check_id], to_us(watch.monitored_since), to_us(end)):
            yield check_id, start_us, end_us


def _between(gaps: Iterable[tuple[int, int]], start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield what of `[start, end)` no gap covers."""
    for gap_start, gap_end in sorted(gaps):
        if start < min(gap_start, end):
            yield start, min(gap_start, end)
        start = max(start, gap_end)
    if start < end:
        yield start, end


def _checked(tables: Iterable[Table]) -> Iterator[str]:
    return (table.name for table in tables if table.checks)


def kept_since(config: Config, now: datetime) -> datetime:
    """Return since when incidents that are over are kept; those that ended before may be forgotten."""
    return now - config.storage.keep_incidents


def lasting_gaps(config: Config, watches: Mapping[str, Watch], until: datetime) -> Iterator[Gap]:
    """Yield the unobserved time between the last run of each configured check and a moment."""
    for table in config.tables:
        for check in table.checks:
            watch, period = watches.get(table.check_id(check)), table.period_of(check)
            yield from gaps_after(watch, table=table.name, until=until, period=period)


class TableCoverage(Amount):
    """What of a table no check is of; the amount is that of an hour of downtime now, null without a rate.

    `silent`: no check of it ever ran. `never_run`: its checks that did not, by name. `not_applied`: checks of its
    pattern that name a column which it does not have. `columns`, `unchecked`: its columns, and those that no check
    names; null where they are not known. `rows`: by its last check; null before. `downstream`: tables that it feeds.
    """

    table: str
    source: str
    owner: str | None
    tier: str | None
    silent: bool
    checks: int
    never_run: tuple[str, ...]
    not_applied: tuple[str, ...]
    has_schedule: bool
    gone_since: str | None
    columns: int | None
    unchecked: tuple[str, ...] | None
    rows: int | None
    consumers: tuple[str, ...]
    downstream: int
    gaps: tuple[Sentence, ...]

    @property
    def rank(self) -> tuple[Any, ...]:
        """Return its place among others, the worst first: silent, dear, used by many, large."""
        used = len(self.consumers) + self.downstream
        return not self.gaps, not self.silent, -(self.amount or 0), -used, -(self.rows or 0), self.table


class CheckCoverage(Amount):
    """`tablewatch.coverage/1`: what no check is of; the amount is that of an hour of all silent tables at once.

    `lines`: tables with a gap, the worst first; `more`: how many are not among them. `unlisted`: tables of the sources
    that are not configured, by source; null where the catalogues were not read.
    """

    schema_: Literal["tablewatch.coverage/1"] = Field("tablewatch.coverage/1", alias="schema")
    as_of: Moment
    tables: int
    silent: int
    checks: int
    never_run: int
    columns: int
    unchecked_columns: int
    unknown_columns: int
    lines: tuple[TableCoverage, ...]
    more: int
    unlisted: dict[str, tuple[str, ...]] | None


@dataclass(frozen=True, slots=True)
class CatalogueContents:
    """What catalogues say: the columns of configured tables by name, and the tables of sources without an entry."""

    columns: Mapping[str, Sequence[str]]
    unlisted: Mapping[str, Sequence[str]]


def known_columns(project: Project) -> Mapping[str, Sequence[str]]:
    """Return the columns of the tables of patterns, by name, as their sources were seen last."""
    expansion = project.loaded.texts.expansion
    known = [] if expansion is None else [table for tables in expansion.known.values() for table in tables.values()]
    return {table.name: table.columns for table in known if table.columns is not None}


def check_coverage(
    project: Project,
    tx: ReadTransaction,
    now: datetime,
    *,
    names: Collection[str],
    most: int,
    contents: CatalogueContents | None = None,
) -> CheckCoverage:
    """Return what no check is of, among tables; `most`: tables that are listed; `contents`: where they were read."""
    tables = [table for table in project.config.tables if table.name in names]
    rows: dict[str, int] = {}
    for result in tx.results.latest([table.check_id(check) for table in tables for check in table.checks]).values():
        if isinstance(counted := result.observed.get("rows"), int):
            rows[result.table] = max(counted, rows.get(result.table, 0))
    columns = {**known_columns(project), **({} if contents is None else contents.columns)}
    lines = table_gaps(project, tables, tx.results.watches(), now, columns=columns, rows=rows)
    ordered = sorted(lines, key=lambda line: line.rank)
    gaps = [line for line in ordered if line.gaps]
    silent = [line for line in lines if line.silent]
    pricing, at_us = project.pricing, to_us(now)
    prices = [pricing.per_hour(line.table, at_us) or Fraction() for line in silent]
    return CheckCoverage.of(
        project,
        sum(prices, Fraction()) if project.priced else None,
        as_of=now,
        tables=len(lines),
        silent=len(silent),
        checks=sum(line.checks for line in lines),
        never_run=sum(len(line.never_run) for line in lines),
        columns=sum(line.columns or 0 for line in lines),
        unchecked_columns=sum(len(line.unchecked or ()) for line in lines),
        unknown_columns=sum(line.columns is None for line in lines),
        lines=tuple(gaps[:most]),
        more=len(gaps[most:]),
        unlisted=None if contents is None else {name: tuple(there) for name, there in contents.unlisted.items()},
    )


def silent_tables(project: Project, watches: Collection[str], now: datetime) -> Sequence[TableCoverage]:
    """Return the tables without a check that ran, the worst first, by the configuration and the ids of what ran."""
    lines = table_gaps(project, project.config.tables, watches, now, columns={}, rows={})
    return sorted((line for line in lines if line.silent), key=lambda line: line.rank)


def table_gaps(
    project: Project,
    tables: Iterable[Table],
    watches: Collection[str],
    now: datetime,
    *,
    columns: Mapping[str, Sequence[str]],
    rows: Mapping[str, int],
) -> Sequence[TableCoverage]:
    """Return what no check is of, table by table; `watches`: the ids of checks that ran."""
    config, expansion = project.config, project.loaded.texts.expansion
    skipped: dict[str, list[str]] = defaultdict(list)
    for item in () if expansion is None else expansion.not_applied:
        skipped[item.table].append(item.check)
    gone = {} if expansion is None else expansion.gone
    names: dict[int, frozenset[str]] = {}  # tables of one pattern share its checks
    lines = []
    for table in tables:
        never = tuple(check.name for check in table.checks if table.check_id(check) not in watches)
        of_table = columns.get(table.name)
        named: set[str] = set()
        for check in table.checks if of_table is not None else ():
            named |= names.setdefault(id(check), _names_in(check))
        unchecked = None if of_table is None else tuple(name for name in of_table if name.casefold() not in named)
        parts: dict[str, Any] = {
            "silent": len(never) == len(table.checks),
            "checks": len(table.checks),
            "never_run": never,
            "not_applied": tuple(skipped[table.name]),
            "has_schedule": table.schedule is not None or not table.own_checks,
            "gone_since": gone.get(table.name),
            "columns": None if of_table is None else len(of_table),
            "unchecked": unchecked,
        }
        price = project.pricing.per_hour(table.name, to_us(now)) if project.priced else None
        lines.append(
            TableCoverage(
                amount=project.currency.number(price),
                currency=project.currency.code,
                table=table.name,
                source=table.source,
                owner=config.owner_name(config.owner_of(table)),
                tier=table.tier,
                rows=rows.get(table.name),
                consumers=tuple(map(str, config.consumers_of(table.name))),
                downstream=len(config.lineage.downstream(table.name)),
                gaps=tuple(_gaps(parts)),
                **parts,
            )
        )
    return lines


def _gaps(parts: Mapping[str, Any]) -> Iterator[Message]:
    """Yield what is missing of a table, in words."""
    never = parts["never_run"]
    if not parts["checks"]:
        yield Message("no check")
    elif parts["silent"]:
        yield Message("no check has run")
    elif never:
        yield Message("never run: {names}", {"names": ", ".join(never)})
    if not parts["has_schedule"]:
        yield Message("no schedule")
    if parts["gone_since"] is not None:
        yield Message("missing in its source")
    if parts["not_applied"]:
        yield Message("not applied: {names}", {"names": ", ".join(parts["not_applied"])})
    if parts["unchecked"] and parts["checks"]:
        of = {"n": len(parts["unchecked"]), "of": parts["columns"]}
        yield Message("{n:count} of {of:count} columns in no check", of)


def _names_in(check: Check) -> frozenset[str]:
    """Return all that a check may name as a column, folded: its texts, and the words of its SQL.

    One of type schema is about types, so it names none.
    """
    if check.type == "schema":
        return frozenset()
    parameters: Any = check
    texts = [text.casefold() for text in _texts(parameters.model_dump(exclude=_NOT_NAMES))]
    return frozenset([*texts, *(word for text in texts for word in re.findall(r"\w+", text))])


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from (text for item in value.items() for part in item for text in _texts(part))
    elif isinstance(value, list | tuple | set | frozenset):
        yield from (text for item in value for text in _texts(item))
