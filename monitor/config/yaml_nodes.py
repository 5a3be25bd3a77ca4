"""Read YAML into values that know their place.

The parser's events are put together here, not by PyYAML's constructor, so that every value keeps its file, line and
column, keys stay as they were written, and a hostile file is refused while it is read (depth, size, repeated aliases).

What a plain scalar means follows the core of YAML 1.2, minus its surprises: `true`, `false` and `null` (also `~`, or
nothing) in three spellings; decimal whole numbers without leading zeros; decimal fractions, which keep their digits.
All else is text: `NO`, `on`, `12:30:45`, `2026-10-01`, `0123`, `0x1F`, `1_000`, `.inf`. Tags (`!!int`, `!x`) are
refused.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import yaml

from checks.parameters.numbers import WrittenNumber
from monitor.terminal.problem import Problem

MAX_BYTES = 10_000_000
MAX_DEPTH = 50
MAX_REPEATED = 50_000
"""Values that aliases may repeat in one file; a "billion laughs" needs a few lines to name 10^9 of them."""

Scalar: TypeAlias = "str | int | float | bool | None"

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_WORDS: Mapping[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_WHOLE = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_FRACTION = re.compile(r"[-+]?((0|[1-9][0-9]*)(\.[0-9]+)?|\.[0-9]+)([eE][-+]?[0-9]{1,3})?")
_LONGEST_NUMBER = 300


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a file; line and column count from 1."""

    file: str
    line: int
    column: int


@dataclass(slots=True)
class Node:
    """A value and its place: a scalar, a list of nodes, or a mapping of keys to nodes with the places of the keys.

    `plain` says that a scalar stood without quotes, `folded` that several lines of the file became one. `masked` is the
    text of a scalar with everything hidden that came from the environment or a file; None when nothing did.
    `here` is what `${here}` in a scalar was filled in with.
    """

    place: Place
    value: "Scalar | list[Node] | dict[str, Node]"
    keys: dict[str, Place] = field(default_factory=dict)
    plain: bool = False
    folded: bool = False
    masked: str | None = None
    here: str | None = None


class Unreadable(Exception):
    """A file that cannot be read as YAML at all."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


def resolve(text: str) -> Scalar:
    """Return what a plain scalar means."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789" or len(text) > _LONGEST_NUMBER:
        return text
    if _WHOLE.fullmatch(text):
        return int(text)
    number = WrittenNumber(text) if _FRACTION.fullmatch(text) else math.inf
    return number if math.isfinite(number) else text


def plain_data(node: Node) -> Any:
    """Return a node as dicts, lists and scalars."""
    if isinstance(node.value, dict):
        return {key: plain_data(child) for key, child in node.value.items()}
    if isinstance(node.value, list):
        return [plain_data(child) for child in node.value]
    return node.value


def read_yaml(text: str, file: str) -> tuple[Node, list[Problem]]:
    """Read the one document of a text; duplicate keys and the like are given as problems beside the value.

    Raises:
        Unreadable: not YAML, more than one document, nested too deeply, or repeated too often by aliases.
    """
    reader = _Reader(file)
    try:
        reader.read(yaml.parse(text, Loader=_Loader))
    except yaml.MarkedYAMLError as error:
        raise Unreadable(_syntax(error, file)) from None
    except yaml.YAMLError:
        raise Unreadable(Problem("config.syntax", "a control character that YAML does not allow", file)) from None
    if reader.root is None:
        raise Unreadable(Problem("config.empty", "the file is empty", file, hint="see 'tablewatch init'"))
    return reader.root, reader.problems


def _syntax(error: yaml.MarkedYAMLError, file: str) -> Problem:
    mark = error.problem_mark or error.context_mark
    text = (error.problem or "not YAML").removeprefix("found ")
    hint = None
    if "tab" in text or "cannot start any token" in text:
        hint = "indent with spaces, not tabs; put a text that begins with one of @ ` % & * ! | > in quotes"
    elif "mapping values are not allowed" in text:
        hint = 'check the indentation; put a text that contains ": " in quotes'
    elif "expected ',' or" in text or "end of stream" in text:
        hint = "an earlier bracket or quote is not closed, or a ${...} inside braces is not in quotes"
    line, column = (mark.line + 1, mark.column + 1) if mark else (None, None)
    return Problem("config.syntax", f"not valid YAML: {text}", file, line, column, hint)


class _Open:
    """A collection whose end has not been read yet; `size` counts its values, repeated ones too."""

    def __init__(self, node: Node, anchor: str | None) -> None:
        self.node, self.anchor = node, anchor
        self.size = 1
        self._key: str | None = None
        self._merged: list[Node] = []

    @property
    def wants_key(self) -> bool:
        return isinstance(self.node.value, dict) and self._key is None

    def take_key(self, key: str, place: Place) -> Problem | None:
        self._key = key
        first = self.node.keys.get(key)
        if first is not None:
            message = f"key '{key}' is given twice; first in line {first.line}"
            return Problem("config.duplicate_key", message, place.file, place.line, place.column, "keep one of them")
        self.node.keys[key] = place
        return None

    def take(self, node: Node, size: int) -> None:
        self.size += size
        if isinstance(self.node.value, list):
            self.node.value.append(node)
        elif isinstance(self.node.value, dict) and self._key is not None:
            if self._key == "<<":
                self._merged.extend(node.value if isinstance(node.value, list) else [node])
            else:
                self.node.value.setdefault(self._key, node)
            self._key = None

    def close(self) -> Node:
        """Return the finished collection; keys merged by `<<` stand behind its own."""
        self.node.keys.pop("<<", None)
        for merged in self._merged:
            if isinstance(merged.value, dict) and isinstance(self.node.value, dict):
                self.node.value = {**merged.value, **self.node.value}
                self.node.keys = {**merged.keys, **self.node.keys}
        return self.node


class _Reader:
    """Puts events together; a stack holds the collections that are still open."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.root: Node | None = None
        self.problems: list[Problem] = []
        self._open: list[_Open] = []
        self._anchors: dict[str, tuple[Node, int]] = {}
        self._repeated = 0
        self._documents = 0

    def read(self, events: Iterator[Any]) -> None:
        take = {
            yaml.ScalarEvent: self._scalar,
            yaml.MappingStartEvent: self._begin,
            yaml.SequenceStartEvent: self._begin,
            yaml.MappingEndEvent: self._end,
            yaml.SequenceEndEvent: self._end,
            yaml.AliasEvent: self._alias,
            yaml.DocumentStartEvent: self._document,
        }
        for event in events:
            taker = take.get(type(event))
            if taker is not None:
                taker(event)

    def _at(self, event: Any) -> Place:
        return Place(self.file, event.start_mark.line + 1, event.start_mark.column + 1)

    def _document(self, event: Any) -> None:
        self._documents += 1
        if self._documents > 1:
            raise _refusal(self._at(event), "config.documents", "a second document starts here; a file has one")

    def _scalar(self, event: Any) -> None:
        place = self._at(event)
        self._look_at_tag(event, place)
        if self._wants_key:
            problem = self._open[-1].take_key(event.value, place)
            self.problems += [problem] if problem else []
            return
        plain, end = not event.style, event.end_mark
        lines = end.line - event.start_mark.line + (end.column > 0) - (event.style == ">")
        value, folded = resolve(event.value) if plain else event.value, event.style != "|" and lines > 1
        self._put(Node(place, value, plain=plain, folded=folded), 1, event.anchor)

    def _begin(self, event: Any) -> None:
        place = self._at(event)
        self._look_at_tag(event, place)
        if len(self._open) >= MAX_DEPTH:
            raise _refusal(place, "config.depth", f"nested more than {MAX_DEPTH} levels deep")
        if self._wants_key:
            raise _refusal(place, "config.key", "a key must be text, not a list or a mapping")
        node = Node(place, {} if isinstance(event, yaml.MappingStartEvent) else [])
        self._open.append(_Open(node, event.anchor))

    def _end(self, _: Any) -> None:
        finished = self._open.pop()
        self._put(finished.close(), finished.size, finished.anchor)

    def _alias(self, event: Any) -> None:
        place = self._at(event)
        if self._wants_key:
            raise _refusal(place, "config.key", "a key must be text, not an alias")
        if event.anchor not in self._anchors:
            inside = any(item.anchor == event.anchor for item in self._open)
            message = f"anchor '&{event.anchor}' contains itself" if inside else f"there is no anchor '&{event.anchor}'"
            raise _refusal(place, "config.alias", message)
        node, size = self._anchors[event.anchor]
        self._repeated += size
        if self._repeated > MAX_REPEATED:
            hint = "write fewer aliases of aliases"
            raise _refusal(place, "config.alias", f"aliases repeat more than {MAX_REPEATED:,} values", hint)
        self._put(node, size, None)

    @property
    def _wants_key(self) -> bool:
        return bool(self._open) and self._open[-1].wants_key

    def _look_at_tag(self, event: Any, place: Place) -> None:
        if event.tag is not None:
            message = f"tags such as {event.tag!r} are not supported"
            self.problems.append(Problem("config.tag", message, place.file, place.line, place.column, "remove it"))

    def _put(self, node: Node, size: int, anchor: str | None) -> None:
        if anchor is not None:
            self._anchors[anchor] = (node, size)
        if self._open:
            self._open[-1].take(node, size)
        else:
            self.root = node


def _refusal(place: Place, code: str, message: str, hint: str | None = None) -> Unreadable:
    return Unreadable(Problem(code, message, place.file, place.line, place.column, hint))


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


def find_node(tree: Node, path: Sequence[str | int]) -> tuple[Node, list[str | int]]:
    """Return the deepest node that a path leads to, and the steps that lead there."""
    node, steps = tree, []
    for step in path:
        if isinstance(node.value, dict) and step in node.value:
            node = node.value[str(step)]
        elif isinstance(node.value, list) and isinstance(step, int) and step < len(node.value):
            node = node.value[step]
        else:
            continue  # a step that pydantic took between the branches of a union
        steps.append(step)
    return node, steps
