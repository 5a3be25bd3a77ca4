"""Join a table with an auxiliary one inside the engine, and count who has one and only one match."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import and_
from typing import Final, NamedTuple

from checks.classes.shared_columns import SharedColumn
from checks.risk.record_linkage import WIDTH
from sources.expressions import ibis, ir

_FARTHEST: Final = 2.0**62
"""Buckets are numbered up to here; what lies beyond shares one: there, a tolerance is lost in the last digit."""


class Known(NamedTuple):
    """The complete rows of both tables: columns `own0`, `own1` ... and `other0`, `other1` ..., and who they are of.

    With a tolerance, also the bucket of each auxiliary row (`there`), and those between which a row's matches lie
    (`low`, `high`).
    """

    own: ir.Table
    other: ir.Table
    columns: Sequence[SharedColumn]

    @property
    def owns(self) -> list[str]:
        """Name the columns of the table."""
        return [f"own{at}" for at in range(len(self.columns))]

    @property
    def others(self) -> list[str]:
        """Name the columns of the auxiliary table."""
        return [f"other{at}" for at in range(len(self.columns))]

    @property
    def reaches(self) -> Mapping[int, float]:
        """Return how far two values may be apart, by the place of the column."""
        return {at: column.reach for at, column in enumerate(self.columns) if column.reach is not None}

    def counted(self) -> tuple[ir.Table, ir.Table]:
        """Return the distinct rows of both tables, and how many there are of each: `own_rows`, `other_rows`."""
        return (
            self.own.group_by(list(self.own.columns)).aggregate(own_rows=self.own.count()),
            self.other.group_by(list(self.other.columns)).aggregate(other_rows=self.other.count()),
        )


def complete(tables: tuple[ir.Table, ir.Table], columns: Sequence[SharedColumn], **people: ir.Column) -> Known:
    """Return the rows in which every shared column is known. `people`: `person` of the table, `target` of the other."""
    sides = []
    for table, label in zip(tables, ("own", "other"), strict=True):
        results = [getattr(column, label) for column in columns]
        who = {name: column for name, column in people.items() if (name == "person") == (label == "own")}
        known = reduce(and_, [side.known for side in results] + [column.notnull() for column in who.values()])
        values = {f"{label}{at}": side.values for at, side in enumerate(results)}
        sides.append(table.filter(known).select(**values, **who, **_buckets(columns, own=label == "own")))
    return Known(sides[0], sides[1], columns)


def _buckets(columns: Sequence[SharedColumn], *, own: bool) -> Mapping[str, ir.Column]:
    """Return the buckets by which the first column with a tolerance is joined: computed once, so that they are indexed.

    A bucket is several tolerances wide: values within one lie in the same bucket or in the next.
    """
    for column in columns:
        if column.reach is not None:
            far = _distance(column)
            if own:
                return {
                    "low": _bucket(column.own.values - far, column),
                    "high": _bucket(column.own.values + far, column),
                }
            return {"there": _bucket(column.other.values, column)}
    return {}


def _bucket(value: ir.Column, column: SharedColumn) -> ir.Column:
    width = float((column.reach or 0) * WIDTH or 1)
    number = value.cast("float64") / ibis.literal(width, type="float64")
    buckets = number.floor().cast("int64")
    return buckets if value.type().is_integer() else number.between(-_FARTHEST, _FARTHEST).ifelse(buckets, 0)


def _distance(column: SharedColumn) -> ir.Scalar:
    return ibis.literal(column.reach, type="int64" if column.own.values.type().is_integer() else "float64")


def linked_records(known: Known) -> ir.Table:
    """Count rows by how many auxiliary rows they match: columns `candidates`, `found`, `both_ways`; none has 0.

    Both sides are counted by their values first, so that what is joined is never larger than both by repetition.
    """
    pairs = _matches(known, *known.counted())
    back = pairs["own_rows"].sum().over(ibis.window(group_by=known.others)) if known.reaches else pairs["own_rows"]
    pairs = pairs.mutate(back=back)
    if known.reaches:
        pairs = pairs.group_by(known.owns).aggregate(
            own_rows=pairs["own_rows"].max(), other_rows=pairs["other_rows"].sum(), back=pairs["back"].max()
        )
    only = (pairs["other_rows"] == 1) & (pairs["back"] == 1)
    return _histogram(pairs, "other_rows", only, "own_rows")


def linked_persons(known: Known, at_least: int | None) -> ir.Table:
    """Count auxiliary persons by how many persons of the table they may be: columns as `linked_records`."""
    own, other = known.counted()
    pairs = _matches(known, own, other)
    if known.reaches:  # else a fact and a person meet once
        pairs = pairs.group_by("target", *known.others, "person").aggregate(rows=pairs.count())
    scores = pairs.group_by("target", "person").aggregate(score=pairs.count())
    if at_least is None:
        facts = other.group_by(of=other["target"]).aggregate(needed=other.count())
        scores = scores.join(facts, scores["target"] == facts["of"])
        fits = scores.filter(scores["score"] >= scores["needed"])
    else:
        fits = scores.filter(scores["score"] >= at_least)
    fits = fits.mutate(back=fits.count().over(ibis.window(group_by="person")))
    per = fits.group_by("target").aggregate(fitting=fits.count(), back=fits["back"].max())
    only = (per["fitting"] == 1) & (per["back"] == 1)
    return _histogram(per, "fitting", only, None)


def _histogram(table: ir.Table, candidates: str, only: ir.BooleanColumn, weight: str | None) -> ir.Table:
    groups = table.group_by(candidates=table[candidates].cast("int64"))
    if weight is None:
        return groups.aggregate(found=table.count(), both_ways=table.count(where=only))
    result, both = table[weight].sum(), only.ifelse(table[weight], 0).sum()
    return groups.aggregate(found=result.cast("int64"), both_ways=both.cast("int64"))


def _matches(known: Known, own: ir.Table, other: ir.Table) -> ir.Table:
    """Join what matches. Equal columns are joined first, a tolerance by buckets, so that no engine compares all pairs.

    Each row of the table stands in the bucket of its lowest match and, if it is another, in that of its highest.
    """
    exact: list[ir.BooleanValue] = []
    if known.reaches:
        lows, highs = own.mutate(bucket=own["low"]), own.filter(own["low"] != own["high"])
        own = ibis.union(lows, highs.mutate(bucket=highs["high"]))
        exact.append(own["bucket"] == other["there"])
    exact += [own[f"own{at}"] == other[f"other{at}"] for at in range(len(known.columns)) if at not in known.reaches]
    for at in known.reaches:
        value, seen, far = own[f"own{at}"], other[f"other{at}"], _distance(known.columns[at])
        exact += [seen >= value - far, seen <= value + far]
    return own.join(other, exact)
