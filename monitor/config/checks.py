"""Build the checks of every table from the catalogue, and tell them apart."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from checks import Check, load_catalog
from monitor.config._errors import ConfigError
from monitor.config.messages import nearest, problem_at, suggest, word_errors
from monitor.config.yaml_nodes import Node, plain_data
from monitor.terminal.problem import Problem


@dataclass(frozen=True, slots=True)
class BuiltChecks:
    """A check that could be built, the name of its table, and where it stands."""

    table: str
    check: Check
    node: Node


@dataclass(frozen=True, slots=True)
class CheckBuilder:
    """The outcome of building: per table (by its index) the checks, and what was wrong with the others."""

    checks: Mapping[int, tuple[Check, ...]]
    built: tuple[BuiltChecks, ...]
    problems: tuple[Problem, ...]


def build_checks(tree: Node) -> CheckBuilder:
    """Build the checks of all tables; those that cannot be built become problems."""
    checks, built, problems = {}, [], []
    for index, table in enumerate(items(child(tree, "tables"))):
        here: list[BuiltChecks] = []
        for node in items(child(table, "checks")):
            made = _build(node)
            if isinstance(made, list):
                problems += made
            else:
                here.append(BuiltChecks(text(table, "name") or "", made, node))
        checks[index] = tuple(built_checks.check for built_checks in here)
        problems += _collisions(here)
        built += here
    return CheckBuilder(checks, tuple(built), tuple(problems))


def build_check(node: Node) -> Check:
    """Build one check.

    Raises:
        ConfigError: it is wrong; all problems at once.
    """
    made = _build(node)
    if isinstance(made, list):
        raise ConfigError(made)
    return made


def child(node: Node | None, key: str) -> Node | None:
    """Return the value of a key, if the node is a mapping that has it."""
    return node.value.get(key) if node is not None and isinstance(node.value, dict) else None


def items(node: Node | None) -> Sequence[Node]:
    """Return the entries of a list; nothing if it is none."""
    return node.value if node is not None and isinstance(node.value, list) else ()


def entries(node: Node | None) -> Mapping[str, Node]:
    """Return the entries of a mapping; nothing if it is none."""
    return node.value if node is not None and isinstance(node.value, dict) else {}


def text(node: Node | None, key: str) -> str | None:
    """Return the text of a key, if there is one."""
    current_node = child(node, key)
    return current_node.value if current_node is not None and isinstance(current_node.value, str) else None


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
    return check


def _collisions(here: Sequence[BuiltChecks]) -> Iterator[Problem]:
    first: dict[str, BuiltChecks] = {}
    for built_checks in here:
        name = built_checks.check.name
        if name not in first:
            first[name] = built_checks
            continue
        at = built_checks.node.keys.get("id", built_checks.node.place)
        other = first[name].node.place
        ids = " and ".join(f"id: {propose_id(which.check)}" for which in (first[name], built_checks))
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
