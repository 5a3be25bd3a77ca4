"""OpenLineage (spec 2-0-2, https://openlineage.io/spec/2-0-2/OpenLineage.json): results go out, lineage comes in.

Out: each stored run of a table is a run event with two facets, `dataQualityAssertions` (1-1-0) of the table and `test`
(1-0-1) of the run. `actual` holds counts of rows and ages only, no other number of the data and no text. A check that
could not be evaluated is `skip` among the tests, and no assertion: those are true or false.

In: jobs that read some data sets and wrote others say what feeds what. The facets `columnLineage` and `ownership` add
columns and owners to that. Assertions (`dataQualityAssertions`) are results of checks of `type: external`, and a run
that failed is a failed job of the tables that it was to write.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from uuid import UUID, uuid5

from pydantic import TypeAdapter, ValidationError

from checks import Check, Severity, Status
from monitor.config import Config
from monitor.config.lineage import EVERY
from monitor.config.project import Project
from monitor.integrations.datasets import DatasetNames, dataset_of
from monitor.integrations.proposal import slug
from monitor.integrations.results import ExternalRun, FailedJob, IgnoredItem, Moment
from monitor.summaries.check_numbers import CheckNumber
from monitor.terminal.input_bounds import read_text
from monitor.terminal.problem import Problem, not_read
from monitor.terminal.version import version
from store import Result, Run

_PRODUCER: Final = f"urn:tablewatch:{version()}"
_RUNS: Final = UUID("5d0f3c86-8d3c-5a0c-9f0e-6a3c2b1d4e7f")
"""The namespace of run ids, fixed for ever."""
_SPEC: Final = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
_FACETS: Final = "https://openlineage.io/spec/facets"
_ASSERTIONS: Final = f"{_FACETS}/1-1-0/DataQualityAssertionsDatasetFacet.json#/$defs/DataQualityAssertionsDatasetFacet"
_TESTS: Final = f"{_FACETS}/1-0-1/TestRunFacet.json#/$defs/TestRunFacet"
_OF_VALUES: Final = ("metric", "reconcile")
"""Checks whose number is made of the data's values."""


def run_event(project: Project, run: Run, results: Sequence[Result]) -> dict[str, Any]:
    """Return the event of a run: the same run has the same `runId` whenever it is exported."""
    table = project.config.table(run.table)
    checks = {} if table is None else {table.check_id(check): check for check in table.checks}
    tests = [_test(result, checks.get(result.check_id)) for result in results]
    assertions = [_assertion(test, checks.get(test["name"])) for test in tests if test["status"] != "skip"]
    facet = {"_producer": _PRODUCER, "_schemaURL": _ASSERTIONS, "assertions": assertions}
    return {
        "eventType": "COMPLETE",
        "eventTime": run.ended_at.isoformat(),
        "producer": _PRODUCER,
        "schemaURL": _SPEC,
        "run": {
            "runId": str(uuid5(_RUNS, f"{project.config.project}/{run.id}")),
            "facets": {"test": {"_producer": _PRODUCER, "_schemaURL": _TESTS, "tests": tests}},
        },
        "job": {"namespace": project.config.project, "name": f"tablewatch.{run.table}"},
        "inputs": [{**dataset_of(project, run.table), "inputFacets": {"dataQualityAssertions": facet}}],
        "outputs": [],
    }


def _test(result: Result, check: Check | None) -> dict[str, Any]:
    words = {Status.PASS: "pass", Status.WARN: "fail", Status.FAIL: "fail", Status.UNKNOWN: "skip"}
    warns = result.status is Status.WARN or (check is not None and check.severity.rank < Severity.ERROR.rank)
    test: dict[str, Any] = {
        "name": result.check_id,
        "status": words[result.status],
        "severity": "warn" if warns else "error",
    }
    if check is not None:
        test["type"] = check.type
        actual = None if check.type in _OF_VALUES else CheckNumber.of(check).read(result.observed)
        if actual is not None:
            test["actual"] = f"{actual:g}"
    return test


def _assertion(test: Mapping[str, Any], check: Check | None) -> dict[str, Any]:
    assertion = {"assertion": test.get("type", "unknown"), "success": test["status"] == "pass"}
    assertion |= {key: test[key] for key in ("severity", "name", "actual") if key in test}
    columns = getattr(check, "columns", None) or (getattr(check, "column", None),)
    if isinstance(columns, tuple) and len(columns) == 1 and isinstance(columns[0], str):
        assertion["column"] = columns[0]
    return assertion


@dataclass(frozen=True, slots=True)
class ImportedLineage:
    """What events say of configured tables.

    `upstream`: what feeds each. `new`: what each entry of the configuration lacks, by its keys. `owners`: those that
    are not configured. `runs` and `failed`: the results and the failed jobs that the events tell.
    """

    upstream: Mapping[str, Sequence[str]]
    new: Mapping[str, Mapping[str, Any]]
    owners: Mapping[str, Mapping[str, str]]
    runs: Sequence[ExternalRun]
    failed: Sequence[FailedJob]
    not_taken: Sequence[IgnoredItem]


class UnreadableEvents(Exception):
    """A file has no valid OpenLineage events."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


def read_lineage(project: Project, path: Path) -> ImportedLineage:
    """Return what the events of a file say of configured tables: a JSON object a line, one object, or a list.

    A data set is the table whose name by `dataset_of` it has, else the one table whose name, or name in its source,
    its name ends with.

    Raises:
        UnreadableEvents: it cannot be read, or an event is no JSON.
    """
    names, events = DatasetNames(project), list(_events(path))
    upstream: dict[str, dict[str, None]] = defaultdict(dict)
    not_taken: dict[str, IgnoredItem] = {}
    for inputs, outputs in _runs(events):
        for dataset in (*inputs, *outputs):
            if names.table_of(dataset) is None:
                not_taken[dataset[1]] = IgnoredItem(dataset[1], "no configured table has this name")
        tables = [table for dataset in inputs if (table := names.table_of(dataset)) is not None]
        for dataset in outputs:
            fed = names.table_of(dataset)
            if fed is not None:
                upstream[fed] |= dict.fromkeys(table for table in tables if table != fed)
    complete = {name: tuple(tables) for name, tables in upstream.items() if tables}
    runs = [run for event in events if (run := _run_of(names, event)) is not None]
    owners = _owners(names, events)
    return ImportedLineage(
        complete,
        _new(project.config, complete, _columns(names, events), owners, runs),
        {key: {"name": name} for key, name in owners.values() if key not in project.config.owners},
        runs,
        [job for event in events for job in _failed_jobs(names, event)],
        tuple(not_taken.values()),
    )


def _columns(names: DatasetNames, events: Iterable[Mapping[str, Any]]) -> Mapping[str, Mapping[str, Any]]:
    """Return what columns of tables are made from, by the facet `columnLineage`, as `upstream_columns` has it."""
    made: dict[str, dict[str, dict[str, dict[str, None]]]] = {}
    for table, output in (pair for event in events for pair in _tables(names, event.get("outputs"))):
        facet = _facet(output, "columnLineage")
        fields = facet.get("fields")
        named = fields.items() if isinstance(fields, dict) else ()
        sources = [(column, _items(field.get("inputFields"))) for column, field in named if isinstance(field, dict)]
        for column, inputs in (*sources, (EVERY, _items(facet.get("dataset")))):
            for upper, item in _tables(names, inputs):
                if upper != table and isinstance(item.get("field"), str):
                    made.setdefault(table, {}).setdefault(upper, {}).setdefault(column, {})[item["field"]] = None
    return {
        table: {upper: {column: list(its) for column, its in columns.items()} for upper, columns in above.items()}
        for table, above in made.items()
    }


def _owners(names: DatasetNames, events: Iterable[Mapping[str, Any]]) -> Mapping[str, tuple[str, str]]:
    """Return the first owner of each table by the facet `ownership`, as key and name."""
    owners: dict[str, tuple[str, str]] = {}
    for table, dataset in (
        pair for event in events for key in ("inputs", "outputs") for pair in _tables(names, event.get(key))
    ):
        for owner in _items(_facet(dataset, "ownership").get("owners")):
            name = owner.get("name")
            if isinstance(name, str) and name.strip():
                owners.setdefault(table, (slug(name.rpartition(":")[2]), name.rpartition(":")[2]))
    return owners


def _run_of(names: DatasetNames, event: Mapping[str, Any]) -> ExternalRun | None:
    """Return the assertions of an event as the results of a run; None without any, and of our own events."""
    if str(event.get("producer")).startswith("urn:tablewatch:"):
        return None
    results = {
        (table, reference): {"check": reference, "table": table, "status": status}
        for key in ("inputs", "outputs")
        for table, dataset in _tables(names, event.get(key))
        for reference, status, _ in _assertions(dataset)
    }
    run, at = event.get("run"), event.get("eventTime")
    try:
        return ExternalRun.model_validate(
            {
                "origin": "other",
                "run_id": f"{run.get('runId') if isinstance(run, dict) else ''} {at}",
                "started_at": at,
                "ended_at": at,
                "results": list(results.values()),
            }
        )
    except ValidationError:
        return None


def _assertions(dataset: Mapping[str, Any]) -> Iterator[tuple[str, str, str | None]]:
    """Yield each assertion of a data set: its reference, its status, and its column, if it has one."""
    for place in ("inputFacets", "facets"):
        for item in _items(_facet(dataset, "dataQualityAssertions", place).get("assertions")):
            column = item.get("column") if isinstance(item.get("column"), str) else None
            words = [word for word in (item.get("assertion"), column) if isinstance(word, str) and word]
            reference = item.get("name") if isinstance(item.get("name"), str) else ":".join(words)
            if reference and isinstance(item.get("success"), bool):
                failed = "warn" if item.get("severity") == "warn" else "fail"
                yield reference, "pass" if item["success"] else failed, column


def _failed_jobs(names: DatasetNames, event: Mapping[str, Any]) -> Iterator[FailedJob]:
    job, kind = event.get("job"), str(event.get("eventType")).upper()
    try:
        at = TypeAdapter(Moment).validate_python(event.get("eventTime"))
    except ValidationError:
        return
    if kind in {"FAIL", "ABORT"} and isinstance(job, dict) and isinstance(job.get("name"), str):
        for table, _ in _tables(names, event.get("outputs")):
            yield FailedJob(job["name"], table, at, f"OpenLineage: {kind.lower()}")


def _items(value: Any) -> Sequence[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else ()


def _tables(names: DatasetNames, datasets: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each data set that is a configured table, with that."""
    for item in _items(datasets):
        named = (names.table_of(dataset) for dataset in _datasets([item]))
        table = next((name for name in named if name is not None), None)
        if table is not None:
            yield table, item


def _runs(events: Iterable[Mapping[str, Any]]) -> Iterable[tuple[Sequence[tuple[str, str]], ...]]:
    """Return the inputs and outputs of each run: its events add to each other; one without a run stands alone."""
    runs: dict[object, tuple[dict[tuple[str, str], None], ...]] = {}
    for at, event in enumerate(events):
        run = event.get("run")
        run_id = run.get("runId") if isinstance(run, dict) else None
        datasets_of_run = runs.setdefault(run_id if isinstance(run_id, str) else at, ({}, {}))
        inputs = [*_datasets(event.get("inputs")), *_datasets(list(_column_inputs(event.get("outputs"))))]
        datasets_of_run[0].update(dict.fromkeys(inputs))
        datasets_of_run[1].update(dict.fromkeys(_datasets(event.get("outputs"))))
    return [(tuple(inputs), tuple(outputs)) for inputs, outputs in runs.values()]


def _column_inputs(outputs: Any) -> Iterator[Any]:
    """Yield the data sets from which the facet `columnLineage` says that columns of outputs come."""
    for output in outputs if isinstance(outputs, list) else ():
        fields = _facet(output, "columnLineage").get("fields")
        for field in fields.values() if isinstance(fields, dict) else ():
            sources = field.get("inputFields") if isinstance(field, dict) else None
            yield from sources if isinstance(sources, list) else ()


def _facet(dataset: Any, name: str, place: str = "facets") -> Mapping[str, Any]:
    facets = dataset.get(place) if isinstance(dataset, dict) else None
    facet = facets.get(name) if isinstance(facets, dict) else None
    return facet if isinstance(facet, dict) else {}


def _new(
    config: Config,
    upstream: Mapping[str, Sequence[str]],
    columns: Mapping[str, Mapping[str, Any]],
    owners: Mapping[str, tuple[str, str]],
    runs: Iterable[ExternalRun],
) -> Mapping[str, Mapping[str, Any]]:
    """Return what the entry of each table lacks, as it would stand there with what it has."""
    asserted: dict[str, dict[str, None]] = defaultdict(dict)
    for result in (result for run in runs for result in run.results):
        asserted[result.table or ""][result.check] = None
    new: dict[str, dict[str, Any]] = {}
    for table in config.tables:
        entry: dict[str, Any] = {}
        if more := [name for name in upstream.get(table.name, ()) if name not in table.upstream]:
            entry["upstream"] = [*table.upstream, *more]
        present = {name: {key: list(its) for key, its in made.items()} for name, made in table.upstream_columns.items()}
        if (made := present | dict(columns.get(table.name, {}))) != present:
            entry["upstream_columns"] = made
        if table.name in owners and config.owner_of(table) is None:
            entry["owner"] = owners[table.name][0]
        known = {check.key for check in table.checks if check.type == "external" and check.origin == "other"}
        if checks := [name for name in asserted.get(table.name, ()) if name not in known]:
            entry["checks"] = [
                {"type": "external", "origin": "other", "id": slug(name), "reference": name} for name in checks
            ]
        if entry:
            new[table.name] = entry
    return new


def _datasets(value: Any) -> Sequence[tuple[str, str]]:
    """Return data sets by namespace and name; one with the facet `symlinks` also by its other names, if it has some."""
    items = value if isinstance(value, list) else ()
    links = (_facet(item, "symlinks").get("identifiers") for item in items)
    named = [*items, *(other for others in links if isinstance(others, list) for other in others)]
    return [
        (str(item.get("namespace", "")), item["name"])
        for item in named
        if isinstance(item, dict) and isinstance(item.get("name"), str)
    ]


def _events(path: Path) -> Iterator[Mapping[str, Any]]:
    try:
        text = read_text(path)
    except OSError as error:
        raise UnreadableEvents(not_read("openlineage.not_read", path, error)) from None
    except UnicodeDecodeError:
        raise UnreadableEvents(Problem("openlineage.not_read", f"{path} is not UTF-8 text")) from None
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        yield from _lines(path, text)
        return
    yield from (event for event in (whole if isinstance(whole, list) else [whole]) if isinstance(event, dict))


def _lines(path: Path, text: str) -> Iterator[Mapping[str, Any]]:
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            message = "not JSON: expected an event a line, one event, or a list of events"
            raise UnreadableEvents(Problem("openlineage.not_json", message, str(path), number)) from None
        if isinstance(event, dict):
            yield event
