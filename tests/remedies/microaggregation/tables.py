"""Tables to try laws on, and the published example."""

from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

# area (m2) and employees of 11 companies: Domingo-Ferrer et al., VLDB Journal 15 (2006), table 1
COMPANIES = np.array(
    [
        (790, 55),
        (710, 44),
        (730, 32),
        (810, 17),
        (950, 3),
        (510, 25),
        (400, 45),
        (330, 50),
        (510, 5),
        (760, 52),
        (50, 12),
    ]
)


@st.composite
def grids(draw: st.DrawFn, *, least: int = 2, most: int = 24) -> NDArray[Any]:
    """Draw tables of few whole numbers: many duplicates, many ties, now and then a constant column."""
    rows = draw(st.integers(least, most))
    columns = draw(st.integers(1, 3))
    highest = draw(st.integers(0, 6))
    cells = st.lists(st.integers(0, highest), min_size=columns, max_size=columns)
    return np.array(draw(st.lists(cells, min_size=rows, max_size=rows)))


def grid(seed: int, rows: int) -> NDArray[Any]:
    """Return a larger table with many duplicates and ties."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, rng.integers(2, 9), (rows, rng.integers(1, 5)))


def cloud(seed: int, rows: int) -> NDArray[Any]:
    """Return a table of floats with long tails and columns that hang together."""
    rng = np.random.default_rng(seed)
    columns = int(rng.integers(1, 24))
    factors = rng.normal(size=(rows, 3)) @ rng.normal(size=(3, columns))
    return np.exp(0.7 * factors + 0.3 * rng.normal(size=factors.shape)) * 10.0 ** rng.integers(-6, 9, columns)
