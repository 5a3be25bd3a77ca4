"""Choose what is hidden in addition: random to a reader, and the same in every run.

A draw that is made again for each output is undone by comparing two outputs: what is missing in both is what had to be
hidden. So the choice is a function of the key and of what is chosen from (docs/adr/0050-hiding-is-a-keyed-function.md).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import blake2b, shake_256
from typing import Final

import numpy as np
import numpy.typing as npt

from remedies.differential_privacy.random_bytes import operating_system_bytes

KEY_BYTES: Final = 32


def key_for_one_run() -> bytes:
    """Draw a key that no other run has: what is hidden under it differs in the next run."""
    return operating_system_bytes(KEY_BYTES)  # randomness: hiding


def keyed_order(items: Sequence[Sequence[str | None]], key: bytes) -> list[int]:
    """Return the places of items in the order of their keyed hashes.

    An item that is added or removed leaves the others in their order. Equal items stand in their given order.

    Args:
        items: texts that identify each item: of a class its labels, None for NULL.
        key: at least 1 byte; longer ones are hashed to 64.
    """
    own = blake2b(key, person=b"hiding").digest()
    texts = (json.dumps(list(item), ensure_ascii=True, separators=(",", ":")) for item in items)
    hashes = [blake2b(text.encode("ascii"), key=own, digest_size=16).digest() for text in texts]
    return sorted(range(len(hashes)), key=hashes.__getitem__)


def keyed_places(count: int, key: bytes) -> npt.NDArray[np.int64]:
    """Return 0 to `count` - 1 in an order that is random to a reader, and the same in every run under the same key."""
    words = np.frombuffer(shake_256(b"places" + key).digest(8 * count), dtype="<u8")
    return np.argsort(words, kind="stable")
