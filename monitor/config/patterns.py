"""One entry of `tables` for many: `match: "sales.*"` becomes an entry for each table that its source is known to have.

    catalogue ─> suggest/expansion ─> tablewatch.d/tables.json ─> expand ─> the tree that everything else reads

No source is asked here. What is known of it stands in a file of Tablewatch beside the configuration, one line for each
table, so that commands which only read the store need no connection, and a review sees which tables there are. A table
that is known stays: one that vanished is marked `gone`, and its checks say what they say of a missing table.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self

from annotated_types import MinLen
from pydantic import Field, TypeAdapter, ValidationError

from monitor.config.messages import problem_at, word_errors
from monitor.config.model import SharedSettings
from monitor.config.page_changes import changes_file
from monitor.config.scalars import LateSection
from monitor.config.yaml_nodes import Node, Place, child, entries, items, plain_data, text
from monitor.terminal.problem import Problem

if TYPE_CHECKING:
    from monitor.config.team_files import TeamFolder

_OF_TABLES: Final = frozenset({"source", "checks", *SharedSettings.model_fields})
"""Keys of a pattern that are those of each of its tables."""
_RARE: Final = {
    "limits": {"learned": {"false_alarms": "1 per 1w", "pooled": True}},
    "warn": {"limits": {"learned": {"false_alarms": "2 per 1d", "pooled": True}}},
}
FREE_CHECKS: Final[Sequence[dict[str, Any]]] = (
    {"id": "rows", "type": "volume", "count": "catalogue", **_RARE},
    {"id": "last-write", "type": "freshness", "time": "last_write", **_RARE},
    {"id": "columns", "type": "schema", "on_change": "notify", "severity": "warning"},
)
"""What `monitors: free` stands for: one false incident a week in the whole project, and two lines a day in a digest."""
_COLUMN_KEYS: Final = ("column", "columns", "time_column")
"""Parameters of checks that name columns of their own table."""


class MatchedNames(LateSection):
    """Which tables of a source a pattern stands for."""

    match: Annotated[str, MinLen(1)] = Field(
        description="Names in the source, such as 'sales.*'; of patterns that match a table the first one counts."
    )
    exclude: tuple[str, ...] = Field((), description="Patterns of names that do not belong to it.")
    source: str = Field(description="One of `sources`.")
    suggest: Literal["sure"] | None = Field(
        None, description="Add the checks that `tablewatch suggest` calls sure, found once when a table joins."
    )
    monitors: Literal["free"] | None = Field(
        None, description="Watch rows, last write and columns by the catalogue, without reading a row."
    )


class TablePattern(SharedSettings, MatchedNames):
    """Tables of a source by pattern, each with these settings. A table with an entry of its own is not among them."""

    checks: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class ListedTable:
    """A table that a source was seen to have.

    `name`: in the configuration. `schema`: where it lies, if its name does not say so. `columns`: all that it ever had;
    None where they are not known. `joined`, `gone`: when it was first seen, and first missed. `checks`: those that
    were suggested; None before.
    """

    name: str
    joined: str
    schema: str | None = None
    columns: tuple[str, ...] | None = None
    gone: str | None = None
    checks: tuple[dict[str, Any], ...] | None = None


KnownTables = dict[str, dict[str, ListedTable]]
"""By source, and by name in the source."""
_KNOWN: Final = TypeAdapter(KnownTables)


@dataclass(frozen=True, slots=True)
class PatternEntry:
    """An entry with `match`, as it was read; `team`: in whose files it stands."""

    node: Node
    match: str
    source: str
    exclude: tuple[str, ...]
    team: "TeamFolder | None" = None

    @classmethod
    def of(cls, node: Node, team: "TeamFolder | None") -> Self | None:
        """Return the pattern of an entry; None of one that is not complete, which is an error of its own."""
        match, source = text(node, "match"), text(node, "source")
        exclude = tuple(str(item.value) for item in items(child(node, "exclude")))
        return None if match is None or source is None else cls(node, match, source, exclude, team)

    @property
    def free_checks(self) -> Sequence[Node]:
        """Return the checks of each of its tables that read no row, by `monitors: free`."""
        if child(self.node, "monitors") is None:
            return ()
        return [_node(check, self.node.place) for check in FREE_CHECKS]

    @property
    def suggests(self) -> bool:
        """Check whether suggested checks are added to its tables."""
        return child(self.node, "suggest") is not None

    def takes(self, relation: str, schema: str | None) -> bool:
        """Check whether a table of its source is one of its tables, unless it has an entry of its own."""
        names = (relation,) if schema is None else (relation, f"{schema}.{relation}")
        if self.team is not None and not self.team.may_define(relation):
            return False
        return any(fnmatchcase(name, self.match) for name in names) and not any(
            fnmatchcase(name, word) for name in names for word in self.exclude
        )


@dataclass(frozen=True, slots=True)
class NotApplied:
    """A check of a pattern that a table does not get, since it never had a column which the check names."""

    table: str
    check: str
    column: str


@dataclass(slots=True)
class Expansion:
    """What the patterns of a configuration stand for.

    `written`: the tree before. `names`: the tables of each pattern, in its order. `gone`: those that their source does
    not have now, by name, and since when.
    """

    file: Path
    patterns: Sequence[PatternEntry]
    written: Node
    known: KnownTables = field(default_factory=dict)
    names: list[list[str]] = field(default_factory=list)
    gone: dict[str, str] = field(default_factory=dict)
    not_applied: list[NotApplied] = field(default_factory=list)

    @property
    def tables(self) -> Mapping[str, str]:
        """Return the pattern of each table that one stands for."""
        return {name: item.match for item, names in zip(self.patterns, self.names, strict=True) for name in names}

    def may_take(self, table: str) -> bool:
        """Check whether a table may be one of a source whose tables are not known."""
        unknown = [pattern for pattern in self.patterns if pattern.source not in self.known]
        return any(pattern.takes(table.removeprefix(f"{pattern.source}."), None) for pattern in unknown)

    def notes(self) -> Iterator[Problem]:
        """Yield patterns without a table, and checks that none of the tables of their pattern gets."""
        skipped = {(item.table, item.check) for item in self.not_applied}
        for pattern, names in zip(self.patterns, self.names, strict=True):
            if not names:
                message = f"'{pattern.match}' matches no table that source '{pattern.source}' is known to have"
                hint = "'tablewatch table refresh' reads its catalogue and lists what is there"
                yield problem_at(pattern.node.place, "config.pattern", message, hint)
            for node in items(child(pattern.node, "checks")) if names else ():
                if all((name, label_of(node)) in skipped for name in names):
                    columns = ", ".join(_columns(node))
                    message = f"no table of '{pattern.match}' has the columns of check '{label_of(node)}': {columns}"
                    yield problem_at(node.place, "config.pattern", message, "correct the name, or remove the check")


def known_file(path: Path) -> Path:
    """Return the file with the tables that sources are known to have, of a configuration, a file or a folder."""
    return changes_file(path).with_name("tables.json")


def read_known(content: str) -> KnownTables:
    """Return what such a file says.

    Raises:
        ValueError: it is none.
    """
    try:
        return _KNOWN.validate_json(content)
    except ValidationError:
        raise ValueError("this is no list of tables that Tablewatch wrote") from None


def dump_known(known: KnownTables) -> str:
    """Return the text of such a file, with a line for each table."""
    sources = []
    for source, tables in sorted(known.items()):
        lines = (f"{_json(relation)}: {_json(_fields(tables[relation]))}" for relation in sorted(tables))
        sources.append(f"{_json(source)}: {{\n" + ",\n".join(lines) + "\n}")
    return "{\n" + ",\n".join(sources) + "\n}\n"


def _fields(table: ListedTable) -> Mapping[str, Any]:
    return {name: value for name, value in asdict(table).items() if value is not None}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def expand(tree: Node, expansion: Expansion, problems: list[Problem]) -> Node:
    """Return a tree with the tables of its patterns in their places."""
    taken = own_relations(tree)
    tables: list[Node] = []
    patterns = {id(pattern.node): pattern for pattern in expansion.patterns}
    for item in items(child(tree, "tables")):
        pattern = patterns.get(id(item))
        if pattern is None:
            tables += [item] if "match" not in entries(item) else []
            continue
        names: list[str] = []
        free = pattern.free_checks
        for relation, table in expansion.known.get(pattern.source, {}).items():
            if pattern.takes(relation, table.schema) and not is_taken(taken, pattern.source, relation, table.schema):
                taken.add((pattern.source, relation))
                names.append(table.name)
                tables.append(_entry(pattern, relation, table, expansion, free))
        expansion.names.append(names)
    problems += _faults(tree)
    section = replace(entries(tree)["tables"], value=tables)
    return replace(tree, value={**entries(tree), "tables": section})


def own_entries(tree: Node) -> Sequence[Node]:
    """Return the entries of `tables` that are of one table each."""
    return [item for item in items(child(tree, "tables")) if "match" not in entries(item)]


def own_relations(tree: Node) -> set[tuple[str | None, str | None]]:
    """Return the source and the name there of each table with an entry of its own."""
    return {(text(item, "source"), text(item, "table") or text(item, "name")) for item in own_entries(tree)}


def is_taken(taken: Collection[tuple[str | None, str | None]], source: str, relation: str, schema: str | None) -> bool:
    """Check whether a table has an entry already, also under its full name."""
    return (source, relation) in taken or (schema is not None and (source, f"{schema}.{relation}") in taken)


def _faults(tree: Node) -> Iterator[Problem]:
    """Find what is wrong with patterns, whatever they stand for; their checks are built beside those of tables."""
    for item in items(child(tree, "tables")):
        if "match" in entries(item):
            plain = plain_data(item)
            try:
                TablePattern.model_validate(plain)
            except ValidationError as error:
                yield from word_errors(error.errors(include_url=False, include_input=False), item, TablePattern)


def _entry(
    pattern: PatternEntry, relation: str, table: ListedTable, expansion: Expansion, free: Sequence[Node]
) -> Node:
    """Return the entry of a table that a pattern stands for; what it says stands where the pattern does."""
    place = pattern.node.place
    value: dict[str, Node] = {"name": Node(place, table.name)}
    if relation != table.name:
        value["table"] = Node(place, relation)
    value |= {key: node for key, node in entries(pattern.node).items() if key in _OF_TABLES}
    has = None if table.columns is None else {column.casefold() for column in table.columns}
    if "loaded_at" in value and has is not None and str(value["loaded_at"].value).casefold() not in has:
        expansion.not_applied.append(NotApplied(table.name, "loaded_at", str(value.pop("loaded_at").value)))
    checks, kinds = [], set()
    for node in items(child(pattern.node, "checks")):
        kinds.add(text(node, "type"))
        missing = [column for column in _columns(node) if has is not None and column.casefold() not in has]
        if missing:
            expansion.not_applied.append(NotApplied(table.name, label_of(node), missing[0]))
        else:
            checks.append(node)
    checks += [node for node in free if text(node, "type") not in kinds]
    kinds |= {text(node, "type") for node in free}
    if pattern.suggests:
        checks += [_node(check, place) for check in table.checks or () if check.get("type") not in kinds]
    if checks or "checks" in value:
        value["checks"] = Node(place, checks)
    if table.gone is not None:
        expansion.gone[table.name] = table.gone
    return Node(place, value, keys={**dict.fromkeys(value, place), **pattern.node.keys})


def label_of(check: Node) -> str:
    """Return the name of a check within its table, as it is written."""
    return text(check, "id") or (text(check, "type") or "check").replace("_", "-")


def _columns(check: Node) -> Sequence[str]:
    """Return the columns that a check needs; one of type schema is about those that are missing, too."""
    if text(check, "type") == "schema":
        return []
    by = child(check, "by")
    nodes = [node for key in _COLUMN_KEYS if (node := child(check, key)) is not None]
    nodes += [node for node in (child(by, "columns"), by) if node is not None and items(node)]
    return [inner.value for node in nodes for inner in items(node) or [node] if isinstance(inner.value, str)]


def _node(value: Any, place: Place) -> Node:
    if isinstance(value, dict):
        return Node(place, {key: _node(inner, place) for key, inner in value.items()}, dict.fromkeys(value, place))
    return Node(place, [_node(inner, place) for inner in value] if isinstance(value, list | tuple) else value)
