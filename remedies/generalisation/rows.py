"""Find rows again among the combinations of a frequency table; they may come in pieces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from remedies.generalisation.frequencies import ColumnFrequencies, Frequencies
from remedies.generalisation.spelling import text_of

if TYPE_CHECKING:
    import pandas as pd

Whole = npt.NDArray[np.int64]

UNKNOWN = -1
"""The combination of a row that the frequency table does not have."""


class Rows:
    """Names the combination of rows. Of combinations that differ in sensitive values alone it gives the first."""

    def __init__(self, frequencies: Frequencies) -> None:
        self._domains = [_Leaves(domain) for domain in frequencies.domains]
        self._pairs: list[Whole] = []
        """For each column, the (number of the columns before, leaf) that occur, as one number, ascending."""
        numbers = np.zeros(len(frequencies.counts), dtype=np.int64)
        for place, domain in enumerate(frequencies.domains):
            pairs = numbers * len(domain.values) + frequencies.codes[:, place]
            known, numbers = np.unique(pairs, return_inverse=True)
            self._pairs.append(known)
        self._first = np.unique(numbers, return_index=True)[1]

    def find(self, table: pd.DataFrame) -> Whole:
        """Return the combination of each row: int64 (rows,), UNKNOWN where there is none."""
        numbers = np.zeros(len(table), dtype=np.int64)
        known = np.ones(len(table), dtype=np.bool_)
        for leaves, pairs in zip(self._domains, self._pairs, strict=True):
            codes = leaves.find(table[leaves.column])
            wanted = numbers * leaves.count + codes
            numbers = np.minimum(np.searchsorted(pairs, wanted), len(pairs) - 1)
            known &= (codes >= 0) & (pairs[numbers] == wanted)
        return np.where(known, self._first[numbers], UNKNOWN).astype(np.int64)


class _Leaves:
    """Names the leaf of a value of one column. NaN and NULL are two values, if the table has them as such."""

    def __init__(self, domain: ColumnFrequencies) -> None:
        self.column, self.count = domain.column, len(domain.values)
        self._null = next((leaf for leaf, value in enumerate(domain.values) if value is None), UNKNOWN)
        self._leaves = {text_of(value): leaf for leaf, value in enumerate(domain.values) if value is not None}

    def find(self, column: pd.Series[Any]) -> Whole:
        """Return the leaf of each row, UNKNOWN where there is none."""
        import pandas as pd

        codes, values = pd.factorize(column, use_na_sentinel=True)
        leaves = np.array(
            [*(self._leaves.get(text_of(value), UNKNOWN) for value in values), self._null], dtype=np.int64
        )
        return leaves[codes]
