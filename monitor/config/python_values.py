"""Make the tree of a configuration from Python values: each node's place is the argument it came from."""

from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from math import isfinite
from pathlib import PurePath
from typing import Any

from checks.parameters.numbers import WrittenNumber
from monitor.config._errors import ConfigError
from monitor.config.yaml_nodes import Node, Place, Scalar
from monitor.terminal.problem import Problem


def node_of(value: Any, place: str) -> Node:
    """Return a value as a configuration file would have it; `place` names the argument, such as `checks[2].columns`.

    Dates and times become text, a length of time its seconds, a fraction its shortest decimal; a value of numpy becomes
    Python's own.

    Raises:
        ConfigError: there is nothing that it could be in a file.
    """
    if isinstance(value, Mapping):
        children = {str(key): node_of(item, f"{place}.{key}".lstrip(".")) for key, item in value.items()}
        return Node(_at(place), children, {key: child.place for key, child in children.items()})
    if isinstance(value, list | tuple | set | frozenset):
        return Node(_at(place), [node_of(item, f"{place}[{at}]") for at, item in enumerate(value)])
    return Node(_at(place), _scalar(value, place))


def _at(place: str) -> Place:
    return Place(place, 0, 0)


def _scalar(value: Any, place: str) -> Scalar:
    if isinstance(value, Enum):
        value = value.value
    if hasattr(value, "item") and type(value).__module__.partition(".")[0] == "numpy":
        value = value.item()
    match value:
        case None | bool() | int() | str() | WrittenNumber():
            return value
        case Decimal() | float() if isfinite(value):
            return WrittenNumber(str(value))
        case timedelta():
            seconds = value.total_seconds()
            return f"{int(seconds) if seconds.is_integer() else seconds}s"
        case date() | datetime() | time():
            return value.isoformat()
        case PurePath():
            return str(value)
    message = f"a value of type {type(value).__name__} cannot be configured"
    hint = "write a text, a number, true or false, a list or a mapping"
    raise ConfigError([Problem("config.value", message, place, hint=hint)])
