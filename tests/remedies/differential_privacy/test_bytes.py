from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from remedies.differential_privacy import random_bytes as _bytes
from remedies.differential_privacy.random_bytes import ONE, below, flags, many_below
from tests.remedies.differential_privacy.distributions import FALSE_ALARM, farthest


@pytest.mark.parametrize("bound", [2, 3, 5, 100, 128, 255, 256])
def test_each_integer_below_a_bound_is_exactly_as_likely(monkeypatch: pytest.MonkeyPatch, bound: int):
    """Over all the bytes there are, each once, each integer comes equally often."""
    stream = iter(bytes(range(256)))
    monkeypatch.setattr(_bytes, "operating_system_bytes", lambda _count: bytes([next(stream)]))
    unused = 8 - (bound - 1).bit_length()
    kept = bound << unused
    counts = Counter(below(bound) for _ in range(kept))
    assert counts == dict.fromkeys(range(bound), 1 << unused)


def test_the_only_integer_below_one_needs_no_bytes():
    """Nothing is drawn where nothing is open."""
    assert below(1) == 0


def test_words_from_the_last_multiple_of_the_bound_on_are_drawn_again(monkeypatch: pytest.MonkeyPatch):
    """The largest words would favour small remainders; 2^32 - 4 is the last multiple of 7, so it goes, too."""
    drawn = [[2**32 - 1, 2**32 - 4, 2**32 - 5, 7], [2**32 - 4, 8], [9]]
    words = iter([np.array(some, dtype="<u4") for some in drawn])
    monkeypatch.setattr(_bytes, "operating_system_bytes", lambda count: next(words).tobytes()[:count])
    assert many_below(7, 4).tolist() == [9 % 7, 8 % 7, 6, 0]


@pytest.mark.parametrize("bound", [1, 2, 14, 1 << 24, (1 << 24) + 1, (1 << 63) + 1, 1 << 64])
@pytest.mark.usefixtures("fixed_bytes")
def test_many_integers_stay_below_their_bound(bound: int):
    """Nothing reaches the bound, and both halves of the range are reached as often (5.5 standard deviations)."""
    drawn = many_below(bound, 100_000)
    assert int(drawn.max()) < bound
    upper = int((drawn >= np.uint64(bound // 2)).sum())
    share = (bound - bound // 2) / bound
    assert abs(upper - 100_000 * share) <= FALSE_ALARM * np.sqrt(100_000 * share * (1 - share))


@pytest.mark.usefixtures("fixed_bytes")
def test_many_integers_are_uniform():
    """Of 14 integers each comes a fourteenth of the time."""
    assert (
        farthest(
            many_below(14, 1_000_000).astype(np.int64) - 7, lambda value: 1 / 14 if -7 <= value < 7 else 0.5, span=6
        )
        < FALSE_ALARM
    )


@pytest.mark.parametrize("threshold", [0, 1 << 56, 1 << 63, (1 << 63) + 1, (5 << 56) + (1 << 55), ONE - 1, ONE])
@pytest.mark.usefixtures("fixed_bytes")
def test_flags_come_with_the_probability_of_their_threshold(threshold: int):
    """A million flags are within 5.5 standard deviations of threshold / 2^64; a certain one never fails."""
    share = float(Fraction(threshold, ONE))
    seen = int(flags(threshold, 1_000_000).sum())
    assert abs(seen - 1e6 * share) <= FALSE_ALARM * np.sqrt(1e6 * share * (1 - share))


def test_a_flag_whose_first_byte_is_equal_is_decided_by_the_rest(monkeypatch: pytest.MonkeyPatch):
    """With an equal first byte the other 56 bits are compared, to the last one."""
    rest = 123_456_789
    words = iter(
        [bytes([7, 7, 7, 6, 8]), (np.array([rest - 1, rest, rest + 1], dtype="<u8") << np.uint64(8)).tobytes()]
    )
    monkeypatch.setattr(_bytes, "operating_system_bytes", lambda _count: next(words))
    assert flags((7 << 56) + rest, 5).tolist() == [True, False, False, True, False]


@pytest.mark.parametrize("bound", [0, -1])
def test_bounds_that_leave_nothing_are_refused(bound: int):
    """There is no integer from 0 to -1."""
    with pytest.raises(ValueError, match="expected"):
        below(bound)
    with pytest.raises(ValueError, match="expected"):
        many_below(bound, 1)
    with pytest.raises(ValueError, match="expected"):
        flags(-1, 1)


def test_two_draws_differ():
    """The operating system's bytes are used: 64 of them do not come twice."""
    assert _bytes.operating_system_bytes(64) != _bytes.operating_system_bytes(64)
