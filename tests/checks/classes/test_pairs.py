"""Signatures with counts, packed: sums, shards and look-ups are those of a plain dictionary."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from checks.classes.pairs import SignaturePairs

HALF = st.sampled_from([0, 1, 2**63, 2**64 - 1]) | st.integers(0, 2**64 - 1)
COUNTED = st.lists(st.tuples(st.tuples(HALF, HALF), st.integers(-3, 3)), max_size=12)


def _pairs(counted):
    columns = [[signature[0] for signature, _ in counted], [signature[1] for signature, _ in counted]]
    halves = [np.array(column, dtype=np.uint64) for column in columns]
    return SignaturePairs.summed(*halves, np.array([count for _, count in counted], dtype=np.int64))


def _expected(*several):
    sums = Counter()
    for counted in several:
        for signature, count in counted:
            sums[signature] += count
    return {signature: count for signature, count in sums.items() if count}


@given(COUNTED)
def test_counts_of_one_signature_are_added(counted):
    """Signatures come ascending, each once, and none has the count 0; signatures that begin alike stay apart."""
    found = list(_pairs(counted).items())
    assert dict(found) == _expected(counted)
    assert [signature for signature, _ in found] == sorted(_expected(counted))
    assert _pairs(counted).sizes() == sorted(Counter(_expected(counted).values()).items())


@given(COUNTED, COUNTED, COUNTED)
def test_several_are_added_up(one, other, third):
    """Added counts are those of all together; what is taken away again is gone."""
    assert dict(SignaturePairs.added(*map(_pairs, (one, other, third))).items()) == _expected(one, other, third)
    assert len(SignaturePairs.added(_pairs(one), _pairs(one).negative)) == 0


@given(COUNTED, st.integers(1, 9))
def test_shards_together_are_the_whole(counted, bits):
    """Each signature is in the shard of its first bits, and what is packed is unpacked as it was."""
    whole = _pairs(counted)
    shards = whole.shards(bits)
    assert SignaturePairs.joined(pairs for _, pairs in shards) == whole == SignaturePairs.unpacked(whole.packed)
    for number, pairs in shards:
        assert len(pairs) > 0
        assert {first >> (64 - bits) for (first, _), _ in pairs.items()} == {number}


@given(COUNTED, COUNTED)
def test_each_wanted_count_is_found(counted, wanted):
    """A signature that is not there has the count 0."""
    held, asked = _pairs(counted), _pairs(wanted)
    known = dict(held.items())
    assert held.of_each(asked).tolist() == [known.get(signature, 0) for signature, _ in asked.items()]
