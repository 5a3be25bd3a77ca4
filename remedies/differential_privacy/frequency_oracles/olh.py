"""OLH, optimised local hashing (Wang et al. 2017, section 4.4): as many buckets as vary least."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar, Final

from remedies.differential_privacy.frequency_oracles._hashing import HashingOracle

_MOST: Final = 2**30


class OLH(HashingOracle):
    """Report a hash function and one of g = round(e) + 1 buckets (at most 2^30): p = e/(e+g-1), q = 1/g.

    As good as OUE, with a report of three numbers instead of d bits: for large domains.
    """

    name: ClassVar[str] = "OLH"

    @cached_property
    def buckets(self) -> int:
        """How many buckets there are."""
        return min(round(self.odds) + 1, _MOST)
