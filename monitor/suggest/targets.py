"""Propose checks for tables that a catalogue lists, or for configured ones beside the checks they have."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from monitor.clock import Clock
from monitor.config import Table
from monitor.config.project import Project
from monitor.scan.results import Subject, Target, targets_of
from monitor.suggest.catalogue import TableEntry, read_catalogue
from monitor.suggest.references import TableKey
from monitor.suggest.sources import SourceLocation
from monitor.suggest.starter import table_names
from monitor.suggest.suggest import SourceSuggestions, SuggestionTarget, TableSuggestions, suggest_checks
from sources import SourceError


def suggest_for_catalogues(
    tables: Sequence[tuple[SourceLocation, Sequence[TableEntry]]], clock: Clock, on_source: Callable[[], object]
) -> dict[str, SourceSuggestions]:
    """Return what is proposed for tables that are not configured yet, by source; `on_source` hears of each one read."""
    names, results = table_names(tables), {}
    for place, entries in tables:
        subjects = [Subject(names[place.name, entry.name], entry.name, ()) for entry in entries]
        targets = [
            SuggestionTarget(Target(subject, place.spec), entry.key, entry.columns)
            for subject, entry in zip(subjects, entries, strict=True)
        ]
        try:
            results[place.name] = suggest_checks(targets, clock)
        except SourceError as error:
            results[place.name] = _unread((target.name for target in targets), error)
        on_source()
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


def _unread(names: Iterable[str], error: SourceError) -> SourceSuggestions:
    return SourceSuggestions(tuple(TableSuggestions(name, problem=str(error)) for name in names))


def _suggest(project: Project, source: str, tables: Collection[Table]) -> SourceSuggestions:
    names = {table.table or table.name for table in tables}
    entries = {entry.name: entry for entry in read_catalogue(project.specs[source], only=names)}
    targets = []
    for target in targets_of(project, [table.name for table in tables]):
        entry = entries.get(target.subject.relation, TableEntry(target.subject.relation))
        targets.append(SuggestionTarget(target, entry.key, entry.columns))
    others = [table for table in project.config.tables if table.source == source and table not in tables]
    return suggest_checks(targets, project.clock, keys=list(_keys_of(others)))


def _keys_of(tables: Collection[Table]) -> Iterator[TableKey]:
    """Yield the keys of tables that are configured and not measured now."""
    for table in tables:
        for check in table.checks:
            if check.type == "primary_key" and len(check.columns) == 1:
                yield TableKey(table.name, check.columns[0])
