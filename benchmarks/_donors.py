"""Make a table like one about donors: 36 numeric columns that hang together, with long tails and many equal values.

Five latent factors drive 10 log-normal amounts, 8 counts with too many zeros, 6 ordinal codes, 7 percentages clipped at
0 and 100 and 5 integers (ages, years, months). Made in blocks, so that a table of 500,000 rows needs little more memory
than itself.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

COLUMNS: Final = 36
_FACTORS: Final = 5
_BLOCK: Final = 65_536
_AMOUNTS, _COUNTS, _CODES, _SHARES, _INTEGERS = 10, 8, 6, 7, 5


def donors(rows: int, *, seed: int = 1) -> NDArray[np.float64]:
    """Return `rows` x 36 values; the same rows and seed give the same table.

    The loadings of the columns depend on nothing, so tables of all sizes and seeds are samples of one population.
    """
    loadings = _loadings()
    table = np.empty((rows, COLUMNS))
    for number, start in enumerate(range(0, rows, _BLOCK)):
        block = table[start : start + _BLOCK]
        block[:] = _rows(np.random.default_rng((seed, number)), loadings, len(block))
    return table


def _loadings() -> NDArray[np.float64]:
    dice = np.random.default_rng(20061)
    loadings = dice.normal(size=(COLUMNS, _FACTORS)) * np.array([1.0, 0.85, 0.7, 0.55, 0.45])
    return np.asarray(loadings / np.linalg.norm(loadings, axis=1, keepdims=True))


def _rows(dice: np.random.Generator, loadings: NDArray[np.float64], rows: int) -> NDArray[Any]:
    factors = dice.normal(size=(rows, _FACTORS))
    factors[:, 0] += np.where(dice.random(rows) < 0.2, 1.6, -0.4)  # one in five is another kind of donor
    signal = factors @ loadings.T
    noise = dice.normal(size=(rows, COLUMNS))
    parts = np.split(np.arange(COLUMNS), np.cumsum([_AMOUNTS, _COUNTS, _CODES, _SHARES]))
    amounts, counts, codes, shares, integers = parts
    table = np.empty((rows, COLUMNS))
    table[:, amounts] = np.round(np.exp(3.0 + 0.75 * signal[:, amounts] + 0.4 * noise[:, amounts]), 2)
    rate = np.exp(0.4 + 0.8 * signal[:, counts] + 0.3 * noise[:, counts])
    gives = signal[:, counts] + 0.5 * dice.normal(size=rate.shape) > -0.3
    table[:, counts] = np.where(gives, np.round(rate + 0.6 * noise[:, counts] * np.sqrt(rate)), 0).clip(0)
    table[:, codes] = np.clip(np.round(3 + 1.6 * signal[:, codes] + 0.6 * noise[:, codes]), 0, 6)
    table[:, shares] = np.clip(np.round(45 + 30 * signal[:, shares] + 10 * noise[:, shares]), 0, 100)
    table[:, integers] = np.round(50 + 14 * signal[:, integers] + 7 * noise[:, integers])
    return table
