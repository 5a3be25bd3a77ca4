"""Values must be there."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from checks import Measurement, Misconfigured, Status, UnknownReason, Zones
from checks.not_null import NotNull
from tests.checks.ask import ENGINES, EXAMPLES, NOW, Rows, ask, place
from tests.monitor.config.effects.effect import ABSENT
from tests.tiers import examples

OBSERVED = {"rows", "nulls"}
_GIVEN = {"columns": ["a"]}
EFFECTS = {
    "columns": ({}, ["id"], ["a"]),
    "max_ratio": (_GIVEN, 0, 0.5),
    "where": (_GIVEN, ABSENT, "id < 3"),
    "warn": ({**_GIVEN, "max_ratio": 0.5}, ABSENT, {"max_ratio": 0}),
    "on_empty": ({**_GIVEN, "where": "id > 99"}, "unknown", "pass"),
}
CANARIES = [
    {"columns": ["email", "name"], "max_ratio": 0.5, "sample": {"share": 0.9}},
    {"columns": ["id", "name", "born"]},
    {"columns": ["email"], "max_ratio": 0.5, "warn": {"max_ratio": 0}},
    {"columns": ["nome"]},
    {"columns": ["email"], "by": "name"},
]

TYPES = {"a": "int", "b": "text", "loaded": "timestamp"}


def rows(nulls, total):
    """Return rows of which the first `nulls` lack `a`."""
    return [(None if number < nulls else 1, "x", datetime(2026, 11, 1 + number % 9)) for number in range(total)]  # noqa: DTZ001 - naive


def test_counts_each_column(dialect):
    """Counts the NULLs of every named column; other columns do not matter."""
    with place(dialect, t=Rows(TYPES, [(None, None, None), (1, None, None), (2, "", None)])) as here:
        outcome = ask(NotNull(columns=("a", "b")), here)
    assert outcome.status is Status.FAIL
    assert outcome.observed == {"rows": 3, "nulls": {"a": 1, "b": 2}}
    assert outcome.expected == {"max_ratio": 0.0}
    assert str(outcome.message) == "b: 2 of 3 rows are NULL (67%); also a (1)"


def test_a_message_names_nine_columns_at_most():
    """The worst one with its share, eight more with their counts; what was observed holds all of them."""
    names = tuple(f"c{number:02}" for number in range(12))
    measured = Measurement(NOW, {"rows": 2000, **{f"nulls_{name}": 1500 for name in names}})
    outcome = NotNull(columns=names).judge(measured, ())
    assert "c08 (1,500), … (+3)" in str(outcome.message)
    assert len(outcome.observed["nulls"]) == 12


def test_empty_text_is_there(dialect):
    """An empty text is a value."""
    with place(dialect, t=Rows(TYPES, [(1, "", None)])) as here:
        assert ask(NotNull(columns=("a", "b")), here).status is Status.PASS


@pytest.mark.parametrize(("nulls", "status"), [(29, Status.PASS), (30, Status.FAIL)])
def test_share_is_exact(nulls, status):
    """29 of 100 is not more than 0.29, although 0.29 times 100 is less than 29 in floating point."""
    with place("duckdb", t=Rows(TYPES, rows(nulls, 100))) as here:
        assert ask(NotNull(columns=("a",), max_ratio=0.29), here).status is status


def test_softer_limit_warns(dialect):
    """A share between the limit of `warn` and the limit is a warning."""
    check = NotNull(columns=("a",), max_ratio=0.5, warn={"max_ratio": 0.1})
    for nulls, status in [(1, Status.PASS), (2, Status.WARN), (5, Status.WARN), (6, Status.FAIL)]:
        with place(dialect, t=Rows(TYPES, rows(nulls, 10))) as here:
            assert ask(check, here).status is status


def test_filter(dialect):
    """Looks only at the rows of its `where`."""
    with place(dialect, t=Rows(TYPES, [(None, "x", None), (1, "y", None)])) as here:
        assert ask(NotNull(columns=("a",), where="b = 'y'"), here).observed == {"rows": 1, "nulls": {"a": 0}}
        assert ask(NotNull(columns=("a",), where="b = 'z'"), here).reason is UnknownReason.NO_DATA


def test_went_bad_with_the_first_bad_row(dialect):
    """Occurred is the earliest load among rows with a NULL, in the declared zone of the load time."""
    with place(dialect, t=Rows(TYPES, [(1, "x", datetime(2026, 11, 1)), *rows(2, 2)[1:]])) as here:  # noqa: DTZ001 - naive
        outcome = ask(NotNull(columns=("a",)), here, loaded_at="loaded", zones=Zones("America/New_York"))
        assert outcome.occurrence.at == datetime(2026, 11, 2, 5, 0, tzinfo=UTC)
        assert ask(NotNull(columns=("a",)), here, loaded_at="loaded").occurrence is None


def test_column_that_is_not_there():
    """Names the column that was meant."""
    with (
        place("duckdb", t=Rows(TYPES, [])) as here,
        pytest.raises(Misconfigured, match="'loaded_at' not found; did you"),
    ):
        ask(NotNull(columns=("loaded_at",)), here)


@pytest.mark.parametrize("wrong", [{"columns": ()}, {"columns": ("a", "a")}, {"columns": ("a",), "max_ratio": 1.1}])
def test_parameters(wrong):
    """Refuses no columns, a column twice, and a share above one."""
    with pytest.raises(ValidationError):
        NotNull(**wrong)


@settings(max_examples=examples(EXAMPLES))
@given(
    st.lists(
        st.tuples(st.integers().map(lambda n: n % 3) | st.none(), st.text("ab", max_size=2) | st.none()),
        min_size=1,
        max_size=20,
    )
)
def test_agrees_with_a_count_in_python(pairs):
    """Both engines count the NULLs that Python counts."""
    expected = {
        "rows": len(pairs),
        "nulls": {"a": sum(a is None for a, _ in pairs), "b": sum(b is None for _, b in pairs)},
    }
    for dialect in ENGINES:
        with place(dialect, t=Rows(TYPES, [(*pair, None) for pair in pairs])) as here:
            assert ask(NotNull(columns=("a", "b")), here).observed == expected
