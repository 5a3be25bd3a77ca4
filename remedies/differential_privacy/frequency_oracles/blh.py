"""BLH, binary local hashing (Bassily, Smith 2015; Wang et al. 2017, section 4.4): a hash of one bit."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

from remedies.differential_privacy.frequency_oracles._hashing import HashingOracle


class BLH(HashingOracle):
    """Report a hash function and one bit: p = e/(e+1), q = 1/2."""

    name: ClassVar[str] = "BLH"

    @cached_property
    def buckets(self) -> int:
        """How many buckets there are: two."""
        return 2
