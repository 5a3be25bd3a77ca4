"""t-closeness: how far the sensitive values of a class are from those of the whole table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, Unpack

from checks.classes.arrays import np, npt
from checks.risk.hierarchy import Hierarchy
from checks.risk.l_measures import Broken
from checks.risk.pairs import (
    ClassPairs,
    DeclaredValues,
    ValueReading,
    Whole,
    class_numbers,
    numbered_values,
    readings_of,
    sensitive_columns,
)

if TYPE_CHECKING:
    import pandas as pd

Distance: TypeAlias = Literal["equal", "ordered", "hierarchical"]

T_SLACK: Final = 1e-12
"""By how much a distance may miss a limit: it is a quotient of whole numbers, rounded once or twice."""
_ROOM: Final = 2**60


@dataclass(frozen=True, slots=True)
class ColumnCloseness:
    """The closeness of one sensitive column. `t`: the largest distance of all classes, 0 to 1; None without a value.

    `above`: what is farther than the wanted t; None where none is wanted.
    """

    t: float | None
    above: Broken | None


@dataclass(frozen=True, slots=True)
class TCloseness:
    """The closeness of a table, each sensitive column on its own.

    `distance`: between two values: `equal`, `ordered` or `hierarchical`. `reference`: whose distribution the classes
    are compared with: `table`, the table's own, or `reference`, that of the frame that was given.
    """

    rows: int
    classes: int
    wanted: float | None
    distance: Distance
    reference: Literal["table", "reference"]
    columns: Mapping[str, ColumnCloseness]

    @property
    def t(self) -> float | None:
        """Return that of the column which has the largest; None where one has no value, so nothing was compared."""
        results = [column.t for column in self.columns.values()]
        return None if None in results else max(item for item in results if item is not None)


def t_closeness(  # noqa: PLR0913 - one more than six, each by its name
    table: pd.DataFrame,
    quasi_identifiers: str | Sequence[str],
    sensitive: str | Sequence[str],
    *,
    distance: Literal["equal", "ordered"] = "equal",
    hierarchy: Hierarchy | None = None,
    reference: pd.DataFrame | None = None,
    t: float | None = None,
    **declared: Unpack[DeclaredValues],
) -> TCloseness:
    """Measure t-closeness of a frame, by the strictest reading; NULL of a quasi-identifier is a value of its own.

    The largest t is returned of the readings with and without missing sensitive values (NULL, NaN, text of white space
    alone), and with spellings as they are and as one value.

    Li, Li & Venkatasubramanian 2007 (ICDE), definition 2, with the Earth Mover's Distance as there. `equal`: all values
    are equally far apart, D = 1/2 sum |p_i - q_i| (the variational distance). `ordered`: values i and j of the m
    values of both distributions, sorted, are |i - j|/(m - 1) apart, D = 1/(m - 1) sum_i |sum_(j<=i) (p_j - q_j)|; NULL
    stands after the largest. With a hierarchy: two values are as far apart as the level is high at which they meet,
    D = 1/H sum over the nodes below the root of max(p - q, 0); NULL meets no value below the root. H counts the levels
    up to the first that joins all values: a further root above it would make every distance smaller and tell nothing.
    With the height as it is given (Li et al., ARX), t is `partitions/height` of this one.

    It protects neither against finding a record (see `k_anonymity`), nor does it say that a class has several values: a
    table whose records all share one has t = 0. `equal` ignores how far values lie apart: a class of the three lowest
    salaries is as close as one of any three. A large t of one small class and of many is the same t.

    Args:
        table: any frame; it is not changed.
        quasi_identifiers: columns that an attacker may know from elsewhere; at least one.
        sensitive: a column, or several, that must stay unknown; at least one, none of them a quasi-identifier.
        distance: `ordered` is for numbers, dates and times.
        hierarchy: of the values of one sensitive column, as `str` writes them; only without a `distance`.
        reference: a frame with the sensitive columns, whose distribution is the global one; by default the table.
        t: 0 to 1; records and classes that are farther are counted.
        declared: `missing_is_a_value` and `spelling_is_a_value`, as for `l_diversity`.

    Raises:
        KeyError: a frame has no such column.
        TypeError: `ordered` of values that are neither numbers nor times.
        ValueError: no column of a kind, a column of both kinds, a t out of range, an empty reference, a hierarchy of
            several columns or beside `ordered`, another `distance`, several columns of a name, or values that the
            hierarchy does not know (how many).
    """
    names = sensitive_columns(table, quasi_identifiers, sensitive)
    _check_limit(t, reference)
    if distance not in {"equal", "ordered"}:
        raise ValueError(f"distance is '{distance}'; expected 'equal' or 'ordered'")
    if hierarchy is not None and (len(names) > 1 or distance != "equal"):
        raise ValueError("a hierarchy is of one sensitive column, and is itself the distance between its values")
    classes = class_numbers(table, quasi_identifiers)
    how: Distance = distance if hierarchy is None else "hierarchical"
    columns = {}
    for name in names:
        own, reference_numbers, values = _numbers(table, reference, name, ordered=how == "ordered")
        levels = _levels(table, reference, name, hierarchy) if hierarchy is not None else None
        pairs = ClassPairs.of(classes, own)
        totals = np.bincount(reference_numbers, minlength=int(own.max(initial=0)) + 1)
        readings = readings_of(values, **declared)
        columns[name] = _closeness(pairs, totals, how=how, levels=levels, t=t, readings=readings)
    return TCloseness(
        rows=len(table),
        classes=int(classes.max()) + 1 if len(classes) else 0,
        wanted=t,
        distance=how,
        reference="table" if reference is None else "reference",
        columns=columns,
    )


def _check_limit(t: float | None, reference: pd.DataFrame | None) -> None:
    if t is not None and not 0 <= t <= 1:
        raise ValueError(f"t is {t}; expected 0 to 1")
    if reference is not None and not len(reference):
        raise ValueError("the reference has no record; expected a distribution to compare with")


def _both(table: pd.DataFrame, reference: pd.DataFrame | None, name: str) -> pd.Series[Any]:
    import pandas as pd

    return table[name] if reference is None else pd.concat([table[name], reference[name]], ignore_index=True)


def _numbers(
    table: pd.DataFrame, reference: pd.DataFrame | None, name: str, *, ordered: bool
) -> tuple[Whole, Whole, Sequence[Any]]:
    """Number the value of each record of the table, and of each that the global distribution is made of."""
    both = _both(table, reference, name)
    if ordered:
        check_order(both)
    numbers, values = numbered_values(both, ordered=ordered)
    return numbers[: len(table)], numbers if reference is None else numbers[len(table) :], values


def check_order(column: pd.Series[Any]) -> None:
    """Refuse values that have no distance along a line.

    Raises:
        TypeError: they are neither numbers nor times.
    """
    import pandas as pd

    kind = pd.api.types.infer_dtype(column, skipna=True)
    if kind not in {"integer", "floating", "mixed-integer-float", "decimal", "date", "datetime", "datetime64", "empty"}:
        raise TypeError(f"column '{column.name}' holds {kind} values; 'ordered' takes numbers, dates and times")


def _levels(table: pd.DataFrame, reference: pd.DataFrame | None, name: str, hierarchy: Hierarchy) -> Whole:
    """Return the node of each value at each level that tells values apart: shape (levels, values); NULL has its own.

    Raises:
        ValueError: there are values that the hierarchy does not know.
    """
    import pandas as pd

    _, distinct = pd.factorize(_both(table, reference, name))
    texts = [str(value) for value in distinct]
    missing = hierarchy.missing(texts)
    if missing:
        raise ValueError(f"column '{name}': {missing} values are not in the hierarchy")
    places = {value: place for place, value in enumerate(hierarchy.values)}
    nodes = hierarchy.nodes()[: hierarchy.partitions, [places[text] for text in texts]]
    return np.hstack([nodes, np.full((len(nodes), 1), len(places))])


def _closeness(
    pairs: ClassPairs,
    totals: Whole,
    *,
    how: Distance,
    levels: Whole | None,
    t: float | None,
    readings: Sequence[ValueReading],
) -> ColumnCloseness:
    if not all(len(classes) for classes, _ in (reading.pairs(pairs) for reading in readings)) or not len(pairs.starts):
        return ColumnCloseness(t=None, above=None if t is None else Broken(records=0, classes=0))
    far = distances_as_read(pairs, totals, how=how, levels=levels, readings=readings)
    sizes = pairs.sizes
    above = None
    if t is not None:
        broken = [(int(sizes[high].sum()), int(high.sum())) for high in (item > t + T_SLACK for item in far)]
        above = Broken(*max(broken))
    return ColumnCloseness(t=float(max(item.max() for item in far)), above=above)


def distances_as_read(
    pairs: ClassPairs, totals: Whole, *, how: Distance, levels: Whole | None, readings: Sequence[ValueReading]
) -> Sequence[npt.NDArray[np.float64]]:
    """Return the distance of each class in each reading, the exact one first; 0 for a class without a value."""
    results = [class_distances(pairs, totals, how=how, levels=levels)]
    for reading in readings:
        classes, read = reading.pairs(pairs)
        far = np.zeros(len(pairs.starts), dtype=np.float64)
        own = reading.totals(totals)
        if len(classes) and own.sum():
            of_levels = None if levels is None else levels[:, reading.first]
            far[classes] = class_distances(read, own, how=how, levels=of_levels)
        results.append(far)
    return results


def class_distances(
    pairs: ClassPairs, totals: Whole, *, how: Distance, levels: Whole | None = None
) -> npt.NDArray[np.float64]:
    """Return the distance of each class from the distribution of `totals`, which has a count for each value.

    `levels`: with `hierarchical`, the node of each value at each level that tells values apart: (levels, values).
    """
    if levels is not None:
        far = [_equal(_at_level(pairs, level), _totals_at(totals, level)) for level in levels]
        values: npt.NDArray[np.float64] = np.mean(far, axis=0)
        return values
    return _ordered(pairs, totals) if how == "ordered" else _equal(pairs, totals)


def _at_level(pairs: ClassPairs, level: Whole) -> ClassPairs:
    """Return the pairs of classes and nodes."""
    return ClassPairs.of(pairs.owner, level[pairs.value], pairs.copies)


def _totals_at(totals: Whole, level: Whole) -> Whole:
    result = np.zeros(int(level.max()) + 1, dtype=np.int64)
    np.add.at(result, level[: len(totals)], totals[: len(level)])
    return result


def _equal(pairs: ClassPairs, totals: Whole) -> npt.NDArray[np.float64]:
    """Return the distance of each class: sum of max(p - q, 0), over whole numbers until the last division."""
    pairs, totals = _wide_enough(pairs, totals)
    rows, sizes = int(totals.sum()), pairs.sizes
    surplus = np.maximum(pairs.copies * rows - sizes[pairs.owner] * totals[pairs.value], 0)
    return (pairs.sums(surplus) / (sizes * rows)).astype(np.float64)


def _ordered(pairs: ClassPairs, totals: Whole) -> npt.NDArray[np.float64]:
    """Return the distance of each class, without a row for each value that the class does not have.

    Between two values that the class has, its cumulative share F is constant and the global one, G, rises: the sum of
    |F - G| over the values between is that of F - G up to the last value where G <= F, and that of G - F from there on.
    """
    pairs, totals = _wide_enough(pairs, totals)
    top, below = len(totals), np.cumsum(totals)  # records up to each value
    heaped = np.concatenate([[0], np.cumsum(below)])  # sum of `below` over the first so many values
    rows, owner, sizes = int(below[-1]), pairs.owner, pairs.sizes
    size, first = sizes[owner], pairs.value
    reached = np.cumsum(pairs.copies)
    reached = reached - np.concatenate([[0], reached])[pairs.starts][owner]  # records of the class up to each value
    last = np.append(first[1:], top)
    last[np.append(pairs.starts[1:], len(first)) - 1] = top  # the next value of the class, or the end
    whole = reached * rows // size
    part = reached * rows - whole * size
    turn = np.clip(np.searchsorted(below, whole, side="right"), first, last)
    stretch = 2 * turn - first - last
    sums = pairs.sums(whole * stretch - 2 * heaped[turn] + heaped[first] + heaped[last]) + heaped[first[pairs.starts]]
    values: npt.NDArray[Any] = (sums + pairs.sums(part * stretch) / sizes) / (rows * max(top - 1, 1))
    return values.astype(np.float64)


def _wide_enough(pairs: ClassPairs, totals: Whole) -> tuple[ClassPairs, Whole]:
    """Return the counts as Python's own numbers where products of them need more than 64 bits."""
    rows = int(totals.sum())
    if rows * max(rows, len(totals)) < _ROOM:
        return pairs, totals
    return ClassPairs(pairs.starts, pairs.value, pairs.copies.astype(object)), totals.astype(object)
