"""Every column is classified."""

import pytest

from checks import ColumnClass, Misconfigured, Status
from checks.classification import Classification
from tests.checks.ask import Rows, ask, place
from tests.checks.stated import COLUMNS
from tests.privacy.planted import COLUMNS as PLANTED

OBSERVED = {"unclassified", "gone"}
EFFECTS = {
    "columns": ({}, dict.fromkeys(COLUMNS, "other"), {"id": "other"}),
}
CANARIES = [
    {"columns": {"name": "direct-identifier", "id": "other"}},
    {"columns": dict.fromkeys(PLANTED, "sensitive")},
    {},
]

PEOPLE = Rows({"name": "text", "born": "int", "ill": "text"}, [("a", 1980, "flu")])
ALL = {
    "name": ColumnClass.DIRECT_IDENTIFIER,
    "born": ColumnClass.QUASI_IDENTIFIER,
    "ill": ColumnClass.SENSITIVE,
}


def test_every_column_is_classified(dialect):
    """By the check itself, or by the table's configuration."""
    with place(dialect, t=PEOPLE) as here:
        assert ask(Classification(columns=ALL), here).status is Status.PASS
        assert ask(Classification(), here, classified=ALL).status is Status.PASS


def test_a_column_that_nobody_looked_at_is_named(dialect):
    """A column that came later is not exported without a class."""
    with place(dialect, t=PEOPLE) as here:
        outcome = ask(Classification(columns={"name": "direct-identifier", "born": "quasi-identifier"}), here)
    assert outcome.status is Status.FAIL
    assert outcome.observed == {"unclassified": ["ill"], "gone": []}
    assert str(outcome.message).startswith("not classified: ill; classify each")


def test_a_classified_column_that_is_gone_is_a_warning(dialect):
    """It may have been renamed: the other name would be unclassified."""
    with place(dialect, t=PEOPLE) as here:
        outcome = ask(Classification(columns={**ALL, "sex": "quasi-identifier"}), here)
    assert (outcome.status, str(outcome.message)) == (Status.WARN, "classified, but not in the table: sex")


def test_an_empty_table_has_columns_too(dialect):
    """It takes no row to see which columns there are."""
    with place(dialect, t=Rows(PEOPLE.types)) as here:
        assert ask(Classification(columns=ALL), here).status is Status.PASS


def test_a_table_without_classified_columns_is_refused():
    """Without any classification there is nothing to compare with."""
    with place("duckdb", t=PEOPLE) as here, pytest.raises(Misconfigured, match="no columns are classified; classify"):
        ask(Classification(), here)
