"""Standardisation: distances count every column alike."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from remedies.microaggregation._input import table

_LARGE = 2.0**400  # squares of larger values overflow, squares of its inverse vanish


@dataclass(frozen=True, slots=True, eq=False)
class Coordinates:
    """Records whose coordinates are scaled as they are meant: what standardises its input leaves these alone.

    `values`: (n, a) finite float64, a >= 0: z-scores times a weight, ranks, one axis for each name of a nominal column.
    """

    values: npt.NDArray[np.float64]

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[np.float64]:
        """Return the values as an array."""
        return np.array(self.values, dtype=dtype, copy=copy)


def standardise(X: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return z-scores: every column minus its mean, divided by its population standard deviation (ddof = 0).

    Constant columns have no z-score. They are passed through as they are, and so add nothing to any distance or loss.
    Standardising twice is standardising once, up to rounding. O(n d).

    Args:
        X: (n, d), or (n,) for one column; finite numbers in any unit.

    Returns:
        (n, d) float64 without a unit.

    Raises:
        Misfit: the input is not a finite numeric table.

    Source: Domingo-Ferrer et al., VLDB Journal 15 (2006), section 5; DEIM 2015 G1-4, table 2.
    """
    numbers = table(X)
    varying = numbers.min(axis=0) < numbers.max(axis=0)
    scores = numbers.copy()
    if varying.any():
        scores[:, varying] = _scores(np.compress(varying, numbers, axis=1))
    return scores


def z_scores(X: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return z-scores of the columns that vary: (n, v) float64, contiguous; one column of zeros if nothing varies.

    `Coordinates` are only centred.

    Raises:
        Misfit: the input is not a finite numeric table.
    """
    numbers = table(X)
    if isinstance(X, Coordinates) and numbers.shape[1]:
        return np.ascontiguousarray(numbers - numbers.mean(axis=0))
    varying = numbers.min(axis=0) < numbers.max(axis=0)
    return _scores(numbers.copy() if varying.all() else np.compress(varying, numbers, axis=1))


def _scores(varying: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return z-scores in the place of their columns: tables may fill half of the memory."""
    if varying.shape[1] == 0:
        return np.zeros((varying.shape[0], 1))
    largest = np.maximum(varying.max(axis=0), -varying.min(axis=0))
    if largest.max() > _LARGE or largest.min() < 1 / _LARGE:
        varying *= 2.0 ** -np.frexp(largest)[1]  # a power of two changes no digit
    varying -= varying.mean(axis=0)
    varying /= np.sqrt(np.einsum("ij,ij->j", varying, varying) / len(varying))
    return np.ascontiguousarray(varying)
