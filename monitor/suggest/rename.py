"""Rename a table, check, domain or owner in the store and in the configuration, so that nothing of its past is lost.

    where the name stands in the files ─> drafts of these files, loaded as a whole ─> the store, in one transaction
    ─> the files

A daemon that reads the old files meanwhile leaves alone what was renamed (`scan.recorder.retire`). If this process ends
after the store and before the files, the same command writes the files. See docs/adr/0100-a-rename-is-a-fact.md.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from monitor.config import ConfigError, Table
from monitor.config.answer_series import AnswerSeries
from monitor.config.load import load_drafts
from monitor.config.patterns import dump_known, label_of
from monitor.config.project import Project
from monitor.config.yaml_nodes import Node, Place, Unreadable, child, entries, items, read_yaml, resolve, text
from monitor.suggest.yaml_edit import NotEditable
from monitor.terminal.output_file import ProtectedFiles, write_text
from monitor.terminal.problem import ExitCode, Problem, Stop
from sources import Source, SourceError, did_you_mean
from store import (
    FailPoint,
    LoggedEvent,
    LoggedEventKind,
    NameChange,
    NamedThing,
    StoreConflict,
    WriteTransaction,
    reached,
)

_REFERENCES: Final = "tables.*.checks.*"
_PLACES: Final[Mapping[NamedThing, str]] = {
    NamedThing.TABLE: (
        "tables.*.name tables.*.upstream.* tables.*.upstream_columns.= tables.*.exclude.* alerts.routes.*.match.table "
        "cost.tables.= cost.history.*.tables.= releases.*.table budgets.= contracts.*.tables.* products.*.tables.* "
        "rules.*.tables.* teams.*.tables.* maintenance.*.tables.* slo.= ownership.= "
        f"{_REFERENCES}.population {_REFERENCES}.against {_REFERENCES}.against.table {_REFERENCES}.reference "
        f"{_REFERENCES}.auxiliary {_REFERENCES}.references {_REFERENCES}.references.*"
    ),
    NamedThing.OWNER: (
        "owners.= ownership.* domains.*.owner tables.*.owner products.*.owner alerts.routes.*.match.owner "
        "releases.*.approvers.* report.*.owners.= web.oidc.roles.*.owners.* teams.*.owners.* products.*.tables.* "
        "rules.*.tables.* slo.="
    ),
    NamedThing.DOMAIN: (
        "domains.= tables.*.domain alerts.routes.*.match.domain report.*.domains.= web.oidc.roles.*.domains.* "
        "teams.*.domains.* maintenance.*.domains.* products.*.tables.* rules.*.tables.* slo.="
    ),
}
"""Where names stand in the files: `*` is each entry, `=` the key itself."""
_PLAIN: Final = re.compile(r"[A-Za-z0-9_!][\w.:!-]*")


@dataclass(frozen=True, slots=True)
class RenamePlan:
    """A rename that is possible. `files`: the new texts of the files that change; `lines`: what changes in them.

    `in_store`: whether the store has to be changed, too; `merges`: results under both names are joined.
    """

    change: NameChange
    files: Mapping[Path, str]
    lines: Sequence[str]
    in_store: bool
    merges: bool
    project: Project

    @property
    def reads_by_name(self) -> bool:
        """Check whether the source is asked for the table under its new name."""
        table = self.project.config.table(self.change.new)
        return table is not None and table.table is None


def hint_of(old: str, new: str) -> str:
    """Return the words with which a rename is proposed."""
    return f"'{new}' is like it: if it was renamed, 'tablewatch table rename {old} {new} --write' keeps its history"


def like_table(source: Source, table: Table, others: Sequence[str], rows: int | None) -> str | None:
    """Return the one of other tables of a source that has all that is known of a missing one; None if not exactly one.

    Known are at least two columns that its settings and checks name, with the types that a check declares, and `rows`:
    a table that the catalogue says to have fewer than half or more than twice as many is another one.
    """
    columns = {
        name.casefold(): None for name in (*table.columns, *([] if table.loaded_at is None else [table.loaded_at]))
    }
    for check in table.checks:
        named = getattr(check, "columns", None) or ()
        columns |= dict.fromkeys(name.casefold() for name in (*named, *filter(None, [getattr(check, "column", None)])))
        if check.type == "schema" and isinstance(named, Mapping):
            columns |= {name.casefold(): kind for name, kind in named.items()}
    return _only([name for name in others if _is_like(source, name, columns, rows)]) if len(columns) > 1 else None


def _is_like(source: Source, name: str, columns: Mapping[str, str | None], rows: int | None) -> bool:
    from checks.schema import is_of_type

    try:
        schema = {column.casefold(): str(kind) for column, kind in source.table(name).schema().items()}
        estimate = source.row_estimate(name)
    except SourceError:
        return False
    fits = all(
        column in schema and (kind is None or is_of_type(schema[column], kind)) for column, kind in columns.items()
    )
    return fits and (rows is None or estimate is None or rows <= 2 * estimate.rows <= 4 * rows)


def _only(names: Sequence[str]) -> str | None:
    return names[0] if len(names) == 1 else None


def plan_rename(
    project: Project, change: NameChange, *, keeps_relation: bool = False, merge: bool = False
) -> RenamePlan:
    """Return what a rename changes in the files and whether the store is to follow; nothing is written.

    Args:
        project: the configuration as it is.
        change: the rename.
        keeps_relation: a table keeps its name in its source, which is written beside its new one.
        merge: results under the new name may follow those of the old one.

    Raises:
        Stop: there is no such name, the new one is taken, or a file cannot be edited by a program.
    """
    has_old, has_new = (_is_configured(project, change.kind, name) for name in (change.old, change.new))
    expansion = project.loaded.texts.expansion
    is_gone = has_new and expansion is not None and change.old in expansion.gone
    if not (has_old or has_new):
        raise _refused(
            f"no {change.kind} '{change.old}' is configured{did_you_mean(change.old, _names(project, change.kind))}"
        )
    if has_old and has_new and not is_gone:
        raise _refused(f"{change.kind} '{change.new}' is configured already", "choose another name")
    with project.open_store(existing=True) as store, store.reading() as tx:
        is_done = any(
            (item.kind, item.old, item.new) == (change.kind, change.old, change.new) for item in tx.names.changes()
        )
        is_done = is_done and has_old and not is_gone
        is_used = not is_done and tx.names.is_used(change)
    if is_used and not merge:
        message = f"the store has results or incidents of '{change.new}' already"
        raise _refused(message, f"if it is the table that was '{change.old}' before, repeat the command with --merge")
    files: Mapping[Path, str] = {}
    lines: Sequence[str] = ()
    if has_old and not is_gone:
        files, lines = _drafts(project, change, keeps_relation=keeps_relation)
    elif is_gone and expansion is not None:
        known = {
            source: {at: item for at, item in tables.items() if item.name != change.old}
            for source, tables in expansion.known.items()
        }
        files = {expansion.file: dump_known(known)}
        lines = [f"{expansion.file}: '{change.old}' is taken off the list of known tables"]
    return RenamePlan(change, files, lines, not is_done, is_used, _reloaded(project, files))


def carry_out(plan: RenamePlan) -> Mapping[str, int]:
    """Rename in the store, then write the files; return how many rows changed, by column.

    Raises:
        Stop: the store refuses, or a file cannot be written. StoreError: as `Store.writing`.
    """
    project, change = plan.project, plan.change
    counts: Mapping[str, int] = {}

    def act(tx: WriteTransaction) -> Mapping[str, int]:
        counts = tx.names.rename(change, also=_slots(project, change), marks=_marks(project, change))
        if change.kind is NamedThing.TABLE:
            note = f"renamed from '{change.old}'"
            at = change.recorded_at
            tx.logged_events.add(
                LoggedEvent(LoggedEventKind.CONFIGURATION, at, change.new, None, note, change.actor, at)
            )
        return counts

    try:
        with project.open_store(existing=True) as store:
            if plan.in_store:
                with store.reading() as tx:
                    is_chained = bool(tx.ledger.head().number)
                if is_chained:
                    counts = project.ledger(store).write(act)
                else:
                    with store.writing() as writing:
                        counts = act(writing)
    except StoreConflict as error:
        raise _refused(str(error)) from None
    reached(FailPoint.AFTER_RENAME)
    for file, draft in plan.files.items():
        write_text(file, draft, protected=ProtectedFiles(), force=True)
    return counts


def _is_configured(project: Project, kind: NamedThing, name: str) -> bool:
    return name in _names(project, kind)


def _names(project: Project, kind: NamedThing) -> Sequence[str]:
    config = project.config
    match kind:
        case NamedThing.TABLE:
            return [table.name for table in config.tables]
        case NamedThing.CHECK:
            return [table.check_id(check) for table in config.tables for check in table.checks]
        case NamedThing.DOMAIN:
            return list(config.domains)
        case NamedThing.OWNER:
            return list(config.owners)


def _slots(project: Project, change: NameChange) -> Mapping[str, str]:
    """Return the slots of scheduled queries of a table, with what they become."""
    if change.kind is not NamedThing.TABLE:
        return {}
    series = AnswerSeries.configured(project.config).values()
    return {replace(item, table=change.old).slot_name: item.slot_name for item in series if item.table == change.new}


def _marks(project: Project, change: NameChange) -> frozenset[str]:
    if change.kind is not NamedThing.TABLE or change.new not in project.config.budgets:
        return frozenset()
    return project.table_identity(change.new)


def _drafts(project: Project, change: NameChange, *, keeps_relation: bool) -> tuple[Mapping[Path, str], Sequence[str]]:
    """Return the new texts of the files in which a name stands, and each line with its place."""
    drafts, lines = {}, []
    for file in project.loaded.files:
        before = project.loaded.texts.texts[str(file)]
        if file.suffix not in {".yaml", ".yml"}:
            continue
        try:
            tree, _ = read_yaml(before, str(file))
            edits = list(_edits(tree, change, before, keeps_relation=keeps_relation))
        except (NotEditable, Unreadable) as error:
            raise Stop(ExitCode.USAGE, Problem("config.not_editable", str(error), str(file))) from None
        after = before
        for start, end, new in sorted(edits, reverse=True):
            after = f"{after[:start]}{new}{after[end:]}"
        if edits:
            drafts[file] = after
            numbers = sorted({before.count("\n", 0, start) + 1 for start, *_ in edits})
            lines += [f"{file}:{number}: {before.splitlines()[number - 1].strip()}" for number in numbers]
    if not drafts:
        message = f"{change.kind} '{change.old}' stands in no file that a program can edit, as for tables of a pattern"
        raise _refused(message, "change the name there by hand with the daemon stopped, then repeat this command")
    return drafts, lines


def _reloaded(project: Project, drafts: Mapping[Path, str]) -> Project:
    """Return the project with drafts in the place of its files.

    Raises:
        Stop: the configuration would have errors.
    """
    if not drafts:
        return project
    try:
        texts = {str(file): draft for file, draft in drafts.items()}
        return Project(load_drafts(project.loaded.path, texts), project.clock)
    except ConfigError as error:
        hint = "correct these places by hand as well; nothing was changed"
        raise Stop(
            ExitCode.USAGE, *error.problems, Problem("config.not_editable", "the new name is not enough", hint=hint)
        ) from None


def _edits(tree: Node, change: NameChange, before: str, *, keeps_relation: bool) -> Iterator[tuple[int, int, str]]:
    """Yield what to replace in a text: from where, to where, and by what."""
    if change.kind is NamedThing.CHECK:
        yield from _edits_of_check(tree, change, before)
        return
    seen = set()
    for path in _PLACES[change.kind].split():
        for place, value in _found(tree, path.split(".")):
            new = _new_value(value, change, is_reference=".references" in path)
            if new is None or place in seen:
                continue
            seen.add(place)
            start, end, written = _token(before, place, value, new)
            if keeps_relation and path == "tables.*.name":
                between = ", " if _is_in_braces(before, start) else f"\n{_indent(before, start)}"
                written = f"{written}{between}table: {_scalar(change.old)}"
            yield start, end, written


def _found(node: Node, path: Sequence[str]) -> Iterator[tuple[Place, str]]:
    """Yield the places and texts of the names at a path."""
    if not path:
        if isinstance(node.value, str):
            yield node.place, node.value
        return
    step, *rest = path
    if step == "=":
        yield from ((place, key) for key, place in node.keys.items())
        return
    inner = [*entries(node).values(), *items(node)] if step == "*" else [child(node, step)]
    for item in inner:
        if item is not None:
            yield from _found(item, rest)


def _new_value(value: str, change: NameChange, *, is_reference: bool) -> str | None:
    """Return what stands for a text in which the old name is, alone or as the word of a selector; None without it."""
    lead = value[: len(value) - len(value.lstrip("!"))]
    if value[len(lead) :].startswith(f"{change.kind}:"):
        lead = f"{lead}{change.kind}:"
    name, column = value[len(lead) :], ""
    if is_reference:
        name, dot, rest = name.rpartition(".")
        column = f"{dot}{rest}"
    old, new = (word.replace("$", "$$") for word in (change.old, change.new))
    return f"{lead}{new}{column}" if name == old else None


def _token(before: str, place: Place, value: str, new: str) -> tuple[int, int, str]:
    """Return where a scalar begins and ends in a text, and what to write there.

    Raises:
        NotEditable: it is not written on one line as it is read.
    """
    start = _offset(before, place)
    quote = before[start] if before[start] in "\"'" else ""
    token = f"{quote}{value}{quote}"
    if before[start : start + len(token)] != token:
        raise NotEditable(f"line {place.line}: '{value}' is not written on one line, or is an alias; write it in full")
    return (
        start,
        start + len(token),
        f"{quote}{new}{quote}" if quote and '"' not in new and "'" not in new and "\\" not in new else _scalar(new),
    )


def _scalar(name: str) -> str:
    is_plain = _PLAIN.fullmatch(name) is not None and resolve(name) == name and not name.startswith("!")
    return name if is_plain else json.dumps(name, ensure_ascii=False)


def _offset(before: str, place: Place) -> int:
    return sum(len(line) for line in before.splitlines(keepends=True)[: place.line - 1]) + place.column - 1


def _is_in_braces(before: str, at: int) -> bool:
    line = before[before.rfind("\n", 0, at) + 1 : at]
    return line.count("{") > line.count("}")


def _indent(before: str, at: int) -> str:
    """Return the blanks before a key that follows the one of the value at a place."""
    line = before[before.rfind("\n", 0, at) + 1 : at]
    return " " * (len(line) - len(line.lstrip(" -")))


def _edits_of_check(tree: Node, change: NameChange, before: str) -> Iterator[tuple[int, int, str]]:
    table, _, old = change.old.rpartition(".")
    home, _, new = change.new.rpartition(".")
    if home != table:
        raise NotEditable(f"'{change.new}' is no check of '{table}'; a check keeps its table: write {table}.{new}")
    for entry in items(child(tree, "tables")):
        for node in items(child(entry, "checks")) if text(entry, "name") == table else ():
            given = child(node, "id")
            if label_of(node) != old:
                continue
            if given is not None:
                yield _token(before, given.place, old, new)
                continue
            start = _offset(before, next(iter(node.keys.values())))
            between = ", " if _is_in_braces(before, start) else f"\n{_indent(before, start)}"
            yield start, start, f"id: {_scalar(new)}{between}"


def _refused(message: str, hint: str | None = None) -> Stop:
    return Stop(ExitCode.USAGE, Problem("rename.refused", message, hint=hint))
