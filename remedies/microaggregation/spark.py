"""Microaggregation of a Spark table: cells are grouped one by one, then whole groups travel to other cells.

The door of the extra `[spark]`: pyspark is imported when it is first used. Rows reach Python as Arrow's tables, by
`applyInArrow`, so that columns that are not treated keep every bit: pandas makes floats of whole numbers with NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import shake_256
from itertools import groupby
from typing import TYPE_CHECKING, Final, SupportsIndex

import numpy as np
import numpy.typing as npt

from checks import did_you_mean
from remedies._errors import Misfit
from remedies.differential_privacy.random_bytes import operating_system_bytes
from remedies.microaggregation._input import canonical, group_size, whole
from remedies.microaggregation._stages import LEAST, SAMPLE, Scheme, again, depth_of, first, joined, replaced, travel
from remedies.microaggregation.numbers import MOST_DECIMALS, Floats

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

Whole = npt.NDArray[np.int64]

_KINDS: Final = {"tinyint": "i1", "smallint": "i2", "int": "i4", "bigint": "i8", "float": "f4", "double": "f8"}
_PARTS: Final = 16  # into which a cell can be split that holds far more than its share
_RECORDS: Final = 20_000  # of a cell, unless k asks for more
_EXACT: Final = 2**53
_SECRET: Final = 32  # bytes


def microaggregate(
    frame: DataFrame,
    columns: Sequence[str],
    k: SupportsIndex,
    *,
    seed: int = 1,
    sweeps: SupportsIndex = 3,
    cells: SupportsIndex | None = None,
) -> DataFrame:
    """Return a frame in which each record holds, in the named columns, the centroid of a group of k to 2k - 1 records.

    Mean and standard deviation, a sample and the records of each cell are asked at once; the rest runs when the result
    is used, and again each time it is used: write it, or cache it. Nothing else comes to the driver. Each stage is one
    shuffle of the whole table: one to group the records of each cell, one for each sweep, to which whole groups travel,
    and one that puts the rows in random order. A cell lies in the memory of one task.

    The order comes from keys of 128 bits that are derived from bytes of the operating system, drawn once for each call,
    and from where a record lies in its cell: a task that is repeated gives the same keys, so that no row is lost.

    The same rows, k, seed, sweeps and cells give the same rows, each time in another order, whatever the order and
    partitioning of the input, on machines of the same kind. Sums of floats depend on the order of partitions in their
    last digits, which are rounded away before they are used. On workers of several kinds a task that is repeated may
    give other groups; write the result of such a cluster once. The rows must not change while they are read: a frame of
    `rand()` has to be written first.

    Args:
        frame: columns that are not named are not touched, and may be of any type that Arrow has.
        columns: the quasi-identifiers, whole numbers or floats, each value finite; whole numbers below 2**53.
        k: smallest group, 2 <= k <= rows.
        seed: >= 0.
        sweeps: 0 or more; each lowers the information loss less than the one before.
        cells: how many, rounded up to a power of two; by default as many as hold 20,000 rows each, or 200 k.

    Returns:
        The same columns and types, the rows in random order. Whole numbers are rounded half to even, floats to the
        decimals that their column is written in.

    Raises:
        Misfit: a column is missing or of another type, has NULL, NaN or infinite values, or k or an option does not
            fit. No message contains a value.
    """
    names = _named(frame, columns)
    rounds, rng = _at_least(sweeps, 0, "sweeps"), _at_least(seed, 0, "seed")
    at = [frame.columns.index(name) for name in names]
    kinds = [_KINDS[frame.schema[place].dataType.simpleString()] for place in at]
    rows, mean, deviation, decimals = _moments(frame, names, at)
    size = group_size(k, records=rows)
    depth = depth_of(rows, max(200 * size, _RECORDS)) if cells is None else depth_of(_at_least(cells, 1, "cells"), 1)
    from pyspark.sql import functions as sql

    # No name of the frame is used from here on: names may hold dots, or occur twice.
    plain = frame.toDF(*(f"c{place}" for place in range(len(frame.columns))))
    keyed = plain.withColumn("hash", sql.xxhash64(*_hashable(plain))).withColumn("group", sql.lit(0).cast("bigint"))
    sample = _sample(keyed, at, min(rows, max(2_048, SAMPLE * 2**depth)))
    scheme = Scheme.fit(sample, mean, deviation, depth=depth, sweeps=rounds, seed=rng)
    homes = tuple(_homes(keyed, at, scheme, least=_least(size, rows)))
    random_bytes = operating_system_bytes(_SECRET)  # randomness: order
    work = _Work(scheme, size, rng, tuple(at), tuple(kinds), decimals, homes, random_bytes)
    placed = keyed.withColumn("cell", sql.lit(0).cast("bigint"))
    placed = placed.mapInArrow(work.place, placed.schema)
    for stage in range(rounds + 1):
        placed = placed.groupBy("cell").applyInArrow(work.stage(stage, placed.schema), placed.schema)
    mixed = placed.repartition("hash", "group").sortWithinPartitions("hash", "group")  # by now, the random keys
    return mixed.drop("hash", "group", "cell").toDF(*frame.columns)


@dataclass(frozen=True, slots=True, eq=False)
class _Work:
    """The arguments of the tasks. `homes`: for each stage, the cell to which each part of a cell belongs.

    `secret`: the bytes from which the random keys are derived.
    """

    scheme: Scheme
    k: int
    seed: int
    at: tuple[int, ...]
    kinds: tuple[str, ...]
    decimals: tuple[int | None, ...]
    homes: tuple[Whole, ...]
    secret: bytes

    def place(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield records with the cell of the first stage."""
        import pyarrow as pa

        for batch in batches:
            part = _part(self.scheme, 0, _values(batch, self.at), _column(batch, "hash"))
            yield batch.set_column(batch.num_columns - 1, "cell", pa.array(self.homes[0][part]))

    def stage(self, number: int, schema: StructType) -> Callable[[pa.Table], pa.Table]:
        """Return what groups, or regroups, the records of a cell, and sends them on or writes centroids."""

        def work(table: pa.Table) -> pa.Table:
            from pyspark.sql.pandas.types import to_arrow_schema

            # Times come in the session's zone, and Spark takes them back in UTC only: the same moments.
            return self._regroup(table.cast(to_arrow_schema(schema)), number)

        return work

    def _regroup(self, table: pa.Table, number: int) -> pa.Table:
        import pyarrow as pa

        values, prints = _values(table, self.at), _column(table, "hash")
        order = np.lexsort((*values.T, prints))
        table, values, prints = table.take(pa.array(order)), values[order], prints[order]
        points = self.scheme.points(values)
        if number == 0:
            labels = first(points, self.k, self.seed)
        else:
            labels = again(points, canonical(_column(table, "group")), self.k, self.seed + number)
        if number + 1 == len(self.homes):
            means = replaced(values, labels, self.kinds, self.decimals)
            for column, kind, cells in zip(self.at, self.kinds, means.T, strict=True):
                table = table.set_column(column, table.schema.field(column), pa.array(cells.astype(kind)))
            return self._with_keys(table)
        lead = prints[np.unique(labels, return_index=True)[1]][labels]  # of the group's first record
        cell = travel(points, labels, self.scheme.trees[number + 1])
        home = self.homes[number + 1][cell * _PARTS + lead % _PARTS]
        group = (int(_column(table, "cell")[0]) << 32) + labels
        places = {name: table.schema.get_field_index(name) for name in ("group", "cell")}
        table = table.set_column(places["group"], "group", pa.array(group))
        return table.set_column(places["cell"], "cell", pa.array(home))

    def _with_keys(self, table: pa.Table) -> pa.Table:
        """Replace hash and group by a random key of 128 bits: together they sort the rows of all cells at random."""
        import pyarrow as pa

        cell = int(_column(table, "cell")[0])
        digest = shake_256(self.secret + cell.to_bytes(8, "little", signed=True)).digest(16 * len(table))
        for name, key in zip(("hash", "group"), np.frombuffer(digest, np.int64).reshape(-1, 2).T, strict=True):
            table = table.set_column(table.schema.get_field_index(name), name, pa.array(key.copy()))
        return table


def _named(frame: DataFrame, columns: Sequence[str]) -> tuple[str, ...]:
    if isinstance(columns, str) or not columns:
        raise Misfit("no columns are named; expected a list of names of numeric columns")
    for name in columns:
        count = frame.columns.count(name)
        if count != 1:
            text = "not found" if count == 0 else f"found {count} times"
            raise Misfit(f"column '{name}' {text}{did_you_mean(name, frame.columns)}")
        kind = frame.schema[frame.columns.index(name)].dataType.simpleString()
        if kind not in _KINDS:
            raise Misfit(f"column '{name}' has type {kind}; expected integers or floats: cast it, or leave it out")
    return tuple(dict.fromkeys(columns))


def _at_least(number: SupportsIndex, least: int, name: str) -> int:
    result = whole(number, name=name)
    if result < least:
        raise Misfit(f"{name} is {result}; expected {least} or more")
    return result


def _least(k: int, rows: int) -> int:
    return min(rows, max(2 * k, LEAST))


def _moments(
    frame: DataFrame, names: Sequence[str], at: Sequence[int]
) -> tuple[int, Floats, Floats, tuple[int | None, ...]]:
    """Count rows, and return mean, population standard deviation (0 for what does not vary) and decimals by column.

    Raises:
        Misfit: a column has values that are missing, not finite or too large.
    """
    from pyspark.sql import functions as sql

    plain = frame.toDF(*(f"c{place}" for place in range(len(frame.columns))))
    kinds = [frame.schema[place].dataType.simpleString() for place in at]
    aggregates = [sql.count(sql.lit(1)).alias("rows")]
    for number, place in enumerate(at):
        value = sql.col(f"c{place}").cast("double")
        bad = value.isNull() | sql.isnan(value) | (sql.abs(value) == float("inf"))
        aggregates += [
            sql.count(sql.when(bad, 1)).alias(f"bad{number}"),
            sql.avg(sql.when(~bad, value)).alias(f"mean{number}"),
        ]
        aggregates += [sql.stddev_pop(sql.when(~bad, value)).alias(f"sd{number}")]
        aggregates += [sql.max(_decimals(sql.col(f"c{place}"), _KINDS[kinds[number]])).alias(f"decimals{number}")]
        aggregates += [sql.min(value).alias(f"low{number}"), sql.max(value).alias(f"high{number}")]
    result = plain.agg(*aggregates).first()
    if result is None:  # an aggregate without keys has one row
        raise Misfit("the table cannot be counted")
    mean, deviation = np.zeros(len(at)), np.zeros(len(at))
    for number, name in enumerate(names):
        bad, low, high = (result[f"{what}{number}"] for what in ("bad", "low", "high"))
        if bad:
            text = "missing or infinite values; fill them or drop the records first"
            raise Misfit(f"column '{name}' has {bad} {text}")
        kind = frame.schema[at[number]].dataType.simpleString()
        if kind == "bigint" and result["rows"] and max(abs(low), abs(high)) >= _EXACT:
            raise Misfit(f"column '{name}' holds whole numbers of 2**53 or more; subtract something, or cast it")
        if result["rows"] and low < high:
            mean[number], deviation[number] = result[f"mean{number}"], result[f"sd{number}"]
            if not 0 < deviation[number] < float("inf"):
                raise Misfit(f"column '{name}' holds numbers whose squares are no float; scale it first")
    places = (result[f"decimals{number}"] for number in range(len(at)))
    decimals = tuple(None if place is None or place > MOST_DECIMALS else int(place) for place in places)
    return int(result["rows"]), mean, deviation, decimals


def _decimals(column: Column, kind: str) -> Column:
    """Return in how many decimals a value is written, one more than `MOST_DECIMALS` for any larger number of them."""
    from pyspark.sql import functions as sql

    result = sql.lit(MOST_DECIMALS + 1 if kind.startswith("f") else 0)
    if kind.startswith("f"):
        own = "float" if kind == "f4" else "double"
        for places in range(MOST_DECIMALS, -1, -1):
            scale = sql.lit(10.0**places)
            nearest = (sql.rint(column.cast("double") * scale) / scale).cast(own)
            result = sql.when(nearest == column, places).otherwise(result)
    return result


def _hashable(plain: DataFrame) -> Sequence[str]:
    """Return the columns of which Spark has a hash: all but maps, and what holds maps."""
    return [field.name for field in plain.schema if not {"map", "variant"} & set(_words(field.dataType.simpleString()))]


def _words(kind: str) -> Iterator[str]:
    return ("".join(letters) for wordy, letters in groupby(kind, str.isalnum) if wordy)


def _sample(keyed: DataFrame, at: Sequence[int], most: int) -> Floats:
    """Return the records of the smallest hashes: the same ones, whatever the partitioning."""
    from pyspark.sql import functions as sql

    names = [f"c{place}" for place in at]
    mixed = sql.xxhash64(sql.col("hash"))  # independent of the parts, which are taken by the hash itself
    rows = keyed.select(*(sql.col(name).cast("double") for name in names), mixed.alias("mixed"))
    sample = rows.orderBy("mixed", *names).limit(most).drop("mixed")
    return np.asarray([tuple(row) for row in sample.collect()], dtype=np.float64)


def _homes(keyed: DataFrame, at: Sequence[int], scheme: Scheme, *, least: int) -> Iterator[Whole]:
    """Yield, for each stage, where the parts of its cells belong: small cells are joined, large ones parted."""
    places, stages = tuple(at), len(scheme.trees)

    def count(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            values, prints = _values(batch, places), _column(batch, "hash")
            for stage in range(stages):
                part, records = np.unique(_part(scheme, stage, values, prints), return_counts=True)
                yield pa.record_batch(
                    {"stage": np.full(len(part), stage, dtype=np.int32), "part": part, "records": records}
                )

    counted = keyed.mapInArrow(count, "stage int, part bigint, records bigint")
    metrics = counted.groupBy("stage", "part").sum("records").collect()
    parts = (len(scheme.trees[0].cut) + 1) * _PARTS
    for stage in range(stages):
        counts = np.zeros(parts, dtype=np.int64)
        for row in metrics:
            if row[0] == stage:
                counts[row[1]] = row[2]
        yield _home(counts, least=least if stage == 0 else 0)


def _home(counts: Whole, *, least: int) -> Whole:
    """Keep the parts of a cell together, unless it holds more than twice its share."""
    home = np.arange(len(counts))
    by_cell = counts.reshape(-1, _PARTS).sum(axis=1)
    share = max(2 * counts.sum() * _PARTS / len(counts), 2 * least)
    home -= np.where(np.repeat(by_cell > share, _PARTS), 0, home % _PARTS)
    together = np.bincount(home, weights=counts, minlength=len(counts)).astype(np.int64)
    if least:
        home = joined(dict(enumerate(together.tolist())), len(counts), least)[home]
    return home


def _part(scheme: Scheme, stage: int, values: Floats, prints: Whole) -> Whole:
    return scheme.trees[stage].of(scheme.points(values)) * _PARTS + prints % _PARTS


def _values(table: pa.Table | pa.RecordBatch, at: Sequence[int]) -> Floats:
    return np.column_stack([np.asarray(table.column(place), dtype=np.float64) for place in at])


def _column(table: pa.Table | pa.RecordBatch, name: str) -> Whole:
    return np.asarray(table.column(name), dtype=np.int64)
