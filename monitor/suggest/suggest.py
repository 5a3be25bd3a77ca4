"""Propose checks for tables: measure each, propose, and try what is proposed by the pass that runs checks.

1. profile     one aggregate, one statement of GROUP BYs             profile.py
2. propose     keys, rules of columns, dependencies, references      keys.py, rules.py, dependencies.py, references.py
3. try         the proposed checks, planned and judged as by `check` scan/
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any, Final
from zoneinfo import ZoneInfo

from pydantic import ValidationError

from checks import Check, Outcome, format_duration, load_catalog
from monitor.clock import Clock
from monitor.scan.recorder import judge_only
from monitor.scan.results import Target, run_explained
from monitor.scan.scanner import scan_source
from monitor.suggest.arrival import SECONDS, arrival_column, epoch_of, is_arrival_name
from monitor.suggest.catalogue import DeclaredReference
from monitor.suggest.dependencies import functional_dependencies
from monitor.suggest.keys import composite_keys, declared_key, single_keys
from monitor.suggest.patterns import patterns
from monitor.suggest.profile import TableStatistics, hours_of, profile_table
from monitor.suggest.proposal import Confidence, CurrentOutcome, Proposal
from monitor.suggest.references import (
    KeysByName,
    TableKey,
    declared_foreign_keys,
    foreign_keys,
    key_columns,
    keys_by_name,
)
from monitor.suggest.rules import accepted_values, not_null, null_marks, quasi_identifiers, ranges, schema, volume
from monitor.suggest.statements import ColumnTemplates, TableStatements
from sources import SourceError, SourceSpec, Unreachable, open_source

_FEWEST_GAPS: Final = 30
"""Fewest gaps for a confident limit: the next gap exceeds the largest of 30 with probability 1 in 31."""
_GAP_FACTOR: Final = 1.5
_UNKNOWN_ZONE: Final = timedelta(hours=14)
"""Largest offset of a time zone from UTC."""
_DAY_HOURS: Final = 24
_PROMISED_DAYS: Final = 90
"""A learned limit that is proposed promises one false alarm in so many days."""
_STALE: Final = timedelta(days=365)
_STALE_LIMITS: Final = 30
"""A table whose newest row is older than a year and than 30 limits is an old copy, and not late."""


OnStep = Callable[[str, int], object]


def _ignore_step(_what: str, _tables: int) -> None:
    """Show no progress."""


@dataclass(frozen=True, slots=True)
class SuggestionTarget:
    """A table to propose checks for. Its target has the checks that are configured already.

    `key`: the declared one. `columns`: those that may be read; None for all. `references`: its declared foreign keys,
    with the names of tables in the configuration.
    """

    target: Target
    key: tuple[str, ...] = ()
    columns: Collection[str] | None = None
    references: tuple[DeclaredReference, ...] = ()

    @property
    def name(self) -> str:
        """Return the table's name in the configuration."""
        return self.target.subject.name


@dataclass(frozen=True, slots=True)
class TableSuggestions:
    """The proposals for a table; `problem`: why it could not be read, in which case there are none."""

    name: str
    proposals: tuple[Proposal, ...] = ()
    statistics: TableStatistics | None = None
    problem: str | None = None

    @property
    def rows(self) -> int:
        """Return the number of rows."""
        return self.statistics.rows if self.statistics is not None else 0


@dataclass(frozen=True, slots=True)
class SourceSuggestions:
    """The proposals for the tables of a source, and for the source itself: texts that represent NULL.

    The checks of tables are proposed for what they hold once the sure ones of those texts are read as NULL.
    """

    tables: tuple[TableSuggestions, ...] = ()
    null_values: tuple[Proposal, ...] = ()


def suggest_checks(
    tables: Sequence[SuggestionTarget],
    clock: Clock,
    *,
    keys: Sequence[TableKey] = (),
    on_step: OnStep = _ignore_step,
) -> SourceSuggestions:
    """Propose checks for tables of one source.

    `keys`: of other tables that these may refer to. `on_step` is called with what was done of a table, and of how many
    tables: each is measured, and then its proposals are tried.

    Raises:
        SourceError: the source cannot be reached.
    """
    if not tables:
        return SourceSuggestions()
    spec = tables[0].target.source
    drafts = _read_all(spec, tables, clock, on_step)
    marks = _null_marks(spec, drafts)
    sure = [mark for mark, proposal in marks.items() if proposal.confidence is Confidence.HIGH]
    if sure:  # the rest is proposed for what the columns then hold
        spec = replace(spec, csv=replace(spec.csv, null_values=(*spec.csv.null_values, *sure)))
        drafts = _read_all(spec, tables, clock, on_step)
    targets = {table.name: replace(table, target=replace(table.target, source=spec)) for table in tables}
    all_keys = keys_by_name((*keys, *_keys_of(drafts)))
    fresh = {
        draft.name: [
            item
            for proposal in (*draft.proposals, *_references(draft, all_keys, targets[draft.name].references))
            if (item := _without(proposal, targets[draft.name])) is not None and _is_accepted(item)
        ]
        for draft in drafts
    }
    tried = _try(fresh, clock, targets, on_step)
    results = tuple(replace(draft, proposals=tuple(tried[draft.name])) for draft in drafts)
    return SourceSuggestions(results, tuple(marks.values()))


def _read_all(
    spec: SourceSpec, tables: Sequence[SuggestionTarget], clock: Clock, on_step: OnStep
) -> Sequence[TableSuggestions]:
    drafts = []
    with open_source(spec) as source:
        templates = ColumnTemplates(source)
        for table in tables:
            drafts.append(_propose(templates, table, clock.now()))
            on_step("reading", len(tables))
    return drafts


def _references(draft: TableSuggestions, keys: KeysByName, declared: Sequence[DeclaredReference]) -> Iterator[Proposal]:
    if draft.statistics is not None and draft.statistics.rows:
        key = next((proposal.columns for proposal in draft.proposals if proposal.kind == "key"), ())
        yield from declared_foreign_keys(draft.statistics, declared)
        known = {item.columns for item in declared}
        guessed = foreign_keys(draft.statistics, key, keys)
        yield from (proposal for proposal in guessed if proposal.columns not in known)


def _null_marks(spec: SourceSpec, drafts: Sequence[TableSuggestions]) -> Mapping[str, Proposal]:
    if spec.files is None:
        return {}
    marks = null_marks([draft.statistics for draft in drafts if draft.statistics is not None])
    return {mark: proposal for mark, proposal in marks.items() if mark not in spec.csv.null_values}


def _propose(templates: ColumnTemplates, table: SuggestionTarget, now: datetime) -> TableSuggestions:
    """Return the proposals for a table; what goes wrong with one is its own problem, and the others are read."""
    return run_explained(
        lambda: _read(templates, table, now),
        lambda error: TableSuggestions(table.name, problem=_problem_of(error)),
        passes_on=(KeyboardInterrupt, Unreachable),
    )


def _problem_of(error: BaseException) -> str:
    if isinstance(error, SourceError):
        return str(error)
    return f"internal error ({type(error).__name__}); please report it"


def _read(templates: ColumnTemplates, table: SuggestionTarget, now: datetime) -> TableSuggestions:
    subject = table.target.subject
    columns = None if table.columns is None else list(table.columns)
    statements = TableStatements(templates, subject.relation, columns)
    statistics = profile_table(statements, table.name)
    if not statistics.rows:
        return TableSuggestions(table.name, statistics=statistics)
    proposals = [volume(statistics)]
    proposals += [declared_key(statistics, table.key)] if table.key else []
    proposals += single_keys(statistics, table.key)
    if not any(proposal.kind == "key" for proposal in proposals):
        proposals += composite_keys(statistics, statements)
    keys = [proposal for proposal in proposals if proposal.kind == "key"]
    sure = {column for key in keys if key.confidence is not Confidence.LOW for column in key.columns}
    proposals += not_null(statistics, sure)
    proposals += _freshness(statements, table, statistics, now)
    proposals.append(schema(statistics, types_declared=templates.source.types_declared))
    proposals += ranges(statistics)
    proposals += accepted_values(statistics)
    proposals += patterns(statistics)
    proposals += functional_dependencies(statistics, statements)
    proposals += [] if subject.classified else quasi_identifiers(statistics)
    return TableSuggestions(table.name, tuple(proposals), statistics)


def _freshness(
    statements: TableStatements, table: SuggestionTarget, statistics: TableStatistics, now: datetime
) -> Iterator[Proposal]:
    subject = table.target.subject
    column = subject.loaded_at or arrival_column(statistics, now)
    if column is None:
        return
    type_, epoch = statements.schema[column], epoch_of(statistics.column(column), now)
    aware = (type_.is_timestamp() and type_.timezone is not None) or subject.zones.of(column) is not None
    hours = hours_of(statements, column, second=SECONDS[epoch] if epoch else 0)
    proposal = _freshness_limit(column, hours, now=now, aware=aware or epoch is not None, named=is_arrival_name(column))
    if proposal is None:
        return
    if epoch is None:
        evidence = "ISO 8601 text; " if type_.is_string() else ""
        yield replace(proposal, why=f"{evidence}{proposal.why}")
        yield from _learned_volume(column, hours, now=now, aware=aware)
        return
    why = f"every number is a time since 2000 in {epoch} since 1970; {proposal.why}"
    yield replace(proposal, why=why, check={**(proposal.check or {}), "epoch": epoch})


def _learned_volume(column: str, hours: Sequence[tuple[int, int]], *, now: datetime, aware: bool) -> Iterator[Proposal]:
    """Yield a learned limit of the rows of a day, with what it would have detected as of the last whole day.

    It is left to a person, since the rows of past days, counted now, are not what was there then.
    """
    from checks.limits import LearnedLimit, LimitRule, TimedValue, learn_limit
    from monitor.summaries.promises import LearnedPower

    rows: Counter[int] = Counter()
    for hour, n in hours:
        rows[hour // _DAY_HOURS] += n
    today = int(now.timestamp()) // (3600 * _DAY_HOURS)
    days = range(min(rows, default=today) + 1, today)
    looks = [TimedValue(datetime.fromtimestamp(day * 86_400, UTC), float(rows[day])) for day in days]
    limit = (
        learn_limit(looks[:-1], looks[-1], rule=LimitRule(1 / _PROMISED_DAYS), zone=ZoneInfo("UTC")) if looks else None
    )
    if not isinstance(limit, LearnedLimit):
        return
    check: dict[str, Any] = {"id": "rows-a-day", "type": "volume", "column": column, "window": "1d"}
    check |= {"limits": {"learned": {"false_alarms": f"1 per {_PROMISED_DAYS}d"}}} | (
        {} if aware else {"timezone": "UTC"}
    )
    power = LearnedPower(column=None, usual=limit.usual, loss=limit.loss, excess=limit.excess)
    why = f"rows of {len(looks):,} days; {power.message(_build(check), check['id'])}"
    yield Proposal("volume", (column,), why, Confidence.LOW, check)


def _freshness_limit(
    column: str, hours: Sequence[tuple[int, int]], *, now: datetime, aware: bool, named: bool
) -> Proposal | None:
    """Return a limit of the age of the newest row: one and a half times the largest gap seen, in whole hours or days.

    `hours`: as `profile.hours_of` returns them. `aware`: whether the values or the configuration have a time zone;
    otherwise UTC is written, and 14 hours are added. `named`: whether the name of the column is that of arrival times.
    """
    past = [hour for hour, _ in hours if hour * 3600 <= now.timestamp()]
    gaps = [later - earlier for later, earlier in pairwise(past)]
    if not gaps:
        return None
    step = _DAY_HOURS if all(hour % _DAY_HOURS == past[0] % _DAY_HOURS for hour in past) else 1
    largest = max(gaps)
    limit = timedelta(hours=-(-int(largest * _GAP_FACTOR + 1) // step) * step)
    if not aware:
        limit += _UNKNOWN_ZONE
    age = now - datetime.fromtimestamp(past[0] * 3600, UTC)
    if age > max(_STALE, _STALE_LIMITS * limit):
        return None
    check: dict[str, Any] = {"type": "freshness", "column": column, "max_age": _format_hours(limit)}
    why = f"{len(gaps):,} gaps between rows, the largest {format_duration(timedelta(hours=largest))}"
    if not aware:
        check["timezone"] = "UTC"
        why += "; the time zone is not declared, so UTC is assumed and 14 h are added"
    sure = named and len(gaps) >= _FEWEST_GAPS and age <= limit
    return Proposal("freshness", (column,), why, Confidence.HIGH if sure else Confidence.LOW, check)


def _format_hours(duration: timedelta) -> str:
    hours = round(duration.total_seconds() / 3600)
    return f"{hours // _DAY_HOURS}d" if hours % _DAY_HOURS == 0 else f"{hours}h"


def _keys_of(drafts: Sequence[TableSuggestions]) -> Iterator[TableKey]:
    by_name = {draft.name: draft for draft in drafts}
    for name, column in key_columns({draft.name: draft.proposals for draft in drafts}):
        statistics = by_name[name].statistics
        yield TableKey(name, column, None if statistics is None else statistics.column(column))


def _try(
    proposals: Mapping[str, Sequence[Proposal]],
    clock: Clock,
    tables: Mapping[str, SuggestionTarget],
    on_step: OnStep,
) -> Mapping[str, Sequence[Proposal]]:
    """Run the proposed checks of tables once, as `check` would, and store nothing; return the proposals by table."""
    targets = [_trial(tables[name], f"{at}", own, tables) for at, (name, own) in enumerate(proposals.items())]
    outcomes: dict[str, Outcome] = {}
    targets = [target for target in targets if target.subject.checks]
    for result in scan_source(targets, clock=clock, plans={}):
        outcomes |= {item.check_id: item.outcome for item in judge_only([result], store=None)}
        on_step("trying", len(targets))
    return {
        name: [_as_tried(proposal, outcomes.get(f"{at} {place}")) for place, proposal in enumerate(own)]
        for at, (name, own) in enumerate(proposals.items())
    }


def _trial(
    table: SuggestionTarget, number: str, proposals: Sequence[Proposal], others: Mapping[str, SuggestionTarget]
) -> Target:
    checks = {
        f"{number} {place}": _build(proposal.check)
        for place, proposal in enumerate(proposals)
        if proposal.check is not None
    }
    subject = table.target.subject
    referred = {name for check in checks.values() for name in check.refers_to}
    relations = {name: others[name].target.subject.relation for name in referred & others.keys()}
    subject = replace(subject, checks=tuple(checks.items()), relations={**subject.relations, **relations})
    return replace(table.target, subject=subject)


def _as_tried(proposal: Proposal, outcome: Outcome | None) -> Proposal:
    now = None if outcome is None else CurrentOutcome(outcome.status, str(outcome.message))
    tried = replace(proposal, now=now)
    guessed = tried.fails_now and tried.confidence is not Confidence.DECLARED
    return replace(tried, confidence=Confidence.LOW) if guessed else tried


def _is_accepted(proposal: Proposal) -> bool:
    """Check whether a configuration takes a proposal: a catalogue has names that it does not."""
    if proposal.check is None:
        return True
    try:
        _build(proposal.check)
    except ValidationError:
        return False
    return True


def _build(check: Mapping[str, Any]) -> Check:
    model: Any = load_catalog()[check["type"]]
    built: Check = model.model_validate(dict(check))
    return built


def _without(proposal: Proposal, table: SuggestionTarget) -> Proposal | None:
    """Return what of a proposal is not configured yet."""
    existing = [check for _, check in table.target.subject.checks]
    if proposal.check is None:
        return proposal
    kind = proposal.check["type"]
    same = [_columns_of(check) for check in existing if check.type == kind]
    keys = [_columns_of(check) for check in existing if check.type == "primary_key"]
    if kind in {"volume", "schema", "freshness"}:
        return None if same else proposal
    if kind == "not_null":
        covered = {column for columns in (*same, *keys) for column in columns}
        columns = [column for column in proposal.columns if column not in covered]
        check = {**proposal.check, "columns": columns}
        return replace(proposal, columns=tuple(columns), check=check) if columns else None
    if proposal.kind == "key" and keys:
        return None
    if kind == "functional_dependency":
        return None if proposal.columns in same else proposal
    if kind in {"primary_key", "unique"}:
        same = [_columns_of(check) for check in existing if check.type in {"primary_key", "unique"}]
    return None if any(set(columns) == set(proposal.columns) for columns in same) else proposal


def _columns_of(check: Check) -> tuple[str, ...]:
    """Return the columns that a check looks at."""
    column: str | None = getattr(check, "column", None)
    columns: tuple[str, ...] | None = getattr(check, "columns", None)
    determinant: tuple[str, ...] | None = getattr(check, "determinant", None)
    if determinant is not None:
        return (*determinant, str(getattr(check, "dependent", "")))
    return tuple(columns or ((column,) if column is not None else ()))
