"""What an approval is of: rows are hashed by the engine that holds them."""

from collections.abc import Sequence

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from monitor.releases.digests import hash_sums, row_hash
from tests.checks.ask import ENGINES, Rows, place
from tests.tiers import examples

_WORDS = st.none() | st.sampled_from(["", "a", "b", "ab", "A", "a ", "NULL", "é"])
_ROWS = st.lists(st.tuples(_WORDS, _WORDS, st.none() | st.integers(-3, 3)), min_size=1, max_size=4)


def _sums(dialect: str, rows: Sequence[tuple[object, ...]]) -> list[int]:
    with place(dialect, t=Rows({"x": "VARCHAR(9)", "y": "VARCHAR(9)", "n": "int"}, rows)) as here:
        table = here.table("t")
        hashed = row_hash([table.x, table.y, table.n], dialect)
        assert hashed is not None
        hashes = table.select(hashed=hashed)
        low, high = hash_sums(hashes.hashed, dialect)
        [sums] = here.run(here.compiled(hashes.aggregate(low=low, high=high)))
    return [int(value) for value in sums.values()]


@pytest.mark.parametrize("dialect", ENGINES)
@given(rows=_ROWS, others=_ROWS)
@settings(max_examples=examples(20))
def test_tables_have_one_hash_if_they_hold_the_same_rows(dialect, rows, others):
    """The order of rows does not matter; a capital, a blank, NULL or a letter that moves to the next column does."""
    assume(sorted(map(str, rows)) != sorted(map(str, others)))
    assert _sums(dialect, rows) == _sums(dialect, rows[::-1])
    assert _sums(dialect, rows) != _sums(dialect, others)
