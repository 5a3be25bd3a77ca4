"""Artifacts of dbt: results of tests and of freshness become results of checks with `origin: dbt`.

Read are `run_results.json` (v6; https://docs.getdbt.com/reference/artifacts/run-results-json), `sources.json`
(v3; .../sources-json) and `freshness.json` (v0; .../freshness-json), a dozen keys of each, and nothing else of them:
versions differ in what surrounds these. A check is found by its `reference`, the `unique_id` of the test or source.

A test that is `error` or `skipped`, or that a complete run has no result of, is unknown. dbt leaves sources out of its
files whose query failed, so that a missing source is unknown, too. A run that read no rows or a part of them
(`--empty`, `--sample`) is no evidence, nor is one with other options than the run that opened an incident. A
model, seed or snapshot that is `error` or `skipped` is logged as a failed job of its table, for causes of incidents.
"""

import hashlib
import hmac
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, field_validator

from checks import Occurrence, OccurrenceMethod, Status
from checks.external import External, ExternalNumbers
from checks.parameters.errors import describe_error
from incidents import State
from monitor.config import Table
from monitor.config.project import Project
from monitor.integrations.datasets import DatasetNames
from monitor.integrations.results import (
    Configured,
    FailedJob,
    IgnoredItem,
    ImportedRun,
    Moment,
    Reading,
    add_reading,
    configured_checks,
    log_failed_jobs,
    missing_readings,
    outcome_of,
    record_readings,
)
from monitor.terminal.input_bounds import read_text
from monitor.terminal.problem import Problem, not_read
from store import Store

RUN_RESULTS: Final = "run_results.json"
FRESHNESS_FILES: Final = ("sources.json", "freshness.json")
_TEST: Final = "test."
_JOBS: Final = ("model.", "seed.", "snapshot.")
_WITHOUT_QUOTES: Final = str.maketrans("", "", '"`[]')
_EVALUATING: Final = ("test", "build")
_COMMANDS: Final = {"generate": "dbt docs generate"}
_SELECTING: Final = ("select", "exclude", "selector", "resource_types", "exclude_resource_types")
_OPTIONS: Final = ("target", "vars", "defer", "favor_state")
"""Options by which dbt may read other tables, or other rows of them."""
_WORDS: Final = frozenset({"pass", "warn", "fail", "error", "skipped"})
_SCHEMA: Final = re.compile(r"/dbt/(?P<kind>[a-z-]+)/v(?P<number>\d{1,6})\.json")
_RESULTS: Final = frozenset({"run-results", "sources", "freshness"})
_TRIED: Final = {"manifest": 12, "run-results": 6, "sources": 3, "freshness": 0}
"""Kinds of artifacts with the versions that were read."""
_FRESHNESS_WORDS: Final = {"pass": "pass", "warn": "warn", "error": "fail", "runtime error": "error"}


class UnreadableArtifact(Exception):
    """A file is not a usable dbt artifact."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


class _Foreign(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


@dataclass(frozen=True, slots=True)
class SchemaVersion:
    """The kind and version of an artifact, as its file states them."""

    kind: str
    number: int

    @classmethod
    def of(cls, text: Any) -> "SchemaVersion | None":
        """Return what `dbt_schema_version` says; None without it, or for another text."""
        match = _SCHEMA.search(text) if isinstance(text, str) else None
        return None if match is None else cls(match["kind"], int(match["number"]))

    @property
    def newer(self) -> str | None:
        """Return the sentence that it is newer than what is read here; None if it is not."""
        tried = _TRIED.get(self.kind)
        if tried is None or self.number <= tried:
            return None
        return f"{self.kind} v{self.number} is newer than v{tried}, for which this was made; what is new is not read"


class _Metadata(_Foreign):
    dbt_schema_version: Any = None
    invocation_id: str = Field(min_length=1, max_length=200)
    generated_at: Moment
    invocation_started_at: Moment | None = None


class _Timing(_Foreign):
    name: str = ""
    started_at: Moment | None = None
    completed_at: Moment | None = None


class _Entry(_Foreign):
    unique_id: str = Field(min_length=1, max_length=500)
    status: str
    timing: tuple[_Timing, ...] = ()
    execution_time: float = Field(0.0, ge=0, le=10**7, allow_inf_nan=False)

    @field_validator("status")
    @classmethod
    def _lower(cls, status: str) -> str:
        return status.lower()

    def times(self, metadata: _Metadata) -> tuple[datetime, datetime]:
        """Return when the table was read: by the step `execute`, else by the whole invocation."""
        steps = [step for step in self.timing if step.name == "execute"]
        start = next((step.started_at for step in steps if step.started_at is not None), None)
        end = next((step.completed_at for step in steps if step.completed_at is not None), None)
        start = start or metadata.invocation_started_at or metadata.generated_at
        return start, max(start, end or metadata.generated_at)


class _JobEntry(_Entry):
    relation_name: str | None = None


class _TestEntry(_Entry):
    failures: int | None = Field(None, ge=0, le=2**63 - 1)


class _Threshold(_Foreign):
    count: int | None = Field(None, ge=0, le=1_000_000)
    period: Literal["minute", "hour", "day"] | None = None


class _Criteria(_Foreign):
    error_after: _Threshold | None = None


class _FreshnessEntry(_Entry):
    max_loaded_at: Moment | None = None
    snapshotted_at: Moment | None = None
    criteria: _Criteria | None = None

    @property
    def numbers(self) -> ExternalNumbers:
        """Return the age of the newest row, and when it became too old: the newest row plus `error_after`."""
        after = None if self.criteria is None else self.criteria.error_after
        age = None
        if self.max_loaded_at is not None and self.snapshotted_at is not None:
            age = self.snapshotted_at - self.max_loaded_at
        if self.max_loaded_at is None or after is None or not after.count or after.period is None:
            return ExternalNumbers(age=age)
        length = timedelta(**{f"{after.period}s": after.count})
        occurrence = Occurrence(self.max_loaded_at + length, OccurrenceMethod.FRESHNESS_DEADLINE)
        return ExternalNumbers(age=age, occurrence=occurrence)


@dataclass(frozen=True, slots=True)
class Artifact:
    """One file of results: its entries as they are, and whether dbt was to evaluate everything.

    `part`: the option by which dbt read no rows or a part of them. `options`: those of `_OPTIONS` that were given.
    """

    name: str
    metadata: _Metadata
    entries: Sequence[Any]
    complete: bool
    part: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    command: str | None = None
    """The command that wrote it, where that command runs no test."""


@dataclass(frozen=True, slots=True)
class DbtImport:
    """The import of a folder of artifacts: each file that was read, with its results, and the jobs that failed."""

    runs: Mapping[str, ImportedRun] = field(default_factory=dict)
    failed: Sequence[FailedJob] = ()


def read_artifacts(target: Path, *, partial: bool = False) -> Sequence[Artifact]:
    """Return the results that a `target` folder of dbt holds, or one file of them.

    `partial`: say that dbt was not to evaluate everything, so that missing results mean nothing.

    Raises:
        UnreadableArtifact: there is none, or one cannot be read.
    """
    paths = [target]
    if target.is_dir():
        paths = [path for name in (RUN_RESULTS, *FRESHNESS_FILES) if (path := target / name).is_file()]
    if not paths:
        names = ", ".join((RUN_RESULTS, *FRESHNESS_FILES))
        hint = "run 'dbt build', 'dbt test' or 'dbt source freshness' first, and name its target folder"
        raise UnreadableArtifact(Problem("dbt.no_results", f"{target} has none of {names}", hint=hint))
    return [_read_artifact(path, partial=partial) for path in paths]


def read_json(path: Path) -> Mapping[str, Any]:
    """Return the object that a file of JSON holds.

    Raises:
        UnreadableArtifact: it cannot be read, or holds something else.
    """
    try:
        content = json.loads(read_text(path))
    except OSError as error:
        raise UnreadableArtifact(not_read("dbt.not_read", path, error)) from None
    except json.JSONDecodeError as error:
        problem = Problem("dbt.not_json", f"not JSON: {error.msg.lower()}", str(path), error.lineno, error.colno)
        raise UnreadableArtifact(problem) from None
    except (ValueError, RecursionError):
        raise UnreadableArtifact(Problem("dbt.not_json", "not readable JSON in UTF-8", str(path))) from None
    if not isinstance(content, dict):
        raise UnreadableArtifact(Problem("dbt.not_artifact", "expected a JSON object", str(path)))
    return content


def _read_artifact(path: Path, *, partial: bool) -> Artifact:
    content = read_json(path)
    try:
        metadata = _Metadata.model_validate(content.get("metadata"))
    except ValidationError as error:
        message = f"no artifact of dbt: metadata.{describe_error(error.errors()[0])}"
        raise UnreadableArtifact(Problem("dbt.not_artifact", message, str(path))) from None
    version = SchemaVersion.of(metadata.dbt_schema_version)
    if version is not None and version.kind not in _RESULTS:
        message = f"an artifact of another kind ({version.kind}); expected one of {', '.join(sorted(_RESULTS))}"
        raise UnreadableArtifact(Problem("dbt.not_artifact", message, str(path)))
    entries = content.get("results")
    if not isinstance(entries, list):
        raise UnreadableArtifact(Problem("dbt.not_artifact", "no artifact of dbt: no list 'results'", str(path)))
    args = content.get("args")
    complete, options = not partial and _is_complete(args), args if isinstance(args, dict) else {}
    given = {name: options[name] for name in _OPTIONS if options.get(name)}
    artifact = Artifact(path.name, metadata, entries, complete, _part_of(options), given)
    which = options.get("which")
    if isinstance(which, str) and which not in (*_EVALUATING, "freshness") and not _has_tests(artifact):
        return replace(artifact, command=_COMMANDS.get(which, f"dbt {which}"))
    return artifact


def _part_of(args: Mapping[str, Any]) -> str | None:
    """Return the option by which dbt read no rows or a part of them."""
    limit = args.get("limit")
    if isinstance(limit, int) and limit >= 0 and limit is not False:
        return "--limit"
    return next((f"--{name}" for name in ("empty", "sample") if args.get(name)), None)


def _is_complete(args: Any) -> bool:
    """Check whether dbt was to evaluate everything: freshness files have no `args`, and say nothing of a selection."""
    if not isinstance(args, dict):
        return True
    return args.get("which") in _EVALUATING and not any(args.get(name) for name in _SELECTING)


def import_artifacts(project: Project, store: Store, artifacts: Iterable[Artifact]) -> DbtImport:
    """Record the results of dbt for the checks that are configured; each file is one run, and counts once.

    Raises:
        FutureRun: an artifact was made in the future.
        StoreError: the results of one file, and of those after it, were not recorded.
    """
    checks = configured_checks(project.config, "dbt")
    runs: dict[str, ImportedRun] = {}
    failed: list[FailedJob] = []
    for artifact in artifacts:
        failed += log_failed_jobs(project, store, _failed_jobs(project, artifact), actor="dbt")
        is_freshness = artifact.name != RUN_RESULTS and not _has_tests(artifact)
        own_checks = {key: value for key, value in checks.items() if key[1].startswith(_TEST) is not is_freshness}
        runs[artifact.name] = _import_artifact(project, store, artifact, own_checks, is_freshness=is_freshness)
    return DbtImport(runs, failed)


def _failed_jobs(project: Project, artifact: Artifact) -> Iterator[FailedJob]:
    """Yield the models, seeds and snapshots of configured tables that were not built."""
    names = DatasetNames(project)
    for raw in artifact.entries:
        if not isinstance(raw, dict) or not str(raw.get("unique_id")).startswith(_JOBS):
            continue
        try:
            entry = _JobEntry.model_validate(raw)
        except ValidationError:
            continue  # named where results are read, as every entry that is no result
        relation = (entry.relation_name or entry.unique_id).translate(_WITHOUT_QUOTES)
        table = names.table_of(("", relation))
        if entry.status in {"error", "skipped"} and table is not None:
            yield FailedJob(entry.unique_id, table, entry.times(artifact.metadata)[1], f"dbt: {entry.status}")


def _has_tests(artifact: Artifact) -> bool:
    ids = (entry.get("unique_id") for entry in artifact.entries if isinstance(entry, dict))
    return any(isinstance(name, str) and name.startswith((_TEST, "unit_test.")) for name in ids)


def _import_artifact(
    project: Project, store: Store, artifact: Artifact, checks: Configured, *, is_freshness: bool
) -> ImportedRun:
    by_reference: dict[str, list[tuple[str, str]]] = {}
    for key in checks:
        by_reference.setdefault(key[1], []).append(key)
    readings: dict[tuple[str, str], Reading] = {}
    version = SchemaVersion.of(artifact.metadata.dbt_schema_version)
    newer = None if version is None else version.newer
    not_taken = [] if newer is None else [IgnoredItem(artifact.name, newer)]
    for entry in artifact.entries:
        read = _read_entry(entry, is_freshness=is_freshness)
        if isinstance(read, IgnoredItem):
            not_taken.append(read)
            continue
        if read is None:
            continue
        keys = by_reference.get(read.unique_id, [])
        if not keys:
            not_taken.append(IgnoredItem(read.unique_id, "no check with this reference is configured"))
        for key in keys:
            not_taken += add_reading(readings, key, _reading(checks[key][1], read, artifact.metadata), read.unique_id)
    if artifact.command is not None:
        about = f"written by '{artifact.command}', which runs no test"
        not_taken.append(IgnoredItem(artifact.name, f"{about}; run 'dbt build' or 'dbt test', then import at once"))
    if artifact.part is not None:
        not_taken.append(IgnoredItem(artifact.name, f"with {artifact.part} dbt did not read all rows: all is unknown"))
    comparison = _Comparison(project, store, artifact)
    readings = {key: comparison.judged(reading, *checks[key]) for key, reading in readings.items()}
    if artifact.complete:
        start = artifact.metadata.invocation_started_at or artifact.metadata.generated_at
        readings |= missing_readings(checks, readings, start, max(start, artifact.metadata.generated_at))
    run = ("dbt", f"{artifact.metadata.invocation_id} {artifact.name}")
    return record_readings(project, store, checks, readings, run=run, not_taken=not_taken)


class _Comparison:
    """Which results of a run count, by its options."""

    def __init__(self, project: Project, store: Store, artifact: Artifact) -> None:
        self._project, self._store, self._part = project, store, artifact.part
        self._options = self._stated(artifact.options)

    def judged(self, reading: Reading, table: Table, check: External) -> Reading:
        """Return a result with the options of its run; unknown where they make it no evidence."""
        if reading.outcome.status is Status.UNKNOWN:
            return reading
        if self._part is not None:
            return replace(reading, outcome=check.of_part(self._part))
        source = self._project.config.sources[table.source].dbt
        declared = {} if source is None else source.model_dump(include=source.model_fields_set)
        others = self._differing(self._stated(declared), declared)
        if others:
            return replace(reading, outcome=check.under_other_options(others, None))
        opening = self._opening(table.check_id(check))
        options = None if opening is None else opening[1].get("options")
        if opening is not None and options is not None:  # those of a run of an earlier build are not known
            others = self._differing(options, [name for name in _OPTIONS if name not in declared])
            if others:
                return replace(reading, outcome=check.under_other_options(others, opening[0]))
        observed = {**reading.outcome.observed, "options": self._options}
        return replace(reading, outcome=replace(reading.outcome, observed=observed))

    def _differing(self, options: Mapping[str, Any], names: Collection[str]) -> str:
        differing = (name for name in _OPTIONS if name in names and options.get(name) != self._options.get(name))
        return ", ".join(f"--{name.replace('_', '-')}" for name in differing)

    def _opening(self, check_id: str) -> tuple[int, Mapping[str, Any]] | None:
        """Return an incident of a check that is not resolved, and what the run observed that opened it."""
        with self._store.reading() as tx:
            incident = tx.incidents.latest([check_id]).get(check_id)
            if incident is None or incident.state is State.RESOLVED:
                return None
            results = tx.results.around(check_id, incident.last.detected_at, before=0, after=1)
        return (incident.id, results[0].observed) if results else None

    def _stated(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return options that differ from dbt's defaults; variables, which may be secret, as a keyed hash."""
        stated = {name: value for name, value in options.items() if value}
        if "vars" in stated:
            text = json.dumps(stated["vars"], sort_keys=True, default=str)
            key = self._project.signature_key()
            stated["vars"] = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()[:16]
        return stated


_TESTS: Final[TypeAdapter[_TestEntry]] = TypeAdapter(_TestEntry)
_FRESHNESS: Final[TypeAdapter[_FreshnessEntry]] = TypeAdapter(_FreshnessEntry)


def _read_entry(entry: Any, *, is_freshness: bool) -> _TestEntry | _FreshnessEntry | IgnoredItem | None:
    """Return an entry that is a check; None for one that is none, such as a model that was built."""
    name = entry.get("unique_id") if isinstance(entry, dict) else None
    if not isinstance(name, str):
        return IgnoredItem("an entry without unique_id", "its subject is unknown")
    if not is_freshness and not name.startswith(_TEST):
        return IgnoredItem(name, "a unit test checks code, not data") if name.startswith("unit_test.") else None
    try:
        read = (_FRESHNESS if is_freshness else _TESTS).validate_python(entry)
    except ValidationError as error:
        return IgnoredItem(name, describe_error(error.errors()[0]))
    if read.status not in (_FRESHNESS_WORDS if is_freshness else _WORDS):
        return IgnoredItem(name, "its status is a word that is not known; expected pass, warn, fail, error or skipped")
    return read


def _reading(check: External, entry: _TestEntry | _FreshnessEntry, metadata: _Metadata) -> Reading:
    start, end = entry.times(metadata)
    if isinstance(entry, _TestEntry):
        outcome = outcome_of(check, entry.status, ExternalNumbers(entry.failures))
    else:
        outcome = outcome_of(check, _FRESHNESS_WORDS[entry.status], entry.numbers)
        start = entry.snapshotted_at or start
    return Reading(outcome, start, max(start, end), entry.execution_time)
