"""The columns are those that were agreed on."""

from datetime import timedelta

import pytest
from pydantic import ValidationError

from checks import Status, UnknownReason
from checks.schema import FAMILIES, Schema, is_of_type
from tests.checks.ask import NOW, Rows, ask, past, place
from tests.checks.stated import COLUMNS

OBSERVED = {"missing", "extra", "changed"}
EFFECTS = {
    "columns": ({}, COLUMNS, ["id", "strange"]),
    "extra": ({"columns": COLUMNS[:2]}, "forbid", "allow"),
    "order": ({"columns": COLUMNS[::-1]}, False, True),
}
CANARIES = [
    {"columns": {"id": "string", "name": "int", "email": "string", "missing": "date"}},
    {"columns": ["id", "name"], "order": True},
    {},
]

TYPES = {"id": "int", "name": "text", "paid": "decimal"}
TABLE = Rows(TYPES)
ACCEPTED = {"columns": {"id": "int64", "name": "string", "paid": "decimal(18, 4)"}, "order": ["id", "name", "paid"]}


def schema(**parameters):
    """Ask about the columns of an empty table."""
    with place("duckdb", t=TABLE) as here:
        return ask(Schema(**parameters), here)


def drifted(*history, **parameters):
    """Ask about the columns of an empty table with earlier measurements."""
    with place("duckdb", t=TABLE) as here:
        return ask(Schema(**parameters), here, history=history)


def test_agreed_types(dialect):
    """Passes on an empty table when the columns have the agreed types, by family or exactly."""
    columns = {"id": "int64", "name": "string", "paid": "decimal(18, 4)"}
    with place(dialect, t=TABLE) as here:
        outcome = ask(Schema(columns=columns, order=True), here)
        assert ask(Schema(columns={"id": "int", "name": "text", "paid": "number"}), here).status is Status.PASS
    assert outcome.status is Status.PASS
    assert outcome.observed == {"missing": [], "extra": [], "changed": [], **ACCEPTED}


def test_everything_wrong(dialect):
    """Names what is missing, what is extra and what changed its type."""
    with place(dialect, t=TABLE) as here:
        outcome = ask(Schema(columns={"id": "string", "name": "string", "email": "string"}), here)
    assert outcome.status is Status.FAIL
    assert outcome.observed["missing"] == ["email"]
    assert outcome.observed["extra"] == ["paid"]
    assert outcome.observed["changed"] == [{"column": "id", "expected": "string", "observed": "int64"}]
    assert str(outcome.message) == "missing columns: email; unexpected: paid; changed type: id (string → int64)"


def test_only_what_is_wrong_is_reported():
    """A message holds no empty list."""
    assert str(schema(columns=("id",)).message) == "unexpected columns: name, paid"
    assert str(schema(columns=("id", "mail"), extra="allow").message) == "missing columns: mail"
    retyped = schema(columns={"id": "string"}, extra="allow")
    assert str(retyped.message) == "columns with a changed type: id (string → int64)"


def test_names_only():
    """A list of names leaves the types open."""
    assert schema(columns=("paid", "name", "id")).status is Status.PASS
    assert schema(columns=("id",)).observed["extra"] == ["name", "paid"]


def test_extra_columns_may_be_allowed():
    """Extra columns are shown, and fail only where they are forbidden."""
    outcome = schema(columns=("id",), extra="allow")
    assert outcome.status is Status.PASS
    assert outcome.observed["extra"] == ["name", "paid"]


def test_order_matters_on_request():
    """Another order fails only with `order: true`; columns in between that are allowed do not matter."""
    assert str(schema(columns=("name", "id", "paid"), order=True).message) == "the column order has changed"
    assert schema(columns=("name", "id", "paid")).status is Status.PASS
    assert schema(columns=("id", "paid"), order=True, extra="allow").status is Status.PASS


def test_first_look_is_recorded():
    """Without agreed columns the first look is unknown, and says that it is recorded as the accepted one."""
    outcome = drifted()
    assert outcome.reason is UnknownReason.NO_DATA
    assert outcome.observed == {"missing": None, "extra": None, "changed": None, **ACCEPTED}
    assert str(outcome.message) == ("no baseline yet; the first stored run records these 3 columns as accepted")


def test_drift_from_the_last_accepted():
    """Compares with the newest accepted measurement, not with one that was not accepted."""
    day = timedelta(days=1)
    old = {"columns": {"id": "int32", "name": "string"}, "order": ["id", "name"]}
    assert drifted(past(ACCEPTED, day, accepted=True)).status is Status.PASS
    outcome = drifted(past(ACCEPTED, day), past(old, 3 * day, accepted=True))
    assert outcome.observed["extra"] == ["paid"]
    assert outcome.observed["changed"] == [{"column": "id", "expected": "int32", "observed": "int64"}]
    assert drifted(past(ACCEPTED, day, accepted=True), past(old, 3 * day, accepted=True)).status is Status.PASS


def test_drift_of_the_order():
    """The order of the accepted columns is compared on request, whatever became of the order of keys in storage."""
    swapped = {**ACCEPTED, "order": ["name", "id", "paid"]}
    accepted = past(swapped, timedelta(days=1), accepted=True)
    assert drifted(accepted).status is Status.PASS
    assert drifted(accepted, order=True).status is Status.FAIL


def test_long_lists_are_cut_in_the_message_only():
    """A message names eight columns at most; what was observed names all of them."""
    outcome = schema(columns=tuple(f"c{number}" for number in range(12)), extra="allow")
    assert len(outcome.observed["missing"]) == 12
    assert "c7 … (+4)" in str(outcome.message)


def test_no_scan():
    """Wants the catalogue only."""
    with place("duckdb", t=TABLE) as here:
        outcome = ask(Schema(columns=("id",), extra="allow"), here, now=NOW)
    assert "rows" not in outcome.observed


@pytest.mark.parametrize(
    ("seen", "expected", "same"),
    [
        ("int64", "int64", True),
        ("int32", "int64", False),
        ("int8", "int", True),
        ("!int64", "integer", True),
        ("float32", "number", True),
        ("decimal(10, 2)", "decimal", True),
        ("decimal(10, 2)", "decimal(10, 2)", True),
        ("decimal(10, 2)", "decimal(12, 2)", False),
        ("timestamp(6)", "timestamp", True),
        ("timestamp('UTC', 6)", "timestamp", True),
        ("timestamp('UTC', 6)", "timestamp('UTC')", True),
        ("timestamp(6)", "timestamp('UTC')", False),
        ("timestamp('UTC', 6)", "timestamp('UTC', 3)", False),
        ("date", "timestamp", False),
        ("array<int64>", "array", True),
        ("array<int64>", "array<string>", False),
        ("unknown", "string", False),
        ("string", "STRING", True),
    ],
)
def test_types(seen, expected, same):
    """A family takes every size, precision and zone; an exact type only itself."""
    assert is_of_type(seen, expected) is same


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_families_are_type_names(family):
    """Every family may be written in a configuration."""
    assert Schema(columns={"a": family}).columns == {"a": family}


def test_unknown_type_word():
    """A misspelt type is an error that names the one meant."""
    with pytest.raises(ValidationError, match="not 'strng'; did you mean 'string'"):
        Schema(columns={"a": "strng"})


@pytest.mark.parametrize("name", ["tsvector", "int4range", "xml", "bit(3)", '"char"', "pg_lsn", "vector", "My, type"])
def test_engines_have_names_of_their_own(name):
    """A type that Ibis has no name for may be agreed on by its engine's name, which it then has to be."""
    assert Schema(columns={"a": name}).columns == {"a": name}
    assert is_of_type(name, name)
    assert not is_of_type("string", name)


@pytest.mark.parametrize("name", ["bigint", "int46", "timestmp", "nummeric", "mediumtext"])
def test_what_ibis_has_a_name_for_is_called_by_it(name):
    """A misspelt type, or a name of SQL for a type of Ibis, is refused."""
    with pytest.raises(ValidationError, match=f"not '{name}'"):
        Schema(columns={"a": name})


def test_a_column_may_have_any_type():
    """Without a type only the name of a column is compared."""
    assert schema(columns={"id": None, "name": "string", "paid": None}).status is Status.PASS
    assert schema(columns={"id": None, "name": None, "gone": None}, extra="allow").status is Status.FAIL


def test_a_change_may_only_warn():
    """The columns of the last run are then those that are expected; agreed columns have no such run."""
    old = {**ACCEPTED, "columns": {"id": "int64", "name": "string"}, "order": ["id", "name"]}
    history = past(old, timedelta(days=1), accepted=True)
    assert drifted(history).status is Status.FAIL
    outcome = drifted(history, on_change="notify")
    assert (outcome.status, outcome.observed["extra"]) == (Status.WARN, ["paid"])
    with pytest.raises(ValidationError, match="compares with the columns seen last"):
        Schema(on_change="notify", columns=["id"])
