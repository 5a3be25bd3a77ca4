"""What a remedy does to the distributions of columns and of pairs of them, with nothing of a small group.

A bar or a cell is shown where it is of no people or of at least k, before and after, in people where the release has a
`person_key`. Neighbouring bins of numbers are merged until they are; rare values are merged to one bar; what is still
smaller is left out. Counts are rounded to multiples of k, since from an exact difference between before and after, or
between a bar and the cells of its row, a group that is not shown would follow. No value of the table is in a figure:
values have the text that the configuration gives them, else their rank, and bins have round limits.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final, Literal

from checks.classes.arrays import np, npt
from monitor.summaries.shapes import Shape

if TYPE_CHECKING:
    import pandas as pd

    from monitor.releases.columns import ReleaseColumns
    from monitor.releases.plan import TreatmentPlan
    from monitor.releases.treat import TreatedTable

MOST_BARS: Final = 12
MOST_COLUMNS: Final = 20
MOST_IN_PAIRS: Final = 4
_NO_BAR: Final = -1
_UNKNOWN: Final = object()
"""In the place of the text of a row of which is not known what it would have become."""
_SPELLED: Final = {"bins", "dates", "flat", "intervals"}
"""Hierarchies whose labels follow from the configuration; those of a mask or a coding have values or parts of them."""


class UtilityLabel(Shape):
    """What a bar is of: numbers from `low` to below `high`, a value by its `text` or `rank`, others, or NULL."""

    kind: Literal["range", "text", "rank", "others", "missing"]
    text: str | None = None
    rank: int | None = None
    low: float | None = None
    high: float | None = None


class UtilityBar(Shape):
    """A bar: shares of all records, 0 to 1."""

    label: UtilityLabel
    before: float
    after: float


class ColumnFigure(Shape):
    """A column before and after. `merged`: small bars were made into one; `left_out`: some are too small to show."""

    column: str
    bars: tuple[UtilityBar, ...]
    merged: bool
    left_out: bool


class PairFigure(Shape):
    """Two columns before and after: shares of all records by the bars of both, null where too small to show."""

    columns: tuple[str, str]
    rows: tuple[UtilityLabel, ...]
    across: tuple[UtilityLabel, ...]
    before: tuple[tuple[float | None, ...], ...]
    after: tuple[tuple[float | None, ...], ...]
    left_out: bool


class UtilityFigures(Shape):
    """The figures of one remedy. `without`: columns that have none, since fewer than two bars can be shown."""

    remedy: str
    k: int
    columns: tuple[ColumnFigure, ...]
    pairs: tuple[PairFigure, ...]
    without: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Coded:
    """A column as the number of its bar for each row, before and after; `_NO_BAR` where none can be shown."""

    column: str
    labels: Sequence[UtilityLabel]
    before: npt.NDArray[np.int64]
    after: npt.NDArray[np.int64]
    merged: bool

    @property
    def left_out(self) -> bool:
        return bool((self.before == _NO_BAR).any() or (self.after == _NO_BAR).any())


@dataclass(frozen=True, slots=True, eq=False)
class _People:
    """Whose each row is, before and after; None: rows are counted."""

    k: int
    before: npt.NDArray[np.int64] | None
    after: npt.NDArray[np.int64] | None

    def counts(
        self, before: npt.NDArray[np.int64], after: npt.NDArray[np.int64], size: int
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Count the people of each bar, before and after."""
        return _counted(before, self.before, size), _counted(after, self.after, size)

    def small(self, *counts: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Return which bars are of at least one and of fewer than k, before or after."""
        small: npt.NDArray[np.bool_] = np.any([(count > 0) & (count < self.k) for count in counts], axis=0)
        return small

    def shares(self, codes: npt.NDArray[np.int64], size: int) -> npt.NDArray[np.float64]:
        """Return the share of all rows of each bar, of a count that is rounded to a multiple of k."""
        counts = _counted(codes, None, size)
        rounded: npt.NDArray[np.float64] = np.minimum(self.k * np.rint(counts / self.k) / max(len(codes), 1), 1.0)
        return rounded


@dataclass(frozen=True, slots=True, eq=False)
class ComparedTables:
    """A table before and after a remedy. `declared`: by column, the texts of values that the configuration has."""

    case: "ReleaseColumns"
    plan: "TreatmentPlan"
    treated: "TreatedTable"
    frame: "pd.DataFrame"
    declared: Mapping[str, frozenset[str]]

    def shown(self, name: str, *, is_label: bool) -> "frozenset[str] | None":
        """Return the texts of a column that may be shown: None for all, where the configuration makes the labels."""
        given: Any = getattr(self.plan.remedy, "hierarchies", None)
        hierarchies = given if isinstance(given, Mapping) else self.case.release.hierarchies
        hierarchy = hierarchies.get(name)
        by_part = getattr(self.plan.remedy, "search", None) == "mondrian"
        if is_label and not by_part and getattr(hierarchy, "type", None) in _SPELLED:
            return None
        return self.declared.get(name, frozenset()) | frozenset(_texts_in(getattr(hierarchy, "groups", None)))


def utility_figures(tables: ComparedTables) -> UtilityFigures:
    """Return the figures of a remedy."""
    case, plan, treated = tables.case, tables.plan, tables.treated
    key = case.release.person_key
    people = _People(
        max(case.k, 2),
        None if key is None else _factorized(tables.frame[key]),
        None if treated.people is None else _factorized(treated.people),
    )
    names = [name for name in (*case.quasi, *case.sensitive, *plan.columns) if name in treated.frame.columns]
    coded = [_coded(tables, name, people) for name in dict.fromkeys(names)]
    shown = [column for column in coded if len(column.labels) > 1][:MOST_COLUMNS]
    return UtilityFigures(
        remedy=plan.name,
        k=people.k,
        columns=tuple(_column(column, people) for column in shown),
        pairs=tuple(_pair(*pair, people) for pair in combinations(shown[:MOST_IN_PAIRS], 2)),
        without=tuple(column.column for column in coded if column not in shown),
    )


def _texts_in(groups: Any) -> Iterator[str]:
    """Yield the names of groups and the values that a tree of them lists."""
    if isinstance(groups, Mapping):
        yield from map(str, groups)
        groups = list(groups.values())
    if isinstance(groups, list | tuple):
        for item in groups:
            yield from _texts_in(item)
    elif groups is not None:
        yield str(groups)


def _column(coded: _Coded, people: _People) -> ColumnFigure:
    size = len(coded.labels)
    before, after = people.shares(coded.before, size), people.shares(coded.after, size)
    return ColumnFigure(
        column=coded.column,
        bars=tuple(
            UtilityBar(label=label, before=float(before[place]), after=float(after[place]))
            for place, label in enumerate(coded.labels)
        ),
        merged=coded.merged,
        left_out=coded.left_out,
    )


def _pair(first: _Coded, second: _Coded, people: _People) -> PairFigure:
    wide = len(second.labels)
    size = len(first.labels) * wide
    joined = [
        np.where((one == _NO_BAR) | (other == _NO_BAR), _NO_BAR, one * wide + other)
        for one, other in ((first.before, second.before), (first.after, second.after))
    ]
    small = people.small(*people.counts(joined[0], joined[1], size))
    tables = [
        [None if hidden else float(share) for share, hidden in zip(people.shares(codes, size), small, strict=True)]
        for codes in joined
    ]
    before, after = (tuple(tuple(cells[at : at + wide]) for at in range(0, size, wide)) for cells in tables)
    return PairFigure(
        columns=(first.column, second.column),
        rows=tuple(first.labels),
        across=tuple(second.labels),
        before=before,
        after=after,
        left_out=bool(small.any()) or first.left_out or second.left_out,
    )


def _coded(tables: ComparedTables, name: str, people: _People) -> _Coded:
    """Return the bars of a column: bins where it is of numbers before and after, else values."""
    from remedies import Misfit
    from remedies.generalisation import texts_of

    columns, treated = (tables.frame[name], tables.treated.frame[name]), tables.treated
    numbers = [_numbers(column) for column in columns]
    if numbers[0] is not None and numbers[1] is not None:
        return _binned(name, numbers[0], numbers[1], people)
    try:
        before, after = (np.array(texts_of(column), dtype=object) for column in columns)
        is_label = not set(after) - {None} <= set(before) and not tables.plan.has_mechanism
        if is_label:  # a row counts before as what became of it
            texts = dict(zip(treated.frame.index, after, strict=True))
            if treated.left_out is not None and name in treated.left_out.columns:
                texts |= dict(zip(treated.left_out.index, texts_of(treated.left_out[name]), strict=True))
            before = np.array([texts.get(row, _UNKNOWN) for row in tables.frame.index], dtype=object)
    except Misfit:
        return _Coded(name, (), np.array([], dtype=np.int64), np.array([], dtype=np.int64), merged=False)
    return _grouped(name, before, after, people, tables.shown(name, is_label=is_label))


def _grouped(
    name: str,
    before: npt.NDArray[Any],
    after: npt.NDArray[Any],
    people: _People,
    shown: "frozenset[str] | None",
) -> _Coded:
    """Return a bar for each frequent value; rare ones are one bar, or none where that is too small as well."""
    import pandas as pd

    codes, values = pd.factorize(np.concatenate([before, after]), use_na_sentinel=False)
    first, second = codes[: len(before)].astype(np.int64), codes[len(before) :].astype(np.int64)
    counts = people.counts(first, second, len(values))
    small = people.small(*counts) | np.array([value is _UNKNOWN for value in values], dtype=np.bool_)
    order = sorted(np.flatnonzero(~small).tolist(), key=lambda place: -int(counts[0][place] + counts[1][place]))
    rare = sorted({*order[MOST_BARS - 1 :], *np.flatnonzero(small).tolist()})
    kept = order[: MOST_BARS - 1]
    texts = {place: values[place] for place in kept}
    kept.sort(key=lambda place: _in_order(texts[place]) if shown is None else (0.0, ""))
    bars = np.full(len(values) + 1, _NO_BAR, dtype=np.int64)
    bars[kept] = np.arange(len(kept))
    labels = [_label(texts[place], rank, shown) for rank, place in enumerate(kept, start=1)]
    if rare:
        bars[rare] = len(kept)
        if people.small(*people.counts(bars[first], bars[second], len(kept) + 1))[-1]:
            bars[rare] = _NO_BAR
        else:
            labels.append(UtilityLabel(kind="others"))
    return _Coded(name, labels, bars[first], bars[second], merged=len(labels) > len(kept))


def _label(text: Any, rank: int, shown: "frozenset[str] | None") -> UtilityLabel:
    if text is None:
        return UtilityLabel(kind="missing")
    if shown is None or text in shown:
        return UtilityLabel(kind="text", text=str(text))
    return UtilityLabel(kind="rank", rank=rank)


def _in_order(text: Any) -> tuple[float, str]:
    """Order labels by their first number, and texts after these."""
    number = re.search(r"-?\d+(\.\d+)?", str(text))
    return (float(number[0]) if number else float("inf"), str(text))


def _binned(name: str, before: npt.NDArray[np.float64], after: npt.NDArray[np.float64], people: _People) -> _Coded:
    """Return bins of numbers with round limits, and a bar for NULL; bins that are too small join the one before."""
    known = before[np.isfinite(before)]
    edges = _round_limits(known)
    codes = [
        np.where(np.isnan(values), _NO_BAR, np.searchsorted(edges, values, side="right")) for values in (before, after)
    ]
    counts = people.counts(codes[0], codes[1], len(edges) + 1)
    starts: list[int] = []
    begun = 0
    for place in range(len(edges) + 1):
        parts = [count[begun : place + 1].sum() for count in counts]
        if parts[0] >= people.k and (parts[1] >= people.k or not parts[1]):
            starts.append(begun)
            begun = place + 1
    bars = np.maximum(np.searchsorted(np.array(starts, dtype=np.int64), np.arange(len(edges) + 2), side="right") - 1, 0)
    labels = [
        UtilityLabel(
            kind="range",
            low=None if not place else float(edges[start - 1]),
            high=float(edges[starts[place + 1] - 1]) if place + 1 < len(starts) else None,
        )
        for place, start in enumerate(starts)
    ]
    merged = 0 < len(starts) < len(edges) + 1
    coded = [np.where(item == _NO_BAR, _NO_BAR, bars[item]) for item in codes] if starts else codes
    missing = [np.isnan(values) for values in (before, after)]
    of_missing = [np.where(item, 0, _NO_BAR) for item in missing]
    if any(item.any() for item in missing) and not people.small(*people.counts(of_missing[0], of_missing[1], 1))[0]:
        coded = [np.where(item, len(labels), codes) for item, codes in zip(missing, coded, strict=True)]
        labels.append(UtilityLabel(kind="missing"))
    if starts and people.small(*people.counts(coded[0], coded[1], len(labels))).any():  # the last bin took a rest
        return _Coded(name, (), coded[0], coded[1], merged=merged)
    return _Coded(name, labels if starts else (), coded[0], coded[1], merged=merged)


def _round_limits(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the limits between about `MOST_BARS` bins: multiples of 1, 2 or 5 times a power of ten."""
    if not len(values):
        return np.array([])
    low, high = np.quantile(values, [0.02, 0.98])
    if not high > low:
        return np.array([])
    rough = (high - low) / (MOST_BARS - 2)
    power = 10.0 ** np.floor(np.log10(rough))
    step = next(power * part for part in (1, 2, 5, 10) if power * part >= rough)
    if (values == np.rint(values)).all():
        step = max(step, 1.0)
    limits: npt.NDArray[np.float64] = np.arange(np.floor(low / step) + 1, np.floor(high / step) + 1) * step
    return limits


def _numbers(column: "pd.Series[Any]") -> npt.NDArray[np.float64] | None:
    """Return numbers, NaN for NULL; None of anything else."""
    from pandas.api import types

    if types.is_bool_dtype(column.dtype) or not types.is_numeric_dtype(column.dtype):
        return None
    numbers: npt.NDArray[np.float64] = column.to_numpy(dtype=np.float64, na_value=np.nan)
    return np.where(np.isinf(numbers), np.nan, numbers)


def _factorized(column: "pd.Series[Any]") -> npt.NDArray[np.int64]:
    import pandas as pd

    codes: npt.NDArray[np.int64] = pd.factorize(column, use_na_sentinel=False)[0].astype(np.int64)
    return codes


def _counted(codes: npt.NDArray[np.int64], people: npt.NDArray[np.int64] | None, size: int) -> npt.NDArray[np.int64]:
    """Count the rows of each bar, or the people where it is known whose each row is."""
    shown = codes != _NO_BAR
    counted = codes[shown] if people is None else np.unique(np.stack([codes[shown], people[shown]]), axis=1)[0]
    return np.bincount(counted, minlength=size).astype(np.int64)
