"""Other readings of the same classes, shown beside the exact one: NULL as a wildcard, and one spelling for each value.

Neither decides. An attacker who knows more than the table says reads a missing value as "could be anybody's"; and who
reads `TOKYO` and `Tokyo` as one sees larger classes than a GROUP BY does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from operator import add
from typing import Final

from checks.classes.tables import SIZE, ClassTables
from sources.expressions import ibis, ir

MOST_VALUES: Final = 10_000
"""More values than this of one column are not compared by their spelling."""
MOST_MERGED: Final = 1_000
"""More other spellings than this are not merged by the engine."""
MOST_PATTERNS: Final = 12
"""More combinations of missing columns than this are not read as wildcards: each is compared with each."""


def patterns_of(tables: ClassTables) -> ir.Table:
    """Answer in which combinations columns are NULL: `pattern` (bit i: column i is NULL), `classes`, `rows`."""
    classes = tables.classes
    flagged = classes.select(pattern=_pattern(tables), size=classes[SIZE])
    return flagged.group_by("pattern").aggregate(classes=flagged.count(), rows=flagged["size"].sum().cast("int64"))


def values_of(quasi_identifier: str) -> Callable[[ClassTables], ir.Table]:
    """Answer which values a column of text has, at most one more than `MOST_VALUES`: `value`."""

    def answer(tables: ClassTables) -> ir.Table:
        result = tables.classes.select(value=tables.classes[tables.key(quasi_identifier)])
        return result.filter(result["value"].notnull()).distinct().limit(MOST_VALUES + 1)

    return answer


def sizes_with(merged: Mapping[str, Mapping[str, str]]) -> Callable[[ClassTables], ir.Table]:
    """Answer how many classes there are of each size when other spellings count as one: `size`, `classes`.

    `merged`: per quasi-identifier, the spellings to replace and what with.
    """

    def answer(tables: ClassTables) -> ir.Table:
        classes = tables.classes
        respelled = {tables.key(name): dict(spellings) for name, spellings in merged.items()}
        keys = {
            key: classes[key].substitute(respelled[key]) if key in respelled else classes[key] for key in tables.keys
        }
        rewritten = classes.select(**keys, size=classes[SIZE])
        wider = rewritten.group_by(list(tables.keys)).aggregate(size=rewritten["size"].sum().cast("int64"))
        return wider.group_by("size").aggregate(classes=wider.count())

    return answer


def sizes_as_wildcards(patterns: Sequence[int]) -> Callable[[ClassTables], ir.Table]:
    """Answer how many records could be meant by each, if a NULL on either side fits every value: `size`, `classes`.

    `size` counts the records that fit a record, itself included, and `classes` the classes of such records. Fitting is
    not transitive, so these are no classes of their own. `patterns`: which combinations of missing columns there are.
    """

    def answer(tables: ClassTables) -> ir.Table:
        result = reduce(ir.Table.union, (_candidates(tables, patterns, pattern) for pattern in patterns))
        return result.group_by("size").aggregate(classes=result.count())

    return answer


def sizes_without(quasi_identifier: str) -> Callable[[ClassTables], ir.Table]:
    """Answer how many classes there are of each size if one quasi-identifier were not known: `size`, `classes`."""

    def answer(tables: ClassTables) -> ir.Table:
        others = [key for key in tables.keys if key != tables.key(quasi_identifier)]
        classes = tables.classes
        size = classes[SIZE].sum().cast("int64")
        wider = classes.group_by(others).aggregate(size=size) if others else classes.aggregate(size=size)
        return wider.group_by("size").aggregate(classes=wider.count())

    return answer


def _pattern(tables: ClassTables) -> ir.IntegerValue:
    bits = (tables.classes[key].isnull().ifelse(1 << place, 0).cast("int64") for place, key in enumerate(tables.keys))
    return reduce(add, bits)


def _candidates(tables: ClassTables, patterns: Sequence[int], count: int) -> ir.Table:
    """Return, for each class with these columns missing, how many records fit it: a column `size`."""
    classes = tables.classes.mutate(pattern=_pattern(tables))
    left = classes.filter(classes["pattern"] == count).mutate(fitting=ibis.literal(0, type="int64"))
    for known, fitting in _by_known(patterns, count, len(tables.keys)).items():
        keys = [tables.keys[place] for place in known]
        others = classes.filter(classes["pattern"].isin(fitting))
        size = others[SIZE].sum().cast("int64")
        if keys:
            right = others.group_by([others[key].name(f"r_{key}") for key in keys]).aggregate(found=size)
            joined = left.left_join(right, [left[key] == right[f"r_{key}"] for key in keys])
        else:
            joined = left.cross_join(others.aggregate(found=size))
        columns = {name: joined[name] for name in left.columns if name != "fitting"}
        left = joined.select(**columns, fitting=joined["fitting"] + joined["found"].coalesce(0))
    return left.select(size=left["fitting"])


def _by_known(patterns: Sequence[int], count: int, columns: int) -> dict[tuple[int, ...], list[int]]:
    """Group patterns by the columns that are known both in them and in mine."""
    results: dict[tuple[int, ...], list[int]] = {}
    for other in patterns:
        entries = tuple(place for place in range(columns) if not (count | other) >> place & 1)
        results.setdefault(entries, []).append(other)
    return results
