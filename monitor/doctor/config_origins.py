"""Where each value of the configuration was written: its file, line and column, and the team whose file that is."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from monitor.config import Loaded
from monitor.config.yaml_nodes import Node, Place, text


@dataclass(frozen=True, slots=True)
class ValueOrigin:
    """A value, masked where it is secret, by its path as in `config diff`; `team` is None where no team wrote it."""

    path: str
    value: Any
    file: str
    line: int
    column: int
    team: str | None

    def as_json(self) -> dict[str, Any]:
        """Return it in the published shape `tablewatch.config-origins/1`."""
        return asdict(self)

    def lines(self) -> Iterator[str]:
        """Yield it as text."""
        yield f"{self.path}: {json.dumps(self.value, ensure_ascii=False)}"
        yield f"    {self.file}:{self.line}:{self.column}" + (f" (team {self.team})" if self.team else "")


def origins_of(loaded: Loaded, *, redacted: bool) -> Iterator[ValueOrigin]:
    """Yield the origin of each value; a list of plain values is one value, at its first line."""
    values = loaded.values(redacted=redacted)
    for path, place, value in _leaves((), loaded.tree, values):
        team = loaded.texts.team_of.get(place.file)
        name = None if team is None else team.name
        yield ValueOrigin(".".join(path), value, place.file, place.line, place.column, name)


def _leaves(path: tuple[str, ...], node: Node, value: Any) -> Iterator[tuple[tuple[str, ...], Place, Any]]:
    if isinstance(node.value, dict) and node.value:
        for key, inner in node.value.items():
            yield from _leaves((*path, key), inner, value[key])
    elif isinstance(node.value, list) and any(isinstance(item.value, dict | list) for item in node.value):
        for at, (inner, item) in enumerate(zip(node.value, value, strict=True)):
            yield from _leaves((*path, _name_of(inner, at)), inner, item)
    else:
        yield path, node.place, value


def _name_of(node: Node, at: int) -> str:
    """Return how an entry of a list is called: a table by its name, a check by its id or type, another by number."""
    kind = text(node, "type")
    return text(node, "name") or text(node, "id") or (kind.replace("_", "-") if kind else str(at))
