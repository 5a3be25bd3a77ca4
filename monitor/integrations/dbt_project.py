"""Propose tables, owners, lineage, consumers and checks from the manifest of a dbt project (manifest.json, v12).

https://docs.getdbt.com/reference/artifacts/manifest-json. Every data test becomes a check of type external; for
`unique`, `not_null`, `accepted_values` and `relationships` the check of our own that asks the same stands beside it as
a comment. Descriptions, owners (`meta.owner`, else the group's owner), tiers (`meta.tier`) and lineage are taken over.
Exposures become consumers of the tables that they depend on. Columns are traced through compiled SQL (`dbt_columns`).
"""

import graphlib
import hashlib
import re
from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from monitor.config import Config
from monitor.config.lineage import EVERY, Lineage
from monitor.integrations.dbt import SchemaVersion, UnreadableArtifact, read_json
from monitor.integrations.proposal import ProposedConfiguration, head_of, in_one_line, slug
from monitor.integrations.results import configured_checks
from monitor.terminal.output import count
from monitor.terminal.problem import Problem

if TYPE_CHECKING:
    from monitor.integrations.dbt_columns import ModelColumns

_MANIFEST: Final = "manifest.json"
_TABLES: Final = frozenset({"model", "seed", "snapshot", "source"})
_LONGEST_ID: Final = 80
_DIGEST: Final = 8
_DEEPEST: Final = 3
_NAMED: Final = 5
_LINEAGE: Final = ("upstream", "upstream_columns", "consumers")
_REF: Final = re.compile(r"ref\(\s*['\"](?P<name>[^'\"]+)['\"]\s*\)")


@dataclass(slots=True)
class _Test:
    """A data test or the freshness of a source; `equivalent`: the check that asks the same, None without one."""

    id: str
    reference: str
    severity: str | None = None
    column: str | None = None
    equivalent: dict[str, Any] | None = None


@dataclass(slots=True)
class _Node:
    """A table of the dbt project with its tests."""

    id: str
    name: str
    relation: str
    raw: Mapping[str, Any]
    tests: list[_Test] = field(default_factory=list)
    is_watched: bool = False
    """Whether it has tests, or is configured."""

    @property
    def meta(self) -> Mapping[str, Any]:
        return {**_of(self.raw, "meta"), **_of(_of(self.raw, "config"), "meta")}

    @property
    def owners(self) -> Sequence[Mapping[str, str]]:
        """Name and address of each owner in `meta.owner`: a text, a mapping, or a list of these."""
        named = self.meta.get("owner")
        return [entry for item in (named if isinstance(named, list) else [named]) if (entry := _owner_entry(item))]


def propose_configuration(target: Path, present: Config | None, *, source: str | None = None) -> ProposedConfiguration:
    """Return what the tests of a dbt project are in the configuration; without one, a whole configuration.

    Args:
        target: the target folder of a dbt project, or its manifest.
        present: the configuration that there is; what it has is left out.
        source: the configured source of the tables; needed where there are several.

    Raises:
        UnreadableArtifact: there is no manifest, or it cannot be read, or no source can be chosen.
    """
    path = target / _MANIFEST if target.is_dir() else target
    manifest = read_json(path)
    if not isinstance(manifest.get("nodes"), dict):
        raise UnreadableArtifact(Problem("dbt.not_artifact", "no manifest of dbt: no mapping 'nodes'", str(path)))
    catalog = path.with_name("catalog.json")
    project = _Project(manifest, read_json(catalog) if catalog.is_file() else {})
    name = _source_name(present, source)
    version = SchemaVersion.of(_of(manifest, "metadata").get("dbt_schema_version"))
    newer = None if version is None else version.newer
    tables, notes = project.tables(present), [newer] if newer else []
    lines = [*_head(manifest, name)] if present is None else []
    lines += project.owner_lines(tables, present)
    new = [node for node in tables if present is None or present.table(node.name) is None]
    if new:
        lines.append("tables:")
    for node in new:
        lines += project.table_lines(node, name)
        if len(node.owners) > 1:
            notes.append(f"table '{node.name}' has {len(node.owners)} owners; its first is taken")
    for node in (item for item in tables if item not in new):
        lines.append(f"# add to the checks of table {in_one_line(node.name)}:")
        lines += [f"# {line}" for line in _check_lines(node)]
        notes.append(f"table '{node.name}' is configured already: its checks are printed as comments")
    lines += [] if present is None else project.lineage_comments(present)
    notes[1 if newer else 0 : 0] = project.notes
    checks = sum(len(node.tests) for node in tables)
    if not checks:
        lines.append("# every test of the project is configured")
    return ProposedConfiguration("\n".join(lines) + "\n", len(tables), checks, notes)


def _source_name(present: Config | None, wanted: str | None) -> str:
    if present is None:
        return wanted or "warehouse"
    names = list(present.sources)
    if wanted is not None and wanted not in names:
        problem = Problem("dbt.source", f"source '{wanted}' is not configured", hint=f"known: {', '.join(names)}")
        raise UnreadableArtifact(problem)
    if wanted is None and len(names) > 1:
        hint = f"name one with --source: {', '.join(names)}"
        raise UnreadableArtifact(Problem("dbt.source", "several sources are configured", hint=hint))
    return wanted or names[0]


class _Project:
    """The tables and tests of a manifest."""

    def __init__(self, manifest: Mapping[str, Any], catalog: Mapping[str, Any]) -> None:
        self.notes: list[str] = []
        self._catalog = {**_mappings(catalog, "nodes"), **_mappings(catalog, "sources")}
        self._kind = str(_of(manifest, "metadata").get("adapter_type") or "")
        self._exposures = _mappings(manifest, "exposures")
        self._groups = _mappings(manifest, "groups")
        raw = {**_mappings(manifest, "nodes"), **_mappings(manifest, "sources")}
        self._parents = {name: _parents(node) for name, node in raw.items()}
        tables = {name: node for name, node in raw.items() if node.get("resource_type") in _TABLES}
        names = _table_names(tables)
        self._nodes = {name: _Node(name, names[name], _relation(node), node) for name, node in tables.items()}
        for name, node in raw.items():
            if node.get("resource_type") == "test":
                self._add_test(name, node)
        for table in self._nodes.values():
            if table.id.startswith("source.") and _has_freshness(table.raw):
                table.tests.append(_Test("source-freshness", table.id))

    def _add_test(self, name: str, test: Mapping[str, Any]) -> None:
        parents = [item for item in self._parents[name] if item in self._nodes]
        owner = test.get("attached_node") or (parents[0] if len(set(parents)) == 1 else None)
        if owner not in self._nodes:
            about = f"it reads {len(set(parents))} tables" if parents else "it reads no table"
            self.notes.append(f"test '{name}' is skipped: {about}; add it to a table by hand")
            return
        severity = str(_of(test, "config").get("severity", "error")).lower()
        column, kind = test.get("column_name"), _of(test, "test_metadata").get("name")
        proposed = _Test(
            _check_id(name, test),
            name,
            "warning" if severity == "warn" else None,
            column if isinstance(column, str) and kind != "unique" else None,
            self._equivalent_check(test),
        )
        self._nodes[owner].tests.append(proposed)

    def _equivalent_check(self, test: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the check that is equivalent to a generic test; None without one."""
        about = _of(test, "test_metadata")
        arguments, column = _of(about, "kwargs"), test.get("column_name")
        if about.get("namespace") or not isinstance(column, str):
            return None
        equivalent: dict[str, Any] | None = None
        match about.get("name"):
            case "unique":
                equivalent = {"type": "unique", "columns": [column]}
            case "not_null":
                equivalent = {"type": "not_null", "columns": [column]}
            case "accepted_values" if isinstance(arguments.get("values"), list):
                equivalent = {"type": "accepted_values", "column": column, "values": arguments["values"]}
            case "relationships":
                other = _REF.search(str(arguments.get("to")))
                pointed = None if other is None else self._by_name.get(other["name"])
                if pointed is not None and isinstance(arguments.get("field"), str):
                    target = f"{pointed}.{arguments['field']}"
                    equivalent = {"type": "foreign_key", "column": column, "references": target}
        where = _of(test, "config").get("where")
        if equivalent is not None and isinstance(where, str) and "{" not in where:
            equivalent["where"] = where
        return equivalent

    @cached_property
    def _by_name(self) -> Mapping[str, str]:
        nodes = [*self._nodes.values(), *(node for node in self._nodes.values() if _is_latest(node.raw))]
        return {str(node.raw.get("name")): node.name for node in nodes}

    def tables(self, present: Config | None) -> Sequence[_Node]:
        """Return the tables with tests that are not configured, in the order of their names."""
        configured = set() if present is None else {reference for _, reference in configured_checks(present, "dbt")}
        for node in self._nodes.values():
            node.is_watched = bool(node.tests) or (present is not None and present.table(node.name) is not None)
            node.tests = [test for test in node.tests if test.reference not in configured]
        return sorted((node for node in self._nodes.values() if node.tests), key=lambda node: node.name)

    def owner_lines(self, tables: Iterable[_Node], present: Config | None) -> Iterator[str]:
        """Yield the owners that are new."""
        known = set() if present is None else set(present.owners)
        owners = {name: entry for node in tables for name, entry in self._owner(node).items() if name not in known}
        if owners:
            yield "owners:"
        for name, entry in sorted(owners.items()):
            yield f"  {in_one_line(name)}: {in_one_line(entry)}"
        if owners:
            yield ""

    def _owner(self, node: _Node) -> Mapping[str, Mapping[str, str]]:
        """Return the owner of a table by name: of its `meta`, else of its group; nothing without one."""
        if node.owners:
            first = node.owners[0]
            return {slug(first.get("name") or first["email"].partition("@")[0]): first}
        group = node.raw.get("group")
        about = next((item for item in self._groups.values() if group is not None and item.get("name") == group), None)
        if about is None:
            return {}
        return {slug(str(group)): _owner_entry(_of(about, "owner"))}

    def table_lines(self, node: _Node, source: str) -> Iterator[str]:
        """Yield a table of the configuration."""
        values: dict[str, Any] = {"source": source}
        if node.relation != node.name:
            values["table"] = node.relation
        owner = next(iter(self._owner(node)), None)
        if owner is not None:
            values["owner"] = owner
        if isinstance(node.meta.get("tier"), str):
            values["tier"] = node.meta["tier"]
        if isinstance(node.raw.get("description"), str) and node.raw["description"].strip():
            values["description"] = " ".join(node.raw["description"].split())[:500]
        values |= self._lineage(node)
        yield f"  - name: {in_one_line(node.name)}"
        yield from (f"    {key}: {in_one_line(value)}" for key, value in values.items())
        yield "    checks:"
        yield from (f"    {line}" for line in _check_lines(node))

    def lineage_comments(self, present: Config) -> Iterator[str]:
        """Yield what the lineage and the consumers of configured tables are where their entries state other ones."""
        for node in sorted(self._nodes.values(), key=lambda item: item.name):
            table = present.table(node.name)
            if table is None:
                continue
            dumped = table.model_dump(mode="json", include=set(_LINEAGE), exclude_unset=True)
            known = [use if isinstance(use, str) else use["name"] for use in dumped.get("consumers", ())]
            for key, value in self._lineage(node).items():
                is_there = (
                    {use["name"] for use in value} <= set(known) if key == "consumers" else dumped.get(key) == value
                )
                if not is_there:
                    yield f"# of table {in_one_line(node.name)}: {in_one_line({key: value})[1:-1]}"

    def _lineage(self, node: _Node) -> Mapping[str, Any]:
        """Return what feeds a table, by columns where these are traced, and its consumers, by keys of the file."""
        way = self._way_to(self._parents[node.id], without=node.id)
        upstream = [self._nodes[name] for name in way if self._is_watched(name)]
        made = _columns_between(node.id, {node.id: self._parents[node.id], **way}, upstream, self._traced)
        consumers = [_consumer(about) for about in self._exposures.values() if node.id in self._read_by(about)]
        values = {"upstream": [item.name for item in upstream], "upstream_columns": made, "consumers": consumers}
        return {key: value for key, value in values.items() if value}

    def _is_watched(self, name: str) -> bool:
        return name in self._nodes and self._nodes[name].is_watched

    def _read_by(self, exposure: Mapping[str, Any]) -> Collection[str]:
        """Return the nearest tables that are watched of those that an exposure depends on."""
        return [name for name in self._way_to(_parents(exposure)) if self._is_watched(name)]

    def _way_to(self, parents: Iterable[str], *, without: str | None = None) -> Mapping[str, Sequence[str]]:
        """Return what feeds a table, up to the nearest that are watched, with what feeds each in turn."""
        way: dict[str, Sequence[str]] = {}
        waiting = deque(parents)
        while waiting:
            name = waiting.popleft()
            if name not in way and name != without and name in self._parents:
                way[name] = () if self._is_watched(name) else self._parents[name]
                waiting += way[name]
        return way

    @cached_property
    def _traced(self) -> "ModelColumns":
        from monitor.integrations.dbt_columns import trace_columns  # sqlglot takes a while

        try:
            order = list(graphlib.TopologicalSorter(self._parents).static_order())
        except graphlib.CycleError:
            order = list(self._parents)
        nodes = {name: self._nodes[name].raw for name in order if name in self._nodes}
        traced = trace_columns(nodes, self._parents, self._catalog, self._kind)
        if traced.untraced:
            names = ", ".join(sorted(self._nodes[name].name for name in traced.untraced)[:_NAMED])
            about = "run 'dbt docs generate' first, which compiles them and writes their columns to catalog.json"
            self.notes.append(f"columns of {count(len(traced.untraced), 'model')} not traced ({names}); {about}")
        return traced


def _columns_between(
    name: str, parents: Mapping[str, Sequence[str]], upstream: Sequence[_Node], traced: "ModelColumns"
) -> dict[str, dict[str, list[str]]]:
    """Return for tables that feed one, directly or through tables that are not watched, what each column is made of.

    What all columns are made of stands at `*`. Tables of which that is not known are left out.
    """
    if name not in traced.made:
        return {}
    edges = {table: traced.made[table] for table in parents if table in traced.made}
    lineage = Lineage({table: [*parents[table], *edges.get(table, ())] for table in parents}, edges)
    reach = {column: lineage.columns_above(name, frozenset({column})) for column in traced.columns[name]}
    made: dict[str, dict[str, list[str]]] = {}
    for node in upstream:
        known = [(column, above.get(node.id, frozenset())) for column, above in reach.items()]
        sources = {column: its for column, its in known if its is not None}
        if len(sources) == len(known):
            common = frozenset.intersection(*sources.values()) if len(sources) > 1 else frozenset()
            made[node.name] = {EVERY: sorted(common)} if common else {}
            made[node.name] |= {column: sorted(its - common) for column, its in sources.items() if its - common}
    return made


def _consumer(exposure: Mapping[str, Any]) -> Mapping[str, str]:
    """Return an exposure as a consumer: its label or name, what it is, who answers for it, where it is."""
    owner, url = _owner_entry(exposure.get("owner")), exposure.get("url")
    words = {
        "name": exposure.get("label") or exposure.get("name"),
        "type": exposure.get("type"),
        "owner": owner.get("name") or owner.get("email"),
        "url": url if isinstance(url, str) and re.fullmatch(r"https?://\S+", url) else None,
    }
    return {key: word for key, word in words.items() if isinstance(word, str) and word}


def _head(manifest: Mapping[str, Any], source: str) -> Iterator[str]:
    name = _of(manifest, "metadata").get("project_name")
    yield from head_of(name if isinstance(name, str) and name else "dbt", "tablewatch import dbt --config")
    yield "sources:"
    yield f"  {source}: {{external: true}}   # nothing is read; with `url:` instead, own checks can be added"
    yield ""


def _check_lines(node: _Node) -> Iterator[str]:
    for test in sorted(node.tests, key=lambda item: item.id):
        check: dict[str, Any] = {"type": "external", "origin": "dbt", "id": test.id, "reference": test.reference}
        if test.severity is not None:
            check["severity"] = test.severity
        if test.column is not None:
            check["columns"] = [test.column]
        yield f"  - {in_one_line(check)}"
        if test.equivalent is not None:
            yield f"  # the same as a check of our own: {in_one_line(test.equivalent)}"


def _mappings(of: Mapping[str, Any], key: str) -> dict[str, Mapping[str, Any]]:
    return {name: node for name, node in _of(of, key).items() if isinstance(node, dict)}


def _of(node: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = node.get(key)
    return value if isinstance(value, dict) else {}


def _parents(node: Mapping[str, Any]) -> tuple[str, ...]:
    names = _of(node, "depends_on").get("nodes")
    return tuple(name for name in names if isinstance(name, str)) if isinstance(names, list) else ()


def _relation(node: Mapping[str, Any]) -> str:
    name = node.get("alias") or node.get("identifier") or node.get("name")
    schema = node.get("schema")
    return f"{schema}.{name}" if isinstance(schema, str) and schema else str(name)


def _table_names(nodes: Mapping[str, Mapping[str, Any]]) -> Mapping[str, str]:
    """Return a name for each table: its own, where several have it with their source or schema, database, or id.

    One of several versions of a model has its alias, which dbt makes of name and version.
    """
    depth = dict.fromkeys(nodes, 0)
    while True:
        names = {key: _named(key, node, depth[key]) for key, node in nodes.items()}
        many = Counter(name.casefold() for name in names.values())
        shared = [key for key, name in names.items() if many[name.casefold()] > 1 and depth[key] < _DEEPEST]
        if not shared:
            return names
        for key in shared:
            depth[key] += 1


def _named(key: str, node: Mapping[str, Any], depth: int) -> str:
    name = str(node.get("name"))
    if node.get("version") is not None:
        name = str(node.get("alias") or f"{name}_v{node['version']}")
    schema = node.get("source_name") or node.get("schema")
    return (name, f"{schema}.{name}", f"{node.get('database')}.{schema}.{name}", key)[depth]


def _has_freshness(node: Mapping[str, Any]) -> bool:
    declared = {**_of(node, "freshness"), **_of(_of(node, "config"), "freshness")}
    return any(_of(declared, name).get("count") for name in ("warn_after", "error_after"))


def _check_id(reference: str, test: Mapping[str, Any]) -> str:
    """Return an id that is the test's name, shortened where it is too long, and unlike any other's."""
    name = re.sub("[^A-Za-z0-9_-]+", "-", str(test.get("name") or reference)).lstrip("-_") or "test"
    if len(name) <= _LONGEST_ID:
        return name
    digest = hashlib.sha256(reference.encode()).hexdigest()[:_DIGEST]
    return f"{name[: _LONGEST_ID - _DIGEST - 1]}-{digest}"


def _is_latest(node: Mapping[str, Any]) -> bool:
    """Check whether a `ref` without a version means this model."""
    return node.get("version") == node.get("latest_version")


def _owner_entry(owner: Any) -> dict[str, str]:
    """Return name and address of an owner, which is a text or a mapping; empty where it is neither."""
    if isinstance(owner, str) and owner.strip():
        return {"email": owner} if re.fullmatch("[^@ ]+@[^@ ]+", owner) else {"name": owner}
    if isinstance(owner, dict):
        return {key: owner[key] for key in ("name", "email") if isinstance(owner.get(key), str) and owner[key].strip()}
    return {}
