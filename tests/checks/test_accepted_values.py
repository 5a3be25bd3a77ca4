"""A column holds only values from a list."""

from datetime import UTC, date, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from checks import Misconfigured, Status, UnknownReason, Zones
from checks.accepted_values import AcceptedValues
from tests.checks.ask import ENGINES, EXAMPLES, Question, Rows, ask, place
from tests.monitor.config.effects.effect import ABSENT
from tests.tiers import examples

OBSERVED = {"rows", "violations"}
EFFECTS = {
    "column": ({"values": ["x", "y"]}, "b", "q"),
    "values": ({"column": "b"}, ["x", "y"], ["x"]),
    "allow_null": ({"column": "b", "values": ["x", "y"]}, True, False),
    "max_ratio": ({"column": "b", "values": ["x"]}, 0, 0.5),
    "where": ({"column": "b", "values": ["x"]}, ABSENT, "id = 1"),
    "warn": ({"column": "b", "values": ["x"], "max_ratio": 0.5}, ABSENT, {"max_ratio": 0}),
    "on_empty": ({"column": "b", "values": ["x"], "where": "id > 99"}, "unknown", "pass"),
}
CANARIES = [
    {"column": "name", "values": ["ann", "bob"]},
    {"column": "age", "values": [1, 2, 3]},
    {"column": "born", "values": ["2000-01-01"]},
    {"column": "age", "values": ["one", "two"]},
    {"column": "fee", "values": [1.5], "allow_null": False},
    {"column": "code", "values": ["x"], "max_ratio": 1},
]

TYPES = {"v": "text", "loaded": "timestamp"}


def column(kind, *values):
    """Return a table with one column of values that were loaded on the 1st, 2nd ... of November."""
    rows = [(value, datetime(2026, 11, day)) for day, value in enumerate(values, 1)]  # noqa: DTZ001 - a naive column
    return Rows({**TYPES, "v": kind}, rows)


def test_counts_other_values(dialect):
    """Counts the rows that hold another value; NULL is allowed, other spellings are not."""
    with place(dialect, t=column("text", "EWR", "ewr", None, "JFK", "", "it's")) as here:
        check = AcceptedValues(column="v", values=("EWR", "JFK", "it's"))
        outcome = ask(check, here, loaded_at="loaded", zones=Zones("UTC"))
    assert outcome.status is Status.FAIL
    assert outcome.observed == {"rows": 6, "violations": 2}
    assert str(outcome.message) == "v: 2 of 6 rows have a value that is not accepted (33%)"
    assert outcome.occurrence.at == datetime(2026, 11, 2, tzinfo=UTC)


def test_null_may_be_forbidden(dialect):
    """With `allow_null: false`, NULL is another value."""
    with place(dialect, t=column("text", "a", None)) as here:
        assert ask(AcceptedValues(column="v", values=("a",)), here).status is Status.PASS
        strict = AcceptedValues(column="v", values=("a",), allow_null=False)
        assert ask(strict, here).observed == {"rows": 2, "violations": 1}


def test_a_value_that_the_type_does_not_know_is_just_another(dialect):
    """A list may be a release ahead of an enum's labels, and a UUID may be written in capitals."""
    kinds = {"sqlite": ("text", "text"), "mysql": ("ENUM('a', 'b')", "uuid")}.get(dialect, ("mood", "uuid"))
    uuid = "abcdefab-0000-0000-0000-000000000001" if dialect == "sqlite" else "ABCDEFAB-0000-0000-0000-000000000001"
    rows = [("a", "abcdefab-0000-0000-0000-000000000001"), ("b", "abcdefab-0000-0000-0000-000000000002"), (None, None)]
    with place(dialect) as here:
        if "mood" in kinds:
            here.backend.con.execute("CREATE TYPE mood AS ENUM ('a', 'b')")
        try:
            with place(dialect, t=Rows(dict(zip("mu", kinds, strict=True)), rows)):
                moods = ask(AcceptedValues(column="m", values=("a", "later")), here)
                ids = ask(AcceptedValues(column="u", values=(uuid, "no uuid")), here)
        finally:
            if "mood" in kinds:
                here.backend.con.execute("DROP TYPE mood")
    assert moods.observed == {"rows": 3, "violations": 1}
    assert ids.observed == {"rows": 3, "violations": 1}


@pytest.mark.parametrize(
    ("kind", "stored", "values"),
    [
        ("int", [1, 2, 3], (1, 2.0)),
        ("float", [0.1, 0.25, 0.3], (0.1, 0.25)),
        ("decimal", ["1.1", "2.0005", "3"], (1.1, 2.0005)),
        ("bool", [True, True, False], (True,)),
        ("date", [date(2026, 1, 1), date(2026, 1, 2), date(2026, 1, 3)], (date(2026, 1, 1), "2026-01-02")),
    ],
)
def test_kinds_of_values(dialect, kind, stored, values):
    """Numbers, truth values and dates equal what is stored to the last digit."""
    if (dialect, kind) == ("mysql", "bool"):  # where a truth value is a number
        values = (1,)
    with place(dialect, t=column(kind, *stored)) as here:
        assert ask(AcceptedValues(column="v", values=values), here).observed == {"rows": 3, "violations": 1}


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        ("text", 1, "column 'v' is of type string, which holds no whole numbers"),
        ("int", "one", "column 'v' is of type int64, which holds no such text"),
        ("int", 1.5, "which holds no fractions"),
        ("int", True, "which holds no truth values"),
        ("bool", 1, "which holds no whole numbers"),
        ("text", date(2026, 1, 1), "which holds no dates"),
        ("date", "soon", "which holds no such text"),
        ("timestamp", "2026-01-01", "column 'v' is of type timestamp"),
    ],
)
def test_value_of_another_kind(kind, value, message):
    """A value that the column can never hold is a mistake in the configuration, named without the value."""
    with place("duckdb", t=column(kind)) as here, pytest.raises(Misconfigured, match=message) as error:
        Question(AcceptedValues(column="v", values=(value,)), here).wants()
    assert "soon" not in str(error.value)


def test_share_and_filter(dialect):
    """Allows the configured share, among the rows of the `where`."""
    check = AcceptedValues(column="v", values=("a",), max_ratio=0.5, where="v <> 'x'", warn={"max_ratio": 0.4})
    with place(dialect, t=column("text", "a", "b", "x", "x")) as here:
        outcome = ask(check, here)
    assert outcome.observed == {"rows": 2, "violations": 1}
    assert outcome.status is Status.WARN


def test_nothing_to_look_at(dialect):
    """An empty table is unknown."""
    with place(dialect, t=column("text")) as here:
        assert ask(AcceptedValues(column="v", values=("a",)), here).reason is UnknownReason.NO_DATA


def test_column_of_no_known_type():
    """SQLite's columns of a type of its own making hold anything, so any value may be accepted."""
    with place("sqlite", t=column("WHATEVER", "a", 1, None)) as here:
        assert ask(AcceptedValues(column="v", values=("a", 1)), here).observed == {"rows": 3, "violations": 0}


@pytest.mark.parametrize("values", [(), (None,), (float("nan"),), (datetime(2026, 1, 1, tzinfo=UTC),)])
def test_parameters(values):
    """Refuses no values, NULL, NaN and times in the list."""
    with pytest.raises(ValidationError):
        AcceptedValues(column="v", values=values)


def test_values_keep_their_kind():
    """A number in quotes stays text, and true is no number."""
    assert AcceptedValues(column="v", values=["1", 1, True, 1.5]).values == ("1", 1, True, 1.5)
    assert [type(value) for value in AcceptedValues(column="v", values=["1", 1, True]).values] == [str, int, bool]


@settings(max_examples=examples(EXAMPLES))
@given(st.lists(st.sampled_from(["a", "A", "b", "", " a", "ä"]) | st.none(), min_size=1, max_size=15), st.booleans())
def test_agrees_with_a_set_in_python(values, allow_null):
    """Both engines count what set membership counts."""
    strange = sum(value not in ("a", "ä") if value is not None else not allow_null for value in values)
    check = AcceptedValues(column="v", values=("a", "ä"), allow_null=allow_null)
    for dialect in ENGINES:
        with place(dialect, t=column("text", *values)) as here:
            assert ask(check, here).observed == {"rows": len(values), "violations": strange}
