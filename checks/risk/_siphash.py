"""Hash many short texts at once with SipHash-2-4-128, a keyed hash for short inputs, over arrays of 64-bit words.

Source: J.-P. Aumasson, D. J. Bernstein, "SipHash: a fast short-input PRF", INDOCRYPT 2012, section 2; the output of 128
bits as in the authors' reference code. `hashlib` hashes one text at a time, and calling it takes longer than hashing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Words: TypeAlias = npt.NDArray[np.uint64]

KEY: Final = 16
"""Bytes of a key."""

_START: Final = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)
_WIDE, _SECOND_HALF = 0xEE, 0xDD
_COMPRESSING, _FINISHING = 2, 4


def siphash_128(words: Sequence[Words], key: bytes) -> tuple[Words, Words]:
    """Return the 128 bits of each text, as its first and its second 8 bytes, each read little-endian.

    Args:
        words: shape (words of a text,) of arrays of shape (texts,): the first 8 bytes of every text, read
            little-endian, then the next. At least one.
        key: 16 secret bytes.

    Raises:
        ValueError: there is no word, or the key has another length.

    It is a pseudorandom function, not a hash without a key: whoever knows the key can make collisions.
    """
    import numpy as np

    if not words or len(key) != KEY:
        raise ValueError(f"a key of {len(key)} bytes and texts of {len(words)} words; expected {KEY}, and at least one")
    low, high = (np.uint64(int.from_bytes(half, "little")) for half in (key[:8], key[8:]))
    keyed = zip(_START, (low, high, low, high), strict=True)
    state = [np.full(len(words[0]), np.uint64(start) ^ half) for start, half in keyed]
    state[1] ^= np.uint64(_WIDE)
    scratch = np.empty(len(words[0]), dtype=np.uint64)
    length = np.full(1, 8 * len(words) % 256 << 56, dtype=np.uint64)
    for word in (*words, length):
        state[3] ^= word
        _mix(state, scratch, _COMPRESSING)
        state[0] ^= word
    state[2] ^= np.uint64(_WIDE)
    _mix(state, scratch, _FINISHING)
    first = state[0] ^ state[1] ^ state[2] ^ state[3]
    state[1] ^= np.uint64(_SECOND_HALF)
    _mix(state, scratch, _FINISHING)
    return first, state[0] ^ state[1] ^ state[2] ^ state[3]


def _mix(state: Sequence[Words], scratch: Words, rounds: int) -> None:
    """Do rounds on the state, in place."""
    a, b, c, d = state
    for _ in range(rounds):
        _cross(a, b, scratch, 13)
        _cross(c, d, scratch, 16)
        _turn(a, scratch, 32)
        _cross(c, b, scratch, 17)
        _cross(a, d, scratch, 21)
        _turn(c, scratch, 32)


def _cross(words: Words, other: Words, scratch: Words, bits: int) -> None:
    words += other
    _turn(other, scratch, bits)
    other ^= words


def _turn(words: Words, scratch: Words, bits: int) -> None:
    """Rotate to the left, in place."""
    import numpy as np

    np.left_shift(words, np.uint64(bits), out=scratch)
    np.right_shift(words, np.uint64(64 - bits), out=words)
    np.bitwise_or(words, scratch, out=words)
