"""Rows agree with those of another table."""

import pytest

from checks import Misconfigured, Status, UnknownReason
from checks.diff import Diff
from tests.checks.ask import Rows, ask, place
from tests.monitor.config.effects.effect import ABSENT

OBSERVED = {
    "differences",
    "left_rows",
    "right_rows",
    "only_left",
    "only_right",
    "changed",
    "left_repeated",
    "right_repeated",
    "columns",
}
_GIVEN = {"key": "id", "columns": ["b"], "against": "o"}
EFFECTS = {
    "against": ({"key": "id", "columns": ["id"]}, "o", "t2"),
    "key": ({"against": "t2", "columns": ["a"], "at_most": 3}, "id", "a"),
    "columns": ({"key": "id", "against": "o"}, ["id"], ["b"]),
    "at_most": (_GIVEN, 0, 9),
    "where": (_GIVEN, ABSENT, "id = 1"),
    "warn": ({**_GIVEN, "at_most": 9}, ABSENT, {"at_most": 1}),
    "on_empty": ({**_GIVEN, "where": "id > 99"}, "unknown", "pass"),
}
CANARIES = [
    {"key": "id", "against": "{other}", "columns": ["twin", "name"]},
    *({"key": key, "against": "{other}", "columns": ["id"], "at_most": 10**6} for key in ("id", "name")),
    {"key": ["id", "name"], "against": "{other}", "columns": ["fee"]},
    {"key": "name", "against": "{other}", "columns": ["id"]},
    {"key": "id", "against": "{other}"},
]
TYPES = {"id": "int", "part": "text", "amount": "decimal", "note": "text"}


def rows(*cells):
    """Return rows of an id, a part, an amount and a note."""
    return Rows(TYPES, cells)


ORDERS = rows((1, "a", 1, "x"), (2, "a", 2, None), (3, "b", 3, ""), (4, None, None, "y"))


def check(**parameters):
    """Return the check that orders agree with those of a copy."""
    return Diff(**{"key": "id", "against": "copy", **parameters})


def test_equal_rows(dialect):
    """Passes when each row has a partner with equal values; the order of rows is nothing."""
    with place(dialect, t=ORDERS, copy=rows(*reversed(ORDERS.rows))) as here:
        outcome = ask(check(), here)
    assert outcome.status is Status.PASS
    assert str(outcome.message) == "the rows agree with those of copy"
    assert outcome.observed["differences"] == 0
    assert (outcome.observed["left_rows"], outcome.observed["right_rows"]) == (4, 4)


def test_differences_are_counted(dialect):
    """Fails, and counts the rows that only one table has, those with other values, and the columns."""
    copy = rows((1, "A", 1, "x"), (3, "b", 4, None), (4, None, None, "y"), (5, "c", 5, "z"), (6, "c", 5, "z"))
    with place(dialect, t=ORDERS, copy=copy) as here:
        outcome = ask(check(), here)
        softer = ask(check(at_most=5, warn={"at_most": 4}), here)
    assert (outcome.status, softer.status) == (Status.FAIL, Status.WARN)
    assert str(outcome.message) == ("1 of 4 rows are not in copy, 2 of its rows are missing, 2 have other values")
    assert outcome.observed["columns"] == {"part": 1, "amount": 1, "note": 1}
    assert {name: outcome.observed[name] for name in ("differences", "only_left", "only_right", "changed")} == {
        "differences": 5,
        "only_left": 1,
        "only_right": 2,
        "changed": 2,
    }


def test_a_filter_is_for_both_tables(dialect):
    """The `where` takes the same rows of both tables."""
    copy = rows((1, "a", 1, "x"), (9, "b", 3, ""))
    with place(dialect, t=ORDERS, copy=copy) as here:
        outcome = ask(check(where="part = 'a' AND id = 1"), here)
    assert (outcome.status, outcome.observed["left_rows"]) == (Status.PASS, 1)


def test_a_key_that_is_not_unique_cannot_be_compared_by(dialect):
    """Repeated keys are counted, and never a pass, also where both tables are equal."""
    repeated = rows(*ORDERS.rows, (1, "a", 1, "x"))
    with place(dialect, t=repeated, copy=repeated) as here:
        outcome = ask(check(at_most=100), here)
    assert (outcome.status, outcome.reason) == (Status.UNKNOWN, UnknownReason.MISCONFIGURED)
    assert "the key (id) is not unique: 1 key" in str(outcome.message)
    assert (outcome.observed["left_repeated"], outcome.observed["right_repeated"]) == (1, 1)


def test_a_composite_key_with_null(dialect):
    """NULL in a key is a value of it."""
    with place(dialect, t=ORDERS, copy=ORDERS) as here:
        outcome = ask(check(key=["id", "part"], columns=["note"]), here)
        by_part = ask(check(key="part", columns=["note"]), here)
    assert outcome.status is Status.PASS
    assert by_part.status is Status.UNKNOWN


def test_an_empty_table_differs_from_one_with_rows(dialect):
    """No rows on one side are differences; on both sides there is nothing to compare."""
    with place(dialect, t=rows(), copy=ORDERS) as here:
        assert ask(check(), here).observed["only_right"] == 4
    with place(dialect, t=rows(), copy=rows()) as here:
        assert ask(check(), here).reason is UnknownReason.NO_DATA


@pytest.mark.parametrize(
    ("parameters", "why"),
    [
        ({"key": "idd"}, "column 'idd' not found in this table; did you mean 'id'"),
        ({"columns": ["note"]}, "column 'note' is of type string in this table and int64 in copy"),
        ({}, "column extra is only in copy"),
    ],
)
def test_what_does_not_compare_is_misconfigured(parameters, why):
    """A missing column, and types that do not compare, are named."""
    copy = Rows({"id": "int", "part": "text", "amount": "decimal", "note": "int", "extra": "int"})
    with place("duckdb", t=ORDERS, copy=copy) as here, pytest.raises(Misconfigured) as caught:
        ask(check(**parameters), here)
    assert why in str(caught.value)
