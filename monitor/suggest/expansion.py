"""Read which tables the patterns of a configuration stand for, and keep that in its file beside the configuration.

Each source is asked once for its names and once for its columns, never once for each table. A source that cannot be
reached keeps the tables that it is known to have, and a table that is gone is marked, not removed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final
from unicodedata import category

from monitor.clock import Clock, SystemClock
from monitor.config import ConfigError, find
from monitor.config.load import load_sources
from monitor.config.patterns import (
    Expansion,
    KnownTables,
    ListedTable,
    PatternEntry,
    dump_known,
    is_taken,
    own_entries,
    own_relations,
)
from monitor.config.project import Project
from monitor.config.yaml_nodes import text
from monitor.scan.results import Subject, Target
from monitor.suggest.catalogue import CatalogueTable, has_name, list_tables, read_catalogue
from monitor.suggest.rename import hint_of
from monitor.suggest.starter import with_id
from monitor.suggest.suggest import TableSuggestions, suggest_checks
from monitor.suggest.targets import suggestion_target
from monitor.terminal.output import Invocation, count
from monitor.terminal.output_file import ProtectedFiles, write_text
from monitor.terminal.problem import Problem, Stop
from sources import SourceError, did_you_mean
from store import LoggedEvent, LoggedEventKind, StoreError

ACTOR: Final = "tablewatch"
_BATCH: Final = 50
"""Tables whose checks are suggested before they are kept."""
_NAMED: Final = 20
"""Tables that are logged by name; of more only the number is."""
_SHOWN: Final = 5


@dataclass(slots=True)
class Refreshed:
    """What the catalogues say: the text of the file with the known tables, and what is new in it, by source.

    `problems`: sources that could not be reached, patterns without a table, tables that may not be read.
    """

    file: Path
    text: str
    joined: dict[str, list[str]] = field(default_factory=dict)
    gone: dict[str, list[str]] = field(default_factory=dict)
    back: dict[str, list[str]] = field(default_factory=dict)
    suggested: int = 0
    problems: list[Problem] = field(default_factory=list)
    tables: int = 0

    def lines(self) -> Iterator[tuple[str, str | None, str]]:
        """Yield what is new: its source, its table (None for several), and the sentence."""
        words = (
            (self.joined, "joined", "joined"),
            (self.gone, "is gone", "are gone"),
            (self.back, "is back", "are back"),
        )
        for tables, of_one, of_many in words:
            for source, names in tables.items():
                if len(names) <= _NAMED:
                    yield from ((source, name, f"{name} {of_one}") for name in names)
                else:
                    yield source, None, f"{some(names)} {of_many}"


def some(names: Sequence[str]) -> str:
    """Return the first of some names, and how many others there are."""
    more = f" and {count(len(names) - _SHOWN, 'other table')}" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"


def refresh_for(invocation: Invocation, *, write: bool = True) -> Refreshed | None:
    """Refresh the known tables of the configuration that a command was called with; None if it has no patterns.

    What is new is logged in the store, and what is wrong is noted. Without `write`, nothing is kept.
    """
    try:
        path = invocation.config_path or find(Path.cwd())
        refreshed = refresh_tables(path, SystemClock(), write=write)
    except ConfigError:  # the command loads the configuration, and reports its errors
        return None
    if refreshed is not None:
        for problem in refreshed.problems:
            hint = "" if problem.hint is None else f"; {problem.hint}"
            invocation.note(f"note: {invocation.redactor(problem.message)}{hint}")
    return refreshed


def refresh_tables(path: Path, clock: Clock, *, write: bool = True) -> Refreshed | None:
    """Read the catalogues of all sources with patterns; None if there are none.

    Raises:
        ConfigError: the configuration cannot be read, or its sources have errors.
    """
    project = Project(load_sources(path), clock)
    expansion = project.loaded.texts.expansion
    if expansion is None:
        return None
    now = clock.now().isoformat(timespec="seconds")
    before = dump_known(expansion.known)
    refreshed = Refreshed(expansion.file, before)
    names = {table.name for tables in expansion.known.values() for table in tables.values()}
    names |= _own_names(expansion)
    sources = [
        source for source in dict.fromkeys(item.source for item in expansion.patterns) if source in project.specs
    ]
    expansion.known = {source: tables for source, tables in expansion.known.items() if source in sources}
    for source in sources:
        _refresh_source(project, source, expansion, refreshed, names=names, now=now)
    _keep(refreshed, expansion.known, before, write=write)
    for source in sources if write else ():
        _suggest(project, source, expansion, refreshed)
    refreshed.tables = sum(len(tables) for tables in expansion.known.values())
    if write and any((refreshed.joined, refreshed.gone, refreshed.back)):
        _log(project, refreshed)
    return refreshed


def _refresh_source(
    project: Project, source: str, expansion: Expansion, refreshed: Refreshed, *, names: set[str], now: str
) -> None:
    patterns = [pattern for pattern in expansion.patterns if pattern.source == source]
    known, taken, own = expansion.known.get(source, {}), own_relations(expansion.written), _own_names(expansion)

    def wants(relation: str, schema: str | None) -> bool:
        is_free = not is_taken(taken, source, relation, schema)
        return is_free and any(pattern.takes(relation, schema) for pattern in patterns)

    try:
        listed = list_tables(project.specs[source], wants)
    except SourceError as error:
        kept = f"the {count(len(known), 'table')} known before stay" if known else "no table is known yet"
        refreshed.problems.append(Problem("source.unreachable", f"{error}; {kept}"))
        return
    after = {
        relation: replace(table, name=_name(source, relation, names)) if table.name in own else table
        for relation, table in known.items()
        if wants(relation, table.schema)
    }
    for relation, table in listed.items():
        if relation in after:
            after[relation] = _seen(after[relation], table)
        elif table.may_read and has_name(relation) and wants(relation, table.schema):
            after[relation] = ListedTable(_name(source, relation, names), now, table.schema, table.columns)
    for relation in after.keys() - listed.keys():
        after[relation] = replace(after[relation], gone=after[relation].gone or now)
    expansion.known[source] = after
    lasting = after.keys() & known.keys()
    changes = (
        (refreshed.joined, after.keys() - known.keys()),
        (refreshed.gone, {name for name in lasting if after[name].gone and not known[name].gone}),
        (refreshed.back, {name for name in lasting if known[name].gone and not after[name].gone}),
    )
    for tables, relations in changes:
        if relations:
            tables[source] = sorted(after[relation].name for relation in relations)
    refreshed.problems += [*_problems(source, patterns, listed, after), *_likely_renames(source, refreshed, after)]


def _likely_renames(source: str, refreshed: Refreshed, known: Mapping[str, ListedTable]) -> Iterator[Problem]:
    """Yield each table that is gone where one table with the same columns joined at the same time."""
    gone, joined = (set(tables.get(source, ())) for tables in (refreshed.gone, refreshed.joined))
    for table in known.values():
        if table.name in gone and len(table.columns or ()) > 1:
            like = [
                other.name
                for other in known.values()
                if other.name in joined and set(other.columns or ()) == set(table.columns or ())
            ]
            if len(like) == 1:
                yield Problem("table.renamed", f"'{table.name}' is gone; {hint_of(table.name, like[0])}")


def _own_names(expansion: Expansion) -> set[str]:
    return {name for item in own_entries(expansion.written) if (name := text(item, "name")) is not None}


def _seen(known: ListedTable, table: CatalogueTable) -> ListedTable:
    """Return a known table as it is seen now; a column that it lost stays, so that its checks do."""
    columns = tuple(dict.fromkeys([*(known.columns or ()), *(table.columns or ())]))
    return replace(known, columns=columns or table.columns, schema=table.schema or known.schema, gone=None)


def _name(source: str, relation: str, names: set[str]) -> str:
    """Return the name of a new table in the configuration, with the source's where it is taken."""
    name = "".join(" " if category(letter) == "Cc" else letter for letter in relation)
    while name in names:
        name = f"{source}.{name}"
    names.add(name)
    return name


def _problems(
    source: str,
    patterns: Sequence[PatternEntry],
    listed: Mapping[str, CatalogueTable],
    known: Mapping[str, ListedTable],
) -> Iterator[Problem]:
    for pattern in patterns:
        if not any(pattern.takes(relation, table.schema) for relation, table in known.items()):
            there = f"{count(len(listed), 'table')}: {some(list(listed))}" if listed else "no table"
            message = f"'{pattern.match}' matches no table of source '{source}', which has {there}"
            yield Problem("config.pattern", f"{message}{did_you_mean(pattern.match, listed)}")
    refused = [
        name
        for name, table in listed.items()
        if not table.may_read and any(pattern.takes(name, table.schema) for pattern in patterns)
    ]
    if refused:
        yield Problem("source.permission", f"source '{source}': the user may not read {some(refused)}; not monitored")
    if any(not has_name(name) and any(item.takes(name, listed[name].schema) for item in patterns) for name in listed):
        yield Problem(
            "config.pattern", f"source '{source}': a table without a name cannot be configured; not monitored"
        )


def _keep(refreshed: Refreshed, known: KnownTables, before: str, *, write: bool) -> None:
    """Write the known tables, if they changed."""
    refreshed.text = dump_known(known)
    if not write or refreshed.text == before:
        return
    try:
        write_text(refreshed.file, refreshed.text, protected=ProtectedFiles(), force=True)
    except Stop as stop:
        refreshed.problems += stop.problems


def _suggest(project: Project, source: str, expansion: Expansion, refreshed: Refreshed) -> None:
    """Add suggested checks to tables that have none yet, and keep them; an empty table waits for rows."""
    known = expansion.known.get(source, {})
    patterns = [pattern for pattern in expansion.patterns if pattern.source == source and pattern.suggests]
    waiting = [
        relation
        for relation, table in known.items()
        if table.checks is None and table.gone is None and any(item.takes(relation, table.schema) for item in patterns)
    ]
    names, spec = {relation: table.name for relation, table in known.items()}, project.specs[source]
    for at in range(0, len(waiting), _BATCH):
        relations = waiting[at : at + _BATCH]
        before = dump_known(expansion.known)
        try:
            entries = read_catalogue(spec, only=relations)
            targets = [
                suggestion_target(Target(Subject(names[entry.name], entry.name, ()), spec), entry, names)
                for entry in entries
            ]
            results = {item.name: item for item in suggest_checks(targets, project.clock).tables}
        except SourceError as error:
            refreshed.problems.append(Problem("source.unreachable", f"{error}; no checks are suggested yet"))
            return
        for relation in relations:
            result = results.get(known[relation].name)
            if result is None or result.problem is not None or not result.rows:
                continue
            known[relation] = replace(known[relation], checks=_sure(result))
            refreshed.suggested += len(known[relation].checks or ())
        _keep(refreshed, expansion.known, before, write=True)


def _sure(result: TableSuggestions) -> tuple[dict[str, object], ...]:
    """Return the checks that are sure and hold no value of the table."""
    sure = [item for item in result.proposals if item.active and item.check is not None and not item.holds_values]
    return tuple(dict(with_id(item, sure)) for item in sure)


def _log(project: Project, refreshed: Refreshed) -> None:
    """Log what is new as events, where the store can be opened."""
    try:
        with project.connect_store() as store, store.writing() as tx:
            now = tx.schedule.clock(project.clock.now())
            for source, table, note in refreshed.lines():
                of_source = source if table is None else None
                tx.logged_events.add(
                    LoggedEvent(LoggedEventKind.CONFIGURATION, now, table, of_source, note, ACTOR, now)
                )
    except StoreError as error:
        refreshed.problems.append(Problem("store", f"{error}; what is new is not logged as an event"))
