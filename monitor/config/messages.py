"""Describe what is wrong with a value, and where it stands: pydantic finds the errors, this words them."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import UnionType
from typing import Any, Final, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from checks import did_you_mean
from checks.parameters.errors import expectation_of
from monitor.config.scalars import Deferred
from monitor.config.yaml_nodes import Node, Place, find_node
from monitor.terminal.problem import Problem
from monitor.terminal.redaction import MASK

_MOST_COMPARED: Final = 50_000
_LEFT: ContextVar[list[int] | None] = ContextVar("suggestions", default=None)
"""How many names may still be compared, in the one item of a list."""
_TAKES = ("a ", "an ", "at ", "one of ", "weekdays ", "exactly ")
"""How the messages of our own value types begin when they say what would be right."""


def word_errors(errors: Iterable[ErrorDetails], tree: Node, model: type[BaseModel]) -> Iterator[Problem]:
    """Yield pydantic's errors about a tree as problems, one for each place."""
    by_node: dict[int, list[ErrorDetails]] = {}
    for error in errors:
        if error["type"] == "missing":
            parent, _ = find_node(tree, error["loc"][:-1])
            yield problem_at(parent.place, "config.missing_key", f"missing key '{error['loc'][-1]}'")
        elif error["type"] == "extra_forbidden":
            yield _unknown_key(error["loc"], tree, model)
        else:
            node, _ = find_node(tree, error["loc"])
            by_node.setdefault(id(node), []).append(error)
    for same in by_node.values():
        yield _word_value(same, *find_node(tree, same[0]["loc"]))


def problem_at(place: Place, code: str, message: str, hint: str | None = None) -> Problem:
    """Return a problem at a place."""
    return Problem(code, message, place.file, place.line, place.column, hint)


@contextmanager
def limited_suggestions() -> Iterator[None]:
    """Compare at most so many names inside the block; problems beyond that have no suggestion.

    Each unknown name is compared to every known one: a generated file with 30,000 mistakes would take minutes.
    """
    token = _LEFT.set([_MOST_COMPARED])
    try:
        yield
    finally:
        _LEFT.reset(token)


def nearest(text: str, candidates: Iterable[str]) -> str:
    """Return `; did you mean 'email'?`, as `checks.did_you_mean`, or an empty text where too many were compared."""
    names = list(candidates)
    left = _LEFT.get()
    if left is None:
        return did_you_mean(text, names)
    left[0] -= len(names) * (1 + len(text) // 20)
    return did_you_mean(text, names) if left[0] > 0 else ""


def suggest(text: str, candidates: Iterable[str], *, show: int = 12) -> str | None:
    """Return `did you mean 'email'?`, else the known names if they are at most `show`."""
    names = sorted(candidates)
    listed = f"known: {', '.join(names)}" if 0 < len(names) <= show else None
    return nearest(text, names).removeprefix("; ") or listed


def _unknown_key(path: Sequence[str | int], tree: Node, model: type[BaseModel]) -> Problem:
    key = str(path[-1])
    parent, steps = find_node(tree, path[:-1])
    hint = suggest(key, _keys_at(model, steps), show=40)
    return problem_at(parent.keys.get(key, parent.place), "config.unknown_key", f"unknown key '{key}'", hint)


def _keys_at(model: type[BaseModel], path: Sequence[str | int]) -> list[str]:
    """Return the keys that are valid at a place of the model."""
    annotation: Any = model
    for step in path:
        annotation = _descend(_without_none(annotation), step)
    return list(getattr(_without_none(annotation), "model_fields", {}))


def _descend(annotation: Any, step: str | int) -> Any:
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is dict:
        return inner[1]
    if origin in {tuple, list}:
        return inner[0]
    field = getattr(annotation, "model_fields", {}).get(step)
    return None if field is None else field.annotation


def _without_none(annotation: Any) -> Any:
    """Return the X of `X | None` and of `Annotated[X, ...]`."""
    if get_origin(annotation) in {Union, UnionType}:
        return next((inner for inner in get_args(annotation) if inner is not type(None)), None)
    if (metadata := getattr(annotation, "__metadata__", None)) is not None:
        return metadata[0].model if isinstance(metadata[0], Deferred) else get_args(annotation)[0]
    return annotation


_OWN: Final = frozenset({"value_error", "assertion_error"})
"""The kinds of errors that our own code words."""


def _word_value(errors: Sequence[ErrorDetails], node: Node, path: Sequence[str | int]) -> Problem:
    first = next(
        (error for error in errors if error["type"] in _OWN), errors[0]
    )  # of `X | list of X`, the one that fits
    name = next((step for step in reversed(path) if isinstance(step, str)), None)
    if first["type"] in _OWN:
        return _word_own(str(first.get("ctx", {}).get("error", first["msg"])), node, name)
    expected = list(dict.fromkeys(expectation_of(error) for error in errors))
    actual = _describe(node)
    subject = f"'{name}' takes " if name else "expected "
    hint = None
    if "a text" in expected and isinstance(node.value, int | float | bool):
        hint = f'put it in quotes: "{actual}"'
    if first["type"] in {"literal_error", "enum"} and isinstance(node.value, str):
        hint = suggest(node.value, re.findall("'([^']*)'", first["ctx"]["expected"]), show=0)
    return problem_at(node.place, "config.value", f"{subject}{' or '.join(expected)}, not {actual}", hint)


def _word_own(text: str, node: Node, name: str | None) -> Problem:
    """Return the problem for an error of our own value types and models."""
    if node.masked is not None and isinstance(node.value, str) and node.value:
        text = text.replace(node.value, MASK)
    place = node.place
    if isinstance(
        node.value, dict
    ):  # the message of a whole section names the key that it is about, if it is about one
        mentioned = (node.keys[word] for word in re.findall("'([^']+)'", text) if word in node.keys)
        place = next(mentioned, node.place)
        return problem_at(place, "config.value", text)
    if name is None or name in text.split("'")[1::2]:
        return problem_at(place, "config.value", text)
    return problem_at(
        place, "config.value", f"'{name}' takes {text}" if text.startswith(_TAKES) else f"'{name}': {text}"
    )


def _describe(node: Node) -> str:
    """Describe a value without revealing text from the environment or a file."""
    if node.masked is not None:
        return f"'{node.masked}'"
    match node.value:
        case str() as text:
            return repr(text if len(text) <= 60 else text[:57] + "...")
        case dict():
            return "a mapping"
        case list():
            return "a list" if node.value else "an empty list"
        case value:
            return "nothing" if value is None else json.dumps(value)
