"""OpenLineage (spec 2-0-2, https://openlineage.io/spec/2-0-2/OpenLineage.json): results go out, lineage comes in.

Out: each stored run of a table is a run event with two facets, `dataQualityAssertions` (1-1-0) of the table and `test`
(1-0-1) of the run. `actual` holds counts of rows and ages only, no other number of the data and no text. A check that
could not be evaluated is `skip` among the tests, and no assertion: those are true or false.

In: jobs that read some data sets and wrote others say what feeds what, at the level of tables.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit
from uuid import UUID, uuid5

from checks import Check, Severity, Status
from monitor.config import Config, Table
from monitor.config.project import Project
from monitor.integrations.results import IgnoredItem
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


def dataset_of(project: Project, name: str) -> dict[str, str]:
    """Return namespace and name of a table by OpenLineage's naming: of PostgreSQL and files; else by our own names."""
    table = project.config.table(name)
    if table is None:
        return {"namespace": project.config.project, "name": name}
    source, relation = project.config.sources[table.source], table.table or table.name
    parts = urlsplit(source.url or "")
    if parts.scheme.split("+")[0] in {"postgresql", "postgres"}:
        schema = relation if "." in relation else f"public.{relation}"
        place = f"postgres://{parts.hostname or 'localhost'}:{parts.port or 5432}"
        return {"namespace": place, "name": f"{parts.path.strip('/')}.{schema}"}
    if (path := source.files or source.delta) is not None and "://" not in path:
        return {"namespace": "file", "name": str((project.loaded.folder(table.source) / path).absolute())}
    return {"namespace": f"{project.config.project}/{table.source}", "name": relation}


@dataclass(frozen=True, slots=True)
class ImportedLineage:
    """The upstream tables of configured tables: all in the events, and those that the configuration lacks."""

    upstream: Mapping[str, Sequence[str]]
    new: Mapping[str, Sequence[str]]
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
    names = _DatasetNames(project)
    upstream: dict[str, dict[str, None]] = defaultdict(dict)
    not_taken: dict[str, IgnoredItem] = {}
    for inputs, outputs in _runs(_events(path)):
        for dataset in (*inputs, *outputs):
            if names.table_of(dataset) is None:
                not_taken[dataset[1]] = IgnoredItem(dataset[1], "no configured table has this name")
        tables = [table for dataset in inputs if (table := names.table_of(dataset)) is not None]
        for dataset in outputs:
            fed = names.table_of(dataset)
            if fed is not None:
                upstream[fed] |= dict.fromkeys(table for table in tables if table != fed)
    complete = {name: tuple(tables) for name, tables in upstream.items() if tables}
    return ImportedLineage(complete, _new(project.config, complete), tuple(not_taken.values()))


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


def _facet(dataset: Any, name: str) -> Mapping[str, Any]:
    facets = dataset.get("facets") if isinstance(dataset, dict) else None
    facet = facets.get(name) if isinstance(facets, dict) else None
    return facet if isinstance(facet, dict) else {}


def _new(config: Config, upstream: Mapping[str, Sequence[str]]) -> Mapping[str, Sequence[str]]:
    present = {table.name: set(table.upstream) for table in config.tables}
    new = {name: tuple(item for item in tables if item not in present[name]) for name, tables in upstream.items()}
    return {name: tables for name, tables in new.items() if tables}


class _DatasetNames:
    """The configured tables by the names that events may use."""

    def __init__(self, project: Project) -> None:
        self._exact = {tuple(dataset_of(project, table.name).values()): table.name for table in project.config.tables}
        self._tables: Sequence[Table] = project.config.tables

    def table_of(self, dataset: tuple[str, str]) -> str | None:
        """Return the name of the table that a data set is; None if it is none, or could be several."""
        if dataset in self._exact:
            return self._exact[dataset]
        ending = f".{dataset[1].replace('/', '.').casefold()}"
        matching = {
            table.name
            for table in self._tables
            if ending.endswith((f".{table.name.casefold()}", f".{(table.table or table.name).casefold()}"))
        }
        return next(iter(matching)) if len(matching) == 1 else None


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
