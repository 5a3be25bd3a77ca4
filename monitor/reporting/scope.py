"""What a report is about: everything, or the tables of one domain, owner or data product."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Self, TypeAlias

from checks import Message
from monitor.config import Config
from monitor.terminal.problem import ExitCode, Stop, unknown_name


class ScopeKind(StrEnum):
    """By what the tables of a report are chosen."""

    DOMAIN = "domain"
    OWNER = "owner"
    PRODUCT = "product"


ScopeTitles: TypeAlias = Mapping[ScopeKind, Mapping[str, str | None]]
"""Titles by kind and key; None where the key is the name to show."""
_TITLES: Final = {
    ScopeKind.DOMAIN: Message("{title} · {domain}"),
    ScopeKind.OWNER: Message("{title} · owner {owner}"),
    ScopeKind.PRODUCT: Message("{title} · data product {product}"),
}


@dataclass(frozen=True, slots=True)
class ReportScope:
    """The tables of a domain, an owner or a data product; `title` is the name to show, None where that is the key."""

    kind: ScopeKind
    key: str
    title: str | None
    tables: tuple[str, ...]

    @classmethod
    def of(cls, config: Config, kind: ScopeKind, key: str) -> Self:
        """Return a scope by its key in the configuration.

        Raises:
            Stop: it is not configured; the hint has the keys that are, and the nearest.
        """
        titles = scope_titles(config)[kind]
        if key not in titles:
            raise Stop(ExitCode.USAGE, unknown_name(kind, key, titles))
        if kind is ScopeKind.DOMAIN:
            tables = config.tables_in(key)
        elif kind is ScopeKind.OWNER:
            tables = tuple(table.name for table in config.tables if config.owner_of(table) == key)
        else:
            tables = config.product_tables[key]
        return cls(kind, key, titles[key], tables)

    def __str__(self) -> str:
        """Return how it is written in an address: `domain:sales`."""
        return f"{self.kind}:{self.key}"

    @property
    def name(self) -> str:
        """Return the name to show."""
        return self.title or self.key

    def titled(self, title: Message) -> Message:
        """Return the title of a report of this scope; `title` is that of its period."""
        return _TITLES[self.kind].given(title=title, **{self.kind.value: self.name})


def scope_titles(config: Config) -> ScopeTitles:
    """Return the titles of what is configured, in the order of the configuration."""
    return {
        ScopeKind.DOMAIN: {key: domain.title for key, domain in config.domains.items()},
        ScopeKind.OWNER: {key: owner.name and config.owner_names[key] for key, owner in config.owners.items()},
        ScopeKind.PRODUCT: {key: product.title for key, product in config.products.items()},
    }


def scope_as_json(scope: ReportScope | None) -> dict[str, Any]:
    """Return `domain`, `owner` and `product`: key and title of the one that a report is about, null for the others."""
    return {
        kind.value: {"key": scope.key, "title": scope.title} if scope is not None and scope.kind is kind else None
        for kind in ScopeKind
    }
