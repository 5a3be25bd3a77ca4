"""A row points to a row that is there."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from checks import Misconfigured, Status, UnknownReason, Zones
from checks.foreign_key import ForeignKey
from tests.checks.ask import ENGINES, EXAMPLES, Rows, ask, place
from tests.monitor.config.effects.effect import ABSENT
from tests.tiers import examples

OBSERVED = {"rows", "orphans"}
EFFECTS = {
    "column": ({"references": "o.b", "where": "id <> 2"}, "b", "q"),
    "columns": ({"references": ["o.id"]}, ["id"], ["at_hour"], "hours"),
    "references": ({"column": "id"}, "o.id", "o.z"),
    "max_ratio": ({"column": "b", "references": "o.b"}, 0, 0.5),
    "where": ({"column": "b", "references": "o.b"}, ABSENT, "id = 1"),
    "warn": ({"column": "b", "references": "o.b", "max_ratio": 0.5}, ABSENT, {"max_ratio": 0}),
    "on_empty": ({"column": "id", "references": "o.id", "where": "id > 99"}, "unknown", "pass"),
}
CANARIES = [
    {"column": "email", "references": "{other}.email"},
    {"column": "twin", "references": "{other}.twin"},
    {"columns": ["id", "name"], "references": ["{other}.id", "{other}.name"], "max_ratio": 1},
    {"column": "name", "references": "{other}.age"},
    {"column": "born", "references": "{other}.nowhere"},
]

DAY = timedelta(days=1)
ORDERS = {"shop": "int", "number": "int", "loaded": "timestamp"}
SHOPS = {"id": "int", "branch": "int"}
CHECK = ForeignKey(column="shop", references="shops.id")


def rows(*pairs):
    """Return orders that were loaded on the 1st, 2nd ... of November."""
    return [(*pair, datetime(2026, 11, 1) + (day - 1) * DAY) for day, pair in enumerate(pairs, 1)]  # noqa: DTZ001 - a naive column


def test_orphans(dialect):
    """Counts the rows that point to nothing; NULL points nowhere and is no orphan."""
    orders = rows((1, 1), (2, 1), (3, 1), (3, 2), (None, 1))
    with place(dialect, t=Rows(ORDERS, orders), shops=Rows(SHOPS, [(1, 1), (1, 2), (2, 1), (None, 1)])) as here:
        outcome = ask(CHECK, here, loaded_at="loaded", zones=Zones("UTC"))
    assert outcome.status is Status.FAIL
    assert outcome.observed == {"rows": 5, "orphans": 2}
    assert str(outcome.message) == "2 of 5 rows have no matching row in shops (40%)"
    assert outcome.occurrence.at == datetime(2026, 11, 3, tzinfo=UTC)


def test_all_there(dialect):
    """Passes when every value is found, however often it stands in the other table."""
    with place(dialect, t=Rows(ORDERS, rows((1, 1), (1, 2))), shops=Rows(SHOPS, [(1, 1), (1, 2)])) as here:
        assert ask(CHECK, here).observed == {"rows": 2, "orphans": 0}
        assert ask(CHECK, here).status is Status.PASS


def test_composite(dialect):
    """Pairs must be found as pairs; a NULL in one of them points nowhere."""
    check = ForeignKey(columns=("shop", "number"), references=("shops.id", "shops.branch"))
    orders = rows((1, 2), (1, 1), (2, 2), (None, 7), (7, None))
    with place(dialect, t=Rows(ORDERS, orders), shops=Rows(SHOPS, [(1, 2), (2, 1)])) as here:
        assert ask(check, here).observed == {"rows": 5, "orphans": 2}


def test_own_table(dialect):
    """A table may point to itself."""
    types = {"id": "int", "parent": "int"}
    with place(dialect, t=Rows(types, [(1, None), (2, 1), (3, 9)])) as here:
        outcome = ask(ForeignKey(column="parent", references="t.id"), here)
    assert outcome.observed == {"rows": 3, "orphans": 1}


def test_filter_and_share(dialect):
    """Looks only at the rows of its `where`, and allows the configured share."""
    orders = rows((1, 1), (9, 1), (9, 2))
    check = ForeignKey(column="shop", references="shops.id", where="number = 1", max_ratio=0.5, warn={"max_ratio": 0.0})
    with place(dialect, t=Rows(ORDERS, orders), shops=Rows(SHOPS, [(1, 1)])) as here:
        outcome = ask(check, here)
    assert outcome.observed == {"rows": 2, "orphans": 1}
    assert outcome.status is Status.WARN


def test_nothing_to_look_at(dialect):
    """An empty table is unknown; an empty table that is pointed to makes every row an orphan."""
    with place(dialect, t=Rows(ORDERS, []), shops=Rows(SHOPS, [(1, 1)])) as here:
        assert ask(CHECK, here).reason is UnknownReason.NO_DATA
    with place(dialect, t=Rows(ORDERS, rows((1, 1))), shops=Rows(SHOPS, [])) as here:
        assert ask(CHECK, here).status is Status.FAIL


def test_column_of_the_other_table():
    """Names a column that the other table does not have, and types that cannot be compared."""
    with place("duckdb", t=Rows(ORDERS, rows((1, 1))), shops=Rows({"idd": "int", "name": "text"}, [])) as here:
        with pytest.raises(Misconfigured, match=r"column 'id' not found in shops; did you mean 'idd'\?"):
            ask(CHECK, here)
        with pytest.raises(Misconfigured, match=r"column 'shop' is of type int64 and shops\.name of type string"):
            ask(ForeignKey(column="shop", references="shops.name"), here)


def test_dotted_table():
    """The column stands behind the last dot."""
    assert ForeignKey(column="a", references="crm.customers.customer_id").refers_to == ("crm.customers",)


@pytest.mark.parametrize(
    "wrong",
    [
        {"references": "t.a"},
        {"column": "a", "columns": ("b",), "references": "t.a"},
        {"column": "a", "references": "a"},
        {"column": "a", "references": "t."},
        {"columns": ("a", "b"), "references": "t.a"},
        {"columns": ("a", "b"), "references": ("t.a", "u.b")},
    ],
)
def test_parameters(wrong):
    """Refuses what does not pair columns with columns of one other table."""
    with pytest.raises(ValidationError):
        ForeignKey(**wrong)


VALUES = st.integers(0, 4) | st.none()


@settings(max_examples=examples(EXAMPLES))
@given(st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=12), st.lists(st.tuples(VALUES, VALUES), max_size=8))
def test_agrees_with_sets_in_python(own, other):
    """Both engines find the orphans that set membership finds."""
    known = {pair for pair in other if None not in pair}
    orphans = sum(None not in pair and pair not in known for pair in own)
    check = ForeignKey(columns=("shop", "number"), references=("shops.id", "shops.branch"))
    for dialect in ENGINES:
        with place(dialect, t=Rows(ORDERS, rows(*own)), shops=Rows(SHOPS, other)) as here:
            assert ask(check, here).observed == {"rows": len(own), "orphans": orphans}
