"""Results of other tools, as `tablewatch import results` and `POST /api/v1/results` take them."""

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Final, Literal, Self

from annotated_types import Ge, Le, MaxLen, MinLen
from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, model_validator

from checks import Outcome, Status
from checks.external import External, ExternalNumbers
from monitor.config import Config, Table
from monitor.config.project import Project
from monitor.scan.recorder import record_external_results
from monitor.scan.results import CheckMeasurement, CheckResult, TableResult, targets_of
from monitor.terminal.problem import Problem
from store import LoggedEvent, LoggedEventKind, Store

MOST_RESULTS: Final = 10_000
_BADNESS: Final = {Status.PASS: 0, Status.WARN: 1, Status.UNKNOWN: 2, Status.FAIL: 3}
_FUTURE_S: Final = 300
"""How far (seconds) the clock of another machine may be ahead of ours."""
_YEARS: Final = range(1970, 9000)


def _within_years(moment: datetime) -> datetime:
    if moment.year not in _YEARS:
        raise ValueError(f"expected a year from {_YEARS[0]} to {_YEARS[-1]}")
    return moment


Moment = Annotated[AwareDatetime, AfterValidator(_within_years)]
"""A time that another tool wrote."""
Line = Annotated[str, MinLen(1), MaxLen(500)]


class ExternalResult(BaseModel):
    """A result of another tool: `check` is the `reference` (or id) of a check of type `external`.

    `table` is needed only where checks of several tables have that reference.
    """

    model_config = ConfigDict(extra="forbid")

    check: Line = Field(description="The reference of a check of type external, or its id.")
    table: Line | None = Field(None, description="Its table, where several tables have such a check.")
    status: Literal["pass", "warn", "fail", "error", "skipped"]
    violations: Annotated[int, Ge(0), Le(2**63 - 1)] | None = Field(None, description="How many rows break it.")


class ExternalRun(BaseModel):
    """`tablewatch.results/1`: one run of another tool. The same run counts once, however often it is sent."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    schema_: Literal["tablewatch.results/1"] = Field("tablewatch.results/1", alias="schema")
    origin: Literal["dbt", "contract", "other"]
    run_id: Line = Field(description="Identifies the run; a second run with this id changes nothing.")
    started_at: Moment = Field(description="When it read the tables.")
    ended_at: Moment
    complete: bool = Field(
        default=False, description="Whether it evaluated every check of this origin: a missing one becomes unknown."
    )
    results: Annotated[tuple[ExternalResult, ...], MinLen(1), MaxLen(MOST_RESULTS)]

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.ended_at < self.started_at:
            raise ValueError("'ended_at' is before 'started_at'")
        return self


@dataclass(frozen=True, slots=True)
class Reading:
    """The outcome of a configured check in a run of another tool, and its time."""

    outcome: Outcome
    started_at: datetime
    ended_at: datetime
    duration_s: float = 0.0


@dataclass(frozen=True, slots=True)
class IgnoredItem:
    """Something of another tool that is not used, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class ImportedRun:
    """The import of a run: new results, whether it was imported before, and what was not taken."""

    run_id: str
    results: Sequence[CheckResult]
    already_imported: bool
    not_taken: Sequence[IgnoredItem]


@dataclass(frozen=True, slots=True)
class FailedJob:
    """A job of another tool, such as a dbt model or a task, that was to write a table and failed, or was skipped."""

    job: str
    table: str
    at: datetime
    note: str


def log_failed_jobs(project: Project, store: Store, jobs: Iterable[FailedJob], *, actor: str) -> Sequence[FailedJob]:
    """Log failed jobs as events of their tables, each once; return those that are new.

    Raises:
        FutureRun: one failed in the future; none is logged.
        StoreError: none is logged.
    """
    jobs, now, new = list(jobs), project.clock.now(), []
    refuse_future(project, max((job.at for job in jobs), default=now))
    if jobs:
        with store.writing() as tx:
            for job in jobs:
                event = LoggedEvent(LoggedEventKind.OTHER, job.at, job.table, None, job.note, actor, now, job=job.job)
                if tx.logged_events.add(event)[1]:
                    new.append(job)
    return new


def refuse_future(project: Project, moment: datetime) -> None:
    """Refuse what happened in the future.

    Raises:
        FutureRun: it did.
    """
    if (moment - project.clock.now()).total_seconds() > _FUTURE_S:
        raise FutureRun(moment)


Configured = Mapping[tuple[str, str], tuple[Table, External]]
"""Checks of one origin, by table and reference."""


def configured_checks(config: Config, origin: str) -> Configured:
    """Return the external checks of an origin by their tables and references."""
    return {
        (table.name, check.key): (table, check)
        for table in config.tables
        for check in table.checks
        if isinstance(check, External) and check.origin == origin
    }


def import_run(project: Project, store: Store, run: ExternalRun) -> ImportedRun:
    """Record the results of a run for the checks that are configured; name those that are not.

    Raises:
        FutureRun: it ended in the future.
        StoreError: nothing was recorded.
    """
    checks = configured_checks(project.config, run.origin)
    named: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for key, (_, check) in checks.items():
        for name in {check.key, check.name}:
            named[name].append(key)
    readings: dict[tuple[str, str], Reading] = {}
    not_taken: list[IgnoredItem] = []
    for result in run.results:
        matching = [key for key in named.get(result.check, ()) if result.table in {None, key[0]}]
        if len(matching) != 1:
            not_taken.append(IgnoredItem(result.check, _why_not(matching, run.origin)))
        else:
            outcome = outcome_of(checks[matching[0]][1], result.status, ExternalNumbers(result.violations))
            reading = Reading(outcome, run.started_at, run.ended_at)
            not_taken += add_reading(readings, matching[0], reading, result.check)
    if run.complete:
        readings |= missing_readings(checks, readings, run.started_at, run.ended_at)
    return record_readings(project, store, checks, readings, run=(run.origin, run.run_id), not_taken=not_taken)


def add_reading(
    readings: dict[tuple[str, str], Reading], key: tuple[str, str], reading: Reading, name: str
) -> Sequence[IgnoredItem]:
    """Add what a run says of a check; where it says two things, the worse stays and the other is named."""
    other = readings.get(key)
    if other is None:
        readings[key] = reading
        return ()
    readings[key] = max(other, reading, key=lambda item: _BADNESS[item.outcome.status])
    return [IgnoredItem(name, "it has several results in this run; the worst is used")]


def _why_not(matching: Sequence[tuple[str, str]], origin: str) -> str:
    if not matching:
        return f"no check of type external with origin {origin} has this reference"
    return f"checks of several tables have this reference ({', '.join(table for table, _ in matching)}); name the table"


def outcome_of(check: External, status: str, numbers: ExternalNumbers) -> Outcome:
    """Return what a word of `ExternalResult.status` means."""
    if status == "skipped":
        return check.skipped()
    if status == "error":
        return check.outcome(Status.UNKNOWN)
    return check.outcome(Status(status), numbers)


def missing_readings(
    checks: Configured, present: Collection[tuple[str, str]], started_at: datetime, ended_at: datetime
) -> Mapping[tuple[str, str], Reading]:
    """Return what a run that was to evaluate everything says of the checks it has no result of: nothing, so unknown."""
    return {
        key: Reading(check.missing(), started_at, ended_at) for key, (_, check) in checks.items() if key not in present
    }


class FutureRun(Exception):
    """A run ended in the future; its results would precede everything measured until then."""

    def __init__(self, ended_at: datetime) -> None:
        super().__init__(f"the run ended at {ended_at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}, which is in the future")

    @property
    def problem(self) -> Problem:
        """Return it for a person or a program."""
        return Problem("results.future", str(self), hint="check the clock of the machine that ran the tool")


def record_readings(
    project: Project,
    store: Store,
    checks: Configured,
    readings: Mapping[tuple[str, str], Reading],
    *,
    run: tuple[str, str],
    not_taken: Iterable[IgnoredItem] = (),
) -> ImportedRun:
    """Record what a run, by its origin and id, says of configured checks: each table once, all in one transaction.

    Raises:
        FutureRun: it ended in the future.
        StoreError: nothing was recorded.
    """
    refuse_future(project, max((reading.ended_at for reading in readings.values()), default=project.clock.now()))
    batch = list(_table_results(project, checks, readings, run))
    results, known = record_external_results(batch, store=store, policy_of=project.policy_of)
    return ImportedRun(run[1], results, bool(batch) and known == len(batch), tuple(not_taken))


def _table_results(
    project: Project, checks: Configured, readings: Mapping[tuple[str, str], Reading], run: tuple[str, str]
) -> Iterator[tuple[str, TableResult]]:
    by_table: dict[str, list[tuple[External, Reading]]] = defaultdict(list)
    for key, reading in readings.items():
        by_table[key[0]].append((checks[key][1], reading))
    for target in targets_of(project, dict.fromkeys(by_table, ())):
        name = target.subject.name
        table = project.config.table(name)
        if table is None:
            continue
        pairs = by_table[name]
        yield (
            _run_id(*run, name),
            TableResult(
                target,
                min(reading.started_at for _, reading in pairs),
                max(reading.ended_at for _, reading in pairs),
                [
                    CheckMeasurement(table.check_id(check), check, reading.outcome, reading.duration_s)
                    for check, reading in pairs
                ],
            ),
        )


def _run_id(*words: str) -> str:
    return hashlib.sha256("\0".join(words).encode()).hexdigest()[:24]
