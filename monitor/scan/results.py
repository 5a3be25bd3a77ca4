"""The targets of a pass, what came back from a look at a table, and what it was judged to be.

`PassResult` is what comes of a pass, with the exit code that it means. Importing this is cheap: it needs no engine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeAlias, TypeVar
from zoneinfo import ZoneInfo

from checks import (
    Check,
    ColumnClass,
    Earlier,
    Json,
    Measurement,
    Message,
    Outcome,
    PeopleTable,
    SegmentedMeasurement,
    Severity,
    Status,
    UnknownReason,
    Zones,
    judge_absence,
    not_found,
    unknown,
)
from checks.classes.counts import ClosedPart, KnownCounts
from incidents import Policy, Watch
from sources import (
    NOTHING_TOLD,
    PermissionDenied,
    QueryFailed,
    ReadVolume,
    SourceError,
    SourceSpec,
    TableNotFound,
    TableRemoved,
    TimedOut,
    Unreachable,
)

if TYPE_CHECKING:
    from monitor.config import Table
    from monitor.config.project import Project
    from monitor.scan.private_question import PrivateQuestion
    from store import Run

_SHARE_OF_RECORDING = 0.1
_LONGEST_WAIT_S = 10.0

PolicyOf: TypeAlias = Callable[[Check], Policy]
"""Returns when incidents of a check open and resolve."""


def wait_for(cost_s: float, *, shortest_s: float) -> float:
    """Return for how many seconds to collect results, at most 10, where the last batch took so many to be recorded.

    Recording then takes a tenth of the time, whatever a busy machine makes of its price.
    """
    return min(max(shortest_s, cost_s * (1 / _SHARE_OF_RECORDING - 1)), _LONGEST_WAIT_S)


@dataclass(frozen=True, slots=True)
class LookbackWindow:
    """The column of times or dates that separates new rows from those that are no longer read.

    Rows are read while they lie at most `lookback` before the newest; all rows once in `full`. `checks`: how many the
    table has; a look at fewer of them reads all rows, and leaves what is kept as it is. `place`: where the tables of
    the source lie.
    """

    column: str
    lookback: timedelta
    full: timedelta
    checks: int
    place: str = ""


@dataclass(frozen=True, slots=True)
class Subject:
    """A table and the checks to plan: what the configuration says of it."""

    name: str
    relation: str
    checks: tuple[tuple[str, Check], ...]
    """The check ids with their checks."""
    zones: Zones = field(default_factory=Zones)
    loaded_at: str | None = None
    relations: Mapping[str, str] = field(default_factory=dict)
    """Names of configured tables to their names within this source, for references."""
    elsewhere: frozenset[str] = frozenset()
    """Names of tables of other sources that checks refer to."""
    frame_rows: int = 1_000_000
    """The most rows to hand to a Great Expectations expectation."""
    classified: Mapping[str, ColumnClass] = field(default_factory=dict)
    """The privacy classes of columns, where they are configured."""
    people: PeopleTable | None = None
    family: int = 1
    """The number of values of the table with learned limits, whose false alarm rate holds for all of them together."""
    is_past: bool = False
    """Whether the table is seen as of the time of the measurement, by its load times."""
    incremental: LookbackWindow | None = None
    """How checks that add up over rows read new rows only."""

    @property
    def reads_changes(self) -> bool:
        """Check whether checks that add up read new rows only: in a look of today at all checks of the table."""
        return self.incremental is not None and not self.is_past and len(self.checks) == self.incremental.checks

    @property
    def keeps(self) -> bool:
        """Check whether anything is kept from run to run that a look must know."""
        return self.reads_changes or bool(self.counting)

    @property
    def counting(self) -> Sequence[str]:
        """Return the ids of the checks whose class counts are kept from run to run."""
        return [check_id for check_id, check in self.checks if check.keeps]


@dataclass(frozen=True, slots=True)
class CountState:
    """The input of counts in the store: the key of signatures, and the stored state by check id.

    `problem` says why there is no key. `closed`: what is known of the rows of the table that are no longer read.
    """

    key: bytes = field(default=b"", repr=False)
    known: Mapping[str, KnownCounts] = field(default_factory=dict)
    problem: str | None = None
    closed: ClosedPart | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class OtherTable:
    """A table of another source than that of the watched one: its name there, and the declared zones of its times."""

    source: SourceSpec
    relation: str
    zones: Zones


@dataclass(frozen=True, slots=True)
class Target:
    """A table to look at in a pass, where it lives and who answers for it.

    `period` is the longest time between two scheduled runs, None without a schedule. `keeper` is for checks whose
    counts are kept; None where nothing is kept: then they count everything, and keep nothing. `question`: what is asked
    about a protected table, which has no checks here then. `maintenance`: planned work, as `[start, end)`. `as_of`: the
    past time at which the table is to be seen; None for now. `others`: the tables of other sources that checks compare
    with, by the names that the checks give them.
    """

    subject: Subject
    source: SourceSpec
    owner: str | None = None
    period: timedelta | None = None
    keeper: CountState | None = field(default=None, compare=False, repr=False)
    question: PrivateQuestion | None = field(default=None, compare=False, repr=False)
    maintenance: tuple[tuple[datetime, datetime], ...] = ()
    as_of: datetime | None = None
    others: Mapping[str, OtherTable] = field(default_factory=dict)
    full_every: timedelta | None = None
    """In which time a table that does not change is read once; None if it is read at each run."""

    @property
    def place(self) -> str:
        """Return a digest of the address and relation that the configuration names, wherever its folder lies."""
        address = replace(self.source, base=Path()).place
        return blake2b(repr((address, self.subject.relation)).encode(), digest_size=8).hexdigest()

    def at(self, as_of: datetime) -> Self:
        """Return the target as it is seen at a past time."""
        return replace(self, subject=replace(self.subject, is_past=True), as_of=as_of)


REASONS: Mapping[type[SourceError], UnknownReason] = {
    Unreachable: UnknownReason.UNREACHABLE,
    PermissionDenied: UnknownReason.PERMISSION,
    TimedOut: UnknownReason.TIMEOUT,
    QueryFailed: UnknownReason.MISCONFIGURED,
    TableRemoved: UnknownReason.NO_DATA,
}


@dataclass(frozen=True, slots=True)
class CheckMeasurement:
    """The reply for one check: values to judge, or the outcome of a query that could not be run."""

    check_id: str
    check: Check
    answer: Measurement | SegmentedMeasurement | Outcome
    duration_s: float = 0.0
    earlier: Earlier | None = None
    """Which earlier measurements it wants to be judged against."""


@dataclass(frozen=True, slots=True)
class ScanCost:
    """The cost of a scan to its source: seconds, and rows and bytes read where the engine reports them."""

    seconds: float
    volume: ReadVolume = NOTHING_TOLD

    def __add__(self, other: Self) -> ScanCost:
        """Add the costs of two parts of a look."""
        return ScanCost(self.seconds + other.seconds, self.volume + other.volume)


@dataclass(frozen=True, slots=True)
class TableResult:
    """A table that was looked at: when, and what came back for each check.

    `answer`: what came back for the target's question; an outcome says why that cannot be asked. None without a
    question, and where one that is paid for brought nothing: why may tell of the data. `cost`: None where nothing was
    read.
    """

    target: Target
    started_at: datetime
    ended_at: datetime
    measured: Sequence[CheckMeasurement]
    answer: Mapping[str, Json] | Outcome | None = None
    cost: ScanCost | None = None

    @property
    def has_counts(self) -> bool:
        """Check whether counts came back that belong to those that are kept from run to run."""
        return any(isinstance(item.answer, Measurement) and item.answer.kept is not None for item in self.measured)

    @property
    def closed(self) -> ClosedPart | None:
        """Return what is to be kept of rows that are no longer read."""
        kept = [item.answer.kept for item in self.measured if isinstance(item.answer, Measurement)]
        return next((part for part in kept if isinstance(part, ClosedPart)), None)


def run_of(run_id: str, table_result: TableResult, read_at: datetime | None = None) -> Run:
    """Return the run that a look at a table was. `read_at`: when that was, where it saw the table at a past time."""
    from store import Run, RunCost  # workers import this module, and no store

    subject, cost = table_result.target.subject, table_result.cost
    day = (read_at or table_result.ended_at).astimezone(ZoneInfo(subject.zones.calendar)).date()
    spent = None if cost is None else RunCost(table_result.target.source.name, day, cost.seconds, cost.volume)
    return Run(run_id, subject.name, table_result.started_at, table_result.ended_at, cost=spent)


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of one check in a run, and its incident."""

    check_id: str
    table: str
    check: Check
    outcome: Outcome
    measured_at: datetime
    duration_s: float
    source: str
    owner: str | None = None
    incident: int | None = None
    series: str | None = None
    """The key of its stored state where that is not its check: the series of a segment."""
    segment: str | None = None
    """The displayed name of its segment."""
    segments: tuple[CheckResult, ...] = ()
    """The results of the segments that are followed one by one."""
    rest: Outcome | None = None
    """The result that decides on the check itself where its segments are judged one by one: that of the others."""
    is_gone: bool = False
    """Whether it is about a segment with an open incident that has no rows any more."""
    is_moved: bool = False
    """Whether it worked in another place than the configuration names now."""

    @property
    def remembered_as(self) -> str:
        """Return what its measurements and incidents are kept under."""
        return self.series or self.check_id

    @property
    def silent_source(self) -> str:
        """Return which source did not answer: the table's own, or the one that it was compared with."""
        return str(self.outcome.observed.get("source", self.source))


OK, FAILED, NOT_EVALUATED, NOTHING_SELECTED = 0, 1, 3, 5


@dataclass(frozen=True, slots=True)
class PassResult:
    """The results of a pass; a failure below `fail_on` does not count for the exit code.

    `problem`: why not all of it was remembered. `retired`: closed incidents of removed checks. `pruned`: by age.
    `targets`: the tables, where no configuration names them.
    """

    project: str
    run_id: str
    started_at: datetime
    duration_s: float
    results: Sequence[CheckResult]
    fail_on: Severity = Severity.INFO
    problem: str | None = None
    retired: int = 0
    pruned: str | None = None
    targets: Sequence[Target] = field(default=(), repr=False, compare=False)

    @property
    def exit_code(self) -> int:
        """Return 5 without checks, 1 when one failed, 3 when one could not be evaluated or remembered, else 0."""
        if not self.results:
            return NOTHING_SELECTED
        if any(self.counts_as_failure(result) for result in self.results):
            return FAILED
        unknown = any(result.outcome.status is Status.UNKNOWN for result in self.results)
        return NOT_EVALUATED if unknown or self.problem is not None else OK

    def counts_as_failure(self, result: CheckResult) -> bool:
        """Check whether a result is a failure of at least the severity that matters."""
        return result.outcome.status is Status.FAIL and result.check.severity.rank >= self.fail_on.rank

    @property
    def summary(self) -> dict[str, int]:
        """Count the results by status."""
        counted = Counter(result.outcome.status for result in self.results)
        return {**{status.value: counted[status] for status in Status}, "total": len(self.results)}


def not_evaluated(error: SourceError) -> Outcome:
    """Return the outcome of a check whose source answered with an error."""
    message = Message("{problem}", {"problem": str(error)})
    if type(error) is TableNotFound:
        return not_found(message)
    return unknown(REASONS.get(type(error), UnknownReason.BUG), message)


def misconfigured(error: Exception) -> Outcome:
    """Return the outcome of a check that does not fit its table."""
    return unknown(UnknownReason.MISCONFIGURED, Message("{problem}", {"problem": str(error)}))


def unscanned(target: Target, outcome: Outcome, now: datetime) -> TableResult:
    """Return what is known of a table that was not looked at: the same outcome for each of its checks."""
    measured = [CheckMeasurement(check_id, check, outcome) for check_id, check in target.subject.checks]
    return TableResult(target, now, now, measured, answer=unanswered(target, outcome))


def unanswered(target: Target, outcome: Outcome) -> Outcome | None:
    """Return what may be heard of a question that was not answered."""
    return None if target.question is None or target.question.charged else outcome


T = TypeVar("T")
E = TypeVar("E")


def run_guarded(job: Callable[[], T], *, passes_on: tuple[type[BaseException], ...] = ()) -> T | Outcome:
    """Do a job; return its result, or the outcome that says why there is none.

    `passes_on` are errors that are none of the job's: Ctrl-C, where the job runs in the main thread.
    """
    return run_explained(job, explained, passes_on=passes_on)


def run_explained(
    job: Callable[[], T],
    explain: Callable[[BaseException], E],
    *,
    passes_on: tuple[type[BaseException], ...] = (),
) -> T | E:
    """Do a job; return its result, or what is made of the error that it ended in."""
    try:
        return job()
    except passes_on:
        raise
    except BaseException as error:  # noqa: BLE001 - the job boundary: a bug, a panic or an exit stops one job only
        return explain(error)


def explained(error: BaseException) -> Outcome:
    """Return what a source said, or a bug, named by its class only since its text may hold data."""
    if isinstance(error, SourceError):
        return not_evaluated(error)
    return unknown(
        UnknownReason.BUG, Message("internal error ({error}); please report it", {"error": type(error).__name__})
    )


def targets_of(project: Project, chosen: Mapping[str, Collection[str]] | Iterable[str]) -> Sequence[Target]:
    """Return targets in the configuration's order: tables by name, with all their checks or those named."""
    wanted: Mapping[str, Collection[str] | None] = chosen if isinstance(chosen, Mapping) else dict.fromkeys(chosen)
    return [_target(project, table, wanted[table.name]) for table in project.config.tables if table.name in wanted]


def _lookback(table: Table, spec: SourceSpec) -> LookbackWindow | None:
    if (asked := table.incremental) is None:
        return None
    full = timedelta(days={"daily": 1, "weekly": 7, "monthly": 30}[asked.full])
    return LookbackWindow(asked.column, asked.lookback, full, len(table.own_checks), spec.place)


def _target(project: Project, table: Table, only: Collection[str] | None) -> Target:
    config = project.config
    checks = [check for check in table.own_checks if only is None or check.name in only]
    source = config.sources[table.source]
    names = project.relations[table.source]
    others = _others(project, table, checks)
    subject = Subject(
        name=table.name,
        relation=table.table or table.name,
        checks=tuple((table.check_id(check), check) for check in checks),
        zones=Zones(source.timezone, table.timezones, calendar=config.timezone),
        loaded_at=table.loaded_at,
        # not of the whole source: it goes to the workers
        relations={name: names[name] for check in checks for name in check.refers_to if name in names},
        elsewhere=frozenset(others),
        frame_rows=source.expectation_rows,
        classified=table.columns,
        people=project.people_tables.get(table.name),
        family=max(1, sum(check.learned_numbers for check in table.checks)),
        incremental=_lookback(table, project.specs[table.source]),
    )
    return Target(
        subject=subject,
        source=project.specs[table.source],
        owner=config.owner_of(table),
        period=table.schedule.longest_period() if table.schedule is not None else None,
        maintenance=tuple(
            work.span(config.timezone) for work in config.maintenance if work.concerns(table.name, table.domain)
        ),
        others=others,
        full_every=None if table.schedule is None else table.schedule.full_every,
    )


def _others(project: Project, table: Table, checks: Sequence[Check]) -> Mapping[str, OtherTable]:
    """Return the tables of other sources that checks compare with: configured ones by name, others as source.table."""
    results: dict[str, OtherTable] = {}
    for name in {name for check in checks if check.compares_sources for name in check.refers_to}:
        other = project.config.table(name)
        source, _, relation = name.partition(".")
        if other is not None and other.source != table.source:
            zones = Zones(project.config.sources[other.source].timezone, other.timezones)
            results[name] = OtherTable(project.specs[other.source], other.table or other.name, zones)
        elif other is None and relation and source in project.config.sources and source != table.source:
            zones = Zones(project.config.sources[source].timezone)
            results[name] = OtherTable(project.specs[source], relation, zones)
    return results


def with_absence(
    table_result: TableResult, results: Iterable[CheckResult], watches: Mapping[str, Watch]
) -> Iterable[CheckResult]:
    """Yield the results of a table; one that an earlier run found where it is not now fails the checks about that.

    A table that no run has found in this place may be a mistake in the configuration.
    """
    place = table_result.target.place
    for result in results:
        watch = watches.get(result.check_id)
        if watch is None or not watch.recent:
            yield result
        elif watch.place not in {None, place}:
            yield replace(result, is_moved=True)
        else:
            since = watch.last_pass_ended_at or watch.monitored_since
            yield replace(result, outcome=judge_absence(result.check, result.outcome, since))
