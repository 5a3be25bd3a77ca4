"""Uniform integers from the bytes of the operating system: the only randomness of this sub-package.

Nothing is kept between calls: bytes that wait in a buffer would be the same bytes in two processes after a fork. The
single door is `operating_system_bytes`; no function takes a source, a generator or a seed. (A test puts a source of its
own in the place of that one name.)
"""

from __future__ import annotations

import os
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Flags: TypeAlias = NDArray[np.bool_]
Words: TypeAlias = NDArray[np.uint64]

ONE: Final = 1 << 64
"""What the threshold of a certain event is: thresholds are probabilities in units of 2^-64."""

_SMALL: Final = 1 << 24
"""Below this, a word of 32 bits is drawn again less than once in 256 times."""


def operating_system_bytes(count: int) -> bytes:
    """Read bytes from the operating system's generator."""
    return os.urandom(count)


def below(bound: int) -> int:
    """Draw an integer from 0 to `bound` - 1, each equally likely: as many bits as are needed, again if too large."""
    if bound < 1:
        raise ValueError(f"the bound is {bound}, expected at least 1")
    bits = (bound - 1).bit_length()
    size, spare = (bits + 7) // 8, -bits % 8
    while True:
        number = int.from_bytes(operating_system_bytes(size), "little") >> spare
        if number < bound:
            return number


def many_below(bound: int, count: int) -> Words:
    """Draw `count` independent integers from 0 to `bound` - 1 (`bound` at most 2^64), each equally likely.

    A word is taken modulo the bound; the words from the last multiple of the bound on are drawn again, so no remainder
    is likelier than another.
    """
    if not 1 <= bound <= ONE:
        raise ValueError(f"the bound is {bound}, expected 1 to 2^64")
    kind, size = (np.dtype("<u4"), 1 << 32) if bound <= _SMALL else (np.dtype("<u8"), ONE)
    words = _words(kind, count)
    if size % bound:
        limit = kind.type(size - size % bound)
        again = np.flatnonzero(words >= limit)
        while again.size:
            words[again] = _words(kind, again.size)
            again = again[words[again] >= limit]
    if bound < size:
        words %= kind.type(bound)
    return words.astype(np.uint64)


def flags(threshold: int, count: int) -> Flags:
    """Draw `count` independent flags, each true with probability `threshold` / 2^64 exactly (`threshold` 0 to 2^64).

    Compares one byte of each with the first byte of the threshold; only where they are equal the other 56 bits are
    drawn and compared, so that a flag costs little more than one byte.
    """
    if not 0 <= threshold <= ONE:
        raise ValueError(f"the threshold is {threshold}, expected 0 to 2^64")
    if threshold == ONE:
        return np.ones(count, dtype=np.bool_)
    first, rest = threshold >> 56, threshold & ((1 << 56) - 1)
    lead = np.frombuffer(operating_system_bytes(count), dtype=np.uint8)
    drawn: Flags = lead < first
    if rest:
        tied = np.flatnonzero(lead == first)
        drawn[tied] = (_words(np.dtype("<u8"), tied.size) >> np.uint64(8)) < np.uint64(rest)
    return drawn


def _words(kind: np.dtype[np.unsignedinteger], count: int) -> NDArray[np.unsignedinteger]:
    return np.frombuffer(operating_system_bytes(count * kind.itemsize), dtype=kind).copy()


def random_order(count: int) -> NDArray[np.int64]:
    """Return 0 to count - 1 in an order of which each is equally likely: that of random words, none of them equal."""
    while True:
        words = many_below(ONE, count)
        order = np.argsort(words)
        sorted_words = words[order]
        if (sorted_words[1:] != sorted_words[:-1]).all():
            return order
