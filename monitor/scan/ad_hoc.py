"""One pass over a table that no configuration names: a frame, files or an expression of this process.

    data ──> sources.frame ──> SourceSpec ─┐
    checks ──> a configuration of one table ┴─> Engine.run ──> PassResult

The configuration is made of the arguments and checked like a file; nothing is stored, so checks that need history are
`unknown`. Data is asked where it lies, as `sources` says.
"""

import re
import secrets
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike, fspath
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

from checks import CheckParameters, Severity
from checks.gx.caller import Caller
from monitor.clock import SystemClock
from monitor.config import ConfigError, Loaded, load_tree
from monitor.config.checks import propose_id
from monitor.config.project import Project
from monitor.config.python_values import node_of
from monitor.scan.results import PassResult, Target, targets_of
from monitor.scan.run import Engine
from monitor.terminal.problem import Problem
from sources import SourceError, SourceSpec

_SOURCE: Final = "python"
_DATA: Final = "data"
_ARGUMENT: Final = re.compile(r"^(tables\[0\]|sources\.python)\.")


@dataclass(frozen=True, slots=True)
class AdHocTable:
    """The settings of a table; names and values are those of a configuration.

    `name`: by default the file's stem, the name that an Ibis table has, or `data`. `references`: other tables by name,
    for checks that refer to them. `source` and `table` are keys of these sections, such as `timezone` and `loaded_at`.
    """

    name: str | None = None
    references: Mapping[str, Any] = field(default_factory=dict)
    source: Mapping[str, Any] = field(default_factory=dict)
    table: Mapping[str, Any] = field(default_factory=dict)


def check_data(
    data: Any,
    checks: Iterable[Any],
    about: AdHocTable,
    *,
    fail_on: Severity = Severity.INFO,
    caller: Caller | None = None,
) -> PassResult:
    """Run checks on a table once; nothing is stored. `caller` calls Great Expectations.

    Raises:
        ConfigError: the data is no table, or the checks or their parameters are wrong.
    """
    clock = SystemClock()
    started_at, started = clock.now(), clock.monotonic()
    project, targets = _targets(data, checks, about, clock)
    name = project.config.project
    _refuse_unrun(project, targets)
    results = Engine(clock, caller=caller).run(targets)
    return PassResult(
        project=name,
        run_id=secrets.token_hex(12),
        started_at=started_at,
        duration_s=clock.monotonic() - started,
        results=results,
        fail_on=fail_on,
        targets=targets,
    )


def target_of(data: Any, about: AdHocTable) -> Target:
    """Return a table without checks, which may be read several times: a stream is read into memory.

    Raises:
        ConfigError: the data is no table.
    """
    _, (target,) = _targets(data, (), about, SystemClock())
    frames = target.source.frames or {}
    kept = {name: frame.read_all() if hasattr(frame, "read_all") else frame for name, frame in frames.items()}
    return replace(target, source=replace(target.source, frames=kept or None))


def _targets(
    data: Any, checks: Iterable[Any], about: AdHocTable, clock: SystemClock
) -> tuple[Project, Sequence[Target]]:
    name = _name_of(data) if about.name is None else about.name
    project = Project(_loaded(_values(data, checks, about, name)), clock)
    spec = _spec(project.specs[_SOURCE], data, name, about)
    return project, [replace(target, source=spec) for target in targets_of(project, [name])]


def _refuse_unrun(project: Project, targets: Sequence[Target]) -> None:
    """Refuse what the pass would leave out: no check at all, or one whose results come from another tool.

    Raises:
        ConfigError: there is one.
    """
    run = {check.name for target in targets for _, check in target.subject.checks}
    others = [check.name for table in project.config.tables for check in table.checks if check.name not in run]
    if others:
        message = f"check '{others[0]}' is of results of another tool, which are imported, not run"
        raise ConfigError([Problem("check.external", message, "checks", hint="leave it to a configuration")])
    if not run:
        raise ConfigError([Problem("check.no_checks", "no checks are given, so nothing was checked", "checks")])


def _loaded(values: Mapping[str, Any]) -> Loaded:
    """Load the configuration; its errors name the arguments of `check`, not the keys of a file."""
    try:
        return load_tree(node_of(values, ""))
    except ConfigError as error:
        raise ConfigError([_of_argument(problem) for problem in error.problems]) from None


def _of_argument(problem: Problem) -> Problem:
    message = problem.message.replace("tables[0].", "")
    return replace(problem, message=message, file=_ARGUMENT.sub("", problem.file or ""), line=None, column=None)


def _values(data: Any, checks: Iterable[Any], about: AdHocTable, name: str) -> Mapping[str, Any]:
    """Return the configuration of one table in one source."""
    files = fspath(data) if _is_path(data) else _DATA
    return {
        "version": 1,
        "project": name,
        "sources": {_SOURCE: {"files": files, **about.source}},
        "tables": [{"name": name, "source": _SOURCE, **about.table, "checks": _declared(checks)}],
    }


def _declared(checks: Iterable[Any]) -> Sequence[Any]:
    """Return checks as they are written in a file; those of one type that have no id are named after their columns."""
    if isinstance(checks, str | Mapping | CheckParameters):
        kind = type(checks).__name__
        message = f"expected a list of checks, not a {kind}"
        raise ConfigError([Problem("config.value", message, "checks", hint="put it in a list: [...]")])
    declared = [_as_mapping(check) for check in checks]
    unnamed = [check for check in declared if isinstance(check, Mapping) and check.get("id") is None]
    types = Counter(str(check.get("type")) for check in unnamed)
    proposed: Counter[str] = Counter()
    return [
        _named(check, proposed) if check in unnamed and types[str(check.get("type"))] > 1 else check
        for check in declared
    ]


def _named(check: Mapping[str, Any], proposed: Counter[str]) -> Mapping[str, Any]:
    word = propose_id(SimpleNamespace(**check))
    proposed[word] += 1
    return {**check, "id": word if proposed[word] == 1 else f"{word}-{proposed[word]}"}


def _as_mapping(check: Any) -> Any:
    if isinstance(check, CheckParameters):
        return {"type": getattr(check, "type", None), **check.model_dump(exclude_unset=True)}
    return check


def _is_path(data: Any) -> bool:
    return isinstance(data, str | PathLike)


def _name_of(data: Any) -> str:
    if _is_path(data):
        return Path(fspath(data)).name.partition(".")[0].strip("*") or _DATA
    if is_ibis(data):
        from sources.ibis_table import name_of

        return name_of(data) or _DATA
    return _DATA


def is_ibis(data: Any) -> bool:
    """Check whether data is an Ibis table or expression, without importing Ibis."""
    return type(data).__module__.partition(".")[0] == "ibis"


def _spec(spec: SourceSpec, data: Any, name: str, about: AdHocTable) -> SourceSpec:
    """Return the source that the data lives in.

    Raises:
        ConfigError: it is no table, or there is no such file.
    """
    if _is_path(data):
        return _of_files(replace(spec, table=name), about)
    tables = {name: data, **about.references}
    try:
        return replace(spec, files=None, csv=type(spec.csv)(), frames=_frames(tables))
    except SourceError as error:
        raise ConfigError([Problem("data", str(error), "data")]) from None


def _of_files(spec: SourceSpec, about: AdHocTable) -> SourceSpec:
    from sources import table_files, why_no_file

    if about.references:
        message = "references go with frames; read the files first, or write a configuration"
        raise ConfigError([Problem("data", message, "references")])
    if not table_files(spec, spec.table or ""):
        raise ConfigError([Problem("data", why_no_file(spec), "data")])
    return spec


def _frames(tables: Mapping[str, Any]) -> Mapping[str, Any]:
    from sources.frame import arrow_data

    if all(map(is_ibis, tables.values())):
        from sources.ibis_table import as_stream, is_ibis_table, sql_backend

        if all(map(is_ibis_table, tables.values())):
            asked = sql_backend(*tables.values()) is not None
            return tables if asked else {name: as_stream(table) for name, table in tables.items()}
    return {name: arrow_data(table) for name, table in tables.items()}
