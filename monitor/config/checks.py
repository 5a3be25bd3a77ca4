"""Build what a file declares by its `type`: the checks of every table, and the hierarchies of every release."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from checks import Check, load_catalog
from monitor.config._errors import ConfigError
from monitor.config.messages import nearest, problem_at, suggest, word_errors
from monitor.config.yaml_nodes import Node, child, entries, items, plain_data, text
from monitor.terminal.problem import Problem

if TYPE_CHECKING:
    from remedies.generalisation import HierarchySpec


_SQL = ("query", "where")
_COMMENT = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|/[*].*?[*]/|(?P<comment>--|[#]\s)""", re.DOTALL)


@dataclass(frozen=True, slots=True)
class BuiltChecks:
    """A valid check, the name of its table, and its place."""

    table: str
    check: Check
    node: Node


@dataclass(frozen=True, slots=True)
class CheckBuilder:
    """Valid checks by the index of their table, and the problems of the others."""

    checks: Mapping[int, tuple[Check, ...]]
    built: tuple[BuiltChecks, ...]
    problems: tuple[Problem, ...]


def build_checks(tree: Node) -> CheckBuilder:
    """Build the checks of all tables; those that cannot be built become problems."""
    checks, built, problems = {}, [], []
    results: dict[int, Check | list[Problem]] = {}  # tables of one pattern share the nodes of its checks
    for index, table in enumerate(items(child(tree, "tables"))):
        built_here: list[BuiltChecks] = []
        for node in items(child(table, "checks")):
            result = results[id(node)] = results[id(node)] if id(node) in results else _build(node)
            if isinstance(result, list):
                problems += result
            else:
                built_here.append(BuiltChecks(text(table, "name") or "", result, node))
        checks[index] = tuple(built_checks.check for built_checks in built_here)
        problems += _collisions(built_here)
        built += built_here
    return CheckBuilder(checks, tuple(built), tuple(problems))


def problems_of_checks(tables: Iterable[Node]) -> Iterator[Problem]:
    """Yield what is wrong with the checks of entries, such as patterns, whose checks are built elsewhere."""
    for table in tables:
        for node in items(child(table, "checks")):
            result = _build(node)
            yield from result if isinstance(result, list) else ()


def build_check(node: Node) -> Check:
    """Build one check.

    Raises:
        ConfigError: it is wrong; all problems at once.
    """
    result = _build(node)
    if isinstance(result, list):
        raise ConfigError(result)
    return result


def _build(node: Node) -> Check | list[Problem]:
    catalogue = load_catalog()
    kind = child(node, "type")
    if kind is None:
        code, message = "config.missing_key", "missing key 'type'"
        if not isinstance(node.value, dict):
            code, message = "config.value", "a check is a mapping with a 'type'"
        return [problem_at(node.place, code, message, suggest("", catalogue, show=40))]
    if not isinstance(kind.value, str) or kind.value not in catalogue:
        text = nearest(str(kind.value), catalogue).removeprefix("; ")
        hint = f"{text} known: {', '.join(catalogue)}".lstrip()
        return [problem_at(kind.place, "config.unknown_check", f"unknown check type '{kind.value}'", hint)]
    model: Any = catalogue[kind.value]
    try:
        check: Check = model.model_validate(plain_data(node))
    except ValidationError as error:
        model_type: type[BaseModel] = model
        return list(word_errors(error.errors(include_url=False), node, model_type))
    return list(_comments_in_one_line(node)) or check


def _comments_in_one_line(node: Node) -> Iterator[Problem]:
    """Find SQL of which YAML made one line, and a comment in it: it would hide what comes after it."""
    for key in _SQL:
        sql = child(node, key)
        if sql is None or not sql.folded or not isinstance(sql.value, str):
            continue
        if any(match["comment"] for match in _COMMENT.finditer(sql.value)):
            message = f"a comment in '{key}', whose lines YAML joins to one: all SQL after the comment would be ignored"
            yield problem_at(sql.place, "config.sql", message, f"write '{key}: |', which keeps the lines")


def _collisions(built: Sequence[BuiltChecks]) -> Iterator[Problem]:
    first: dict[str, BuiltChecks] = {}
    for built_checks in built:
        name = built_checks.check.name
        if name not in first:
            first[name] = built_checks
            continue
        at = built_checks.node.keys.get("id", built_checks.node.place)
        other = first[name].node.place
        ids = " and ".join(f"id: {propose_id(conflicting.check)}" for conflicting in (first[name], built_checks))
        if propose_id(first[name].check) == propose_id(built_checks.check):
            ids = f"id: {propose_id(built_checks.check)} and id: {propose_id(built_checks.check)}-2"
        where = f"in line {other.line}" if other.line else other.file
        message = f"two checks of table '{built_checks.table}' are called '{name}'; the first is {where}"
        yield problem_at(at, "config.duplicate_check", message, f"give them ids of their own, such as {ids}")


def propose_id(check: object) -> str:
    """Propose an id that says what a check looks at: its type and its columns."""
    columns = getattr(check, "columns", None) or getattr(check, "column", None) or ()
    words = [str(getattr(check, "type", "check")), *([columns] if isinstance(columns, str) else columns)]
    return re.sub(r"[^A-Za-z0-9]+", "-", "-".join(map(str, words))).strip("-")[:80].lower()


@dataclass(frozen=True, slots=True)
class Hierarchies:
    """Hierarchies by release and column, with paths that begin where they were written, and problems.

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
            result = _build_hierarchy(entry)
            if isinstance(result, list):
                problems += result
                continue
            specs.setdefault(release, {})[column] = result.beside(Path(entry.place.file).parent)
            path = text(entry, "path")
            if path is not None:
                folders[f"{release}.{column}"] = str(Path(entry.place.file).parent)
                files.append(Path(entry.place.file).parent / path)
    return Hierarchies(specs, folders, tuple(files), tuple(problems))


def with_hierarchies(data: Any, hierarchies: Hierarchies) -> None:
    """Replace the hierarchies in the plain data of a configuration by those that were built."""
    for release, specs in hierarchies.specs.items():
        data["releases"][release]["hierarchies"] = dict(specs)


def _unknown_columns(tree: Node, release: Node, declared: Node | None) -> Iterator[Problem]:
    """Find columns that the release does not name, or its table, where it names none."""
    nodes = entries(child(release, "columns"))
    if not nodes:
        tables = items(child(tree, "tables"))
        configured = next((table for table in tables if text(table, "name") == text(release, "table")), None)
        nodes = entries(child(configured, "columns"))
    for column in entries(declared):
        if declared is not None and nodes and column not in nodes:
            message = f"unknown column '{column}': hierarchies are declared for columns classified by the release"
            yield problem_at(declared.keys[column], "config.unknown_reference", message, suggest(column, nodes))


def _build_hierarchy(node: Node) -> HierarchySpec | list[Problem]:
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
        spec = model.model_validate(plain_data(node))
        return list(_faults(spec, node)) or spec
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
