"""Remove references to an absent team, so that it does not block other teams.

A table that nothing defines is an error otherwise, so that one broken file at a start would take away each table that
is downstream of the team's, or everything, where the main file names one.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Final, TypeAlias

from monitor.config.team_files import TeamFolder
from monitor.config.teams_model import fits
from monitor.config.yaml_nodes import Node, child, entries, items, text

_IsGone: TypeAlias = Callable[[str], bool]

_TABLES: Final = (
    "tables * upstream? *",
    "tables * upstream_columns? =",
    "maintenance? * tables *",
    "contracts? * tables *",
    "releases? * table",
    "alerts routes? * match table",
    "budgets? =",
    "cost tables? =",
    "cost history * tables? =",
)
"""Where names of tables stand. `*`: each entry; `=`: the keys; what loses its last entry goes, up to a `?`."""
_ROTAS: Final = ("alerts channels? * on_call people *", "alerts channels? * on_call fallback")
"""Where channels stand in other channels: these go with the last of their people, and with their fallback."""
_CHANNELS: Final = (
    "owners * channel?",
    "alerts operators? *",
    "alerts routes? * to *",
    "report * to? *",
    *(f"report * {parts}? * to? *" for parts in ("domains", "owners", "products")),
)


def without_teams(tree: Node, teams: Sequence[TeamFolder]) -> Node:
    """Return a tree without the references to tables and channels that teams may define, and that nothing defines."""
    tables = {text(table, "name") for table in items(child(tree, "tables"))}
    channels = _channels(tree)
    tiers = {
        *entries(child(child(tree, "cost"), "tiers")),
        *(text(item, "tier") for item in items(child(tree, "tables"))),
    }

    def is_table_gone(name: str) -> bool:
        return name not in tables and any(team.may_define(name) for team in teams)

    def is_channel_gone(name: str) -> bool:
        return name not in channels and any(fits(name, team.grants.channels) for team in teams)

    def is_rota_gone(name: str) -> bool:
        return is_channel_gone(name) or (name in channels and name not in _channels(tree))

    def selects_nothing(selector: str) -> bool:
        field, _, pattern = selector.rpartition(":")
        names = {"": tables, "tier": tiers}.get(field)
        return names is not None and not any(fnmatchcase(name, pattern) for name in names if name is not None)

    rules = [
        (_TABLES, is_table_gone),
        (_ROTAS, is_channel_gone),
        (_CHANNELS, is_rota_gone),
        (("slo? =",), selects_nothing),
    ]
    for paths, is_gone in rules:
        for path in paths:
            tree = _without(tree, path.split(), is_gone) or tree
    return _without_products(tree)


def _channels(tree: Node) -> Mapping[str, Node]:
    return entries(child(child(tree, "alerts"), "channels"))


def _without_products(tree: Node) -> Node:
    """Return a tree without the words of products that choose no table, and the products that had no others.

    The routes of these products and the recipients of their reports go too. A product of which only words with `!` are
    left is one of these: it would be of all other tables.
    """
    section, tables = child(tree, "products"), items(child(tree, "tables"))

    def is_gone(word: str) -> bool:
        field, _, pattern = word.rpartition(":")
        names = [text(table, field or "name") for table in tables] if field in {"", "domain", "tier"} else [pattern]
        return not word.startswith("!") and not any(fnmatchcase(name, pattern) for name in names if name is not None)

    products = entries(section)
    removed = {
        name
        for name, product in products.items()
        if (words := [word for item in items(child(product, "tables")) if isinstance(word := item.value, str)])
        and all(word.startswith("!") or is_gone(word) for word in words)
        and any(is_gone(word) for word in words)
    }
    if section is not None:
        left = replace(section, value={name: product for name, product in products.items() if name not in removed})
        tree = replace(tree, value={**entries(tree), "products": left})
    tree = _without(tree, ["products", "*", "tables", "*"], is_gone) or tree
    tree = _without(tree, ["report", "*", "products?", "="], removed.__contains__) or tree
    return _without(tree, ["alerts", "routes?", "*", "match", "product"], removed.__contains__) or tree


def _without(node: Node, path: Sequence[str], is_gone: _IsGone) -> Node | None:
    """Return a node without the names at a path that are gone; None if nothing of it would be left."""
    if not path:
        return None if isinstance(node.value, str) and is_gone(node.value) else node
    step, *rest = path
    if step == "*" and isinstance(node.value, list):
        values = [value for item in node.value if (value := _without(item, rest, is_gone)) is not None]
        return replace(node, value=values) if values or not node.value else None
    if not isinstance(node.value, dict):
        return node
    if step in {"*", "="}:
        left = {
            key: value for key, item in node.value.items() if (value := _entry(key, item, path, is_gone)) is not None
        }
        return replace(node, value=left) if left or not node.value else None
    key = step.removesuffix("?")
    inner = node.value.get(key)
    value = None if inner is None else _without(inner, rest, is_gone)
    if inner is None or value is not None:
        return node if value is None else replace(node, value={**node.value, key: value})
    others = {name: item for name, item in node.value.items() if name != key}
    return replace(node, value=others) if step.endswith("?") else None


def _entry(key: str, node: Node, path: Sequence[str], is_gone: _IsGone) -> Node | None:
    if path[0] == "=":
        return None if is_gone(key) else node
    return _without(node, path[1:], is_gone)
