"""Propose foreign keys: a column named after the key of another table, whose values all lie within it.

Numbers alone say nothing: each column of small numbers lies within every key that counts from 1. So a name is asked
for, and the rows decide afterwards, by the check itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from monitor.suggest.catalogue import DeclaredReference
from monitor.suggest.profile import ColumnFamily, ColumnStatistics, TableStatistics
from monitor.suggest.proposal import Confidence, Proposal, breaks_at_most, confidence_of, is_identifier, words_of


@dataclass(frozen=True, slots=True)
class TableKey:
    """The key of a table that others may refer to. `statistics`: None where it was not counted."""

    table: str
    column: str
    statistics: ColumnStatistics | None = None

    @property
    def referring_name(self) -> str:
        """Return the words that the name of a column which refers to the key ends with, if not all of it."""
        key = words_of(self.column)
        return f"{_singular(words_of(_bare(self.table)))}_{key}" if key in _PLAIN else key


_PLAIN: Final = frozenset({"id", "key", "uuid", "code", "name"})
"""Names of keys that say nothing without their table."""

KeysByName = Mapping[str, Sequence[TableKey]]
"""Keys by the name that refers to them, so that a column looks up its few and not the keys of all tables."""


def keys_by_name(keys: Iterable[TableKey]) -> KeysByName:
    """Return keys by the name that refers to them, in their order."""
    results: dict[str, list[TableKey]] = {}
    for key in keys:
        results.setdefault(key.referring_name, []).append(key)
    return results


def declared_foreign_keys(table: TableStatistics, references: Sequence[DeclaredReference]) -> Iterator[Proposal]:
    """Yield the foreign keys that the catalogue declares."""
    for item in references:
        targets = [f"{item.table}.{target}" for target in item.targets]
        own = {"column": item.columns[0]} if len(targets) == 1 else {"columns": list(item.columns)}
        check = {"type": "foreign_key", **own, "references": targets[0] if len(targets) == 1 else targets}
        why = "declared as a foreign key by the source"
        at_most = breaks_at_most(table.rows)
        yield Proposal("foreign_key", item.columns, why, Confidence.DECLARED, check, breaks_at_most=at_most)


def foreign_keys(table: TableStatistics, key: Sequence[str], keys: KeysByName) -> Iterator[Proposal]:
    """Yield a reference for each column that is named after the key of another table, and may lie within it."""
    for column in table.columns:
        if not column.filled or column.family not in {ColumnFamily.WHOLE, ColumnFamily.TEXT}:
            continue
        targets = [target for target in _named_after(column.name, table.name, keys) if _fits(column, target)]
        if (column.name,) == tuple(key):
            targets = [target for target in targets if _is_smaller(column, target)]
        for target in sorted(targets, key=lambda target: _distance(column.name, target))[:1]:
            yield Proposal(
                "foreign_key",
                (column.name,),
                f"named after the key of {target.table}; {column.distinct:,} distinct values",
                confidence_of(column.filled, named=True),
                {"type": "foreign_key", "column": column.name, "references": f"{target.table}.{target.column}"},
                breaks_at_most=breaks_at_most(column.filled),
            )


def _named_after(column: str, table: str, keys: KeysByName) -> Iterator[TableKey]:
    """Yield the keys of other tables that a column is named after: `customer_id` of customers(id) or (customer_id)."""
    words = words_of(column).split("_")
    for start in range(len(words)):
        for target in keys.get("_".join(words[start:]), ()):
            if target.table != table and (words_of(target.column) in _PLAIN or is_identifier(column)):
                yield target


def _fits(column: ColumnStatistics, target: TableKey) -> bool:
    """Check whether values may lie within a key; few may lie outside, which is then a fault."""
    key = target.statistics
    if key is None:
        return True
    if key.family is not column.family or column.distinct > 1.1 * key.distinct + 1:
        return False
    return column.low is None or key.low is None or (column.low <= key.high and column.high >= key.low)


def _is_smaller(column: ColumnStatistics, target: TableKey) -> bool:
    """Check whether a table's own key may refer to another's: tables of one key each refer to the larger one."""
    return target.statistics is not None and target.statistics.distinct > column.distinct


def _distance(column: str, target: TableKey) -> tuple[bool, int]:
    return words_of(column) != words_of(target.column), len(target.table)


def _bare(table: str) -> str:
    """Return a table's name without its schema and without the prefix of its layer, such as `raw_` or `dim_`."""
    name = words_of(table.rpartition(".")[2])
    first, _, rest = name.partition("_")
    return rest if rest and first in {"raw", "stg", "src", "dim", "fact", "fct", "int", "mart", "tbl", "t"} else name


def _singular(word: str) -> str:
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    if word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def key_columns(proposals: Mapping[str, Sequence[Proposal]]) -> Iterator[tuple[str, str]]:
    """Yield the tables whose key is one column, and that column."""
    for table, own in proposals.items():
        for proposal in own:
            if proposal.kind == "key" and len(proposal.columns) == 1:
                yield table, proposal.columns[0]
