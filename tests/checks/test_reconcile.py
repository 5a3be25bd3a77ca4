"""A total matches that of another table."""

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from checks import Misconfigured, Status, UnknownReason
from checks.reconcile import Reconcile
from tests.checks.ask import ENGINES, EXAMPLES, Question, Rows, ask, place
from tests.monitor.config.effects.effect import ABSENT
from tests.tiers import examples

OBSERVED = {"value", "baseline"}
_GIVEN = {"aggregate": "sum", "column": "id", "against": {"table": "o"}}
EFFECTS = {
    "aggregate": ({**_GIVEN, "against": {"table": "o", "aggregate": "sum"}}, "sum", "mean"),
    "column": ({"aggregate": "sum", "against": {"table": "o", "column": "id"}}, "id", "a"),
    "against": (_GIVEN, {"table": "o"}, {"table": "o", "column": "z"}),
    "tolerance": ({**_GIVEN, "column": "a", "against": {"table": "o", "column": "id"}}, 0, 5),
    "relative_tolerance": ({**_GIVEN, "column": "a", "against": {"table": "o", "column": "id"}}, 0, 0.5),
    "where": (_GIVEN, ABSENT, "id > 1"),
    "warn": (
        {**_GIVEN, "column": "a", "against": {"table": "o", "column": "id"}, "tolerance": 5},
        ABSENT,
        {"tolerance": 1},
    ),
    "on_empty": ({**_GIVEN, "where": "id > 99"}, "unknown", "pass"),
}
CANARIES = [
    {"aggregate": aggregate, "column": column, "against": {"table": "{other}"}}
    for aggregate in ("sum", "min", "max")
    for column in ("twin", "fee")
] + [
    {"aggregate": "count", "against": {"table": "{other}"}},
    {"aggregate": "max", "column": "name", "against": {"table": "{other}"}},
    {"aggregate": "count", "against": {"table": "{other}", "column": "id", "aggregate": "max"}},
]

ORDERS = {"amount": "decimal", "kind": "text"}
LEDGER = {"amount": "decimal", "total": "decimal"}


def orders(*amounts):
    """Return orders of these amounts."""
    return Rows(ORDERS, [(amount and Decimal(amount), "x") for amount in amounts])


def ledger(*totals):
    """Return a ledger of these totals."""
    return Rows(LEDGER, [(total and Decimal(total), total and Decimal(total)) for total in totals])


def check(**parameters):
    """Return the check that sums of amounts agree."""
    against = {"table": "ledger", "column": "total"}
    return Reconcile(**{"aggregate": "sum", "column": "amount", "against": against, **parameters})


def test_agrees(dialect):
    """Passes when the two numbers are equal."""
    with place(dialect, t=orders("1.25", "2.50"), ledger=ledger("3.75")) as here:
        outcome = ask(check(), here)
    assert outcome.status is Status.PASS
    assert outcome.observed == {"value": 3.75, "baseline": 3.75}
    assert str(outcome.message) == "sum(amount) matches sum(ledger.total)"


def test_differs(dialect):
    """Fails when they differ, and says both numbers."""
    with place(dialect, t=orders("100", "50"), ledger=ledger("120")) as here:
        outcome = ask(check(), here)
    assert outcome.status is Status.FAIL
    assert outcome.observed == {"value": 150, "baseline": 120}
    assert outcome.expected == {"tolerance": 0.0, "relative_tolerance": 0.0}
    assert str(outcome.message) == "sum(amount) is 150, sum(ledger.total) is 120"


@pytest.mark.parametrize(
    ("tolerances", "status"),
    [
        ({"tolerance": 30}, Status.PASS),
        ({"tolerance": 29.99}, Status.FAIL),
        ({"relative_tolerance": 0.25}, Status.PASS),
        ({"relative_tolerance": 0.2499}, Status.FAIL),
        ({"tolerance": 30, "relative_tolerance": 0.1}, Status.PASS),
        ({"tolerance": 50, "warn": {"tolerance": 10}}, Status.WARN),
    ],
)
def test_tolerance(dialect, tolerances, status):
    """The larger of the two tolerances holds, and itself is allowed."""
    with place(dialect, t=orders("150"), ledger=ledger("120")) as here:
        assert ask(check(**tolerances), here).status is status


def test_cents_are_exact():
    """Sums of decimals are compared to the last digit, although no float holds them."""
    with place("duckdb", t=orders(*["0.1"] * 3), ledger=ledger("0.3")) as here:
        assert ask(check(), here).status is Status.PASS


def test_different_aggregates(dialect):
    """The other side may be summed up in another way; a count needs no column."""
    with place(dialect, t=orders("1", "2", None), ledger=ledger("3")) as here:
        against = {"table": "ledger", "column": "total", "aggregate": "sum"}
        assert ask(check(aggregate="count", column=None, against=against), here).status is Status.PASS
        rows = {"table": "ledger"}
        assert ask(check(aggregate="count", column=None, against=rows), here).observed == {"value": 3, "baseline": 1}
        same_name = check(aggregate="mean", against={"table": "ledger"})
        assert ask(same_name, here).observed == {"value": 1.5, "baseline": 3}


def test_filter_is_for_the_own_table(dialect):
    """The `where` filters the watched table only."""
    rows = Rows(ORDERS, [(1, "x"), (5, "y")])
    with place(dialect, t=rows, ledger=ledger("1")) as here:
        assert ask(check(where="kind = 'x'"), here).status is Status.PASS


def test_empty_tables(dialect):
    """A watched table without rows is unknown; another without rows sums up to 0, and has no mean."""
    with place(dialect, t=orders(), ledger=ledger("1")) as here:
        assert ask(check(), here).reason is UnknownReason.NO_DATA
    with place(dialect, t=orders("1"), ledger=ledger()) as here:
        assert ask(check(), here).observed == {"value": 1, "baseline": 0}
        outcome = ask(check(aggregate="mean"), here)
    assert outcome.reason is UnknownReason.NO_DATA
    assert (
        str(outcome.message)
        == "mean(ledger.total) has no finite value: all values are NULL, or some are NaN or infinite"
    )


@pytest.mark.parametrize("against", [{}, {"aggregate": "sum"}])
def test_no_value_of_the_table_is_stored_or_shown(against):
    """A smallest or largest value stands in the table: it is compared, and neither it nor the other number is kept."""
    with place("duckdb", t=orders("987654"), ledger=ledger("123456")) as here:
        outcome = ask(check(aggregate="max", against={"table": "ledger", "column": "total"} | against), here)
    assert str(outcome.message) == f"max(amount) differs from {against.get('aggregate', 'max')}(ledger.total)"
    assert outcome.message.values.keys() == {"own", "other"}
    assert outcome.observed == {"value": None, "baseline": None}


def test_other_column():
    """Names the other table when its column is missing or of another kind."""
    with place("duckdb", t=orders("1"), ledger=Rows({"totals": "decimal", "name": "text"}, [])) as here:
        with pytest.raises(Misconfigured, match=r"ledger: column 'total' not found; did you mean 'totals'\?"):
            Question(check(), here).wants()
        with pytest.raises(Misconfigured, match="ledger: column 'name' is of type string; sum takes numbers"):
            Question(check(against={"table": "ledger", "column": "name"}), here).wants()


@pytest.mark.parametrize(
    "wrong",
    [
        {"column": None, "against": {"table": "ledger"}},
        {"against": {"table": ""}},
        {"against": {"table": "ledger", "where": "a = 1"}},
        {"tolerance": -1},
        {"aggregate": "share"},
    ],
)
def test_parameters(wrong):
    """Refuses an aggregate of nothing, no table, negative tolerances."""
    with pytest.raises(ValidationError):
        check(**wrong)


AMOUNTS = st.lists(st.integers(-9, 9), min_size=1, max_size=6)


@settings(max_examples=examples(EXAMPLES))
@given(AMOUNTS, AMOUNTS, st.integers(0, 5))
def test_agrees_with_python(own, other, tolerance):
    """Both engines judge the difference as Python does."""
    expected = Status.PASS if abs(sum(own) - sum(other)) <= tolerance else Status.FAIL
    for dialect in ENGINES:
        with place(dialect, t=orders(*own), ledger=ledger(*other)) as here:
            assert ask(check(tolerance=tolerance), here).status is expected


@pytest.mark.parametrize("side", ["orders", "ledger"])
def test_texts_that_sqlite_keeps_as_numbers_agree_with_nothing(side):
    """A text on either side is an error; the two sums are no answer."""
    good, bad = Rows(LEDGER, [(0, 0)]), Rows(LEDGER, [("CANARY", "CANARY")])
    with place("sqlite", t=bad if side == "orders" else good, ledger=bad if side == "ledger" else good) as here:
        outcome = ask(check(), here)
    assert outcome.reason is UnknownReason.MISCONFIGURED
    assert "includes 1 non-numeric value" in str(outcome.message)
    assert "CANARY" not in str(outcome.message)
