"""Compute how a randomised attribute comes out, and apply that to tables of counts without matrices of cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

import numpy as np
import numpy.typing as npt

from remedies._errors import Misfit

Floats: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Replacement:
    """A value is kept with a probability, else replaced by a uniform draw: A = rho I + (1 - rho) / V, in O(V).

    `retention`: rho, 0 to 1. `size`: V, the values of the declared domain.
    """

    retention: float
    size: int

    def forward(self, counts: Floats, axis: int = -1) -> Floats:
        """Return counts A, what is expected to come out."""
        return self._mixed(counts, axis, *self._shares())

    def backward(self, ratios: Floats, axis: int = -1) -> Floats:
        """Return ratios A^T, which is A."""
        return self.forward(ratios, axis)

    def inverse(self, counts: Floats, axis: int = -1) -> Floats:
        """Return counts A^-1.

        Raises:
            Misfit: nothing is kept.
        """
        keep, share = self._inverse()
        return self._mixed(counts, axis, keep, share)

    def squared(self, counts: Floats, axis: int = -1) -> Floats:
        """Return counts (A o A), with each entry squared."""
        return self._squared(counts, axis, *self._shares())

    def inverse_squared(self, counts: Floats, axis: int = -1) -> Floats:
        """Return counts (A^-1 o A^-1), with each entry squared.

        Raises:
            Misfit: nothing is kept.
        """
        return self._squared(counts, axis, *self._inverse())

    def dense(self) -> Floats:
        """Return A, (V, V)."""
        return np.asarray(self.forward(np.eye(self.size)))

    def _shares(self) -> tuple[float, float]:
        """Return what stays, and what each value gets of all; an only value stays."""
        return (self.retention, (1 - self.retention) / self.size) if self.size > 1 else (1.0, 0.0)

    def _inverse(self) -> tuple[float, float]:
        if self.size == 1:
            return 1.0, 0.0
        if self.retention <= 0:
            raise Misfit("nothing of an attribute is kept, so its counts cannot be inverted; use method 'bayes'")
        return 1 / self.retention, -(1 - self.retention) / self.retention / self.size

    @staticmethod
    def _mixed(counts: Floats, axis: int, keep: float, share: float) -> Floats:
        return np.asarray(keep * counts + share * counts.sum(axis=axis, keepdims=True))

    def _squared(self, counts: Floats, axis: int, keep: float, share: float) -> Floats:
        return self._mixed(counts, axis, (keep + share) ** 2 - share**2, share**2)


@dataclass(frozen=True, slots=True, eq=False)
class Dense:
    """Any transition matrix of one attribute, float64 (V, V); rows sum to 1."""

    matrix: Floats

    @property
    def size(self) -> int:
        """Return how many values the attribute has."""
        return len(self.matrix)

    def forward(self, counts: Floats, axis: int = -1) -> Floats:
        """Return counts A, what is expected to come out."""
        return self._times(counts, axis, self.matrix)

    def backward(self, ratios: Floats, axis: int = -1) -> Floats:
        """Return ratios A^T."""
        return self._times(ratios, axis, self.matrix.T)

    def inverse(self, counts: Floats, axis: int = -1) -> Floats:
        """Return counts A^-1.

        Raises:
            Misfit: there is no inverse.
        """
        return self._times(counts, axis, self._inverse())

    def squared(self, counts: Floats, axis: int = -1) -> Floats:
        """Return counts (A o A), with each entry squared."""
        return self._times(counts, axis, self.matrix**2)

    def inverse_squared(self, counts: Floats, axis: int = -1) -> Floats:
        """Return counts (A^-1 o A^-1), with each entry squared.

        Raises:
            Misfit: there is no inverse.
        """
        return self._times(counts, axis, self._inverse() ** 2)

    @staticmethod
    def _times(counts: Floats, axis: int, matrix: Floats) -> Floats:
        return np.moveaxis(np.moveaxis(counts, axis, -1) @ matrix, -1, axis)

    def _inverse(self) -> Floats:
        try:
            return np.asarray(np.linalg.inv(self.matrix))
        except np.linalg.LinAlgError:
            raise Misfit("a matrix is singular, so counts cannot be inverted; use method 'bayes'") from None


Factor: TypeAlias = Replacement | Dense
"""The transition matrix A of one attribute, by what it does along an axis. A[a, b]: a comes out as b."""
Matrix: TypeAlias = "Factor | Floats"
Step: TypeAlias = Callable[[Factor, Floats, int], Floats]


def read_factors(matrix: Matrix | Sequence[Matrix], counts: Floats) -> tuple[tuple[Factor, ...], Floats]:
    """Return a factor for each axis of the counts, and the counts in that shape.

    One matrix over all cells belongs to the counts laid out as one axis, the last varying fastest.

    Raises:
        Misfit: a matrix is not square, has entries below 0 or rows that do not sum to 1, or does not fit the shape.
    """
    if isinstance(matrix, list | tuple):
        factors = tuple(_factor(item) for item in matrix)
    else:
        factors = (_factor(cast("Matrix", matrix)),)
    shaped = counts.reshape(-1) if len(factors) == 1 else counts
    sizes = tuple(factor.size for factor in factors)
    if sizes != shaped.shape:
        raise Misfit(f"the matrices are of {sizes} values, the counts of {counts.shape}; expected one for each axis")
    return factors, shaped


def along(counts: Floats, factors: Sequence[Factor], step: Step) -> Floats:
    """Apply one step of each factor along its axis: what the Kronecker product of all would do to all cells.

    The factors are of the last axes; what comes before them numbers several tables.
    """
    for axis, factor in enumerate(factors, start=-len(factors)):
        counts = step(factor, counts, axis)
    return counts


def forward(counts: Floats, factors: Sequence[Factor]) -> Floats:
    """Return what is expected to come out of counts."""
    return along(counts, factors, lambda item, cells, axis: item.forward(cells, axis))


def backward(ratios: Floats, factors: Sequence[Factor]) -> Floats:
    """Return ratios A^T."""
    return along(ratios, factors, lambda item, cells, axis: item.backward(cells, axis))


def inverse(counts: Floats, factors: Sequence[Factor]) -> Floats:
    """Return counts A^-1.

    Raises:
        Misfit: a factor has no inverse.
    """
    return along(counts, factors, lambda item, cells, axis: item.inverse(cells, axis))


def squared(counts: Floats, factors: Sequence[Factor]) -> Floats:
    """Return counts (A o A), with each entry squared."""
    return along(counts, factors, lambda item, cells, axis: item.squared(cells, axis))


def inverse_squared(counts: Floats, factors: Sequence[Factor]) -> Floats:
    """Return counts (A^-1 o A^-1), with each entry squared.

    Raises:
        Misfit: a factor has no inverse.
    """
    return along(counts, factors, lambda item, cells, axis: item.inverse_squared(cells, axis))


def _factor(matrix: Matrix) -> Factor:
    if isinstance(matrix, Replacement | Dense):
        return matrix
    array = np.asarray(matrix, dtype=np.float64)
    if array.ndim != 2 or array.shape[0] != array.shape[1] or not array.size:
        raise Misfit(f"a matrix of shape {array.shape} was given; expected an array (V, V), or a list of such arrays")
    if not (array >= 0).all() or not np.allclose(array.sum(axis=1), 1, rtol=0, atol=1e-9):
        raise Misfit("a matrix has entries below 0 or rows that do not sum to 1; row a holds where value a goes")
    return Dense(array)
