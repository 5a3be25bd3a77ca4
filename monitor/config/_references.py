"""Look whether every name that the configuration refers to exists in it.

These rules work on the tree as it was read, not on the model, so that they find their errors beside all others.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TypeAlias

from monitor.channels import KINDS
from monitor.config.answer_series import AnswerSeries
from monitor.config.checks import BuiltChecks
from monitor.config.messages import problem_at, suggest
from monitor.config.yaml_nodes import Node, child, entries, items, text
from monitor.terminal.problem import Problem


@dataclass(frozen=True, slots=True)
class Names:
    """The names that a configuration defines."""

    sources: Collection[str]
    domains: Collection[str]
    owners: Collection[str]
    channels: Collection[str]
    quiet_hours: Collection[str]
    tables: Collection[str]
    products: Collection[str]

    @classmethod
    def of(cls, tree: Node) -> "Names":
        """Read them from a tree."""
        alerts = child(tree, "alerts")
        return cls(
            sources=entries(child(tree, "sources")),
            domains=entries(child(tree, "domains")),
            owners=entries(child(tree, "owners")),
            channels=entries(child(alerts, "channels")),
            quiet_hours=entries(child(alerts, "quiet_hours")),
            tables=[name for table in items(child(tree, "tables")) if (name := text(table, "name")) is not None],
            products=entries(child(tree, "products")),
        )


def unknown_references(tree: Node) -> Iterator[Problem]:
    """Find names of sources, domains, owners, channels, quiet hours and tables that nothing defines."""
    names = Names.of(tree)
    yield from early_references(tree)
    for rule in (_channels, _alerts, _releases, _budgets, _contracts, _slo, _roles):
        yield from rule(tree, names)


def early_references(tree: Node) -> Iterator[Problem]:
    """Find those in the sections that every command reads: of tables, their owners, cost and maintenance."""
    names = Names.of(tree)
    for rule in (_tables, _ownership, _cost, _maintenance):
        yield from rule(tree, names)


def repeated_tables(tree: Node) -> Iterator[Problem]:
    """Find two tables of one name."""
    first: dict[str, Node] = {}
    for table in items(child(tree, "tables")):
        name = child(table, "name")
        if name is None or not isinstance(name.value, str):
            continue
        if name.value in first:
            other = first[name.value].place
            message = f"table '{name.value}' is given twice; first in {other.file}:{other.line}"
            hint = "merge its checks; for tables of the same name in two sources, rename one and set 'table:'"
            yield problem_at(name.place, "config.duplicate_table", message, hint)
        else:
            first[name.value] = name


def foreign_sources(tree: Node, built: Sequence[BuiltChecks]) -> Iterator[Problem]:
    """Yield checks that refer to a table of another source, which no engine can compare."""
    source_of = {text(table, "name"): text(table, "source") for table in items(child(tree, "tables"))}
    for built_checks in built:
        own = source_of.get(built_checks.table)
        for name in built_checks.check.refers_to:
            other = source_of.get(name, own)
            if other != own and not built_checks.check.compares_sources:
                at = _place_of_reference(built_checks.node, name)
                message = f"'{name}' is in source '{other}', but '{built_checks.table}' is in source '{own}'"
                yield problem_at(
                    at.place, "config.foreign_source", message, "all tables of a check must be in the same source"
                )


def checks_of_nothing(tree: Node, built: Sequence[BuiltChecks]) -> Iterator[Problem]:
    """Yield checks that read a table of an external source, which is never read."""
    external = {name for name, source in entries(child(tree, "sources")).items() if child(source, "external")}
    source_of = {text(table, "name"): text(table, "source") for table in items(child(tree, "tables"))}
    for built_checks in built:
        source, check = source_of.get(built_checks.table), built_checks.check
        for name in check.refers_to if check.compares_sources else ():
            other = source_of.get(name, name.partition(".")[0])
            if other in external:
                at = _place_of_reference(built_checks.node, name)
                message = f"source '{other}' is external, so that '{name}' cannot be read"
                yield problem_at(at.place, "config.external_source", message, "compare with a table that can be read")
        if source in external and check.results_every is None:
            message = f"source '{source}' is external, so that check '{check.name}' has nothing to read"
            hint = "give the source a 'url' or 'files', or make the check one of type external"
            yield problem_at(built_checks.node.place, "config.external_source", message, hint)


def outside_references(tree: Node, built: Sequence[BuiltChecks]) -> Iterator[Problem]:
    """Yield references to tables that are not configured; they are no errors, since the source may have them."""
    tables, sources = Names.of(tree).tables, entries(child(tree, "sources"))
    source_of = {text(table, "name"): text(table, "source") for table in items(child(tree, "tables"))}
    for built_checks in built:
        for name in built_checks.check.refers_to:
            source = name.partition(".")[0]
            if built_checks.check.compares_sources and source in sources and source != source_of[built_checks.table]:
                continue  # `source.table`
            if name not in tables:
                at = _place_of_reference(built_checks.node, name)
                message = f"table '{name}' is not configured; assumed to be in the source of '{built_checks.table}'"
                yield problem_at(at.place, "config.outside_table", message, suggest(name, tables, show=0))


def _place_of_reference(node: Node, name: str) -> Node:
    for value in entries(node).values():
        for current_node in (value, *items(value)):
            if isinstance(current_node.value, str) and (
                current_node.value == name or current_node.value.startswith(f"{name}.")
            ):
                return current_node
    return node


Rule: TypeAlias = Callable[[Node, Names], Iterator[Problem]]


def _tables(tree: Node, names: Names) -> Iterator[Problem]:
    yield from references_of(items(child(tree, "tables")), names)


def references_of(tables: Iterable[Node], names: Names) -> Iterator[Problem]:
    """Find names that entries of tables, or patterns of them, refer to and that nothing defines."""
    for table in tables:
        yield from _check_name(child(table, "source"), names.sources, "source", "sources")
        yield from _check_name(child(table, "domain"), names.domains, "domain", "domains")
        yield from _check_name(child(table, "owner"), names.owners, "owner", "owners")
        yield from _check_each(child(table, "upstream"), names.tables, "table", "tables")
        upstream = [name.value for name in items(child(table, "upstream")) if isinstance(name.value, str)]
        yield from _known_keys(child(table, "upstream_columns"), upstream, "upstream table", "upstream")


def _ownership(tree: Node, names: Names) -> Iterator[Problem]:
    for owner in entries(child(tree, "ownership")).values():
        yield from _check_name(owner, names.owners, "owner", "owners")
    for domain in entries(child(tree, "domains")).values():
        yield from _check_name(child(domain, "owner"), names.owners, "owner", "owners")


def _channels(tree: Node, names: Names) -> Iterator[Problem]:
    for owner in entries(child(tree, "owners")).values():
        yield from _check_name(child(owner, "channel"), names.channels, "channel", "alerts.channels")


def _alerts(tree: Node, names: Names) -> Iterator[Problem]:
    alerts = child(tree, "alerts")
    yield from _check_each(child(alerts, "operators"), names.channels, "channel", "alerts.channels")
    for route in items(child(alerts, "routes")):
        match = child(route, "match")
        yield from _check_name(child(match, "table"), names.tables, "table", "tables")
        yield from _check_name(child(match, "domain"), names.domains, "domain", "domains")
        yield from _check_name(child(match, "owner"), names.owners, "owner", "owners")
        yield from _check_name(child(match, "source"), names.sources, "source", "sources")
        yield from _check_name(child(match, "product"), names.products, "product", "products")
        yield from _check_each(child(route, "to"), names.channels, "channel", "alerts.channels")
        yield from _check_name(child(route, "quiet_hours"), names.quiet_hours, "quiet hours", "alerts.quiet_hours")
        yield from _only_single_incidents(route, entries(child(alerts, "channels")))
    for plan in entries(child(tree, "report")).values():
        yield from _check_each(child(plan, "to"), names.channels, "channel", "alerts.channels")
        for what, known in (("domain", names.domains), ("owner", names.owners), ("product", names.products)):
            parts = child(plan, f"{what}s")
            yield from _known_keys(parts, known, what, f"{what}s")
            for recipients in entries(parts).values():
                yield from _check_each(child(recipients, "to"), names.channels, "channel", "alerts.channels")
    channels = entries(child(alerts, "channels"))
    for channel in channels.values():
        rota = child(channel, "on_call")
        for to in (*entries(child(rota, "people")).values(), child(rota, "fallback")):
            yield from _check_name(to, names.channels, "channel", "alerts.channels")
            yield from _no_rota_or_item(to, channels)


def _no_rota_or_item(to: Node | None, channels: Mapping[str, Node]) -> Iterator[Problem]:
    """Find people of a rota whose channel is another rota, or shows each incident as one thing."""
    if to is None:
        return
    for kind in entries(channels.get(str(to.value))):
        if kind == "on_call" or (kind in KINDS and KINDS[kind].follows):
            message = f"channel '{to.value}' is of kind {kind}, which a person on call cannot have"
            yield problem_at(to.place, "config.value", message, "name a channel of kind apprise or webhook")


def _only_single_incidents(route: Node, channels: Mapping[str, Node]) -> Iterator[Problem]:
    """Find digests, and warnings that are no incidents, for channels that show each incident as one thing."""
    problems = []
    if child(route, "digest") is not None:
        problems.append(("so that it has no digest", "leave it to a route without 'digest'"))
    if child(child(route, "match"), "outcome") is not None:
        problems.append(("and a warning opens none", "leave it to a route without 'outcome: warn'"))
    for name in items(child(route, "to")) if problems else ():
        kinds = entries(channels.get(str(name.value)))
        kind = next((word for word in kinds if word in KINDS and KINDS[word].follows), None)
        for why, hint in problems if kind is not None else ():
            message = f"channel '{name.value}' shows each incident as one thing ({kind}), {why}"
            yield problem_at(name.place, "config.value", message, hint)


def _cost(tree: Node, names: Names) -> Iterator[Problem]:
    cost = child(tree, "cost")
    for rates in (cost, *items(child(cost, "history"))):
        yield from _known_keys(child(rates, "tables"), names.tables, "table", "tables")


def _roles(tree: Node, names: Names) -> Iterator[Problem]:
    for role in items(child(child(child(tree, "web"), "oidc"), "roles")):
        yield from _check_each(child(role, "owners"), names.owners, "owner", "owners")
        yield from _check_each(child(role, "domains"), names.domains, "domain", "domains")


def _releases(tree: Node, names: Names) -> Iterator[Problem]:
    for release in entries(child(tree, "releases")).values():
        yield from _check_name(child(release, "table"), names.tables, "table", "tables")
        yield from _check_each(child(release, "approvers"), names.owners, "owner", "owners")


def _budgets(tree: Node, names: Names) -> Iterator[Problem]:
    budgets = child(tree, "budgets")
    yield from _known_keys(budgets, names.tables, "table", "tables")
    yield from _one_budget_each(tree)
    for name, budget in entries(budgets).items():
        for statistic, node in entries(child(budget, "statistics")).items():
            slot_name = AnswerSeries(name, statistic).slot_name
            if slot_name in names.tables:
                message = f"table '{slot_name}' has the name reserved for the slots of this scheduled query"
                yield problem_at(node.place, "config.name_taken", message, "rename the scheduled query")


def _contracts(tree: Node, names: Names) -> Iterator[Problem]:
    for contract in entries(child(tree, "contracts")).values():
        yield from _check_each(child(contract, "tables"), names.tables, "table", "tables")
    for product in entries(child(tree, "products")).values():
        yield from _check_name(child(product, "owner"), names.owners, "owner", "owners")


def _slo(tree: Node, names: Names) -> Iterator[Problem]:
    """Find selectors of service levels that are about nothing."""
    section = child(tree, "slo")
    tiers = {
        *entries(child(child(tree, "cost"), "tiers")),
        *(text(table, "tier") for table in items(child(tree, "tables"))),
    }
    groups = {
        "tier": ("tier", "cost.tiers", [name for name in tiers if name is not None]),
        "domain": ("domain", "domains", names.domains),
        "owner": ("owner", "owners", names.owners),
        "": ("table", "tables", names.tables),
    }
    for selector in entries(section):
        place = section.keys[selector] if section is not None else tree.place
        field, _, pattern = selector.rpartition(":")
        if field not in groups:
            words = "write tier:NAME, domain:NAME, owner:NAME or the name of a table; * stands for any characters"
            yield problem_at(place, "config.value", f"'{selector}' selects no tables", words)
        elif not any(fnmatchcase(name, pattern) for name in groups[field][2]):
            what, home, names_there = groups[field]
            message, hint = _unknown(what, pattern, home, names_there)
            yield problem_at(place, "config.unknown_reference", message, hint)


def _one_budget_each(tree: Node) -> Iterator[Problem]:
    """Find two budgets of the same table under two names: each would be spent as if the other were not."""
    budgets = child(tree, "budgets")
    first: dict[tuple[str | None, str | None], str] = {}
    for table in items(child(tree, "tables")):
        name = text(table, "name")
        if budgets is None or name not in entries(budgets):
            continue
        place = text(table, "source"), text(table, "table") or name
        other = first.setdefault(place, str(name))
        if other != name:
            message = f"'{name}' and '{other}' are the same table, which has one budget"
            hint = f"use '{other}', and remove this budget"
            yield problem_at(budgets.keys[str(name)], "config.two_budgets", message, hint)


def _maintenance(tree: Node, names: Names) -> Iterator[Problem]:
    for window in items(child(tree, "maintenance")):
        yield from _check_each(child(window, "tables"), names.tables, "table", "tables")
        yield from _check_each(child(window, "domains"), names.domains, "domain", "domains")


def _check_name(node: Node | None, names: Collection[str], what: str, section: str) -> Iterator[Problem]:
    if node is not None and isinstance(node.value, str) and node.value not in names:
        message, hint = _unknown(what, node.masked or node.value, section, names)
        yield problem_at(node.place, "config.unknown_reference", message, hint)


def _check_each(node: Node | None, names: Collection[str], what: str, section: str) -> Iterator[Problem]:
    for item in items(node):
        yield from _check_name(item, names, what, section)


def _known_keys(node: Node | None, names: Collection[str], what: str, section: str) -> Iterator[Problem]:
    for name in entries(node):
        if node is not None and name not in names:
            message, hint = _unknown(what, name, section, names)
            yield problem_at(node.keys[name], "config.unknown_reference", message, hint)


def _unknown(what: str, name: str, section: str, names: Collection[str]) -> tuple[str, str | None]:
    hint = suggest(name, names) or f"add it under '{section}'"
    return f"unknown {what} '{name}'", hint
