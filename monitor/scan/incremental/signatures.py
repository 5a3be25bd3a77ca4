"""Add up counts of signatures as they come, piece by piece, as arrays."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from checks.classes.pairs import SignaturePairs


@dataclass(frozen=True, slots=True)
class SignedRows:
    """Signatures, as their first and second halves, with a count each."""

    first: npt.NDArray[np.uint64]
    second: npt.NDArray[np.uint64]
    counts: npt.NDArray[np.int64]

    def of(self, places: npt.NDArray[Any] | slice) -> "SignedRows":
        """Return some of them."""
        return SignedRows(self.first[places], self.second[places], self.counts[places])

    def times(self, factors: npt.NDArray[np.int64]) -> "SignedRows":
        """Return them with other counts."""
        return SignedRows(self.first, self.second, self.counts * factors)


@dataclass
class SignatureCounts:
    """Signatures with counts, as they come."""

    rows: int = 0
    signed: list[SignedRows] = field(default_factory=list)

    def add(self, signed: SignedRows) -> None:
        """Take more."""
        self.signed.append(signed)
        self.rows += int(signed.counts.sum())

    def pairs(self) -> SignaturePairs:
        """Return the counts, each signature once."""
        if not self.signed:
            return SignaturePairs()
        return SignaturePairs.summed(
            np.concatenate([signed_rows.first for signed_rows in self.signed]),
            np.concatenate([signed_rows.second for signed_rows in self.signed]),
            np.concatenate([signed_rows.counts for signed_rows in self.signed]),
        )
