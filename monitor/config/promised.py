"""What is promised of tables: the entries of `contracts`, what `slo` promises of each table, and products of the whole.

Of several keys of `slo` that are about a table the most specific counts, for each promise alone.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Final

from monitor.config.alerts_model import Slo
from monitor.config.contracts_model import Contract
from monitor.config.model import Config, Table

SLO: Final = "slo:"
"""Begins the names of what is promised by `slo`, one for each table; no contract has such a name."""
PRODUCT: Final = "product:"
"""Begins the names of what is promised of products."""
_FIELDS: Final = ("tier", "domain", "owner", "")
"""Fields of selectors, from the most general to the most specific, which is the name of a table."""


@dataclass(frozen=True, slots=True)
class PromisedContract:
    """A contract, or the service levels of `slo` for a table; `origins`: the configuration key of each level.

    `labels`: the table, owner, domain and tier of what is promised of a table for itself; empty for all others.
    """

    name: str
    contract: Contract
    origins: Mapping[str, str]
    labels: Mapping[str, str | None] = field(default_factory=dict)


def promised_contracts(config: Config, table: str | None = None) -> Iterator[PromisedContract]:
    """Yield all that is promised, or what is for a table: contracts, products, then the `slo` of each table."""
    for name, contract in config.contracts.items():
        if table is None or table in contract.tables:
            yield PromisedContract(name, contract, dict.fromkeys(contract.promised, f"contracts.{name}"))
    for name, product in config.products.items():
        if product.promises is not None and (table is None or table in config.product_tables[name]):
            yield contract_of_product(config, name)
    for entry in config.tables:
        if (config.slo or entry.slo is not None) and table in {None, entry.name}:
            levels: dict[str, tuple[Any, str]] = {}
            for origin, slo in _slos(config, entry):
                levels |= {level: (value, origin) for level, value in slo.promised.items()}
            if levels:
                contract = Contract(tables=(entry.name,), **{level: value for level, (value, _) in levels.items()})
                origins = {level: origin for level, (_, origin) in levels.items()}
                yield PromisedContract(f"{SLO}{entry.name}", contract, origins, labels_of(config, entry))


def contract_of_product(config: Config, name: str) -> PromisedContract:
    """Return what is promised of a product as a whole, as a contract of its tables; nothing may be promised."""
    tables, promises = config.product_tables[name], config.products[name].promises
    promised = {} if promises is None else promises.promised
    contract = Contract(tables=tables, **promised) if promised else Contract.model_construct(tables=tables)
    return PromisedContract(f"{PRODUCT}{name}", contract, dict.fromkeys(promised, f"products.{name}.promises"))


def labels_of(config: Config, table: Table) -> Mapping[str, str | None]:
    """Return by what service levels of a table are grouped; None where it has no owner, domain or tier."""
    return {"table": table.name, "owner": config.owner_of(table), "domain": table.domain, "tier": table.tier}


def _slos(config: Config, table: Table) -> Iterator[tuple[str, Slo]]:
    """Yield the service levels that are about a table with the key of each, the most specific last."""
    labels = labels_of(config, table)
    values = {**labels, "": labels["table"]}
    matches = []
    for word, slo in config.slo.items():
        name, _, pattern = word.rpartition(":")
        value = values[name]
        if value is not None and fnmatchcase(value, pattern):
            is_for_all = not name and not pattern.strip("*")
            rank = -1 if is_for_all else _FIELDS.index(name)
            matches.append((rank, not set(pattern) & set("*?["), len(pattern), word, slo))
    for *_, word, slo in sorted(matches, key=lambda match: match[:4]):
        yield f"slo.{word}", slo
    if table.slo is not None:
        yield f"tables.{table.name}.slo", table.slo
