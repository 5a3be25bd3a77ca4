"""Synthesise a table under differential privacy: noisy counts of columns, a tree of noisy pairs, rows drawn from it.

    counts of each column ──> a spanning tree, edge by edge ──> counts of its pairs of columns ──> rows

The three steps share one loss (`Calibration`): discrete Laplace noise under pure accounting, discrete Gaussian noise
under zCDP. An edge joins two parts of the tree that are not joined yet. It is chosen by the exponential mechanism; the
score of a pair is the L1 distance of its counts from what the noisy counts of its two columns would give if they were
independent. That product is rounded to whole parts of `_PARTS`, and is the same for neighbouring tables. So the score
is an integer, and by the triangle inequality it moves at most as far as the counts: by their L1 sensitivity.

An exponential mechanism at epsilon costs epsilon^2 / 8 in zCDP, as its log-probabilities move within a range of
epsilon (Cesar, Rogers 2021, lemma 3.2). The tree is that of MST (McKenna, Miklau, Sheldon 2021); the expected error of
noise is taken off a score as in AIM (McKenna et al. 2022), by half. All after the noise is post-processing: it costs
nothing and may use floats.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from checks import Json, did_you_mean
from remedies._contract import check_columns
from remedies._errors import Misfit
from remedies.differential_privacy._samplers import (
    exponential_mechanism,
    gaussian_square,
    many_discrete_gaussian,
    many_discrete_laplace,
)
from remedies.differential_privacy._spread import gaussian_variance, laplace_variance
from remedies.differential_privacy._state import integer
from remedies.differential_privacy.accounting import Accounting, delta_of, epsilon_of_rho, rho_within
from remedies.differential_privacy.answers.domain import SteppedColumn
from remedies.differential_privacy.domain import CategoryDomain, Codes
from remedies.differential_privacy.epsilon import NANO, Loss, decimal_of, laplace_scale, nano, text_of
from remedies.differential_privacy.random_bytes import ONE, many_below, random_order
from remedies.differential_privacy.sensitivity import Adjacency, histogram_sensitivity
from remedies.generalisation import text_of as spelled
from remedies.generalisation import texts_of

if TYPE_CHECKING:
    import pandas as pd

CODE: Final = "synthesise-1"
"""The version of what is drawn: raised with every change of it."""

Floats: TypeAlias = npt.NDArray[np.float64]
Edge: TypeAlias = tuple[int, int]

_PARTS: Final = 256
"""Scores are counted in this part of a row."""
LARGEST: Final = 1 << 18
"""A pair with more cells is never measured: its columns are joined by others, or independent."""
_COLUMNS, _CHOICE = Fraction(1, 4), Fraction(3, 20)
"""The shares of the loss for the counts of columns and for the choice of the tree; the rest is for pairs."""
_COVERED: Final = 1.5
"""A cell within so many standard deviations of the independent product takes its value."""
_SMOOTH: Final = 64
_MOST_NOISE: Final = 1_000_000
_ROUNDS: Final = 100
_CLOSE: Final = 1e-6


@dataclass(frozen=True, slots=True)
class Calibration:
    """The parts of one loss: by counts of a column, by choice of an edge, by counts of a pair.

    `total`: in nano-epsilon (pure) or nano-rho (zCDP). `columns`, `edges`: their numbers. `unit_rows`: at most so many
    rows per unit.
    """

    accounting: Accounting
    adjacency: Adjacency
    total: int
    columns: int
    edges: int
    unit_rows: int = 1

    def __post_init__(self) -> None:
        """Check that each part has something.

        Raises:
            Misfit: the loss is too small for so many columns.
        """
        if self.of_column < 1 or (self.edges and min(self.choice, self.of_pair) < 1):
            raise Misfit(f"{self.total} nano units are too few for {self.columns} columns")

    @property
    def of_column(self) -> int:
        """Return the nano units of the counts of one column."""
        return (math.floor(self.total * _COLUMNS) if self.edges else self.total) // self.columns

    @property
    def of_choice(self) -> int:
        """Return the nano units of the choice of one edge."""
        return math.floor(self.total * _CHOICE) // self.edges if self.edges else 0

    @property
    def of_pair(self) -> int:
        """Return the nano units of the counts of one pair."""
        rest = self.total - self.columns * self.of_column - self.edges * self.of_choice
        return rest // self.edges if self.edges else 0

    @property
    def choice(self) -> int:
        """Return the nano-epsilon of the exponential mechanism of one edge; in zCDP it costs epsilon^2 / 8."""
        pure = self.accounting is Accounting.PURE
        return self.of_choice if pure else math.isqrt(8 * NANO * self.of_choice)

    @property
    def moved(self) -> int:
        """Return how far, in L1, a unit moves the counts of any table."""
        return histogram_sensitivity(self.adjacency, rows=self.unit_rows).l1

    def noise(self, nanos: int) -> Fraction:
        """Return the scale of Laplace noise, or sigma^2 of Gaussian noise, of counts that may cost so much.

        sigma^2 is rounded up to a number whose draws fit into 64 bits.
        """
        moved = histogram_sensitivity(self.adjacency, rows=self.unit_rows)
        if self.accounting is Accounting.PURE:
            return laplace_scale(moved.l1, nanos)
        square = gaussian_square(moved.l2_squared, nanos)
        grid = 1 if square >= _SMOOTH else 16
        return Fraction(math.ceil(square * grid), grid)

    def deviation(self, nanos: int) -> float:
        """Return the standard deviation of the noise of one cell, in rows."""
        variance = laplace_variance if self.accounting is Accounting.PURE else gaussian_variance
        return math.sqrt(variance(self.noise(nanos)))

    def mean_noise(self, nanos: int) -> float:
        """Return the mean size of the noise of one cell, in rows."""
        if self.accounting is Accounting.PURE:
            inverse = float(1 / self.noise(nanos))
            return 1 / math.sinh(inverse) if inverse < _SMOOTH else 0.0
        return self.deviation(nanos) * math.sqrt(2 / math.pi)

    def noisy(self, counts: Codes, nanos: int) -> Codes:
        """Return counts, int64, each with noise of its own."""
        draw = many_discrete_laplace if self.accounting is Accounting.PURE else many_discrete_gaussian
        return counts + draw(self.noise(nanos), counts.size).reshape(counts.shape)


@dataclass(frozen=True, slots=True)
class MeasuredTable:
    """Counts that were measured with noise.

    `parameter`: the exact scale of discrete Laplace noise, or sigma^2 of discrete Gaussian noise. `deviation`: of the
    noise of a cell, in rows. `error`: half the L1 distance that noise alone is expected to make of the counts, as a
    share of all rows, 0 to 1, before cells that it covers are replaced.
    """

    columns: tuple[str, ...]
    cells: int
    parameter: Fraction
    deviation: float
    error: float

    def as_json(self) -> Mapping[str, Json]:
        """Return it as plain data; the exact parameter is a text."""
        return {
            "columns": list(self.columns),
            "cells": self.cells,
            "noise": str(self.parameter),
            "standard_deviation": self.deviation,
            "expected_error": self.error,
        }


@dataclass(frozen=True, slots=True)
class SynthesisMechanism:
    """How a table was synthesised: the proof of its privacy loss, as plain data that may be given out.

    `domains`: by column, its declared values; `missing`: columns with one cell more, of NULL and all undeclared values,
    which comes out as NULL. `others`: by other columns, the value that these are taken for. `ranges`: by column of
    numbers, the smallest, the largest and the width of cells. `nano`: the charge, in nano-epsilon or nano-rho. `tree`:
    the pairs of columns whose relation was measured. `rows`: of the output.
    """

    accounting: Accounting
    adjacency: Adjacency
    nano: int
    delta: Fraction | None
    rows_per_unit: int
    unit: str | None
    rows: int
    domains: Mapping[str, tuple[object, ...]]
    missing: tuple[str, ...]
    others: Mapping[str, object]
    ranges: Mapping[str, tuple[int, int, int]]
    tree: tuple[tuple[str, str], ...]
    tables: tuple[MeasuredTable, ...]
    code: str = CODE

    @property
    def epsilon(self) -> Decimal:
        """Return epsilon of a unit; under zCDP it holds but for delta."""
        if self.delta is None:
            return decimal_of(self.nano)
        return decimal_of(epsilon_of_rho(self.nano, self.delta))

    def as_json(self) -> Mapping[str, Json]:
        """Return it as plain data; numbers that have to be exact are texts."""
        pure = self.accounting is Accounting.PURE
        return {
            "mechanism": "tree of pairs",
            "accounting": self.accounting.value,
            "noise": "discrete-laplace" if pure else "discrete-gaussian",
            "epsilon": f"{self.epsilon:f}",
            "rho": None if pure else text_of(self.nano),
            "delta": None if self.delta is None else f"{float(self.delta):g}",
            "adjacency": self.adjacency.value,
            "unit": self.unit or "row",
            "rows_per_unit": self.rows_per_unit,
            "rows": self.rows,
            "domains": {name: [spelled(value) for value in values] for name, values in self.domains.items()},
            "missing": list(self.missing),
            "others": {name: spelled(value) for name, value in self.others.items()},
            "ranges": {name: list(numbers) for name, numbers in self.ranges.items()},
            "tree": [list(edge) for edge in self.tree],
            "tables": [table.as_json() for table in self.tables],
            "not_measured": NOT_MEASURED,
            "code": self.code,
        }


NOT_MEASURED: Final = "any other relation between columns is that of the tree, not of the table"


@dataclass(frozen=True, slots=True, eq=False)
class Synthetic:
    """A synthetic table and how it was made. Its rows are in random order, and none is that of a unit."""

    frame: pd.DataFrame
    mechanism: SynthesisMechanism


def price_of(*, epsilon: Loss | None, rho: Loss | None, delta: Loss | Fraction | None) -> tuple[Accounting, int]:
    """Return how a loss is accounted and its nano units: `epsilon` is pure, with `delta` it is the most zCDP within it.

    Raises:
        Misfit: not exactly one of epsilon and rho is given, rho comes without delta, or one of them is no loss.
    """
    if (epsilon is None) == (rho is None):
        raise Misfit("expected one of 'epsilon' and 'rho': what the synthetic table costs")
    if rho is not None:
        if delta is None:
            raise Misfit("'rho' needs a 'delta', such as 1e-9: epsilon is stated for it")
        delta_of(delta)
        return Accounting.ZCDP, nano(rho, name="rho")
    exact = nano(epsilon or 0)
    if delta is None:
        return Accounting.PURE, exact
    within = rho_within(exact, delta_of(delta))
    if not within:
        raise Misfit(f"epsilon {epsilon} is too small for delta {delta}")
    return Accounting.ZCDP, within


def calibrated(
    price: tuple[Accounting, int],
    domains: Sequence[CategoryDomain],
    *,
    adjacency: Adjacency,
    rows_per_unit: int,
    counts_rows: bool,
) -> tuple[Calibration, Sequence[int], Sequence[Edge]]:
    """Return the parts of a loss, the cells of each column, and the pairs of columns that may be measured.

    All of it follows from the declarations. `counts_rows`: the number of rows of the output is a noisy one.

    Raises:
        Misfit: the loss is too small for so many columns, or the number of rows would be mostly noise.
    """
    sizes = [domain.size + (domain.other is None) for domain in domains]
    pairs = [(a, b) for a, b in combinations(range(len(sizes)), 2) if sizes[a] * sizes[b] <= LARGEST]
    joined = list(range(len(sizes)))
    edges = sum(_join(joined, edge) for edge in pairs)
    parts = Calibration(price[0], adjacency, price[1], len(sizes), edges, rows_per_unit)
    if counts_rows and parts.deviation(parts.of_column) / math.sqrt(sum(1 / size for size in sizes)) > _MOST_NOISE:
        raise Misfit(f"the noise of the number of rows is above {_MOST_NOISE:,} rows; give 'rows', or a larger loss")
    return parts, sizes, pairs


def is_size_public(adjacency: Adjacency, *, rows_per_unit: int, unit: str | None) -> bool:
    """Check whether neighbouring tables have as many rows: each row is a unit, and one is substituted."""
    return adjacency is Adjacency.SUBSTITUTE and rows_per_unit == 1 and unit is None


def synthesise(  # noqa: PLR0913 - the loss in one of three forms, and who is protected
    table: pd.DataFrame,
    domains: Mapping[str, Sequence[object] | SteppedColumn],
    *,
    epsilon: Loss | None = None,
    rho: Loss | None = None,
    delta: Loss | Fraction | None = None,
    adjacency: Adjacency = Adjacency.SUBSTITUTE,
    rows_per_unit: int = 1,
    unit: str | None = None,
    others: Mapping[str, object] | None = None,
    rows: int | None = None,
) -> Synthetic:
    """Return a table of the declared columns whose rows are drawn from noisy counts.

    Nothing but the values of rows depends on the table: neither types, order or names, nor whether an error is raised.

    Args:
        table: any frame.
        domains: by column, all values it could have had, or a range of whole numbers. Declared, never taken from the
            table. NULL and all other values are one more cell, which comes out as NULL.
        epsilon: the loss of the whole table, pure; with `delta`, the most zCDP within (epsilon, delta); or else:
        rho: the loss under zCDP; epsilon is stated for `delta`.
        delta: the probability but for which epsilon holds under zCDP.
        adjacency: which tables are neighbours.
        rows_per_unit: how many rows of a unit count at most.
        unit: the column that says whose a row is; of a unit with more rows, so many drawn at random count. Without it
            no unit may have more. NULL is one unit.
        others: by column, the value of its domain that NULL and values outside the domain are taken for.
        rows: the number of rows of the output, where it is not that of the table. By default it is the number of rows
            of the table where that is public (`substitute`, each row a unit), else a noisy one.

    Raises:
        Misfit: a column is not there, a declaration makes no sense, or the loss is too small. Nothing is drawn then.
    """
    accounting, price = price_of(epsilon=epsilon, rho=rho, delta=delta)
    read = _declared(table, domains, others or {}, unit)
    integer(rows_per_unit, name="rows_per_unit", least=1)
    if rows is not None:
        integer(rows, name="rows", least=1)
    is_public = is_size_public(adjacency, rows_per_unit=rows_per_unit, unit=unit)
    parts, sizes, candidates = calibrated(
        (accounting, price),
        read,
        adjacency=adjacency,
        rows_per_unit=rows_per_unit,
        counts_rows=rows is None and not is_public,
    )
    codes = [cells_of(domain, table[domain.name]) for domain in read]
    if unit is not None:
        chosen = _cut(table[unit], rows_per_unit)
        codes = [column[chosen] for column in codes]

    # 1. The counts of each column, and the number of rows.
    noisy = [
        parts.noisy(np.bincount(column, minlength=size), parts.of_column)
        for column, size in zip(codes, sizes, strict=True)
    ]
    total = float(len(table)) if is_public else max(1.0, _total(noisy))
    single = [_on_simplex(counts.astype(np.float64), max(1.0, total)) for counts in noisy]
    # 2. The tree.
    tree = _tree(codes, single, candidates, parts)
    # 3. The counts of its pairs.
    fitted = {(a, b): _pair(codes, single, (a, b), parts) for a, b in tree}
    # 4. The rows.
    drawn = _rows(single, fitted, round(total) if rows is None else rows)
    names = [domain.name for domain in read]
    tables = [_measured((names[at],), size, parts.of_column, parts, total) for at, size in enumerate(sizes)]
    tables += [_measured((names[a], names[b]), sizes[a] * sizes[b], parts.of_pair, parts, total) for a, b in tree]
    mechanism = SynthesisMechanism(
        accounting=accounting,
        adjacency=adjacency,
        nano=price,
        delta=None if accounting is Accounting.PURE or delta is None else delta_of(delta),
        rows_per_unit=rows_per_unit,
        unit=unit,
        rows=len(drawn[0]),
        domains={domain.name: domain.declared for domain in read},
        missing=tuple(domain.name for domain in read if domain.other is None),
        others={domain.name: domain.declared[domain.other] for domain in read if domain.other is not None},
        ranges={domain.name: (*domain.range.range, domain.range.width) for domain in read if domain.range is not None},
        tree=tuple((names[a], names[b]) for a, b in tree),
        tables=tuple(tables),
    )
    return Synthetic(_frame(read, drawn), mechanism)


def _declared(
    table: pd.DataFrame,
    domains: Mapping[str, Sequence[object] | SteppedColumn],
    others: Mapping[str, object],
    unit: str | None,
) -> Sequence[CategoryDomain]:
    """Read the domains, and check that the table has the columns; its values are not read.

    Raises:
        Misfit: a declaration makes no sense, or a column is missing.
    """
    if not domains:
        raise Misfit("no column has a domain; declare 'domain' in the release or in the table's budget")
    unknown = sorted(set(others) - set(domains))
    if unknown:
        raise Misfit(f"column '{unknown[0]}' has no domain{did_you_mean(unknown[0], domains)}")
    if unit in domains:
        raise Misfit(f"column '{unit}' says whose a row is, so it is not synthesised; remove its domain")
    check_columns((*domains, *([unit] if unit else [])), table)
    return [CategoryDomain.read(name, values, others) for name, values in domains.items()]


def cells_of(domain: CategoryDomain, column: pd.Series[Any]) -> Codes:
    """Return the cell of each value, int64 (n,); that of NULL and undeclared values is the last one, or `other`.

    So is that of values that have no text, such as lists and infinite days: an error would say that one is there.
    """
    try:
        texts = texts_of(column)
    except Misfit:
        texts = [_one(column, at, spelled) for at in range(len(column))]
    rest = domain.size if domain.other is None else domain.other
    cells = {text: place if (place := domain.place(text)) >= 0 else rest for text in set(texts)}
    return np.array([cells[text] for text in texts], dtype=np.int64)


def _cut(unit: pd.Series[Any], most: int) -> Codes:
    """Return the places of at most so many rows of each unit, drawn independently of other units.

    Values that cannot be compared are one unit, with NULL.
    """
    import pandas as pd

    order = random_order(len(unit))  # randomness: order
    try:
        units = pd.factorize(unit)[0]
    except (TypeError, ValueError, NotImplementedError):
        numbers: dict[object, int] = {}
        units = np.array([numbers.setdefault(_one(unit, at, _hashed), len(numbers)) for at in range(len(unit))])
    whose = pd.Series(units[order])
    return np.asarray(order[(whose.groupby(whose).cumcount() < most).to_numpy()])


def _one(column: pd.Series[Any], at: int, read: Callable[[object], Any]) -> Any:
    """Return what is read of one value; None where it cannot be read."""
    try:
        return read(column.iloc[at])
    except (Misfit, ArithmeticError, TypeError, ValueError):
        return None


def _hashed(value: object) -> object:
    hash(value)
    return value


def _join(parts: list[int], edge: Edge) -> bool:
    """Join the parts of two columns; false where they are one."""
    a, b = (parts[at] for at in edge)
    parts[:] = [a if part == b else part for part in parts]
    return a != b


def _total(noisy: Sequence[Codes]) -> float:
    """Return the number of rows by all noisy counts: their sums, each with the weight of its variance."""
    return sum(float(counts.sum()) / counts.size for counts in noisy) / sum(1 / counts.size for counts in noisy)


def _on_simplex(counts: Floats, total: float) -> Floats:
    """Return the counts of at least 0 with this sum that are nearest in L2."""
    ordered = np.sort(counts)[::-1]
    above = (np.cumsum(ordered) - total) / np.arange(1, counts.size + 1)
    return np.asarray(np.maximum(counts - above[np.flatnonzero(ordered > above)[-1]], 0.0))


def _crossed(codes: Sequence[Codes], edge: Edge, shape: tuple[int, int]) -> Codes:
    """Count the rows by two columns, int64 of this shape."""
    a, b = edge
    return np.bincount(codes[a] * shape[1] + codes[b], minlength=shape[0] * shape[1]).reshape(shape)


def _product(single: Sequence[Floats], edge: Edge) -> Floats:
    """Return the counts of a pair if its columns were independent."""
    a, b = edge
    return np.outer(single[a], single[b]) / max(1.0, float(single[a].sum()))


def _tree(
    codes: Sequence[Codes], single: Sequence[Floats], candidates: Sequence[Edge], parts: Calibration
) -> Sequence[Edge]:
    """Choose a spanning tree, edge by edge."""
    if not parts.edges:
        return ()
    noise, scores = parts.mean_noise(parts.of_pair), {}
    for edge in candidates:
        product = _product(single, edge)
        apart = np.abs(_PARTS * _crossed(codes, edge, product.shape) - np.rint(_PARTS * product).astype(np.int64))
        scores[edge] = int(apart.sum()) - round(noise * product.size * _PARTS / 2)
    tree: list[Edge] = []
    joined = list(range(len(single)))
    while open_edges := [edge for edge in candidates if joined[edge[0]] != joined[edge[1]]]:
        utilities = [scores[edge] for edge in open_edges]
        place = exponential_mechanism(utilities, sensitivity=_PARTS * parts.moved, nano_epsilon=parts.choice)
        tree.append(open_edges[place])
        _join(joined, tree[-1])
    return tree


def _pair(codes: Sequence[Codes], single: Sequence[Floats], edge: Edge, parts: Calibration) -> Floats:
    """Measure a pair; return its counts, of at least 0, with the sums that its columns have."""
    product = _product(single, edge)
    noisy = parts.noisy(_crossed(codes, edge, product.shape), parts.of_pair).astype(np.float64)
    covered = np.abs(noisy - product) < _COVERED * parts.deviation(parts.of_pair)
    fitted = np.where(covered, product, np.maximum(noisy, 0.0)) + _CLOSE * product
    rows, columns = single[edge[0]], single[edge[1]]
    for _ in range(_ROUNDS):  # iterative proportional fitting (Deming, Stephan 1940)
        fitted *= _ratio(rows, fitted.sum(axis=1))[:, None]
        fitted *= _ratio(columns, fitted.sum(axis=0))[None, :]
        if np.abs(fitted.sum(axis=1) - rows).sum() < _CLOSE * rows.sum():
            break
    return np.asarray(fitted)


def _ratio(wanted: Floats, sums: Floats) -> Floats:
    return np.divide(wanted, sums, out=np.zeros_like(wanted), where=sums > 0)


def _rows(single: Sequence[Floats], fitted: Mapping[Edge, Floats], rows: int) -> Sequence[Codes]:
    """Draw rows along the tree, each column as codes, int64 (rows,), in random order."""
    drawn: dict[int, Codes] = {}
    waiting = dict(fitted)
    while len(drawn) < len(single):
        edge = next((edge for edge in waiting if (edge[0] in drawn) != (edge[1] in drawn)), None)
        if edge is None:
            root = next(at for at in range(len(single)) if at not in drawn)
            parent, given, child, counts = np.zeros(rows, np.int64), single[root][None, :], root, single[root]
        else:
            table = waiting.pop(edge)
            above, child = edge if edge[0] in drawn else edge[::-1]
            parent, given = drawn[above], table if above == edge[0] else table.T
            counts = single[child]
        drawn[child] = _drawn(parent, np.where(given.sum(axis=1)[:, None] > 0, given, counts[None, :]))
    order = random_order(rows)  # randomness: order
    return [drawn[at][order] for at in range(len(single))]


def _drawn(parent: Codes, given: Floats) -> Codes:
    """Draw a value for each row by the counts (values of the parent, values) that are given for its parent's value.

    How many rows of a parent's value have a value is its expected number, rounded at random (systematic sampling);
    which of them have it is random.
    """
    order = random_order(len(parent))  # randomness: order
    order = order[np.argsort(parent[order], kind="stable")]
    sizes = np.bincount(parent, minlength=len(given))
    starts = many_below(ONE, len(given)) / ONE
    ends = np.cumsum(given, axis=1)
    ends = np.floor(ends / ends[:, -1:] * sizes[:, None] + starts[:, None])
    ends = np.minimum(ends, sizes[:, None])  # a start near 1 is rounded up to it
    ends[:, -1] = sizes
    many = np.diff(ends, axis=1, prepend=0.0).astype(np.int64)
    values = np.empty(len(parent), dtype=np.int64)
    values[order] = np.repeat(np.tile(np.arange(given.shape[1]), len(given)), many.ravel())
    return values


def _measured(columns: tuple[str, ...], cells: int, nanos: int, parts: Calibration, total: float) -> MeasuredTable:
    error = min(1.0, cells * parts.mean_noise(nanos) / (2 * max(1.0, total)))
    return MeasuredTable(columns, cells, parts.noise(nanos), parts.deviation(nanos), error)


def _frame(domains: Sequence[CategoryDomain], drawn: Sequence[Codes]) -> pd.DataFrame:
    """Return the rows; the type of a column follows from its domain."""
    import pandas as pd

    columns = {}
    for domain, codes in zip(domains, drawn, strict=True):
        places = np.where(codes < domain.size, codes, -1)
        columns[domain.name] = pd.array(list(domain.declared)).take(places, allow_fill=True)
    return pd.DataFrame(columns)
