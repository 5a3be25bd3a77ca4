"""Write proposals for a configured table into the file that declares it: sure ones as checks, others as comments."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from monitor.config.project import Project
from monitor.config.yaml_nodes import plain_data, read_yaml
from monitor.suggest.starter import comment, in_flow, note_of, with_id
from monitor.suggest.suggest import SourceSuggestions, TableSuggestions
from monitor.suggest.yaml_edit import NotEditable, append_checks
from monitor.terminal.output_file import ProtectedFiles, write_text


@dataclass(frozen=True, slots=True)
class WrittenChecks:
    """The checks and comments written for a table, by file; `problem`: why nothing was written."""

    table: str
    file: Path
    checks: int = 0
    comments: int = 0
    problem: str | None = None


def write_suggestions(
    project: Project, suggestions: Mapping[str, SourceSuggestions], *, show_values: bool
) -> Sequence[WrittenChecks]:
    """Append what is proposed to the checks of each table. A file is written whole or not at all.

    Raises:
        Stop: a file cannot be written.
    """
    results = []
    for source in suggestions.values():
        pending = {column for proposal in source.null_values if proposal.active for column in proposal.columns}
        measured = (table for table in source.tables if table.proposals)
        results += [_write(project, table, pending, show_values=show_values) for table in measured]
    return results


def _write(project: Project, table: TableSuggestions, pending: AbstractSet[str], *, show_values: bool) -> WrittenChecks:
    at = next(number for number, item in enumerate(project.config.tables) if item.name == table.name)
    file = Path(project.loaded.place("tables", at).file)
    text = file.read_bytes().decode("utf-8")
    checks, lines = _lines(project, table, text, pending, show_values=show_values)
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
    project: Project, table: TableSuggestions, text: str, pending: AbstractSet[str], *, show_values: bool
) -> tuple[Sequence[Mapping[str, Any]], Sequence[str]]:
    """Return the checks to write as they will be read, and the lines; comments that are there already are left out."""
    configured = project.config.table(table.name)
    names = {check.name for check in configured.checks} if configured is not None else set()
    checks: list[Mapping[str, Any]] = []
    lines, comments = [], []
    existing = {line.strip() for line in text.splitlines()}
    for proposal in table.proposals:
        if proposal.check is None:  # a setting of the table, which a person writes
            continue
        check = _named_apart(with_id(proposal, table.proposals), names)
        hidden = proposal.holds_values and not show_values
        waits = not pending.isdisjoint(proposal.columns)
        if proposal.active and not hidden and not waits:
            names.add(str(check.get("id", check["type"].replace("_", "-"))))
            line = f"- {in_flow(check)}"
            checks.append(_read(line))
            lines.append(line)
            continue
        note = f"# {'needs csv.null_values: ' if waits else ''}{note_of(proposal)}"
        added = [note] if hidden else [note, f"# - {in_flow(check)}"]
        comments += [] if added[-1] in existing else added
    return checks, [*lines, *comments]


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
