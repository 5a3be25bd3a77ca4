"""Estimate what the counts of a table were before it was randomised: iterative Bayes, the inverse, a projection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from remedies._errors import Misfit
from remedies.differential_privacy._matrix import Factor, Floats, Matrix, backward, forward, inverse, read_factors

_MOST: Final = 1_000
"""Iterations after which the discrepancy rule gives up."""
_STILL: Final = 1e-12
"""A step that moves less than this share of the total moves nothing any more."""
_TINY: Final = 1e-280
"""Smaller numbers are 0: arithmetic with denormal ones is a hundred times slower, and they are no people."""


class EstimationMethod(StrEnum):
    """How counts are estimated."""

    BAYES = "bayes"
    INVERSE = "inverse"
    INVERSE_PROJECTED = "inverse-projected"


class Stopped(StrEnum):
    """Why iterative Bayes ended; `none`: the method has no iterations."""

    DISCREPANCY = "discrepancy"
    ITERATIONS = "iterations"
    STILL = "still"
    MOST = "most"
    NONE = "none"


@dataclass(frozen=True, slots=True, eq=False)
class Reconstruction:
    """Estimated counts, of the shape given; their total is that of what was given.

    `iterations` and `stopped`: how many steps were made, and the rule that ended them: `discrepancy` (the randomised
    counts are as near to what the estimate leads one to expect as chance would bring them), `iterations` (as many as
    asked for), `still` (converged), `most` (1,000 steps without either). `chi2`: Pearson's, of the
    randomised counts against that expectation; None where a cell that holds records is expected empty, or fewer.
    """

    counts: Floats
    method: EstimationMethod
    iterations: int
    stopped: Stopped
    chi2: float | None


def reconstruct(
    counts: npt.ArrayLike,
    matrix: Matrix | Sequence[Matrix],
    *,
    method: EstimationMethod | Literal["bayes", "inverse", "inverse-projected"] = EstimationMethod.BAYES,
    stop: int | Literal["discrepancy"] = "discrepancy",
) -> Reconstruction:
    """Estimate the counts of a table from those of its randomised copy.

    `bayes` is equation 3 of Yamaguchi, Terada and Yoshiura: expectation maximisation for the multinomial likelihood,
    begun at the randomised counts (an empty cell at half a record or less, since 0 would stay 0). Its total is kept,
    no cell falls below 0 and the likelihood never falls, but on noisy counts the error falls and then rises: by default
    it stops as soon as Pearson's chi2 is below cells - 1, perhaps at once. `inverse` is unbiased; its cells can be
    negative. `inverse-projected` is the point nearest to that among all of the same total without negative cells.

    Args:
        counts: randomised counts, of shape (V1, ..., Vd).
        matrix: a matrix for each axis, (V, V) with row a holding the probabilities of what a comes out as, or a
            `Replacement`; or one for all cells, laid out with the last axis varying fastest. All cells together are
            never made a matrix.
        method: see above.
        stop: for `bayes`: `discrepancy`, or how many iterations to make, 0 or more.

    Raises:
        Misfit: counts are not finite, negative with `bayes` or `inverse-projected`, or do not fit the matrix; the
            matrix is not one of probabilities, or cannot be inverted or have led to such counts.
    """
    observed, how = np.asarray(counts, dtype=np.float64), EstimationMethod(method)
    if not observed.size or not np.isfinite(observed).all():
        raise Misfit("counts have to be finite numbers, at least one")
    factors, shaped = read_factors(matrix, observed)
    if not (stop == "discrepancy" or (type(stop) is int and stop >= 0)):
        raise Misfit("expected stop='discrepancy' or a number of iterations, 0 or more")
    if how is not EstimationMethod.INVERSE and (shaped < 0).any():
        raise Misfit(f"{int((shaped < 0).sum())} counts are below 0; method 'inverse' takes them, no other does")
    iterations, stopped = 0, Stopped.NONE
    if how is EstimationMethod.BAYES:
        course = bayes(shaped[np.newaxis], factors, stop=stop)
        values, iterations, stopped = course.estimates[0], int(course.iterations[0]), course.stopped[0]
    else:
        values = inverse(shaped, factors)
        if how is EstimationMethod.INVERSE_PROJECTED:
            values = project(values, float(shaped.sum()))
    chi2 = float(_chi2(shaped[np.newaxis], forward(values, factors)[np.newaxis])[0])
    return Reconstruction(values.reshape(observed.shape), how, iterations, stopped, chi2 if np.isfinite(chi2) else None)


def project(counts: Floats, total: float) -> Floats:
    """Return the point without negative cells and of a total, 0 or more, that is nearest in L2.

    Source: Held, Wolfe, Crowder (1974); Duchi, Shalev-Shwartz, Singer, Chandra (ICML 2008), figure 1.
    """
    falling = -np.sort(-counts, axis=None)
    excess = (np.cumsum(falling) - total) / np.arange(1, falling.size + 1)
    positive = np.flatnonzero(falling > excess)
    level = excess[positive[-1]] if positive.size else falling[0]
    return np.asarray(np.maximum(counts - level, 0.0))


@dataclass(frozen=True, slots=True, eq=False)
class IterationResult:
    """The result of iterative Bayes, of several tables at once: `estimates` (tables, V1, ..., Vd), and how, of each."""

    estimates: Floats
    iterations: npt.NDArray[np.int64]
    stopped: tuple[Stopped, ...]


def bayes(
    values: Floats, factors: Sequence[Factor], *, stop: int | Literal["discrepancy"], most: int = _MOST
) -> IterationResult:
    """Estimate as `reconstruct` does with `bayes`, for several tables at once: (tables, V1, ..., Vd).

    Raises:
        Misfit: a table holds records where the matrix lets nothing come out.
    """
    most = stop if isinstance(stop, int) else most
    result, iterations = np.empty_like(values), np.full(len(values), most, dtype=np.int64)
    stopped = [Stopped.ITERATIONS if isinstance(stop, int) else Stopped.MOST] * len(values)
    going, moved, total = np.arange(len(values)), np.full(len(values), np.inf), _totals(values)
    estimate = _begin(values, total)
    for iteration in range(most + 1):
        expected = forward(estimate, factors)
        over = {}
        if stop == "discrepancy":
            over = {
                Stopped.STILL: moved <= _STILL * total[going].ravel(),
                Stopped.DISCREPANCY: _is_near(values, expected),
            }
        done = np.logical_or.reduce([*over.values(), np.full(len(going), iteration == most)])
        for rule, tables in over.items():
            for table in going[tables]:
                stopped[table], iterations[table] = rule, iteration
        result[going[done]] = estimate[done]
        if done.all():
            break
        going, values, estimate, expected = going[~done], values[~done], estimate[~done], expected[~done]
        following = _step(values, estimate, expected, factors)
        moved = _totals(np.abs(following - estimate)).ravel()
        estimate = following
    return IterationResult(result, iterations, tuple(stopped))


def _totals(tables: Floats) -> Floats:
    """Return the sum of each table, in a shape that divides it."""
    return np.asarray(tables.sum(axis=tuple(range(1, tables.ndim)), keepdims=True))


def _begin(values: Floats, total: Floats) -> Floats:
    """Return the randomised counts without an empty cell, of the same totals; empty tables as they are."""
    lent = np.minimum(0.5, 0.5 * total / values.size // len(values))
    begun = np.where(values > 0, values, lent)
    sums = _totals(begun)
    return np.asarray(begun * np.divide(total, sums, out=np.ones_like(total), where=sums != total))


def _step(values: Floats, estimate: Floats, expected: Floats, factors: Sequence[Factor]) -> Floats:
    """Share each randomised count out among the values it may have come from.

    Raises:
        Misfit: there is none.
    """
    if expected.min() > 0:
        ratios = values / expected
    elif ((values > 0) & (expected <= 0)).any():
        raise Misfit("counts hold records where the matrix lets nothing come out; they are not of this mechanism")
    else:
        ratios = np.divide(values, expected, out=np.zeros_like(values), where=expected > 0)
    following = estimate * backward(ratios, factors)
    if following.min() < _TINY:
        following = np.where(following < _TINY, 0.0, following)
    reached, total = _totals(following), _totals(values)
    return np.asarray(following * np.divide(total, reached, out=np.ones_like(total), where=reached > 0))


def _is_near(values: Floats, expected: Floats) -> npt.NDArray[np.bool_]:
    """Apply the discrepancy rule to each table: Pearson's chi2 is below cells - 1, or there is but one cell."""
    chi2 = _chi2(values, expected)
    return np.asarray((chi2 < values.size // len(values) - 1) | (chi2 == 0))


def _chi2(values: Floats, expected: Floats) -> Floats:
    """Return Pearson's chi2 of each table; infinite where a cell that holds records is expected empty, or fewer."""
    errors = (values - expected) ** 2
    if expected.min() > 0:
        return np.asarray((errors / expected).reshape(len(values), -1).sum(axis=1))
    shares = np.divide(errors, expected, out=np.zeros_like(errors), where=expected > 0)
    impossible = (expected < 0) | ((expected == 0) & (values != 0))
    return np.asarray(_totals(np.where(impossible, np.inf, shares))).ravel()
