"""Ask, inside the engine, how far the sensitive values of the equivalence classes are from those of all rows.

Classes are compared with all rows, or with those of a reference table: a distance takes the `Values` of these.

No class is crossed with all values: each distance is put together from the values that a class has. Sums are whole
numbers until one division at the end, so that engines agree to the last digits; products of two counts of rows must fit
into 64 bits, which they do up to three thousand million rows.

The ordered distance, Li et al. 2007: with the m values of the column in order, F the cumulative share of a class and G
that of all rows, the distance is 1/(m - 1) sum_i |F(i) - G(i)|. Between two values that a class has, F is constant and
G rises, so the sum over a stretch is that of F - G up to the last value where G <= F, and that of G - F from there on:

    all rows:  value 1 .. m, rows up to it B (so G = B/N), sum of B up to it S
    class:     at its j-th value A rows are reached (so F = A/n); G <= F as long as B <= floor(A N / n) = u
    stretch:   from that value to before the next one; where B <= u ends is looked up once for each u

The look-up is one sort of the distinct u together with the m values, the largest value so far carried along.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final, TypeAlias

from checks._aggregates import holds_no_number
from checks.classes.sensitive import bad_classes
from checks.classes.tables import COPIES, MEMBERS, SIZE, VALUE, ClassTables
from checks.risk.hierarchy import Hierarchy
from checks.risk.t_distances import T_SLACK
from sources.expressions import dt, ibis, ir
from sources.moments import as_moment

_NULL: Final = -1
"""The node of NULL."""
Answer: TypeAlias = "Callable[[ClassTables], ir.Table]"
Distances: TypeAlias = "Callable[[ClassTables, str], ir.Table]"
"""Gives a row for each class: `size`, and how `far` it is, 0 to 1."""
Values: TypeAlias = "Callable[[ClassTables, str], ir.Table]"
"""Gives a row for each value of a column: `value`, and in how many rows of the global distribution it is (`total`)."""


def closeness_of(sensitive: str, limits: Sequence[float], distances: Distances) -> Answer:
    """Return the query of the closeness of a column, one row: `rows`, `classes`, `t`, and what `bad_classes` counts.

    The limits are named as Python writes them. Of a table without rows, all but the number of classes are NULL.
    """

    def answer(tables: ClassTables) -> ir.Table:
        classes = distances(tables, sensitive)
        return classes.aggregate(
            rows=classes[SIZE].sum().cast("int64"),
            classes=classes.count(),
            t=classes["far"].max(),
            **bad_classes(classes, {repr(limit): classes["far"] > limit + T_SLACK for limit in limits}),
        )

    return answer


def own_values(tables: ClassTables, sensitive: str) -> ir.Table:
    """Return the values of all rows, and in how many of them each is."""
    pairs = tables.pairs(sensitive)
    return pairs.group_by(VALUE).aggregate(total=pairs[COPIES].sum().cast("int64"))


def values_of(reference: ir.Table, column: str, kind: dt.DataType) -> Values:
    """Return the values of a reference table's column, and in how many of its rows; 0 for one that only this table has.

    `kind`: in which type the values of both tables are compared.
    """

    def values(tables: ClassTables, sensitive: str) -> ir.Table:
        own = tables.pairs(sensitive)
        referenced_values = tables.reading.respelled(reference.select(value=reference[column].cast(kind)))
        if tables.reading.missing is not None:
            referenced_values = referenced_values.filter(~tables.reading.missing(referenced_values[VALUE]))
        distinct = own.select(value=own[VALUE].cast(kind), total=ibis.literal(0, type="int64")).distinct()
        referenced = referenced_values.group_by(VALUE).aggregate(total=referenced_values.count().cast("int64"))
        both = distinct.union(referenced)
        return both.group_by(VALUE).aggregate(total=both["total"].sum().cast("int64"))

    return values


def equally_far(values: Values) -> Distances:
    """Return the variational distance of each class: the sum, over the values it has, of max(p - q, 0)."""

    def distances(tables: ClassTables, sensitive: str) -> ir.Table:
        placed = sized(tables, with_facts(tables.pairs(sensitive), values(tables, sensitive)))
        moved = _surplus(placed, placed[COPIES], placed["total"])
        surplus = placed.select(*tables.keys, SIZE, *_carried(tables), "rows", moved=moved)
        return _distance(tables, surplus, steps=1)

    return distances


def far_in(hierarchy: Hierarchy, values: Values) -> Distances:
    """Return the distance of each class along a hierarchy: at each level that of its nodes, divided by their number."""

    def distances(tables: ClassTables, sensitive: str) -> ir.Table:
        table = _with_nodes(values(tables, sensitive), hierarchy)
        placed = sized(tables, with_facts(tables.pairs(sensitive), table))
        columns = [*tables.keys, SIZE, *_carried(tables), "rows"]
        moved = [placed.select(*columns, moved=_surplus(placed, placed[COPIES], placed["total"]))]
        for level in range(1, hierarchy.partitions):
            grouped = placed.group_by([*tables.keys, f"node{level}"]).aggregate(
                size=placed[SIZE].max(),
                rows=placed["rows"].max(),
                copies=placed[COPIES].sum().cast("int64"),
                total=placed[f"total{level}"].max(),
                **_largest(placed, _carried(tables)),
            )
            surplus = _surplus(grouped, grouped["copies"], grouped["total"])
            moved.append(grouped.select(*columns, moved=surplus))
        united = moved[0] if len(moved) == 1 else ibis.union(*moved, distinct=False)
        return _distance(tables, united, steps=hierarchy.partitions)

    return distances


def strangers_among(sensitive: str, is_strange: Callable[[ir.Column], ir.BooleanValue], values: Values) -> Answer:
    """Return the query of the number of values that a distance does not know: `strangers`."""

    def answer(tables: ClassTables) -> ir.Table:
        result = values(tables, sensitive)
        return result.aggregate(strangers=result.count(where=is_strange(result[VALUE])))

    return answer


def not_in(hierarchy: Hierarchy) -> Callable[[ir.Column], ir.BooleanValue]:
    """Return of a value whether a hierarchy does not know it; NULL is known to each."""
    return lambda column: column.notnull() & column.cast("string").notin(hierarchy.values)


def sized(tables: ClassTables, pairs: ir.Table) -> ir.Table:
    """Return the pairs, with the `size` of their class."""
    return pairs.mutate(size=pairs[COPIES].sum().over(group_by=list(tables.keys)).cast("int64"))


def with_facts(pairs: ir.Table, values: ir.Table) -> ir.Table:
    """Return the pairs with what is known of their value: all columns of `values` but the value, and `rows` of all.

    NULL has a row in `values` like any other value; engines join it slowly or not at all, so it comes from a table of
    one row. SQLite joins by scanning, however many rows there are, unless it sees groups on both sides: values are
    grouped once more, and pairs must not come out of a window.
    """
    facts = [name for name in values.columns if name != VALUE]
    of_null = {f"null_{name}": values[name].max(where=values[VALUE].isnull()) for name in facts}
    expressions = values.aggregate(rows=values["total"].sum().cast("int64"), **of_null)
    renamed = values.group_by(known=VALUE).aggregate(**{name: values[name].max() for name in facts})
    joined = pairs.left_join(renamed, pairs[VALUE] == renamed["known"]).cross_join(expressions)
    results = {name: joined[name].coalesce(joined[f"null_{name}"]) for name in facts}
    return joined.select(*pairs.columns, "rows", **results)


def _surplus(table: ir.Table, copies: ir.IntegerValue, total: ir.IntegerValue) -> ir.IntegerValue:
    """Return max(p - q, 0) in units of 1/(size x rows)."""
    return ibis.greatest(copies * table["rows"] - table[SIZE] * total, 0).cast("int64")


def _distance(tables: ClassTables, surplus: ir.Table, *, steps: int) -> ir.Table:
    """Return how far each class is: its surplus, divided by the number of steps between a value and the root."""
    classes = surplus.group_by(list(tables.keys)).aggregate(
        size=surplus[SIZE].max(),
        rows=surplus["rows"].max(),
        moved=surplus["moved"].sum().cast("int64"),
        **_largest(surplus, _carried(tables)),
    )
    whole = (classes[SIZE] * classes["rows"]).cast("float64") * steps
    return classes.select(SIZE, *_carried(tables), far=classes["moved"].cast("float64") / whole.nullif(0))


def _carried(tables: ClassTables) -> Sequence[str]:
    """Return the columns of pairs that are alike in all of a class."""
    return () if tables.is_plain else (MEMBERS,)


def _largest(table: ir.Table, names: Sequence[str]) -> dict[str, ir.Value]:
    return {name: table[name].max() for name in names}


def _with_nodes(values: ir.Table, hierarchy: Hierarchy) -> ir.Table:
    """Return of each value its node at each level above (`node1`, ...) and in how many rows that is (`total1`, ...).

    NULL has a node of its own at each level. What the hierarchy does not know has none. Three steps, whatever the
    number of levels: SQLite reads no more than a dozen or so selects within each other.
    """
    nodes, levels = hierarchy.nodes(), range(1, hierarchy.partitions)
    if not levels:
        return values
    first = nodes[1].tolist()
    text = values[VALUE].cast("string")
    coded = values.mutate(node1=values[VALUE].isnull().ifelse(_NULL, _parents(text, hierarchy.values, first)))
    parents = {f"node{level}": _parents(coded["node1"], first, nodes[level].tolist()) for level in levels if level > 1}
    above = {name: (coded["node1"] == _NULL).ifelse(_NULL, parent) for name, parent in parents.items()}
    placed = coded.mutate(**above) if above else coded
    totals = {f"total{level}": placed["total"].sum().over(group_by=placed[f"node{level}"]) for level in levels}
    return placed.mutate(**{name: total.cast("int64") for name, total in totals.items()})


def _parents(child: ir.Column, children: Iterable[str | int], parents: Iterable[int]) -> ir.IntegerValue:
    """Return the parent of each child, NULL of what is none of them.

    One comparison a branch: DuckDB plans an IN for each parent as a join, which takes it minutes.
    """
    entries = dict(zip(children, parents, strict=True))
    return child.cases(*((lower, ibis.literal(upper, "int64")) for lower, upper in entries.items())).cast("int64")


def orderly_far(dialect: str, values: Values) -> Distances:
    """Return the ordered distance of each class; NULL stands after the largest value."""
    return partial(_far, dialect=dialect, referenced_values=values)


def not_in_order(column: ir.Column, dialect: str) -> Callable[[ir.Column], ir.BooleanValue] | None:
    """Return of a value whether it has no place in the order of the column; None where each has one.

    SQLite keeps what it is given, whatever the column is declared as.
    """
    if dialect != "sqlite":
        return None
    if column.type().is_temporal():
        return lambda value: as_moment(value, dialect).unparsed
    return holds_no_number


def _far(tables: ClassTables, sensitive: str, dialect: str, referenced_values: Values) -> ir.Table:
    pairs = tables.pairs(sensitive)
    values = _line(referenced_values(tables, sensitive), dialect)
    expressions = values.aggregate(top=values.count(), heap=values["heaped"].max())
    stretches = _stretches(with_facts(pairs, values).cross_join(expressions), tables.keys, _carried(tables))
    turns = _turns(stretches, values)
    if dialect == "sqlite":  # which joins by scanning what does not look grouped
        others = {name: stretches[name].max() for name in stretches.columns if name not in {*tables.keys, "first"}}
        stretches = stretches.group_by([*tables.keys, "first"]).aggregate(**others)
    table = _turned(stretches, turns)
    classes = table.group_by(list(tables.keys)).aggregate(
        size=table[SIZE].max(),
        rows=table["rows"].max(),
        steps=table["top"].max() - 1,
        whole=table["whole"].sum().cast("int64") + table["before"].min(),
        part=table["part"].sum().cast("int64"),
        **_largest(table, _carried(tables)),
    )
    size, rows, steps = (classes[name].cast("float64") for name in (SIZE, "rows", "steps"))
    far = (classes["whole"].cast("float64") + classes["part"].cast("float64") / size) / (
        rows.nullif(0) * steps.nullif(0)
    )
    return classes.select(SIZE, *_carried(tables), far=far.coalesce(0.0))


def _line(values: ir.Table, dialect: str) -> ir.Table:
    """Return the values in order: `value`, `total`, `place` (from 1), `reached` (B), `heaped` (S), `before` (S - B)."""
    value = values[VALUE]
    as_read = [as_moment(value, dialect).value] if dialect == "sqlite" and value.type().is_temporal() else []
    order = [value.isnull(), *as_read, value]
    line = values.mutate(
        place=ibis.row_number().over(order_by=order) + 1,
        reached=values["total"].sum().over(order_by=order, rows=(None, 0)).cast("int64"),
    )
    heaped = line["reached"].sum().over(order_by=line["place"], rows=(None, 0)).cast("int64")
    return line.mutate(heaped=heaped, before=heaped - line["reached"])


def _stretches(pairs: ir.Table, keys: tuple[str, ...], carried: Sequence[str]) -> ir.Table:
    """Return of each value of a class where its stretch begins and ends, and how far up F is there.

    `first` to `last`: the places; `before` and `after`: S before the first, and at the last; `level` and `rest`:
    quotient and remainder of A N / n.
    """
    along = {"group_by": list(keys), "order_by": pairs["place"]}
    up_to = pairs[COPIES].sum().over(**along, rows=(None, 0)).cast("int64")
    result = pairs.select(
        *keys,
        *carried,
        "rows",
        "top",
        "before",
        size=pairs[COPIES].sum().over(group_by=list(keys)).cast("int64"),
        first=pairs["place"],
        last=pairs["place"].lead().over(**along).coalesce(pairs["top"] + 1) - 1,
        after=pairs["before"].lead().over(**along).coalesce(pairs["heap"]),
        scaled=up_to * pairs["rows"],
    )
    rest = result["scaled"] % result[SIZE]
    # a quotient of whole numbers is exact only as a float that is near one: at most the number of rows
    level = ((result["scaled"] - rest) / result[SIZE]).round().cast("int64")
    # no `drop`: Ibis would write the whole twice instead of naming it in WITH
    return result.select(*(name for name in result.columns if name != "scaled"), rest=rest, level=level)


def _turns(stretches: ir.Table, values: ir.Table) -> ir.Table:
    """Return, for each `level`, the last place (`turn`) whose B is not above it, and S there (`heap`); else 0."""
    none = ibis.null("int64")
    levels = stretches.select(at=stretches["level"], asks=1, turn=none, heap=none).distinct()
    steps = values.select(at=values["reached"], asks=0, turn=values["place"], heap=values["heaped"])
    both = steps.union(levels)
    so_far = {"order_by": [both["at"], both["asks"]], "rows": (None, 0)}
    carried = both.select(
        "asks",
        level=both["at"],
        turn=both["turn"].max().over(**so_far).coalesce(0),
        heap=both["heap"].max().over(**so_far).coalesce(0),
    )
    return carried.filter(carried["asks"] == 1).select(turn_level="level", turn="turn", turn_heap="heap")


def _turned(stretches: ir.Table, turns: ir.Table) -> ir.Table:
    """Return what each stretch adds to the sum of |F - G|, in units of 1/N: `whole` + `part`/n."""
    joined = stretches.join(turns, stretches["level"] == turns["turn_level"])
    low, high = joined["turn"] < joined["first"], joined["turn"] >= joined["last"]
    turn = ibis.cases((low, joined["first"] - 1), (high, joined["last"]), else_=joined["turn"])
    heap = ibis.cases((low, joined["before"]), (high, joined["after"]), else_=joined["turn_heap"])
    surplus = 2 * turn + 1 - joined["first"] - joined["last"]
    return joined.mutate(
        whole=joined["level"] * surplus - 2 * heap + joined["before"] + joined["after"],
        part=joined["rest"] * surplus,
    )
