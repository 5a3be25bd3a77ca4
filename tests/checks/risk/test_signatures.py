"""Signatures: alike for what a GROUP BY takes for alike, different otherwise, and useless without the key."""

from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks.risk.signatures import NotSignable, Signer, encoded

KEY = b"k" * 32
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.decimals(allow_nan=False, min_value=-(10**12), max_value=10**12)
    | st.text()
    | st.binary()
    | st.dates()
    | st.times()
    | st.timedeltas()
    | st.datetimes()
    | st.datetimes(timezones=st.just(UTC))
    | st.uuids(),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=6,
)


def test_a_signature_has_128_bits_and_is_always_the_same():
    """The encoding is fixed: this signature must not change, or kept counts would be lost without need."""
    assert Signer(KEY).signature((None, 1, "東京", date(2026, 11, 20))).hex() == "8e3d5bd5169d08c836d1a783ee5fe0df"


@given(st.lists(VALUES, max_size=4), st.lists(VALUES, max_size=4))
def test_different_combinations_have_different_bytes(one, other):
    """The encoding of a combination is that of no other one: signatures are alike if and only if the values are."""
    texts = [b"".join(map(encoded, values)) for values in (one, other)]
    assert (texts[0] == texts[1]) == (Signer(KEY).signature(one) == Signer(KEY).signature(other))
    if repr(one) == repr(other):
        assert texts[0] == texts[1]


@given(st.lists(VALUES, min_size=1, max_size=3), st.lists(VALUES, min_size=1, max_size=3))
def test_no_combination_is_the_beginning_of_another(one, other):
    """Prefix-free: what follows a value can never be taken for a part of it."""
    texts = sorted((b"".join(map(encoded, one)), b"".join(map(encoded, other))), key=len)
    if len(one) == len(other) and texts[0] != texts[1]:
        assert not texts[1].startswith(texts[0])


@given(st.lists(st.tuples(VALUES, VALUES, VALUES), max_size=8))
def test_many_rows_have_the_signatures_of_each(rows):
    """Signing rows at once, with what was encoded before, gives what signing each gives."""
    signer = Signer(KEY)
    assert list(signer.signatures(rows, (2, 0))) == [signer.signature((row[2], row[0])) for row in rows]


@pytest.mark.parametrize(
    "alike",
    [
        (1, 1.0, Decimal("1.00"), True),
        (0, -0.0, Decimal("-0.0"), False),
        (0.5, Decimal("0.5")),
        (float("nan"), -float("nan"), Decimal("NaN")),
        (float("inf"), Decimal("Infinity")),
        (datetime(2026, 1, 1, 9, tzinfo=timezone(timedelta(hours=9))), datetime(2026, 1, 1, tzinfo=UTC)),
        (datetime(2026, 1, 1, fold=0), datetime(2026, 1, 1, fold=1)),  # noqa: DTZ001 - a wall clock
        (b"x", bytearray(b"x"), memoryview(b"x")),
        ([1, 2], (1.0, 2)),
        ({"a": 1, "b": None}, {"b": None, "a": 1}),
    ],
)
def test_what_is_equal_in_a_column_is_alike(alike):
    """Numbers by value, moments by instant, structs by their fields: one signature."""
    assert len({Signer(KEY).signature((value,)) for value in alike}) == 1


def test_what_differs_is_told_apart():
    """NULL, empty text, zero, "1", 1, dates, wall clocks and instants are all different values."""
    wall = datetime(2026, 1, 1)  # noqa: DTZ001 - a wall clock
    values = [None, "", 0, "0", "1", 1, -1, 0.1, Decimal("0.1"), wall, wall.replace(tzinfo=UTC), wall.date()]
    values += ["é", "e\u0301", "NULL", "nan", float("nan"), float("inf"), -float("inf"), b"", b"1", time(0)]
    values += [timedelta(0), [], [None], UUID(int=1), {}, "\ud800", "\0"]
    assert len({Signer(KEY).signature((value,)) for value in values}) == len(values)
    assert Signer(KEY).signature(("ab", "c")) != Signer(KEY).signature(("a", "bc"))
    assert Signer(KEY).signature((None,)) != Signer(KEY).signature((None, None))


def test_another_key_or_purpose_gives_other_signatures():
    """Without the key values cannot be guessed, and signatures of classes are none of people."""
    given = {Signer(key, purpose).signature((1,)) for key in (KEY, b"l" * 32) for purpose in ("class", "person")}
    assert len(given) == 4


@given(st.text())
def test_what_is_sealed_is_read_with_the_key_only(text):
    """A watermark comes back as it was, and looks like noise in the store, each time other noise."""
    first, second = Signer(KEY).seal(text), Signer(KEY).seal(text)
    assert Signer(KEY).unseal(first) == Signer(KEY).unseal(second) == text
    assert first != second
    if len(text.encode()) > 8:
        assert text.encode() not in first


def test_a_value_without_a_canonical_form_is_refused_by_its_kind():
    """The message names the kind of the value, never the value."""
    with pytest.raises(NotSignable, match="of the type complex has no signature") as refused:
        Signer(KEY).signature((1234j,))
    assert "1234" not in str(refused.value)


@pytest.mark.parametrize("key", [b"", b"short", b"x" * 65])
def test_a_key_that_is_too_short_or_long_is_refused(key):
    """Sixteen bytes at least, so that keys cannot be guessed; 64 at most."""
    with pytest.raises(ValueError, match="expected 16 to 64"):
        Signer(key)
