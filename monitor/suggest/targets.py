"""Propose checks for tables that a catalogue lists, or for configured ones beside the checks they have."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from monitor.clock import Clock
from monitor.config import Table
from monitor.config.project import Project
from monitor.scan.results import Subject, Target, targets_of
from monitor.suggest.catalogue import TableEntry, read_catalogue
from monitor.suggest.references import TableKey
from monitor.suggest.sources import SourceLocation
from monitor.suggest.starter import table_names
from monitor.suggest.suggest import OnStep, SourceSuggestions, SuggestionTarget, TableSuggestions, suggest_checks
from monitor.terminal.problem import ExitCode, Problem, Stop
from sources import SourceError, SourceSpec, did_you_mean, open_source


def suggest_for_catalogues(
    tables: Sequence[tuple[SourceLocation, Sequence[TableEntry]]],
    clock: Clock,
    on_step: OnStep,
    *,
    taken: Collection[str] = (),
) -> dict[str, SourceSuggestions]:
    """Return what is proposed for tables that are not configured yet, by source.

    `on_step`: as `suggest_checks`. `taken`: the names of configured tables.
    """
    names, results = table_names(tables, taken), {}
    for place, entries in tables:
        subjects = [Subject(names[place.name, entry.name], entry.name, ()) for entry in entries]
        here = {entry.name: names[place.name, entry.name] for entry in entries}
        targets = [
            suggestion_target(Target(subject, place.spec), entry, here)
            for subject, entry in zip(subjects, entries, strict=True)
        ]
        try:
            results[place.name] = suggest_checks(targets, clock, on_step=on_step)
        except SourceError as error:
            results[place.name] = _unread((target.name for target in targets), error)
    return results


def suggest_for_project(project: Project, names: Collection[str]) -> dict[str, SourceSuggestions]:
    """Return what is proposed for configured tables, by source; one that cannot be reached is a problem of each."""
    results: dict[str, SourceSuggestions] = {}
    for source in dict.fromkeys(table.source for table in project.config.tables if table.name in names):
        tables = [table for table in project.config.tables if table.source == source and table.name in names]
        try:
            results[source] = _suggest(project, source, tables)
        except SourceError as error:
            results[source] = _unread((table.name for table in tables), error)
    return results


def entries_of(spec: SourceSpec, names: Collection[str]) -> Sequence[TableEntry]:
    """Return tables of a source by their names there.

    Raises:
        Stop: one is not there or cannot be read, or the source cannot be.
    """
    try:
        entries = {entry.name: entry for entry in read_catalogue(spec, only=names)}
        for name in names:
            if name not in entries:
                with open_source(spec) as source:
                    message = f"source '{spec.name}' has no table '{name}'{did_you_mean(name, source.tables())}"
                raise Stop(ExitCode.NOTHING_SELECTED, Problem("suggest.unknown", message))
    except SourceError as error:
        raise Stop(ExitCode.NOT_EVALUATED, Problem("source.unreachable", str(error))) from None
    problems = [Problem("source.unreadable", problem) for name in names if (problem := entries[name].problem)]
    if problems:
        raise Stop(ExitCode.NOT_EVALUATED, *problems)
    return [entries[name] for name in names]


def _unread(names: Iterable[str], error: SourceError) -> SourceSuggestions:
    return SourceSuggestions(tuple(TableSuggestions(name, problem=str(error)) for name in names))


def _suggest(project: Project, source: str, tables: Collection[Table]) -> SourceSuggestions:
    names = {table.table or table.name for table in tables}
    entries = {entry.name: entry for entry in read_catalogue(project.specs[source], only=names)}
    here = {relation: name for name, relation in project.relations[source].items()}
    targets = []
    for target in targets_of(project, [table.name for table in tables]):
        entry = entries.get(target.subject.relation, TableEntry(target.subject.relation))
        targets.append(suggestion_target(target, entry, here))
    others = [table for table in project.config.tables if table.source == source and table not in tables]
    return suggest_checks(targets, project.clock, keys=list(_keys_of(others)))


def suggestion_target(target: Target, entry: TableEntry, names: Mapping[str, str]) -> SuggestionTarget:
    """Return a table with what its catalogue declares. `names`: of the configuration, by the tables of the source."""
    references = (replace(item, table=names[item.table]) for item in entry.references if item.table in names)
    return SuggestionTarget(target, entry.key, entry.columns, tuple(references))


def _keys_of(tables: Collection[Table]) -> Iterator[TableKey]:
    """Yield the keys of tables that are configured and not measured now."""
    for table in tables:
        for check in table.checks:
            if check.type == "primary_key" and len(check.columns) == 1:
                yield TableKey(table.name, check.columns[0])
