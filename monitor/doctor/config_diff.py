"""Compare two configurations, and list where each value is written."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, TypeAlias
from zoneinfo import ZoneInfo

from monitor.config import Loaded
from monitor.config.project import Project
from monitor.config.yaml_nodes import Node, Place, text
from monitor.summaries.daemons import DaemonStates
from monitor.terminal.problem import ExitCode, Problem, Stop
from store import DaemonConfig

ChangeKind: TypeAlias = Literal["added", "removed", "changed"]
_STATES: Final = {"running": "runs", "silent": "gives no sign of life", "stopped": "has stopped"}
_SIGNS: Final[Mapping[ChangeKind, str]] = {"added": "+", "removed": "-", "changed": "~"}


@dataclass(frozen=True, slots=True)
class ConfigChange:
    """A difference at a path, such as `tables.orders.checks.not-null.max_ratio`.

    `before` and `after` are what is written there, None where nothing is.
    """

    kind: ChangeKind
    path: str
    before: Any
    after: Any

    def as_json(self) -> dict[str, Any]:
        """Return it in the published shape."""
        return asdict(self)

    def lines(self) -> Iterator[str]:
        """Yield it as text: `+` is added, `-` removed, `~` changed; sections are YAML below their place."""
        sign = _SIGNS[self.kind]
        if self.kind == "changed":
            yield f"{sign} {self.path}: {_text(self.before)} -> {_text(self.after)}"
        elif isinstance(value := self.after if self.kind == "added" else self.before, Mapping | list):
            yield f"{sign} {self.path}:"
            yield from (f"{sign}   {line}" for line in _yaml(value))
        else:
            yield f"{sign} {self.path}: {_text(value)}"


_ABSENT: Final = object()
_DEPTH_OF_CHECKS: Final = 3
"""tables, the name of one, checks"""


def config_changes(before: Any, after: Any) -> list[ConfigChange]:
    """Return the differences of two configurations as plain data, in the order of the second, then of the first.

    Tables are compared by name, checks by their id, entries of a section by key, other lists as a whole: their order
    is part of them, as is that of the patterns of owners. A comment, the order of tables and the file in which
    something stands are no difference.
    """
    old, new = (values.get("ownership") or {} for values in (before, after))
    changes = list(_changes((), before, after))
    if [pattern for pattern in old if pattern in new] != [pattern for pattern in new if pattern in old]:
        changes.append(ConfigChange("changed", "ownership", list(old), list(new)))
    return changes


def _changes(path: tuple[str, ...], before: Any, after: Any) -> Iterator[ConfigChange]:
    if before == after:
        return
    old, new = _by_key(path, before), _by_key(path, after)
    if old is None or new is None:
        yield _change(path, before, after)
        return
    for key in dict.fromkeys([*new, *old]):
        one, other = old.get(key, _ABSENT), new.get(key, _ABSENT)
        if one is _ABSENT or other is _ABSENT:
            yield _change((*path, key), one, other)
        else:
            yield from _changes((*path, key), one, other)


def _change(path: tuple[str, ...], before: Any, after: Any) -> ConfigChange:
    kind: ChangeKind = "added" if before is _ABSENT else "removed" if after is _ABSENT else "changed"
    return ConfigChange(kind, ".".join(path), *(None if value is _ABSENT else value for value in (before, after)))


def _by_key(path: tuple[str, ...], value: Any) -> Mapping[str, Any] | None:
    """Return the entries of a section, tables by name and checks by id; None for what is compared as a whole."""
    if isinstance(value, Mapping):
        return value
    if path == ("tables",):
        return {str(table["name"]): table for table in value}
    if len(path) == _DEPTH_OF_CHECKS and path[0] == "tables" and path[-1] == "checks":
        return {str(check.get("id") or check["type"].replace("_", "-")): check for check in value}
    return None


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _yaml(value: Any) -> list[str]:
    import yaml

    text: str = yaml.safe_dump(value, allow_unicode=True, sort_keys=False, width=110)
    return text.splitlines()


def running_config(project: Project) -> tuple[str, DaemonConfig]:
    """Return the configuration of the daemon that started last among those that run, else among all, and whose it is.

    Raises:
        Stop: no daemon has run lately, or the store cannot be read.
    """
    with project.open_store(existing=True) as store, store.reading() as tx:
        daemon_states = DaemonStates.of(tx, project.clock.now(), None)
        daemons = sorted(tx.daemons.records(), key=lambda daemon: daemon_states.word(daemon) != "running")
        for daemon in daemons:
            config = tx.daemons.config(daemon.id)
            if config is not None:
                state = _STATES[daemon_states.word(daemon)]
                at = daemon.config_loaded_at.astimezone(ZoneInfo(project.config.timezone))
                place = f"the daemon on {daemon.host} (process {daemon.pid}, which {state})"
                return f"what {place} took over on {at:%Y-%m-%d %H:%M}", config
    raise Stop(
        ExitCode.NOT_EVALUATED,
        Problem(
            "config.no_daemon",
            "no daemon has run with this store in the last week",
            hint="start 'tablewatch run', or name a file to compare with",
        ),
    )


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
