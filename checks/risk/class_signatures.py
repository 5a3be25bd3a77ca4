"""Stand for many combinations of values at once by keyed 128-bit hashes: column by column, as arrays.

    value ──canonical bytes──> BLAKE2b-128 under the key ─┐
    value ──canonical bytes──> BLAKE2b-128 under the key ─┴─one after the other──> SipHash-2-4-128 ──> signature

Each distinct value of a column is encoded (`checks.risk.signatures.encoded`: canonical, NULL a value of its own) and
hashed once; only arrays are touched per combination. Digests have one length, so a combination has one text, and
different combinations of as many columns have different ones, but for a collision of digests. Both hashes are keyed, by
keys made from the one key: two combinations have the same signature with a probability of about 2^-127 per pair. What
was said of the key in `checks.risk.signatures` holds here.

These are other signatures than those of `Signer`: what keeps them says so beside them, and never mixes the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

from checks.risk.signatures import KEY, SIZE, encoded, siphash_128

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from checks.risk.signatures import Words

SCHEME: Final = "blake2b-128, siphash-2-4-128"
"""Names how these signatures are made. Another way has another name."""

_MOST_KEPT: Final = 50_000
"""Digests kept in memory per column, for the next piece of the rows."""


class ClassSigner:
    """Computes the signatures of combinations of values of some columns, under one key.

    Args:
        key: secret bytes, 16 to 64.
        columns: how many columns a combination has.
    """

    def __init__(self, key: bytes, columns: int) -> None:
        values = blake2b(key=key, digest_size=SIZE, person=b"class value")
        self._columns = [_Digests(values) for _ in range(columns)]
        self._key = blake2b(key=key, digest_size=KEY, person=b"class siphash").digest()

    def sign(self, columns: Sequence[tuple[Sequence[Any], npt.NDArray[np.int64]]]) -> tuple[Words, Words]:
        """Return the signatures of rows, as their first and second 8 bytes, shape (rows,) each.

        Args:
            columns: of each column values, in any order and each however often, and for each row the place of its own.

        Raises:
            NotSignable: a value has no canonical form.
        """
        words: list[Words] = []
        for digests, (values, places) in zip(self._columns, columns, strict=True):
            of_value = digests.of(values)
            words += [of_value[:, half][places] for half in (0, 1)]
        return siphash_128(words, self._key)


class _Digests(dict[Any, bytes]):
    """The digests of one column's values. Python takes 1, 1.0 and True for one key, and so does the encoding."""

    def __init__(self, begun: blake2b) -> None:
        super().__init__()
        self._begun = begun

    def of(self, values: Sequence[Any]) -> Words:
        """Return the digest of each value, shape (values, 2)."""
        import numpy as np

        if len(self) > _MOST_KEPT:
            self.clear()
        try:
            results = [self[value] for value in values]
        except TypeError:  # lists and structs cannot be keys
            results = [self._digest(value) for value in values]
        return np.frombuffer(b"".join(results), dtype="<u8").astype(np.uint64, copy=False).reshape(-1, 2)

    def __missing__(self, value: object) -> bytes:
        result = self._digest(value)
        self[value] = result
        return result

    def _digest(self, value: object) -> bytes:
        hashing = self._begun.copy()
        hashing.update(encoded(value))
        return hashing.digest()
