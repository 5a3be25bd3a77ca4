"""A key names one row."""

from collections import Counter
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks import Misconfigured, OccurrenceMethod, Status, UnknownReason, Zones
from checks.primary_key import PrimaryKey
from tests.checks.ask import ENGINES, EXAMPLES, Question, Rows, ask, place
from tests.monitor.config.effects.effect import ABSENT
from tests.tiers import examples

OBSERVED = {"rows", "duplicate_keys", "duplicate_rows", "null_keys"}
EFFECTS = {
    "columns": ({}, ["id"], ["q"]),
    "where": ({"columns": ["q"]}, ABSENT, "id = 1"),
    "on_empty": ({"columns": ["id"], "where": "id > 99"}, "unknown", "pass"),
}
CANARIES = [
    {"columns": ["id"]},
    {"columns": ["name", "fee", "born"]},
    {"columns": ["id"], "where": "CAST(code AS INTEGER) > 5"},
    {"columns": ["nowhere"]},
]

KEYS = {"a": "int", "b": "text"}


def test_clean_key(dialect):
    """Passes when every row has a unique key, and says so."""
    with place(dialect, t=Rows(KEYS, [(1, "x"), (1, "y"), (2, "x")])) as here:
        outcome = ask(PrimaryKey(columns=("a", "b")), here)
    assert outcome.status is Status.PASS
    assert outcome.observed == {"rows": 3, "duplicate_keys": 0, "duplicate_rows": 0, "null_keys": 0}
    assert str(outcome.message) == "every row has a unique key"


def test_duplicates_and_nulls_are_counted_apart(dialect):
    """Counts repeated keys, the rows they cover, and rows without a complete key, each on its own."""
    rows = [(1, "x"), (1, "x"), (1, "x"), (2, "y"), (2, "y"), (None, "x"), (None, "x"), (3, None), (4, "z")]
    with place(dialect, t=Rows(KEYS, rows)) as here:
        outcome = ask(PrimaryKey(columns=("a", "b")), here)
    assert outcome.status is Status.FAIL
    assert outcome.observed == {"rows": 9, "duplicate_keys": 2, "duplicate_rows": 5, "null_keys": 3}
    assert outcome.expected == {"duplicate_keys": 0, "null_keys": 0}
    assert str(outcome.message) == "2 duplicate keys (5 rows); rows with NULL in their key: 3"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([(1,), (1,)], "1 duplicate key (2 rows)"),
        ([(1,), (1,), (2,), (2,)], "2 duplicate keys (4 rows)"),
        ([(None,)], "1 row has NULL in its key"),
        ([(None,), (None,)], "2 rows have NULL in their key"),
        ([(1,), (1,), (None,)], "1 duplicate key (2 rows); rows with NULL in their key: 1"),
    ],
)
def test_message(rows, message):
    """Says in one sentence what is wrong with the key."""
    with place("duckdb", t=Rows({"a": "int"}, rows)) as here:
        assert str(ask(PrimaryKey(columns=("a",)), here).message) == message


def test_columns_with_any_name(dialect):
    """Takes columns that are named like its own helpers, or hold quotes and spaces."""
    names = ("copies", "key0", "loaded", 'it\'s a "name"', "select", "列")
    with place(dialect, t=Rows(dict.fromkeys(names, "int"), [(1, 2, 3, 4, 5, 6)] * 2)) as here:
        outcome = ask(PrimaryKey(columns=names), here, loaded_at="loaded")
    assert outcome.observed["duplicate_keys"] == 1
    assert outcome.occurrence is None


def test_filter_reaches_every_count(dialect):
    """Looks only at the rows of its `where`."""
    rows = [(1, "x"), (1, "x"), (None, "x"), (2, "y"), (2, "y"), (None, "y")]
    with place(dialect, t=Rows(KEYS, rows)) as here:
        outcome = ask(PrimaryKey(columns=("a",), where="b = 'x'"), here)
    assert outcome.observed == {"rows": 3, "duplicate_keys": 1, "duplicate_rows": 2, "null_keys": 1}


def test_nothing_to_look_at(dialect):
    """An empty table and an empty filter are unknown, never a pass."""
    with place(dialect, t=Rows(KEYS, [])) as here:
        assert ask(PrimaryKey(columns=("a",)), here).reason is UnknownReason.NO_DATA
    with place(dialect, t=Rows(KEYS, [(1, "x")])) as here:
        assert ask(PrimaryKey(columns=("a",), where="b = 'nobody'"), here).reason is UnknownReason.NO_DATA
        assert ask(PrimaryKey(columns=("a",), where="b = 'nobody'", on_empty="pass"), here).status is Status.PASS


def test_went_bad_when_the_repeated_row_arrived(dialect):
    """Occurred is the earliest over bad keys: of repeated keys their latest load, of others their load."""
    types = {"a": "int", "loaded": "timestamp"}
    at = [datetime(2026, 11, day, 6, 0) for day in range(1, 8)]  # noqa: DTZ001 - a naive column
    rows = [(1, at[0]), (1, at[4]), (2, at[1]), (2, at[3]), (None, at[5]), (9, at[6])]
    with place(dialect, t=Rows(types, rows)) as here:
        outcome = ask(PrimaryKey(columns=("a",)), here, loaded_at="loaded", zones=Zones("Asia/Tokyo"))
    assert outcome.occurrence.at == datetime(2026, 11, 3, 21, 0, tzinfo=UTC)
    assert outcome.occurrence.method is OccurrenceMethod.BAD_ROWS
    with place(dialect, t=Rows(types, rows[-2:])) as here:
        outcome = ask(PrimaryKey(columns=("a",)), here, loaded_at="loaded", zones=Zones("UTC"))
    assert outcome.occurrence.at == datetime(2026, 11, 6, 6, 0, tzinfo=UTC)


def test_offending_keys(dialect):
    """Return the keys that break the check with their copies, most first, for a terminal."""
    rows = [(1, "x"), (1, "x"), (1, "x"), (2, "y"), (2, "y"), (None, "x"), (3, "z"), (9, "w"), (9, "w")]
    check = PrimaryKey(columns=("a", "b"), where="a <> 9 or a is null")
    with place(dialect, t=Rows(KEYS, rows)) as here:
        found = Question(check, here).offending()
    assert found == [
        {"a": 1, "b": "x", "copies": 3},
        {"a": 2, "b": "y", "copies": 2},
        {"a": None, "b": "x", "copies": 1},
    ]


def test_offending_keys_of_a_column_named_copies(dialect):
    """The number of copies gives way to a column of the key of that name."""
    with place(dialect, t=Rows({"copies": "int"}, [(7,), (7,)])) as here:
        assert Question(PrimaryKey(columns=("copies",)), here).offending() == [{"copies": 7, "copies_": 2}]


def test_missing_column():
    """Names a column that is not there, and the one that was meant."""
    with place("duckdb", t=Rows({"email": "text"}, [("a",)])) as here, pytest.raises(Misconfigured) as error:
        ask(PrimaryKey(columns=("emial",)), here)
    assert str(error.value) == "column 'emial' not found; did you mean 'email'?"


@settings(max_examples=examples(EXAMPLES))
@given(
    st.lists(st.tuples(st.integers(0, 3) | st.none(), st.sampled_from(["x", "X", "", " "]) | st.none()), max_size=25)
)
def test_agrees_with_a_count_in_python(rows):
    """Both engines count what a Counter over the same rows counts."""
    complete = Counter(row for row in rows if None not in row)
    repeated = [copies for copies in complete.values() if copies > 1]
    nulls = sum(None in row for row in rows)
    for dialect in ENGINES:
        with place(dialect, t=Rows(KEYS, rows)) as here:
            outcome = ask(PrimaryKey(columns=("a", "b")), here)
        if not rows:
            assert outcome.status is Status.UNKNOWN
            continue
        expected = {
            "rows": len(rows),
            "duplicate_keys": len(repeated),
            "duplicate_rows": sum(repeated),
            "null_keys": nulls,
        }
        assert outcome.observed == expected
        assert outcome.status is (Status.FAIL if repeated or nulls else Status.PASS)
