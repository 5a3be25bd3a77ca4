"""Signatures of many combinations at once: alike if and only if the combinations are, and useless without the key."""

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks.risk.class_signatures import SCHEME, ClassSigner
from checks.risk.signatures import NotSignable, encoded
from tests.checks.risk.test_signatures import KEY, VALUES


def _signed(rows, key=KEY):
    """Sign rows, each value in its own place."""
    places = np.arange(len(rows))
    columns = list(zip(*rows, strict=True))
    first, second = ClassSigner(key, len(columns)).sign([(column, places) for column in columns])
    return list(zip(first.tolist(), second.tolist(), strict=True))


def test_a_signature_is_always_the_same():
    """The way they are made is fixed: a change needs another scheme, and all is counted again."""
    assert SCHEME == "blake2b-128, siphash-2-4-128"
    [signature] = _signed([(None, 1, "東京")])
    assert signature == (0x013ADCD16AC55FC5, 0x3FDE8FD20EA10970)


@given(st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=8))
def test_signatures_are_alike_where_combinations_are(rows):
    """Two combinations have the same signature if and only if each of their values has the same canonical bytes."""
    texts = [tuple(map(encoded, row)) for row in rows]
    signed = _signed(rows)
    for text, signature in zip(texts, signed, strict=True):
        assert [one == text for one in texts] == [one == signature for one in signed]


@given(st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=6), st.data())
def test_signatures_do_not_depend_on_how_values_are_listed(rows, data):
    """Values listed once or often, in whatever order, and rows taken in pieces: the same signatures."""
    signer, found = ClassSigner(KEY, 2), []
    cut = data.draw(st.integers(0, len(rows)))
    for piece in (rows[:cut], rows[cut:]):
        columns = []
        for place in (0, 1):
            order = data.draw(st.permutations(range(len(piece))))
            listed = [piece[number][place] for number in order]
            columns.append((listed, np.argsort(np.array(order, dtype=np.int64))))
        first, second = signer.sign(columns)
        found += list(zip(first.tolist(), second.tolist(), strict=True))
    assert found == _signed(rows)


@pytest.mark.parametrize(
    "alike",
    [
        (1, 1.0, Decimal("1.00"), True),
        (0, -0.0, False),
        (float("nan"), -float("nan"), Decimal("NaN")),
        (datetime(2026, 1, 1, 9, tzinfo=timezone(timedelta(hours=9))), datetime(2026, 1, 1, tzinfo=UTC)),
        ([1, 2], (1.0, 2)),
    ],
)
def test_what_is_equal_in_a_column_is_alike(alike):
    """Numbers by value, moments by instant: one signature."""
    assert len(set(_signed([(value,) for value in alike]))) == 1


def test_values_are_not_mixed_up():
    """NULL, empty text, what moves from one column to the next, and the order of columns all make a difference."""
    rows = [(None, None), (None, ""), ("", None), ("ab", "c"), ("a", "bc"), ("c", "ab"), (1, "1"), ("1", 1), (0, None)]
    assert len(set(_signed(rows))) == len(rows)


def test_another_key_gives_other_signatures():
    """Without the key values cannot be guessed."""
    assert _signed([(1, 2)]) != _signed([(1, 2)], key=b"l" * 32)


def test_more_values_than_are_kept_are_signed_all_the_same(monkeypatch):
    """What was forgotten between two pieces is hashed again."""
    monkeypatch.setattr("checks.risk.class_signatures._MOST_KEPT", 2)
    signer, places = ClassSigner(KEY, 1), np.arange(5)
    pieces = [signer.sign([(list(range(5)), places)]) for _ in range(2)]
    assert (pieces[0][0] == pieces[1][0]).all()


def test_a_value_without_a_canonical_form_is_refused_by_its_kind():
    """The message names the kind of the value, never the value."""
    with pytest.raises(NotSignable, match="of the type complex has no signature") as refused:
        _signed([(1234j,)])
    assert "1234" not in str(refused.value)
