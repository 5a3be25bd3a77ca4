"""Changes of tables that pages apply: a file of their own, which lies over what people wrote and never rewrites it.

With `web.changes: true` the file `tablewatch.d/ui.yaml` beside the configuration is read last: it has the shape of a
configuration with tables only. Tables are met by name, checks by id, other settings by key; a value there is the one
that holds, a table or check that is nowhere else is added.

It comes from a browser, so nothing in it is filled in from the environment or from a file, and no runbook is a file.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import yaml

from checks.parameters.numbers import as_json
from monitor.config.messages import problem_at
from monitor.config.scalars import is_name_of_runbook
from monitor.config.yaml_nodes import Node, Place, Unreadable, child, entries, items, plain_data, read_yaml, text
from monitor.terminal.problem import Problem

NAME: Final = Path("tablewatch.d", "ui.yaml")
REFUSED: Final = "config.page_change"
_HEAD: Final = "# Written by Tablewatch (web.changes); what is here lies over the other files.\n"
_OF_NAMES: Final = (("tables",), ("tables", "checks"))


def changes_file(path: Path) -> Path:
    """Return the file of changes of a configuration, a file or a folder: beside it."""
    return (path.resolve() if path.is_dir() else path).parent / NAME


def are_allowed(tree: Node) -> bool:
    """Check whether a configuration lets pages change it."""
    node = child(child(tree, "web"), "changes")
    return node is not None and node.value is True


def overlaid(base: Node, part: Node, path: tuple[str, ...] = ()) -> Node:
    """Return a tree with another one over it."""
    if isinstance(base.value, dict) and isinstance(part.value, dict):
        value = dict(base.value)
        for key, node in part.value.items():
            value[key] = overlaid(value[key], node, (*path, key)) if key in value else node
        return replace(base, value=value, keys={**part.keys, **base.keys})
    if path in _OF_NAMES and isinstance(base.value, list) and isinstance(part.value, list):
        named = {_name(node) or f"\0{at}": node for at, node in enumerate(base.value)}
        for at, node in enumerate(part.value):
            name = _name(node) or f"\1{at}"
            named[name] = overlaid(named[name], _without_id(node, named[name]), path) if name in named else node
        return replace(base, value=list(named.values()))
    return part


def _without_id(node: Node, base: Node) -> Node:
    """Return a check without the id by which it was met, where it is named by its type."""
    if child(base, "id") is not None:
        return node
    return replace(node, value={key: inner for key, inner in entries(node).items() if key != "id"})


def _name(node: Node) -> str | None:
    kind = text(node, "type")
    return text(node, "name") or text(node, "id") or (kind.replace("_", "-") if kind else None)


def refusals(tree: Node) -> Iterator[Problem]:
    """Yield what a file of changes may not hold."""
    for key in entries(tree):
        if key != "tables":
            yield problem_at(tree.keys[key], REFUSED, f"'{key}' cannot be changed by pages; expected 'tables' only")
    for place, value in _scalars(tree):
        if "${" in value:
            hint = "write the value itself, or change the hand-written file"
            yield problem_at(place, REFUSED, "a change by pages cannot read a variable or a file", hint)
    for table in items(child(tree, "tables")):
        for check in items(child(table, "checks")):
            runbook = child(check, "runbook")
            if runbook is not None and is_name_of_runbook(str(runbook.value).strip()):
                yield problem_at(runbook.place, REFUSED, "a change by pages cannot name a file as runbook")


def _scalars(node: Node) -> Iterator[tuple[Place, str]]:
    for key, inner in entries(node).items():
        yield node.keys.get(key, node.place), key
        yield from _scalars(inner)
    for inner in items(node):
        yield from _scalars(inner)
    if isinstance(node.value, str):
        yield node.place, node.value


def changed_text(before: str, table: str, settings: Node) -> str:
    """Return the text of a file of changes with the settings of a table over those that it has.

    Raises:
        Unreadable: the file is no YAML.
    """
    part: Mapping[str, Any] = {"tables": [{"name": table, **as_json(plain_data(settings))}]}
    tree = read_yaml(_dumped(part), str(NAME))[0]
    if before:
        tree = overlaid(read_yaml(before, str(NAME))[0], tree)
    return _HEAD + _dumped(as_json(plain_data(tree)))


def _dumped(data: Any) -> str:
    dumped: str = yaml.safe_dump(data, allow_unicode=True, sort_keys=False, width=110)
    return dumped


def settings_of(text_of_person: str) -> Node:
    """Return what a person wrote as settings of a table.

    Raises:
        Unreadable: it is no YAML, or no mapping of settings.
    """
    tree, problems = read_yaml(text_of_person, "changes")
    if problems:
        raise Unreadable(problems[0])
    if not isinstance(tree.value, dict) or "name" in tree.value:
        message = "expected settings of the table, one to a line, such as 'owner: desk'; its name is given apart"
        raise Unreadable(Problem(REFUSED, message))
    return tree


def digest_of_text(text_of_file: str) -> str:
    """Return what names a state of the file: a change is applied to the state that its diff was drawn of."""
    return sha256(text_of_file.encode()).hexdigest()[:16]
