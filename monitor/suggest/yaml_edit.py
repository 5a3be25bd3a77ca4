"""Append checks to a table of a configuration file, or replace schedules, and change nothing else, not a comment.

PyYAML's nodes say where each value ends, so new lines are put after the last line of the table's `checks`. A table or
section in brackets or braces is written one entry per line, each entry as it was; an alias, and comments between such
entries, are refused. The new text is read again before it replaces the file: it must hold what it held before, and the
new checks behind those of the table.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, Final

import yaml

from monitor.config.cron import Schedule
from monitor.config.yaml_nodes import Unreadable, plain_data, read_yaml

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INDENT: Final = 2


class NotEditable(Exception):
    """A file whose layout cannot be edited; the text has the reason and the place."""


def append_entries(text: str, entries: Mapping[str, Sequence[str]]) -> str:
    """Return the text of a configuration file with entries added to sections such as `sources` and `tables`.

    `entries`: by section the lines, as they stand in a file whose sections begin in the first column.

    Raises:
        NotEditable: a section is not written one entry per line.
    """
    wanted = _data(text)
    for section, lines in entries.items():
        tree, _ = read_yaml("\n".join([f"{section}:", *lines]), "entries")
        new, root = plain_data(tree)[section], yaml.compose(text, Loader=_Loader)
        if not isinstance(root, yaml.MappingNode) or wanted is None:
            raise NotEditable("the file holds no section")
        text = _insert(text, root, textwrap.dedent("\n".join(lines)).splitlines(), key=section)
        before = wanted.get(section)
        wanted[section] = {**(before or {}), **new} if isinstance(new, dict) else [*(before or []), *new]
    if not _holds(text, wanted):
        raise NotEditable("the file cannot be added to by a program; add the entries by hand")
    return text


def append_checks(text: str, table: str, lines: Sequence[str], checks: Sequence[Mapping[str, Any]]) -> str:
    """Return the text of a configuration file with lines added to the checks of a table.

    `lines`: list items and comments without indentation. `checks`: what these items are once they are read.

    Raises:
        NotEditable: the table is not in this file, or its checks are not written one per line.
    """
    root = yaml.compose(text, Loader=_Loader)
    tables, draft = _value(root, "tables"), text
    if isinstance(root, yaml.MappingNode) and isinstance(tables, yaml.CollectionNode) and tables.flow_style:
        draft = _insert(draft, root, [], key="tables")
    draft = _without_braces(draft, _table(draft, table))
    added = _insert(draft, _table(draft, table), lines)
    if not _holds(added, _with_checks(_data(text), table, checks)):
        raise NotEditable(f"the checks of '{table}' cannot be added to by a program; add them by hand")
    return added


def replace_schedules(text: str, schedules: Mapping[str, tuple[Schedule, Schedule]]) -> tuple[str, Mapping[str, str]]:
    """Return the text of a configuration file with other schedules, and why those of some tables are as before.

    `schedules`: the present and the new schedule of each table.

    Raises:
        NotEditable: something else would change, too.
    """
    sections = _items(_value(yaml.compose(text, Loader=_Loader), "tables"))
    places = {getattr(_value(node, "name"), "value", "").replace("$$", "$"): at for at, node in enumerate(sections)}
    wanted, draft, refused = _data(text), text, {}
    for table, (present, new) in sorted(schedules.items(), key=lambda item: -places.get(item[0], -1)):
        section = sections[places[table]] if table in places else None
        node = _value(section, "schedule")
        if section is None or node is None or not _is_schedule(node.value, present):
            refused[table] = f"'schedule: {present}' does not stand at the table; change it by hand"
        elif node.start_mark.index < section.start_mark.index:
            refused[table] = f"line {_line(section)}: its schedule is an alias; change it by hand"
        else:
            draft = f"{draft[: node.start_mark.index]}{new}{draft[node.end_mark.index :]}"
            wanted["tables"][places[table]]["schedule"] = str(new)
    if not _holds(draft, wanted):
        raise NotEditable("its schedules cannot be changed by a program; change them by hand")
    return draft, refused


def _is_schedule(text: object, schedule: Schedule) -> bool:
    try:
        return Schedule.parse(text) == schedule
    except ValueError:
        return False


def _table(text: str, table: str) -> yaml.MappingNode:
    root = yaml.compose(text, Loader=_Loader)
    for section in _items(_value(root, "tables")):
        name = _value(section, "name")
        is_named = isinstance(name, yaml.ScalarNode) and name.value.replace("$$", "$") == table
        if isinstance(section, yaml.MappingNode) and is_named:
            return section
    raise NotEditable(f"table '{table}' is not declared in this file by a name that can be read")


def _insert(text: str, section: yaml.MappingNode, lines: Sequence[str], *, key: str = "checks") -> str:
    if section.flow_style:
        raise NotEditable(f"line {_line(section)}: the whole file is written in braces; write one section per line")
    name = next((name for name, _ in section.value if name.value == key), None)
    indent = section.value[0][0].start_mark.column
    if name is None:
        return _after(text, _last_line(section), [f"{' ' * indent}{key}:", *_indented(lines, indent + _INDENT)])
    checks = _value(section, key)
    if checks is None or checks.start_mark.index < name.end_mark.index:
        raise NotEditable(f"line {_line(name)}: '{key}' is an alias; write its entries one per line")
    if isinstance(checks, yaml.ScalarNode) and not checks.value:  # `checks:` and nothing else
        return _after(text, name.end_mark.line, _indented(lines, indent + _INDENT))
    if not isinstance(checks, yaml.CollectionNode):
        raise NotEditable(f"line {_line(checks)}: '{key}' is one value; write one entry per line")
    if checks.flow_style:
        start, end, entries = checks.start_mark.index, checks.end_mark.index, _entries(text, checks)
        text = text[:start].rstrip() + text[end:]
        return _after(text, name.end_mark.line, _indented([*entries, *lines], indent + _INDENT))
    column = checks.start_mark.column
    return _after(text, _last_comment(text, _last_line(checks), column), _indented(lines, column))


def _without_braces(text: str, table: yaml.MappingNode) -> str:
    """Return a text with a table in braces written one key per line."""
    if not table.flow_style:
        return text
    line_break = f"{_ending(text)}{' ' * table.start_mark.column}"
    lines = line_break.join(_entries(text, table))
    return f"{text[: table.start_mark.index]}{lines}{text[table.end_mark.index :]}"


def _entries(text: str, node: yaml.CollectionNode) -> Sequence[str]:
    """Return the entries of a value in brackets or braces as they are written, each to stand on a line of its own.

    Raises:
        NotEditable: it has an anchor, or what is between the entries would be lost: a comment, an alias.
    """
    lines, between, at = [], "", node.start_mark.index
    for entry in node.value:
        first, *more = entry if isinstance(entry, tuple) else (entry,)
        parts = [text[part.start_mark.index : part.end_mark.index] for part in (first, *more)]
        lines.append(": ".join(parts) if more else f"- {parts[0]}")
        for part in (first, *more):
            between += text[at : part.start_mark.index] if at <= part.start_mark.index else "*"
            at = part.end_mark.index
    between += text[at : node.end_mark.index]
    if not set(between) <= set("[]{}:, \r\n"):
        raise NotEditable(f"line {_line(node)}: brackets or braces with comments or aliases; write one entry per line")
    return lines


def _last_comment(text: str, line: int, column: int) -> int:
    """Return the last line of an entry with the comments below it, which are indented more than the entry."""
    for at, below in enumerate(text.splitlines()[line + 1 :], line + 1):
        if below.strip() and not below.startswith(" " * (column + 1)):
            break
        if below.strip() and not below.strip().startswith("#"):
            break
        line = at if below.strip() else line
    return line


def _after(text: str, line: int, lines: Sequence[str]) -> str:
    """Return a text with lines after one of its lines, which counts from 0; line endings stay as they are."""
    existing, ending = text.splitlines(keepends=True), _ending(text)
    if not existing[line].endswith(("\n", "\r")):
        existing[line] += ending
    return "".join([*existing[: line + 1], *(f"{new}{ending}" for new in lines), *existing[line + 1 :]])


def _ending(text: str) -> str:
    return "\r\n" if text.partition("\n")[0].endswith("\r") else "\n"


def _indented(lines: Sequence[str], indent: int) -> Sequence[str]:
    return [f"{' ' * indent}{line}" if line else "" for line in lines]


def _last_line(node: yaml.Node) -> int:
    """Return the last line of a value. A block collection ends where the next thing begins, so its last leaf counts."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return max(map(_last_line, last)) if isinstance(last, tuple) else _last_line(last)
    ends_before = isinstance(node, yaml.ScalarNode) and node.style in {"|", ">"} and node.end_mark.column == 0
    return int(node.end_mark.line) - (1 if ends_before else 0)


def _value(node: yaml.Node | None, key: str) -> yaml.Node | None:
    if not isinstance(node, yaml.MappingNode):
        return None
    return next((value for name, value in node.value if name.value == key), None)


def _items(node: yaml.Node | None) -> Sequence[yaml.Node]:
    return node.value if isinstance(node, yaml.SequenceNode) else ()


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def _holds(text: str, data: Any) -> bool:
    """Check whether a text is read as some data."""
    try:
        return bool(_data(text) == data)
    except Unreadable:
        return False


def _data(text: str) -> Any:
    tree, problems = read_yaml(text, "tablewatch.yaml")
    return None if problems else plain_data(tree)


def _with_checks(data: Any, table: str, checks: Sequence[Mapping[str, Any]]) -> Any:
    for section in data["tables"] if data is not None else ():
        if str(section.get("name")).replace("$$", "$") == table:
            section["checks"] = [*(section.get("checks") or []), *checks]
            return data
    return None
