"""Say how a randomised attribute comes out, and apply that to tables of counts without building matrices of cells."""

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

    def forward(self, counts: Floats) -> Floats:
        """Give counts A, what is expected to come out."""
        return self._mixed(counts, self.retention, (1 - self.retention) / self.size)

    def backward(self, ratios: Floats) -> Floats:
        """Give ratios A^T, which is A."""
        return self.forward(ratios)

    def inverse(self, counts: Floats) -> Floats:
        """Give counts A^-1.

        Raises:
            Misfit: nothing is kept.
        """
        keep, share = self._inverse()
        return self._mixed(counts, keep, share)

    def squared(self, counts: Floats) -> Floats:
        """Give counts (A o A), with each entry squared."""
        return self._squared(counts, self.retention, (1 - self.retention) / self.size)

    def inverse_squared(self, counts: Floats) -> Floats:
        """Give counts (A^-1 o A^-1), with each entry squared.

        Raises:
            Misfit: nothing is kept.
        """
        return self._squared(counts, *self._inverse())

    def dense(self) -> Floats:
        """Give A, (V, V)."""
        return np.asarray(self.forward(np.eye(self.size)))

    def _inverse(self) -> tuple[float, float]:
        if self.size == 1:
            return 1.0, 0.0
        if self.retention <= 0:
            raise Misfit("nothing of an attribute is kept, so its counts cannot be inverted; use method 'bayes'")
        return 1 / self.retention, -(1 - self.retention) / self.retention / self.size

    @staticmethod
    def _mixed(counts: Floats, keep: float, share: float) -> Floats:
        return np.asarray(keep * counts + share * counts.sum(axis=-1, keepdims=True))

    def _squared(self, counts: Floats, keep: float, share: float) -> Floats:
        return self._mixed(counts, (keep + share) ** 2 - share**2, share**2)


@dataclass(frozen=True, slots=True, eq=False)
class Dense:
    """Any transition matrix of one attribute, float64 (V, V); rows sum to 1."""

    matrix: Floats

    @property
    def size(self) -> int:
        """How many values the attribute has."""
        return len(self.matrix)

    def forward(self, counts: Floats) -> Floats:
        """Give counts A, what is expected to come out."""
        return np.asarray(counts @ self.matrix)

    def backward(self, ratios: Floats) -> Floats:
        """Give ratios A^T."""
        return np.asarray(ratios @ self.matrix.T)

    def inverse(self, counts: Floats) -> Floats:
        """Give counts A^-1.

        Raises:
            Misfit: there is no inverse.
        """
        return np.asarray(counts @ self._inverse())

    def squared(self, counts: Floats) -> Floats:
        """Give counts (A o A), with each entry squared."""
        return np.asarray(counts @ self.matrix**2)

    def inverse_squared(self, counts: Floats) -> Floats:
        """Give counts (A^-1 o A^-1), with each entry squared.

        Raises:
            Misfit: there is no inverse.
        """
        return np.asarray(counts @ self._inverse() ** 2)

    def _inverse(self) -> Floats:
        try:
            return np.asarray(np.linalg.inv(self.matrix))
        except np.linalg.LinAlgError:
            raise Misfit("a matrix is singular, so counts cannot be inverted; use method 'bayes'") from None


Factor: TypeAlias = Replacement | Dense
"""The transition matrix A of one attribute, by what it does along the last axis. A[a, b]: a comes out as b."""
Matrix: TypeAlias = "Factor | Floats"


def read_factors(matrix: Matrix | Sequence[Matrix], counts: Floats) -> tuple[tuple[Factor, ...], Floats]:
    """Give a factor for each axis of the counts, and the counts in that shape.

    One matrix over all cells belongs to the counts laid out as one axis, the last varying fastest.

    Raises:
        Misfit: a matrix is not square, has entries below 0 or rows that do not sum to 1, or does not fit the shape.
    """
    if isinstance(matrix, list | tuple):
        factors = tuple(_factor(one) for one in matrix)
    else:
        factors = (_factor(cast("Matrix", matrix)),)
    shaped = counts.reshape(-1) if len(factors) == 1 else counts
    sizes = tuple(one.size for one in factors)
    if sizes != shaped.shape:
        raise Misfit(f"the matrices are of {sizes} values, the counts of {counts.shape}; expected one for each axis")
    return factors, shaped


def along(counts: Floats, factors: Sequence[Factor], step: Callable[[Factor, Floats], Floats]) -> Floats:
    """Apply one step of each factor along its axis: what the Kronecker product of all would do to all cells."""
    for axis, factor in enumerate(factors):
        counts = np.moveaxis(step(factor, np.moveaxis(counts, axis, -1)), -1, axis)
    return counts


def forward(counts: Floats, factors: Sequence[Factor]) -> Floats:
    """Give what is expected to come out of counts."""
    return along(counts, factors, lambda factor, cells: factor.forward(cells))


def _factor(matrix: Matrix) -> Factor:
    if isinstance(matrix, Replacement | Dense):
        return matrix
    array = np.asarray(matrix, dtype=np.float64)
    if array.ndim != 2 or array.shape[0] != array.shape[1] or not array.size:
        raise Misfit(f"a matrix of shape {array.shape} was given; expected an array (V, V), or a list of such arrays")
    if not (array >= 0).all() or not np.allclose(array.sum(axis=1), 1, rtol=0, atol=1e-9):
        raise Misfit("a matrix has entries below 0 or rows that do not sum to 1; row a holds where value a goes")
    return Dense(array)
