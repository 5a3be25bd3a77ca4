"""Write proposals for a configured table into the file that declares it: sure ones as checks, others as comments."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from difflib import unified_diff
from itertools import chain
from pathlib import Path
from typing import Any

from monitor.config.cron import Schedule
from monitor.config.project import Project
from monitor.config.yaml_nodes import plain_data, read_yaml
from monitor.suggest.catalogue import TableEntry
from monitor.suggest.sources import SourceLocation
from monitor.suggest.starter import check_lines, comment, id_of, in_flow, note_of, source_lines, table_lines, with_id
from monitor.suggest.suggest import SourceSuggestions, TableSuggestions
from monitor.suggest.yaml_edit import NotEditable, append_checks, append_entries, replace_schedules
from monitor.terminal.output_file import ProtectedFiles, write_text
from monitor.terminal.problem import ExitCode, Problem, Stop


@dataclass(frozen=True, slots=True)
class WrittenChecks:
    """The checks and comments written for a table, by file; `problem`: why nothing was written."""

    table: str
    file: Path
    checks: int = 0
    comments: int = 0
    problem: str | None = None


def write_suggestions(
    project: Project,
    suggestions: Mapping[str, SourceSuggestions],
    *,
    show_values: bool,
    accept: Collection[str] = (),
) -> Sequence[WrittenChecks]:
    """Append what is proposed to the checks of each table, or what is accepted by its id, in place of its comment.

    A file is written whole or not at all.

    Raises:
        Stop: a file cannot be written.
    """
    results = []
    for source in suggestions.values():
        pending = {column for proposal in source.null_values if proposal.active for column in proposal.columns}
        measured = (table for table in source.tables if table.proposals)
        results += [_write(project, table, pending, show_values=show_values, accept=accept) for table in measured]
    return results


def add_tables(
    project: Project,
    tables: Sequence[tuple[SourceLocation, Sequence[TableEntry]]],
    suggestions: Mapping[str, SourceSuggestions],
    *,
    show_values: bool,
) -> Sequence[WrittenChecks]:
    """Add tables, and those of their sources that are new, to the files of a configuration; all else stays.

    Raises:
        Stop: a section is not written one entry per line, and nothing was written; or a file cannot be written.
    """
    taken = {table.name for table in project.config.tables}
    new = [place for place, _ in tables if place.name not in project.config.sources]
    added = {
        "sources": [line for place in new for line in source_lines(place, suggestions[place.name].null_values)],
        "tables": ["", *table_lines(tables, suggestions, show_values=show_values, taken=taken)][:-1],
    }
    sections: dict[Path, dict[str, Sequence[str]]] = {}
    for section, lines in added.items():
        if lines:
            file = Path(project.loaded.place(section, *([0] if section == "tables" and taken else [])).file)
            sections.setdefault(file, {})[section] = lines
    texts = {file: file.read_bytes().decode("utf-8") for file in sections}
    try:
        drafts = {file: append_entries(texts[file], entries) for file, entries in sections.items()}
    except NotEditable as error:
        raise Stop(ExitCode.USAGE, Problem("config.not_editable", str(error))) from None
    for file, draft in drafts.items():
        write_text(file, draft, protected=ProtectedFiles(), force=True)
    written = []
    for table in (table for place, _ in tables for table in suggestions[place.name].tables):
        comments = [line.startswith("#") for line in check_lines(table, show_values=show_values)]
        written.append(WrittenChecks(table.name, file, comments.count(False), comments.count(True)))
    return written


@dataclass(frozen=True, slots=True)
class ScheduleDrafts:
    """Files with other schedules of tables, each before and after, and why those of some tables are as before."""

    files: Mapping[Path, tuple[str, str]]
    refused: Mapping[str, str]

    @classmethod
    def of(cls, project: Project, schedules: Mapping[str, tuple[Schedule, Schedule]]) -> ScheduleDrafts:
        """Return the drafts of a project, by the present and the new schedule of tables."""
        places = {table.name: project.loaded.place("tables", at) for at, table in enumerate(project.config.tables)}
        files: dict[Path, tuple[str, str]] = {}
        refused: dict[str, str] = {}
        for file in sorted({place.file for name, place in places.items() if name in schedules}):
            own = {name: change for name, change in schedules.items() if places[name].file == file}
            text = Path(file).read_bytes().decode("utf-8")
            try:
                draft, reasons = replace_schedules(text, own)
            except NotEditable as error:
                draft, reasons = text, dict.fromkeys(own, str(error))
            refused |= reasons
            if draft != text:
                files[Path(file)] = (text, draft)
        return cls(files, refused)

    @property
    def diff(self) -> str:
        """Return what changes, as `diff -u` does."""
        lines = (
            unified_diff(before.splitlines(), after.splitlines(), str(file), str(file), lineterm="")
            for file, (before, after) in self.files.items()
        )
        return "\n".join(chain.from_iterable(lines))

    def write(self) -> None:
        """Write the files.

        Raises:
            Stop: a file cannot be written.
        """
        for file, (_, draft) in self.files.items():
            write_text(file, draft, protected=ProtectedFiles(), force=True)


def _write(
    project: Project,
    table: TableSuggestions,
    pending: AbstractSet[str],
    *,
    show_values: bool,
    accept: Collection[str],
) -> WrittenChecks:
    at = next(number for number, item in enumerate(project.config.tables) if item.name == table.name)
    file = Path(project.loaded.place("tables", at).file)
    text = file.read_bytes().decode("utf-8")
    checks, lines = _lines(project, table, text, pending, show_values=show_values, accept=accept)
    if accept:
        text = _without_comments(text, lines)
    comments = sum(line.startswith("#") for line in lines)
    if not lines:
        return WrittenChecks(table.name, file)
    try:
        draft = append_checks(text, table.name, lines, checks)
    except NotEditable as error:
        return WrittenChecks(table.name, file, problem=str(error))
    write_text(file, draft, protected=ProtectedFiles(), force=True)
    return WrittenChecks(table.name, file, len(checks), comments)


def _lines(
    project: Project,
    table: TableSuggestions,
    text: str,
    pending: AbstractSet[str],
    *,
    show_values: bool,
    accept: Collection[str],
) -> tuple[Sequence[Mapping[str, Any]], Sequence[str]]:
    """Return the checks to write as they will be read, and the lines; comments that are there already are left out."""
    configured = project.config.table(table.name)
    names = {check.name for check in configured.checks} if configured is not None else set()
    checks: list[Mapping[str, Any]] = []
    lines, comments = [], []
    existing = {line.strip() for line in text.splitlines()}
    for proposal in table.proposals:
        accepted = id_of(proposal, table.proposals) in accept
        if proposal.check is None or (accept and not accepted):  # a setting of the table is written by a person
            continue
        check = _named_apart(with_id(proposal, table.proposals), names)
        hidden = proposal.holds_values and not show_values
        waits = not pending.isdisjoint(proposal.columns)
        if accepted or (proposal.active and not hidden and not waits):
            names.add(str(check.get("id", check["type"].replace("_", "-"))))
            line = f"- {in_flow(check)}"
            checks.append(_read(line))
            lines.append(line)
            continue
        note = f"# {'needs csv.null_values: ' if waits else ''}{note_of(proposal)}"
        added = [note] if hidden else [note, f"# - {in_flow(check)}"]
        comments += [] if added[-1] in existing else added
    return checks, [*lines, *comments]


def _without_comments(text: str, lines: Collection[str]) -> str:
    """Return a text without the comments that proposed some lines, and why."""
    kept: list[str] = []
    for line in text.splitlines(keepends=True):
        if line.strip().removeprefix("# ") not in lines:
            kept.append(line)
        elif kept and kept[-1].lstrip().startswith("#"):
            kept.pop()
    return "".join(kept)


def _named_apart(check: Mapping[str, Any], names: Collection[str]) -> Mapping[str, Any]:
    """Return a check whose name is none of those that the table has."""
    name = str(check.get("id", check["type"].replace("_", "-")))
    if name not in names:
        return check
    columns = check.get("columns") or [check.get("column", "")]
    base = comment("-".join([check["type"].replace("_", "-"), *map(str, columns)])).lower().replace(" ", "-")
    number = 2
    name = base
    while name in names:
        name, number = f"{base}-{number}", number + 1
    return {**check, "id": name}


def _read(line: str) -> Mapping[str, Any]:
    tree, _ = read_yaml(line, "line")
    (check,) = plain_data(tree)
    read: Mapping[str, Any] = check
    return read
