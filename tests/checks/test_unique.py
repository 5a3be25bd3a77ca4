"""No value occurs twice."""

from collections import Counter
from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from checks import Status, UnknownReason, Zones
from checks.unique import Unique
from tests.checks.ask import ENGINES, EXAMPLES, Question, Rows, ask, place
from tests.monitor.config.effects.effect import ABSENT
from tests.tiers import examples

OBSERVED = {"rows", "duplicate_keys", "duplicate_rows", "null_keys"}
EFFECTS = {
    "columns": ({}, ["id"], ["q"]),
    "nulls": ({"columns": ["n"]}, "distinct", "equal"),
    "where": ({"columns": ["q"]}, ABSENT, "id = 1"),
    "on_empty": ({"columns": ["id"], "where": "id > 99"}, "unknown", "pass"),
}
CANARIES = [{"columns": ["id"]}, {"columns": ["email"]}, {"columns": ["name", "seen"], "nulls": "equal"}]

KEYS = {"a": "int", "b": "text"}


def test_null_differs_from_null(dialect):
    """NULLs never repeat, as the SQL standard has it; they are counted."""
    with place(dialect, t=Rows(KEYS, [(1, None), (1, None), (None, "x"), (None, "x"), (2, "y")])) as here:
        outcome = ask(Unique(columns=("a", "b")), here)
    assert outcome.status is Status.PASS
    assert outcome.observed == {"rows": 5, "duplicate_keys": 0, "duplicate_rows": 0, "null_keys": 4}
    assert outcome.expected == {"duplicate_keys": 0}


def test_null_is_a_value(dialect):
    """With `nulls: equal`, NULL repeats like any value."""
    with place(dialect, t=Rows(KEYS, [(1, None), (1, None), (None, "x"), (None, "y")])) as here:
        outcome = ask(Unique(columns=("a", "b"), nulls="equal"), here)
    assert outcome.status is Status.FAIL
    assert outcome.observed == {"rows": 4, "duplicate_keys": 1, "duplicate_rows": 2, "null_keys": 4}
    assert str(outcome.message) == "1 duplicate key (2 rows)"


def test_nothing_to_look_at(dialect):
    """An empty table is unknown."""
    with place(dialect, t=Rows(KEYS, [])) as here:
        assert ask(Unique(columns=("a",)), here).reason is UnknownReason.NO_DATA


def test_offending_keys(dialect):
    """Return the keys that occur more than once; those with NULL only where NULL is a value."""
    with place(dialect, t=Rows(KEYS, [(1, None), (1, None), (2, "y"), (2, "y"), (3, None)])) as here:
        distinct = Question(Unique(columns=("a", "b")), here).offending()
        equal = Question(Unique(columns=("a", "b"), nulls="equal"), here).offending()
    assert distinct == [{"a": 2, "b": "y", "copies": 2}]
    assert equal == [{"a": 1, "b": None, "copies": 2}, {"a": 2, "b": "y", "copies": 2}]


def test_went_bad_when_the_repeated_row_arrived(dialect):
    """A row with NULL is not bad, so its load time is no time of occurrence."""
    times = [datetime(2026, 11, day) for day in (1, 5, 9)]  # noqa: DTZ001 - a naive column
    rows = [(1, times[1]), (1, times[2]), (None, times[0])]
    with place(dialect, t=Rows({"a": "int", "loaded": "timestamp"}, rows)) as here:
        outcome = ask(Unique(columns=("a",)), here, loaded_at="loaded", zones=Zones("UTC"))
    assert outcome.occurrence.at == datetime(2026, 11, 9, tzinfo=UTC)


@settings(max_examples=examples(EXAMPLES))
@given(st.lists(st.tuples(st.integers(0, 2) | st.none(), st.sampled_from("xy") | st.none()), min_size=1, max_size=20))
def test_agrees_with_a_count_in_python(rows):
    """Both engines, with both readings of NULL, count what a Counter over the same rows counts."""
    for nulls in ("distinct", "equal"):
        counted = Counter(row for row in rows if nulls == "equal" or None not in row)
        repeated = [copies for copies in counted.values() if copies > 1]
        for dialect in ENGINES:
            with place(dialect, t=Rows(KEYS, rows)) as here:
                outcome = ask(Unique(columns=("a", "b"), nulls=nulls), here)
            assert outcome.observed["duplicate_keys"] == len(repeated)
            assert outcome.observed["duplicate_rows"] == sum(repeated)
            assert outcome.status is (Status.FAIL if repeated else Status.PASS if counted else Status.UNKNOWN)
