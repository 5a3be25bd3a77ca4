"""Some columns determine another."""

from collections import Counter, defaultdict
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from checks import Misconfigured, Status, UnknownReason, Zones
from checks.functional_dependency import FunctionalDependency
from tests.checks.ask import ENGINES, EXAMPLES, Question, Rows, ask, place
from tests.monitor.config.effects.effect import ABSENT
from tests.tiers import examples

OBSERVED = {"rows", "violations", "groups"}
EFFECTS = {
    "determinant": ({"dependent": "s"}, ["id"], ["q"]),
    "dependent": ({"determinant": ["a"]}, "n", "b"),
    "max_ratio": ({"determinant": ["q"], "dependent": "s"}, 0, 0.5),
    "where": ({"determinant": ["q"], "dependent": "s"}, ABSENT, "id = 1"),
    "warn": ({"determinant": ["q"], "dependent": "s", "max_ratio": 0.5}, ABSENT, {"max_ratio": 0}),
    "on_empty": ({"determinant": ["q"], "dependent": "s", "where": "id > 99"}, "unknown", "pass"),
}
CANARIES = [
    {"determinant": ["id"], "dependent": "email"},
    {"determinant": ["loaded_at"], "dependent": "name"},
    {"determinant": ["age"], "dependent": "name"},
    {"determinant": ["name", "code"], "dependent": "email", "max_ratio": 1},
    {"determinant": ["born"], "dependent": "fee", "where": "CAST(code AS INTEGER) > 5"},
    {"determinant": ["name"], "dependent": "nowhere"},
]

PLACES = {"zip": "text", "country": "int", "city": "text"}
CHECK = FunctionalDependency(determinant=("zip",), dependent="city")


def test_rows_that_differ_from_their_group(dialect):
    """Counts the rows that would have to change: those that do not hold the most frequent value of their group."""
    rows = [("1", 1, "Oslo"), ("1", 1, "Oslo"), ("1", 2, "Olso"), ("2", 1, "Bergen"), ("3", 1, "a"), ("3", 1, "b")]
    with place(dialect, t=Rows(PLACES, rows)) as here:
        outcome = ask(CHECK, here)
    assert outcome.status is Status.FAIL
    assert outcome.observed == {"rows": 6, "violations": 2, "groups": 2}
    assert str(outcome.message) == "city: 2 of 6 rows differ from other rows with the same zip (33%)"


def test_dependency_that_holds(dialect):
    """Passes where each value of the determinant has one value of the dependent column."""
    with place(dialect, t=Rows(PLACES, [("1", 1, "Oslo"), ("1", 2, "Oslo"), ("2", 1, "Oslo")])) as here:
        outcome = ask(CHECK, here)
    assert (outcome.status, outcome.observed) == (Status.PASS, {"rows": 3, "violations": 0, "groups": 0})


def test_null_is_not_compared(dialect):
    """A row with NULL in the determinant or in the dependent column contradicts nothing."""
    rows = [(None, 1, "Oslo"), (None, 1, "Bergen"), ("1", 1, None), ("1", 1, "Oslo")]
    with place(dialect, t=Rows(PLACES, rows)) as here:
        assert ask(CHECK, here).observed == {"rows": 4, "violations": 0, "groups": 0}


def test_several_columns_determine_together(dialect):
    """The same zip may be another city in another country."""
    rows = [("1", 1, "Oslo"), ("1", 2, "Paris"), ("1", 2, "Paris"), ("1", 2, "Lyon")]
    check = FunctionalDependency(determinant=("country", "zip"), dependent="city")
    with place(dialect, t=Rows(PLACES, rows)) as here:
        assert ask(check, here).observed == {"rows": 4, "violations": 1, "groups": 1}


def test_filter_and_share(dialect):
    """`where` picks the rows; `max_ratio` is a share of them."""
    rows = [("1", 1, "Oslo"), ("1", 1, "Oslo"), ("1", 1, "Oslo"), ("1", 1, "Olso"), ("1", 2, "x")]
    with place(dialect, t=Rows(PLACES, rows)) as here:
        narrow = CHECK.model_copy(update={"where": "country = 1", "max_ratio": 0.25})
        assert ask(narrow, here).status is Status.PASS
        assert ask(narrow.model_copy(update={"max_ratio": 0.2}), here).observed["violations"] == 1


def test_nothing_to_look_at(dialect):
    """An empty table is unknown."""
    with place(dialect, t=Rows(PLACES, [])) as here:
        assert ask(CHECK, here).reason is UnknownReason.NO_DATA


def test_combinations_of_contradicted_groups(dialect):
    """The terminal may show each combination of a group that has several values, with its rows."""
    rows = [("1", 1, "Oslo"), ("1", 1, "Oslo"), ("1", 2, "Olso"), ("2", 1, "Bergen"), (None, 1, "Oslo")]
    with place(dialect, t=Rows(PLACES, rows)) as here:
        shown = Question(CHECK, here).offending()
    assert shown == [{"zip": "1", "city": "Oslo", "copies": 2}, {"zip": "1", "city": "Olso", "copies": 1}]


def test_columns_called_as_those_of_the_statement(dialect):
    """Names that the statement uses itself are columns like others."""
    names = {"copies": "int", "value": "int", "key0": "int"}
    check = FunctionalDependency(determinant=("value", "copies"), dependent="key0")
    with place(dialect, t=Rows(names, [(1, 1, 1), (1, 1, 2), (1, 1, 2)])) as here:
        assert ask(check, here).observed == {"rows": 3, "violations": 1, "groups": 1}
        assert Question(check, here).offending()[0] == {"value": 1, "copies": 1, "key0": 2, "copies_": 2}


def test_went_bad_when_another_value_arrived(dialect):
    """The data went bad when the last of the values of a group first arrived, in the first group that has several."""
    days = [datetime.fromisoformat(f"2026-11-0{day}") for day in range(1, 8)]
    rows = [("1", "a", days[0]), ("1", "b", days[4]), ("1", "b", days[6]), ("2", "a", days[2]), ("2", "b", days[5])]
    with place(dialect, t=Rows({"zip": "text", "city": "text", "loaded": "timestamp"}, rows)) as here:
        outcome = ask(CHECK, here, loaded_at="loaded", zones=Zones("UTC"))
    assert outcome.occurrence.at == datetime(2026, 11, 5, tzinfo=UTC)


def test_column_that_is_not_there(dialect):
    """A wrong name is refused with the right one."""
    with place(dialect, t=Rows(PLACES, [])) as here, pytest.raises(Misconfigured, match="did you mean 'city'"):
        ask(FunctionalDependency(determinant=("zip",), dependent="ctiy"), here)


def test_column_that_determines_itself():
    """A dependent column that is named among the determinants is refused: it could never fail."""
    with pytest.raises(ValidationError, match="it determines itself"):
        FunctionalDependency(determinant=("zip", "city"), dependent="city")


@settings(max_examples=examples(EXAMPLES))
@given(
    st.lists(
        st.tuples(st.sampled_from("ab") | st.none(), st.integers(0, 1) | st.none(), st.sampled_from("xyz") | st.none()),
        min_size=1,
        max_size=25,
    )
)
def test_agrees_with_a_count_in_python(rows):
    """Every engine counts the rows that plain Python would have to take away, for one determinant and for two."""
    for names in (("zip",), ("zip", "country")):
        groups = defaultdict(Counter)
        for row in rows:
            *key, value = (dict(zip(PLACES, row, strict=True))[name] for name in (*names, "city"))
            if value is not None and None not in key:
                groups[tuple(key)][value] += 1
        violations = sum(sum(counts.values()) - max(counts.values()) for counts in groups.values())
        expected = {
            "rows": len(rows),
            "violations": violations,
            "groups": sum(len(counts) > 1 for counts in groups.values()),
        }
        for dialect in ENGINES:
            with place(dialect, t=Rows(PLACES, rows)) as here:
                outcome = ask(FunctionalDependency(determinant=names, dependent="city"), here)
            assert outcome.observed == expected
            assert outcome.status is (Status.FAIL if violations else Status.PASS if groups else Status.UNKNOWN)
