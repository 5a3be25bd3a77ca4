"""Compare a randomised table, given once, with noisy answers, each charged, at the same epsilon, on counts one has.

What is computed here comes from the protected counts themselves: it is for the person who decides, and no private
release.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Final

import numpy as np
import numpy.typing as npt

from remedies._errors import Misfit
from remedies.differential_privacy._matrix import Floats, Replacement, inverse
from remedies.differential_privacy._reconstruct import bayes, project
from remedies.differential_privacy._retention import largest_retention, pk_of
from remedies.differential_privacy._samplers import many_discrete_laplace
from remedies.differential_privacy.accounting import delta_of
from remedies.differential_privacy.epsilon import NANO, Loss, decimal_of, nano
from remedies.differential_privacy.expected_error import (
    Error,
    NoisyAnswers,
    inverted_moments,
    randomised_moments,
    spearman,
)
from remedies.differential_privacy.mechanism import redrawn

Whole = npt.NDArray[np.int64]

_LABEL: Final = "computed from the protected table, not a privacy-preserving release"
_AT_ONCE: Final = 1 << 20
"""Rows that are randomised at once."""
_ROWS: Final = 20_000_000
_RUNS: Final = range(10, 101)


@dataclass(frozen=True, slots=True)
class BatchRelease:
    """A randomised table: what its counts are worth as they are, and reconstructed.

    `retention`: the probability with which a value is kept, or a combination if `joint`. `as_is` and `inverse` have
    closed forms; `projected` (the inverse, projected) and `bayes` (iterative Bayes until the discrepancy rule stops it)
    are simulated. The `margins`, RMS L2 errors of the counts of each attribute by itself, are in closed form too.
    """

    joint: bool
    retention: float
    as_is: Error
    inverse: Error
    projected: Error | None
    bayes: Error | None
    margins_as_is: tuple[float, ...]
    margins_inverse: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Interactive:
    """One of so many answers that give all counts, with discrete noise: each cell has the same error.

    `rms_l2`: with Laplace noise, `continuous` as the paper computes it. `zcdp`: with Gaussian noise, a weaker guarantee
    that holds but for delta. `spearman`: as of `Error`, with Laplace noise, simulated.
    """

    answers: int
    scale: Fraction
    rms_l2: float
    continuous: float
    zcdp: float | None
    cell: float
    spearman: float | None


@dataclass(frozen=True, slots=True)
class Crossover:
    """From how many answers on each is farther from the truth than a batch: by basic composition, and by zCDP."""

    error: float
    basic: int
    zcdp: int | None


@dataclass(frozen=True, slots=True)
class ComparisonAtEpsilon:
    """Both ways at one epsilon. `pk`: the k of Pk-anonymity. `joint` is None where there is one attribute only.

    `crossovers`: by way of reading a batch: `as-is`, `inverse`, `projected`, `bayes`, and `joint-as-is` ...
    """

    epsilon: Decimal
    pk: float
    attribute_wise: BatchRelease
    joint: BatchRelease | None
    interactive: tuple[Interactive, ...]
    crossovers: dict[str, Crossover]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The error of a table's counts at each epsilon. `runs`: how many tables were simulated, 0: none."""

    shape: tuple[int, ...]
    rows: int
    rows_per_unit: int
    delta: Fraction
    runs: int
    at: tuple[ComparisonAtEpsilon, ...]
    label: str = _LABEL


def compare(
    counts: npt.ArrayLike,
    epsilons: Sequence[Loss],
    *,
    queries: Sequence[int] = (1, 10, 100),
    delta: str | float | Fraction = "1e-6",
    rows_per_unit: int = 1,
    runs: int | None = None,
) -> Comparison:
    """Compare, for counts that one has, a randomised table with noisy answers at the same epsilon.

    Adjacency is `substitute`: the number of rows is public. All is in closed form but what
    is said to be simulated, by reconstruction without negative cells and Spearman.

    Args:
        counts: whole numbers, 0 or more, of shape (V1, ..., Vd): an axis for each attribute.
        epsilons: each a decimal above 0 of at most nine places.
        queries: numbers of answers that share an epsilon.
        delta: with which probability epsilon may not hold under zCDP.
        rows_per_unit: how many rows one person has at most.
        runs: simulated tables at each epsilon; by default as many as 20 million rows allow, 10 to 100; 0: none.

    Raises:
        Misfit: counts are no whole numbers or below 0, or of one cell, or all 0; another value is out of its range.
    """
    table = _read(counts)
    if isinstance(rows_per_unit, bool) or rows_per_unit < 1:
        raise Misfit("rows_per_unit says how many rows one person has at most, 1 or more")
    if not all(type(query) is int and query >= 1 for query in queries):
        raise Misfit("queries are numbers of answers, each 1 or more")
    if runs is None:
        runs = min(max(_ROWS // max(int(table.sum()), table.size), _RUNS.start), _RUNS.stop - 1)
    if runs < 0:
        raise Misfit("runs is a number of simulated tables, 0 or more")
    request = _Request(table, tuple(queries), delta_of(delta), rows_per_unit, runs)
    return Comparison(
        shape=table.shape,
        rows=int(table.sum()),
        rows_per_unit=rows_per_unit,
        delta=request.delta,
        runs=runs,
        at=tuple(request.at(nano(epsilon)) for epsilon in epsilons),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Request:
    table: Whole
    queries: tuple[int, ...]
    delta: Fraction
    rows_per_unit: int
    runs: int

    def at(self, nano_epsilon: int) -> ComparisonAtEpsilon:
        shape, cells = self.table.shape, self.table.size
        of_row = Fraction(nano_epsilon, NANO * self.rows_per_unit)
        retention = largest_retention(of_row, shape)
        single = self._batch([Replacement(retention, size) for size in shape], joint=False)
        joint = None
        if sum(size > 1 for size in shape) > 1:
            joint = self._batch([Replacement(largest_retention(of_row, [cells]), cells)], joint=True)
        answering = NoisyAnswers(cells, nano_epsilon, self.rows_per_unit)
        return ComparisonAtEpsilon(
            epsilon=decimal_of(nano_epsilon),
            pk=pk_of(int(self.table.sum()), retention=retention, domain_sizes=shape),
            attribute_wise=single,
            joint=joint,
            interactive=tuple(self._interactive(answering, answers) for answers in self.queries),
            crossovers={
                name: Crossover(error, answering.crossover(error), answering.gaussian_crossover(error, self.delta))
                for name, error in _errors(single, joint)
            },
        )

    def _batch(self, factors: Sequence[Replacement], *, joint: bool) -> BatchRelease:
        truth = self.table.astype(np.float64)
        laid_out = truth.reshape([factor.size for factor in factors])
        simulated = self._simulated(factors)
        inverted = inverse(simulated, factors)
        randomised, undone = (
            tuple(part.reshape(truth.shape) for part in moments(laid_out, factors))
            for moments in (randomised_moments, inverted_moments)
        )
        margins = [_margin(truth, axis, factors[0 if joint else axis].retention) for axis in range(truth.ndim)]
        return BatchRelease(
            joint=joint,
            retention=factors[0].retention,
            as_is=Error.of(*randomised, spearman=_spearman(truth, simulated)),
            inverse=Error.of(*undone, spearman=_spearman(truth, inverted)),
            projected=self._simulated_error([project(item, float(truth.sum())) for item in inverted]),
            bayes=self._simulated_error(bayes(simulated, factors, stop="discrepancy").estimates if self.runs else ()),
            margins_as_is=tuple(item for item, _ in margins),
            margins_inverse=tuple(item for _, item in margins),
        )

    def _simulated(self, factors: Sequence[Replacement]) -> Floats:
        """Randomise the table so many times: float64 (runs, V...), a table each."""
        sizes = [factor.size for factor in factors]
        result = np.zeros((self.runs, self.table.size), dtype=np.int64)
        retentions = [Fraction(factor.retention) for factor in factors]
        for rows in _chunks(self.table.ravel()):
            codes = [part.astype(np.int64) for part in np.unravel_index(rows, sizes)]
            for run in range(self.runs):
                columns = [redrawn(*item) for item in zip(codes, sizes, retentions, strict=True)]
                result[run] += np.bincount(np.ravel_multi_index(tuple(columns), sizes), minlength=self.table.size)
        return result.astype(np.float64).reshape(self.runs, *sizes)

    def _simulated_error(self, estimates: Floats | Sequence[Floats]) -> Error | None:
        """Return the error of simulated estimates, in any layout of the cells; None without one."""
        if not len(estimates):
            return None
        truth = self.table.astype(np.float64)
        result = np.asarray(estimates).reshape(-1, *truth.shape)
        errors = result - truth
        bias = errors.mean(axis=0)
        return Error.of(bias, (errors**2).mean(axis=0) - bias**2, spearman=spearman(truth, result))

    def _interactive(self, answering: NoisyAnswers, answers: int) -> Interactive:
        rms, ranks = answering.discrete(answers), None
        if self.runs:
            truth = self.table.astype(np.float64)
            noise = many_discrete_laplace(answering.scale(answers), self.runs * self.table.size)
            ranks = spearman(truth, truth + noise.reshape(self.runs, *self.table.shape))
        return Interactive(
            answers=answers,
            scale=answering.scale(answers),
            rms_l2=rms,
            continuous=answering.continuous(answers),
            zcdp=answering.gaussian(answers, self.delta),
            cell=rms / math.sqrt(self.table.size),
            spearman=ranks,
        )


def _read(counts: npt.ArrayLike) -> Whole:
    array = np.asarray(counts)
    if array.dtype.kind not in "iuf" or not np.isfinite(array).all() or (array != np.floor(array)).any():
        raise Misfit("counts are whole numbers, 0 or more")
    if array.ndim == 0 or array.size < 2 or (array < 0).any() or array.sum() < 1:
        raise Misfit("expected counts of 0 or more in two or more cells, and at least one record")
    return array.astype(np.int64)


def _chunks(counts: Whole) -> Iterator[Whole]:
    """Yield the cell of each record, a million records at a time."""
    ends = np.cumsum(counts)
    for start in range(0, int(ends[-1]), _AT_ONCE):
        numbers = np.arange(start, min(start + _AT_ONCE, int(ends[-1])))
        yield np.searchsorted(ends, numbers, side="right").astype(np.int64)


def _margin(truth: Floats, axis: int, retention: float) -> tuple[float, float]:
    """Return the RMS L2 errors of one attribute's counts, as they are and inverted.

    A combination that is kept or drawn again does the same to each of its attributes, with the same retention.
    """
    margin = truth.sum(axis=tuple(item for item in range(truth.ndim) if item != axis))
    factors = [Replacement(retention, len(margin))]
    randomised, inverted = (Error.of(*moments(margin, factors)) for moments in (randomised_moments, inverted_moments))
    return randomised.rms_l2, inverted.rms_l2


def _spearman(truth: Floats, estimates: Floats) -> float | None:
    return spearman(truth, estimates) if len(estimates) else None


def _errors(single: BatchRelease, joint: BatchRelease | None) -> Iterator[tuple[str, float]]:
    """Yield the ways of reading a batch, with their errors."""
    for before, batch in (("", single), ("joint-", joint)):
        if batch is None:
            continue
        for name in ("as_is", "inverse", "projected", "bayes"):
            error = getattr(batch, name)
            if error is not None:
                yield f"{before}{name}".replace("_", "-"), error.rms_l2
