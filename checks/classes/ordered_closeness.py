"""Ask, inside the engine, how far the sensitive values of classes are from those of all rows along a line.

Li et al. 2007: with the m values of the column in order, F the cumulative share of a class and G that of all rows, the
distance is 1/(m - 1) sum_i |F(i) - G(i)|. Between two values that a class has, F is constant and G rises, so the sum
over a stretch is that of F - G up to the last value where G <= F, and that of G - F from there on:

    all rows:  value 1 .. m, rows up to it B (so G = B/N), sum of B up to it S
    class:     at its j-th value A rows are reached (so F = A/n); G <= F as long as B <= floor(A N / n) = u
    stretch:   from that value to before the next one; where B <= u ends is looked up once for each u

The look-up is one sort of the distinct u together with the m values, the largest value so far carried along.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from checks._aggregates import holds_no_number
from checks.classes.closeness import Distances, Values, with_facts
from checks.classes.tables import COPIES, SIZE, VALUE, ClassTables
from sources.expressions import ibis, ir
from sources.moments import as_moment


def orderly_far(dialect: str, values: Values) -> Distances:
    """Return the ordered distance of each class; NULL stands after the largest value."""
    return partial(_far, dialect=dialect, everybody=values)


def not_in_order(column: ir.Column, dialect: str) -> Callable[[ir.Column], ir.BooleanValue] | None:
    """Return of a value whether it has no place in the order of the column; None where each has one.

    SQLite keeps what it is given, whatever the column is declared as.
    """
    if dialect != "sqlite":
        return None
    if column.type().is_temporal():
        return lambda value: as_moment(value, dialect).unparsed
    return holds_no_number


def _far(tables: ClassTables, sensitive: str, dialect: str, everybody: Values) -> ir.Table:
    pairs = tables.pairs(sensitive)
    values = _line(everybody(tables, sensitive), dialect)
    expressions = values.aggregate(top=values.count(), heap=values["heaped"].max())
    stretches = _stretches(with_facts(pairs, values).cross_join(expressions), tables.keys)
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
    )
    size, rows, steps = (classes[name].cast("float64") for name in (SIZE, "rows", "steps"))
    far = (classes["whole"].cast("float64") + classes["part"].cast("float64") / size) / (
        rows.nullif(0) * steps.nullif(0)
    )
    return classes.select(SIZE, far=far.coalesce(0.0))


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


def _stretches(pairs: ir.Table, keys: tuple[str, ...]) -> ir.Table:
    """Return of each value of a class where its stretch begins and ends, and how far up F is there.

    `first` to `last`: the places; `before` and `after`: S before the first, and at the last; `level` and `rest`:
    quotient and remainder of A N / n.
    """
    along = {"group_by": list(keys), "order_by": pairs["place"]}
    up_to = pairs[COPIES].sum().over(**along, rows=(None, 0)).cast("int64")
    result = pairs.select(
        *keys,
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
