"""The values a person can have: declared before the first report, by a list or by how many there are."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from remedies._errors import Misfit

Codes: TypeAlias = NDArray[np.int64]
Declared: TypeAlias = int | Sequence[Hashable]
"""A domain: its values, or d for the integers 0 to d - 1."""

LARGEST: Final = 2**31 - 1


class Choices:
    """A declared domain. `other`: the value that stands for all that is not declared, NULL included; None: refuse."""

    def __init__(self, declared: Declared, *, other: Hashable = None) -> None:
        """Declare a domain.

        Raises:
            Misfit: it has fewer than two values or more than 2^31 - 1, one comes twice, or `other` is not among them.
        """
        if isinstance(declared, str | bytes | bool):
            raise Misfit("a domain is a list of values or their number, not one word")
        self.size = declared if isinstance(declared, int) else len(declared)
        if not 2 <= self.size <= LARGEST:
            raise Misfit(f"the domain has {self.size} values, expected 2 to 2^31 - 1")
        self.values: np.ndarray | None = None
        self._codes: dict[Hashable, int] = {}
        if not isinstance(declared, int):
            self.values = np.empty(self.size, dtype=np.object_)
            for code, value in enumerate(declared):
                self.values[code] = value
                self._codes[value] = code
            if len(self._codes) != self.size or None in self._codes:
                raise Misfit("the domain names a value twice, or None; name each value once, and one for `other`")
        self.other = -1 if other is None else self._code(other)
        if other is not None and self.other < 0:
            raise Misfit("`other` is not a value of the domain; add it")

    def encode(self, values: Iterable[Hashable]) -> Codes:
        """Return the position of each value in the domain: int64 (n,).

        Raises:
            Misfit: some are not in the domain, and no `other` stands for them. (They are counted, never shown.)
        """
        codes = self.positions(values)
        codes = np.where(codes < 0, self.other, codes)
        outside = int((codes < 0).sum())
        if outside:
            raise Misfit(
                f"{outside} of {codes.size} values are not in the declared domain; declare an `other` for them"
            )
        return codes

    def positions(self, values: Iterable[Hashable]) -> Codes:
        """Return the position of each value in the domain, -1 where it is not declared: int64 (n,)."""
        codes = self._integers(values) if self.values is None else self._looked_up(values)
        return np.where((codes >= 0) & (codes < self.size), codes, -1)

    def decode(self, codes: Codes) -> np.ndarray:
        """Return the values at these positions."""
        return codes if self.values is None else self.values[codes]

    def _code(self, value: Hashable) -> int:
        if self.values is not None:
            return self._codes.get(value, -1)
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            return -1
        return int(value) if 0 <= value < self.size else -1

    def _integers(self, values: Iterable[Hashable]) -> Codes:
        if hasattr(values, "__array__"):
            array = np.asarray(values)
            if array.ndim == 1 and array.dtype.kind in "iu" and array.dtype != np.uint64:
                return array.astype(np.int64)
        hashables = list(values)
        return np.fromiter((self._code(value) for value in hashables), dtype=np.int64, count=len(hashables))

    def _looked_up(self, values: Iterable[Hashable]) -> Codes:
        hashables = values.tolist() if isinstance(values, np.ndarray) else list(values)
        return np.fromiter((self._codes.get(value, -1) for value in hashables), dtype=np.int64, count=len(hashables))
