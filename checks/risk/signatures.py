"""Keyed 128-bit hashes of combinations of values, so that counts can be kept without the values.

Source: J.-P. Aumasson, D. J. Bernstein, "SipHash: a fast short-input PRF", INDOCRYPT 2012, section 2; the output of 128
bits as in the authors' reference code. `hashlib` hashes one text at a time, and calling it takes longer than hashing.

An attacker who holds the signatures but not the key cannot guess values, as with a plain hash of a postcode. One who
holds both can: keep the key apart from copies of the store. Two combinations get the same signature with a probability
of 2^-128 per pair; that would raise k (DEFINITIONS.md section 3), and is negligible.

What is hashed is canonical and prefix-free: per value the length of what follows, a tag of its kind, and its bytes.

    NULL            a tag of its own
    numbers         by value, as an exact fraction: 1, 1.0, Decimal("1.00") and True are one, "1" is another
    NaN, infinity   by name; every NaN is alike, as in a GROUP BY
    text            UTF-8 as it is: no trimming, no case folding, no normal form
    times           with a zone: the instant; without: the wall clock; a date is neither
    others          bytes, UUIDs, durations, clocks; lists and structs by their items

So a signature tells apart what the GROUP BY of a typed column tells apart, and a column that turns from whole numbers
to decimals keeps its classes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from hashlib import blake2b
from secrets import token_bytes
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from uuid import UUID

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Words: TypeAlias = npt.NDArray[np.uint64]

KEY: Final = 16
"""Bytes of a key."""

_SIPHASH_STATE: Final = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)
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

    It is a pseudorandom function, not a hash without a key: with the key collisions can be made.
    """
    import numpy as np

    if not words or len(key) != KEY:
        raise ValueError(f"a key of {len(key)} bytes and texts of {len(words)} words; expected {KEY}, and at least one")
    low, high = (np.uint64(int.from_bytes(half, "little")) for half in (key[:8], key[8:]))
    keyed = zip(_SIPHASH_STATE, (low, high, low, high), strict=True)
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
    """Apply the rounds to the state, in place."""
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


SIZE: Final = 16
"""Bytes of a signature."""

LEAST_KEY: Final = 16
_MOST_KEPT: Final = 50_000
"""Encoded values kept in memory per column: a column of few values is encoded once per value."""
_LENGTH: Final = struct.Struct(">I")
_NONCE: Final = 16
_BLOCK: Final = blake2b.MAX_DIGEST_SIZE
_START: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - wall clocks are counted as they are written
_START_UTC: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


class NotSignable(TypeError):
    """A value is of a kind that has no canonical form. The message names the kind, never the value."""


class Signer:
    """Computes signatures under one key, for one purpose: the same values get others under another key or purpose.

    Args:
        key: secret bytes, at least 16 and at most 64; 32 random ones are best.
        purpose: what the signatures stand for, at most 16 characters of ASCII.

    Raises:
        ValueError: the key is too short or too long.
    """

    def __init__(self, key: bytes, purpose: str = "class") -> None:
        if not LEAST_KEY <= len(key) <= blake2b.MAX_KEY_SIZE:
            raise ValueError(f"the key of signatures has {len(key)} bytes; expected 16 to {blake2b.MAX_KEY_SIZE}")
        self._key = key
        self._begun = blake2b(key=key, digest_size=SIZE, person=purpose.encode("ascii"))

    def signature(self, values: Sequence[object]) -> bytes:
        """Return the 16 bytes that stand for a combination of values.

        Raises:
            NotSignable: a value has no canonical form.
        """
        return self._digest(_LENGTH.pack(len(values)) + b"".join(map(encoded, values)))

    def signatures(self, rows: Iterable[Sequence[Any]], places: Sequence[int]) -> Iterable[bytes]:
        """Return the signatures of many rows, each of the values at the same places, lazily.

        About half a million rows a second, where columns have few values (`benchmarks/incremental_risk.py`).

        Raises:
            NotSignable: a value has no canonical form.
        """
        begun = self._begun.copy()
        begun.update(_LENGTH.pack(len(places)))
        columns = [(_Column(), place) for place in places]
        copy, join = begun.copy, b"".join
        for row in rows:
            try:
                text = join([column[row[place]] for column, place in columns])
            except TypeError:  # lists and structs cannot be keys
                text = join(encoded(row[place]) for place in places)
            hashing = copy()
            hashing.update(text)
            yield hashing.digest()

    def seal(self, text: str) -> bytes:
        """Encrypt a text with the key: a nonce, and the text under a keyed stream."""
        nonce = token_bytes(_NONCE)  # randomness: noise
        return nonce + self._under_stream(nonce, text.encode())

    def unseal(self, sealed: bytes) -> str:
        """Return the text that was sealed with the same key; with another key, nonsense or a ValueError."""
        return self._under_stream(sealed[:_NONCE], sealed[_NONCE:]).decode()

    def _under_stream(self, nonce: bytes, text: bytes) -> bytes:
        blocks = (_LENGTH.pack(number) for number in range(len(text) // _BLOCK + 1))
        stream = b"".join(blake2b(nonce + block, key=self._key, person=b"sealed").digest() for block in blocks)
        return bytes(item ^ other for item, other in zip(text, stream, strict=False))

    def _digest(self, text: bytes) -> bytes:
        hashing = self._begun.copy()
        hashing.update(text)
        return hashing.digest()


class _Column(dict[Any, bytes]):
    """The encoded values of one column. Python takes 1, 1.0 and True for one key, and so does the encoding."""

    def __missing__(self, value: object) -> bytes:
        result = encoded(value)
        if len(self) >= _MOST_KEPT:
            self.clear()
        self[value] = result
        return result


def encoded(value: object) -> bytes:
    """Return the canonical bytes of one value, which are no beginning of another's.

    Raises:
        NotSignable: its kind has no canonical form.
    """
    if value is None:
        return _NULL
    if isinstance(value, str):
        return _framed(b"s", value.encode("utf-8", "surrogatepass"))
    if isinstance(value, int):
        return _framed(b"n", b"%d" % value)
    for kind, tag, encode in _KINDS:
        if isinstance(value, kind):
            return _framed(tag, encode(value))
    raise NotSignable(f"a value of the type {type(value).__name__} has no signature")


def _framed(tag: bytes, text: bytes) -> bytes:
    return _LENGTH.pack(len(text)) + tag + text


_NULL: Final = _framed(b"0", b"")


def _number(value: Any) -> bytes:
    """Write a number as an exact fraction in lowest terms, as a whole number where it is one."""
    if value != value:  # noqa: PLR0124 - only NaN differs from itself
        return b"nan"
    if value in {float("inf"), float("-inf")}:
        return b"inf" if value > 0 else b"-inf"
    over, under = value.as_integer_ratio()
    return b"%d" % over if under == 1 else b"%d/%d" % (over, under)


def _moment(value: datetime) -> bytes:
    if value.utcoffset() is None:
        return b"%d" % ((value.replace(fold=0, tzinfo=None) - _START) // _MICROSECOND)
    return b"z%d" % ((value - _START_UTC) // _MICROSECOND)


def _list(value: Sequence[object]) -> bytes:
    return b"".join(map(encoded, value))


def _struct(value: Mapping[Any, object]) -> bytes:
    return b"".join(sorted(_framed(b"=", encoded(name) + encoded(item)) for name, item in value.items()))


_KINDS: Final[Sequence[tuple[Any, bytes, Callable[[Any], bytes]]]] = (
    ((float, Decimal), b"n", _number),
    (datetime, b"t", _moment),
    (date, b"d", lambda value: b"%d" % value.toordinal()),
    (time, b"c", lambda value: value.isoformat().encode()),
    (timedelta, b"e", lambda value: b"%d" % (value // _MICROSECOND)),
    ((bytes, bytearray, memoryview), b"b", bytes),
    (UUID, b"u", lambda value: value.bytes),
    ((list, tuple), b"l", _list),
    (Mapping, b"m", _struct),
)
"""What is not text, a whole number or NULL, in the order in which it is tried: a datetime is a date, too."""
