"""Build the hierarchies of every release, and look whether their columns and files exist."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from monitor.config.checks import child, entries, items, text
from monitor.config.messages import nearest, problem_at, suggest, word_errors
from monitor.config.yaml_nodes import Node, plain_data
from monitor.terminal.problem import Problem

if TYPE_CHECKING:
    from remedies.generalisation import HierarchySpec


@dataclass(frozen=True, slots=True)
class Hierarchies:
    """The outcome of building: by release and column, with paths that begin where they were written, and problems.

    `folders`: where the paths of files begin, by release and column. `files`: those files.
    """

    specs: Mapping[str, Mapping[str, HierarchySpec]]
    folders: Mapping[str, str]
    files: tuple[Path, ...]
    problems: tuple[Problem, ...]


def build_hierarchies(tree: Node) -> Hierarchies:
    """Build the hierarchies of all releases; those that cannot be built become problems."""
    specs: dict[str, dict[str, HierarchySpec]] = {}
    folders: dict[str, str] = {}
    files: list[Path] = []
    problems: list[Problem] = []
    for release, node in entries(child(tree, "releases")).items():
        declared = child(node, "hierarchies")
        problems += _unknown_columns(tree, node, declared)
        for column, entry in entries(declared).items():
            made = _build(entry)
            if isinstance(made, list):
                problems += made
                continue
            specs.setdefault(release, {})[column] = made.beside(Path(entry.place.file).parent)
            path = text(entry, "path")
            if path is not None:
                folders[f"{release}.{column}"] = str(Path(entry.place.file).parent)
                files.append(Path(entry.place.file).parent / path)
    return Hierarchies(specs, folders, tuple(files), tuple(problems))


def with_hierarchies(data: Any, hierarchies: Hierarchies) -> None:
    """Put what was built into the plain data of a configuration, in place of what was read."""
    for release, specs in hierarchies.specs.items():
        data["releases"][release]["hierarchies"] = dict(specs)


def _unknown_columns(tree: Node, release: Node, declared: Node | None) -> Iterator[Problem]:
    """Find columns that the release does not name, or its table, where it names none."""
    nodes = entries(child(release, "columns"))
    if not nodes:
        tables = items(child(tree, "tables"))
        mine = next((table for table in tables if text(table, "name") == text(release, "table")), None)
        nodes = entries(child(mine, "columns"))
    for column in entries(declared):
        if declared is not None and nodes and column not in nodes:
            message = f"unknown column '{column}': hierarchies are declared for columns classified by the release"
            yield problem_at(declared.keys[column], "config.unknown_reference", message, suggest(column, nodes))


def _build(node: Node) -> HierarchySpec | list[Problem]:
    from remedies import Misfit
    from remedies.generalisation.spec import SPECS

    kind = child(node, "type")
    if kind is None:
        is_mapping = isinstance(node.value, dict)
        message = "missing key 'type'" if is_mapping else "a hierarchy is a mapping with a 'type'"
        code = "config.missing_key" if is_mapping else "config.value"
        return [problem_at(node.place, code, message, f"known: {', '.join(SPECS)}")]
    if not isinstance(kind.value, str) or kind.value not in SPECS:
        text = nearest(str(kind.value), SPECS).removeprefix("; ")
        hint = f"{text} known: {', '.join(SPECS)}".lstrip()
        return [problem_at(kind.place, "config.value", f"unknown type of hierarchy '{kind.value}'", hint)]
    model = SPECS[kind.value]
    try:
        made = model.model_validate(plain_data(node))
        return list(_faults(made, node)) or made
    except ValidationError as error:
        return list(word_errors(error.errors(include_url=False), node, model))
    except Misfit as error:
        return [problem_at(node.place, "config.value", str(error))]


def _faults(hierarchy_spec: HierarchySpec, node: Node) -> Iterator[Problem]:
    """Yield what is wrong with a declaration, each fault on its own. Of a file, only that it is not there."""
    path = child(node, "path")
    if path is None:
        for fault in hierarchy_spec.faults():
            if fault.fatal:
                yield problem_at(node.place, "config.hierarchy", fault.message)
    elif not (Path(node.place.file).parent / str(path.value)).is_file():
        where = "paths are relative to the file that names them"
        yield problem_at(path.place, "config.not_found", f"no hierarchy file '{path.masked or path.value}'", where)
