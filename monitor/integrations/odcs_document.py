"""Read a document of the Open Data Contract Standard key by key, and name with its line what is not taken."""

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from monitor.config.yaml_nodes import Node, Unreadable, child, items, plain_data, read_yaml
from monitor.integrations.results import IgnoredItem
from monitor.terminal.input_bounds import read_text
from monitor.terminal.problem import Problem, not_read

_DESCRIPTIVE: Final = frozenset(
    {
        "apiVersion", "authoritativeDefinitions", "businessImpact", "businessName", "classification", "context",
        "contractCreatedTs", "criticalDataElement", "customProperties", "dataGranularityDescription", "dataProduct",
        "deprecated", "description", "dimension", "driver", "encryptedName", "examples", "id", "kind", "method", "name",
        "partitionKeyPosition", "partitioned", "price", "primaryKeyPosition", "roles", "semanticType", "status",
        "support", "synonyms", "tags", "tenant", "transformDescription", "transformLogic", "transformSourceObjects",
        "version",
    }
)  # fmt: skip
"""Keys that describe and demand nothing of data: they are left out without a word."""
_VERSION: Final = re.compile(r"v3\.\d+\.\d+")
_DURATION: Final = re.compile(
    r"P(?=\d|T\d)(?:(?P<weeks>\d+)W)?(?:(?P<days>\d+)D)?"
    r"(?:T(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+)S)?)?"
)
_UNITS: Final = {
    **dict.fromkeys(("s", "sec", "second", "seconds"), timedelta(seconds=1)),
    **dict.fromkeys(("m", "min", "minute", "minutes"), timedelta(minutes=1)),
    **dict.fromkeys(("h", "hr", "hour", "hours"), timedelta(hours=1)),
    **dict.fromkeys(("d", "day", "days"), timedelta(days=1)),
    **dict.fromkeys(("w", "week", "weeks"), timedelta(weeks=1)),
    **dict.fromkeys(("y", "yr", "year", "years"), timedelta(days=365)),
}
_MOST_BYTES: Final = 4 * 1024 * 1024
"""What a contract may hold; a place is remembered for each of its values."""
_LONGEST: Final = timedelta(days=36_500)


class UnreadableContract(Exception):
    """A file is not a usable contract."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


class ContractPart:
    """A mapping of the document; keys that were never read are reported when it is closed."""

    def __init__(self, node: Node, path: str, not_taken: list[IgnoredItem]) -> None:
        self.node = node
        self.path = path
        self._not_taken = not_taken
        self._asked: set[str] = set()

    def plain(self, key: str) -> Any:
        """Return the plain value of a key; None without it. Numbers are exact ints or plain floats."""
        self._asked.add(key)
        node = child(self.node, key)
        return None if node is None else _plain(plain_data(node))

    @property
    def data(self) -> dict[str, Any]:
        """Return all of it as plain data."""
        values: dict[str, Any] = _plain(plain_data(self.node))
        return values

    def text(self, key: str) -> str | None:
        """Return the text of a key without blanks around it; None for none, and an empty one."""
        value = self.plain(key)
        if value is not None and not isinstance(value, str):
            self.refuse("expected a text", key)
        return (value.strip() or None) if isinstance(value, str) else None

    def flag(self, key: str) -> bool:
        """Check whether a key is true."""
        value = self.plain(key)
        if value is not None and not isinstance(value, bool):
            self.refuse("expected true or false", key)
        return value is True

    def part(self, key: str) -> "ContractPart | None":
        """Return the mapping of a key."""
        self._asked.add(key)
        node = child(self.node, key)
        if node is None:
            return None
        if not isinstance(node.value, dict):
            self.refuse("expected a mapping", key)
            return None
        return ContractPart(node, self._below(key), self._not_taken)

    def parts(self, key: str) -> Iterator["ContractPart"]:
        """Yield the mappings of a list, each closed when the next is asked for."""
        self._asked.add(key)
        node = child(self.node, key)
        if node is not None and not isinstance(node.value, list):
            self.refuse("expected a list", key)
        for number, item in enumerate(items(node)):
            name = child(item, "name") or child(item, "property") or child(item, "server")
            label = name.value if name is not None and isinstance(name.value, str) else number
            part = ContractPart(item, f"{self._below(key)}[{label}]", self._not_taken)
            if not isinstance(item.value, dict):
                part.refuse("expected a mapping")
                continue
            yield part
            part.close()

    def refuse(self, reason: str, key: str | None = None) -> None:
        """Report the part, or one of its keys, as not taken."""
        line = self.node.place.line if key is None else self.node.keys.get(key, self.node.place).line
        self._asked.add(key or "")
        path = self.path if key is None else self._below(key)
        self._not_taken.append(IgnoredItem(f"line {line}: {path}", reason))

    def skip(self) -> None:
        """Ask for every key: the whole part was taken, or refused."""
        self._asked |= self.node.value.keys() if isinstance(self.node.value, dict) else set()

    def close(self) -> None:
        """Report the keys that were never read."""
        if isinstance(self.node.value, dict):
            for key in self.node.value:
                if key not in self._asked and key not in _DESCRIPTIVE:
                    self.refuse("no check or setting is made of this key", key)

    def _below(self, key: str) -> str:
        return f"{self.path}.{key}" if self.path else key


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return float(value) if isinstance(value, float) else value


def read_document(path: Path, not_taken: list[IgnoredItem]) -> ContractPart:
    """Return the document that a file holds.

    Raises:
        UnreadableContract: it cannot be read, or is no contract of ODCS 3.
    """
    try:
        tree, problems = read_yaml(read_text(path, most=_MOST_BYTES), str(path))
    except OSError as error:
        raise UnreadableContract(not_read("contract.not_read", path, error)) from None
    except UnicodeDecodeError:
        raise UnreadableContract(Problem("contract.not_read", f"{path} is not UTF-8 text")) from None
    except Unreadable as error:
        raise UnreadableContract(error.problem) from None
    if problems:
        raise UnreadableContract(problems[0])
    document = ContractPart(tree, "", not_taken)
    if not isinstance(tree.value, dict) or document.plain("kind") != "DataContract":
        message = "no data contract: expected the key 'kind: DataContract'"
        raise UnreadableContract(Problem("contract.not_contract", message, str(path)))
    version = document.plain("apiVersion")
    if not isinstance(version, str) or not _VERSION.fullmatch(version):
        message = "the contract is of another version; expected 'apiVersion: v3.1.0', or another v3"
        raise UnreadableContract(Problem("contract.version", message, str(path)))
    return document


def length_of(value: Any, unit: Any) -> timedelta | None:
    """Return a length of time: a number with its unit (days by default), or one of ISO 8601 such as PT4H."""
    if isinstance(value, str) and (match := _DURATION.fullmatch(value.strip().upper())):
        return _bounded({name: int(text) for name, text in match.groupdict().items() if text})
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    unit_length = _UNITS.get(str(unit or "d").strip().casefold())
    if isinstance(value, bool) or unit_length is None or not 0 < number <= _LONGEST / unit_length:
        return None
    return number * unit_length


def _bounded(parts: dict[str, int]) -> timedelta | None:
    try:
        length = timedelta(**parts)
    except OverflowError:
        return None
    return length if timedelta() < length <= _LONGEST else None
