"""Signatures of classes with counts, as arrays that lie packed: first halves, second halves, counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

SIGNATURE: Final = 16
"""Bytes of a signature."""

COPIES: Final = 8
"""Bytes of a number of rows, the least significant first; 0 where an earlier version kept none."""

CLASS_VALUE: Final = 3 * SIGNATURE + 2 * COPIES
"""Bytes of a value of a class: the signatures of column, class and value, and how many rows and people have it."""

_WORD: Final = 8
_PAIR: Final = 3 * _WORD


@dataclass(frozen=True, slots=True)
class SignaturePairs:
    """Signatures with counts, each signature once, ascending, no count 0.

    `first`, `second`: the halves of the signatures, as whole numbers of 8 bytes. `counts`: 8 bytes each, signed where
    they are differences. All little-endian.
    """

    first: bytes = b""
    second: bytes = b""
    counts: bytes = b""

    @classmethod
    def summed(
        cls, first: npt.NDArray[np.uint64], second: npt.NDArray[np.uint64], counts: npt.NDArray[np.int64]
    ) -> SignaturePairs:
        """Return pairs of signatures, given in any order with a count each; the counts of equal ones are added."""
        import numpy as np

        if not len(counts):
            return cls()
        order = np.argsort(first, kind="stable")  # quick where what is put together is sorted already
        alike = first[order[1:]] == first[order[:-1]]
        if (alike & (second[order[1:]] != second[order[:-1]])).any():  # two signatures that begin alike
            order = np.lexsort((second, first))
        first, second, counts = first[order], second[order], counts[order]
        new = (first[1:] != first[:-1]) | (second[1:] != second[:-1])
        if new.all() and counts.all():
            return cls._of(first, second, counts)
        begins = np.flatnonzero(np.concatenate(([True], new)))
        sums = np.add.reduceat(counts, begins)
        starts = begins[sums != 0]
        return cls._of(first[starts], second[starts], sums[sums != 0])

    @classmethod
    def _of(
        cls, first: npt.NDArray[np.uint64], second: npt.NDArray[np.uint64], counts: npt.NDArray[np.int64]
    ) -> SignaturePairs:
        low, high = (half.astype("<u8", copy=False).tobytes() for half in (first, second))
        return cls(low, high, counts.astype("<i8", copy=False).tobytes())

    @classmethod
    def added(cls, *several: SignaturePairs) -> SignaturePairs:
        """Add the counts of several up."""
        some = [item for item in several if item.counts]
        if len(some) < 2:
            return some[0] if some else cls()
        every = cls.joined(some)  # not ascending yet
        return cls.summed(*every.halves(), every.numbers())

    @classmethod
    def joined(cls, several: Iterable[SignaturePairs]) -> SignaturePairs:
        """Combine several of which each begins after the one before has ended."""
        every = list(several)
        if len(every) == 1:
            return every[0]
        first, second = (
            b"".join(signature_pairs.first for signature_pairs in every),
            b"".join(signature_pairs.second for signature_pairs in every),
        )
        return cls(first, second, b"".join(signature_pairs.counts for signature_pairs in every))

    @classmethod
    def unpacked(cls, packed: bytes) -> SignaturePairs:
        """Return what was packed."""
        end = len(packed) // _PAIR * _WORD
        return cls(packed[:end], packed[end : 2 * end], packed[2 * end :])

    @property
    def packed(self) -> bytes:
        """Return all of it in one piece."""
        return self.first + self.second + self.counts

    @property
    def negative(self) -> SignaturePairs:
        """Return it with each count below zero, and the other way round."""
        return SignaturePairs(self.first, self.second, (-self.numbers()).astype("<i8").tobytes())

    def slice(self, begin: int, end: int) -> SignaturePairs:
        """Return some of it, by place."""
        some = slice(begin * _WORD, end * _WORD)
        return SignaturePairs(self.first[some], self.second[some], self.counts[some])

    def shards(self, bits: int) -> Sequence[tuple[int, SignaturePairs]]:
        """Return it apart by the first bits of the signatures: (number, pairs), ascending, none that is empty."""
        import numpy as np

        first = self.halves()[0]
        limits = np.arange(1, 1 << bits, dtype=np.uint64) << np.uint64(64 - bits)
        ends = [*np.searchsorted(first, limits).tolist(), len(self)]
        begins = [0, *ends[:-1]]
        places = enumerate(zip(begins, ends, strict=True))
        return [(number, self.slice(begin, end)) for number, (begin, end) in places if end > begin]

    def of_each(self, signature_pairs: SignaturePairs) -> npt.NDArray[np.int64]:
        """Return the count of each signature that is wanted, in that order; 0 for one that is not here."""
        import numpy as np

        result = np.zeros(len(signature_pairs), dtype=np.int64)
        if not (len(self) and len(signature_pairs)):
            return result
        (first, second), (wanted_first, wanted_second) = self.halves(), signature_pairs.halves()
        if (first[1:] == first[:-1]).any():  # one in 10^7 tables of two million classes
            counts = dict(self.items())
            return np.array([counts.get(signature, 0) for signature, _ in signature_pairs.items()], dtype=np.int64)
        place = np.minimum(np.searchsorted(first, wanted_first), len(first) - 1)
        alike = (first[place] == wanted_first) & (second[place] == wanted_second)
        result[alike] = self.numbers()[place[alike]]
        return result

    def __len__(self) -> int:
        """Count the signatures."""
        return len(self.counts) // _WORD

    def items(self) -> Iterable[tuple[tuple[int, int], int]]:
        """Return each signature, as its two halves, with its count."""
        first, second = self.halves()
        return zip(zip(first.tolist(), second.tolist(), strict=True), self.numbers().tolist(), strict=True)

    def sizes(self) -> list[tuple[int, int]]:
        """Return how many signatures have which count: (count, number)."""
        import numpy as np

        sizes, classes = np.unique(self.numbers(), return_counts=True)
        return list(zip(sizes.tolist(), classes.tolist(), strict=True))

    def numbers(self) -> npt.NDArray[np.int64]:
        """Return the counts, in the order of the signatures."""
        import numpy as np

        return np.frombuffer(self.counts, dtype="<i8")

    def halves(self) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
        """Return the first and the second halves of the signatures."""
        import numpy as np

        return np.frombuffer(self.first, dtype="<u8"), np.frombuffer(self.second, dtype="<u8")
