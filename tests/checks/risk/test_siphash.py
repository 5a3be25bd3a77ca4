"""SipHash-2-4-128 over arrays: known answers, and each text hashed as if it were alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks.risk.signatures import siphash_128

KEY = bytes(range(16))
KNOWN = {
    8: "3b62a9ba6258f5610f83e264f31497b4",
    16: "6ee2a4ca67b054bbfd3315bf85230577",
    24: "2db479ae78bd50d8882a8a178a6132ad",
    32: "7c3956ca5eeafc3e363e9d556546eb68",
    40: "df6a301e95c95dad97ae0cc8c6913bd8",
    48: "f7e5aef549f782cf379055a608269b16",
    56: "1938f2cf72d54ee97e94166fa91d2a36",
}
"""The bytes 0, 1, 2, ... under the key of the same bytes: the authors' vectors, and what OpenSSL 3 gives."""


@pytest.mark.parametrize(("length", "expected"), KNOWN.items())
def test_known_answers(length, expected):
    """Texts of whole words have the hashes that the authors publish."""
    words = np.frombuffer(bytes(range(length)), dtype="<u8").reshape(-1, 1)
    first, second = siphash_128(list(words), KEY)
    assert (first.astype("<u8").tobytes() + second.astype("<u8").tobytes()).hex() == expected


WORD = st.integers(0, 2**64 - 1)


@given(st.lists(st.tuples(WORD, WORD), min_size=1, max_size=5), st.binary(min_size=16, max_size=16))
def test_each_text_is_hashed_for_itself(texts, key):
    """What stands beside a text in the arrays changes nothing, and the arrays given stay as they were."""
    words = [np.array(column, dtype=np.uint64) for column in zip(*texts, strict=True)]
    before = [column.copy() for column in words]
    first, second = siphash_128(words, key)
    assert all((word == other).all() for word, other in zip(words, before, strict=True))
    for place in range(len(texts)):
        alone = siphash_128([column[place : place + 1] for column in words], key)
        assert (first[place], second[place]) == (alone[0][0], alone[1][0])


@pytest.mark.parametrize(("words", "key"), [([], KEY), ([np.zeros(1, dtype=np.uint64)], b"short")])
def test_a_key_of_another_length_or_no_text_is_refused(words, key):
    """A cut-off key would be a weak one."""
    with pytest.raises(ValueError, match="expected 16, and at least one"):
        siphash_128(words, key)
