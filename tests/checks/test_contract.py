"""The values that checks take and give."""

import subprocess
import sys
from datetime import UTC, datetime

import ibis
import pytest
from pydantic import ValidationError

from checks import (
    Context,
    Message,
    Misconfigured,
    Outcome,
    Severity,
    Status,
    UnknownReason,
    Zones,
    did_you_mean,
    unknown,
)
from checks._catalog import load_catalog
from checks.not_null import NotNull
from checks.sql import Sql

TABLE = ibis.table({"a": "int64", "loaded": "timestamp"}, name="t")
NOW = datetime(2026, 11, 20, tzinfo=UTC)


def context(**known):
    """Return what a check may know of a table."""
    return Context(TABLE, "duckdb", lambda _shift, _zone: ibis.literal(NOW), **known)


@pytest.mark.parametrize(("status", "reason"), [(Status.UNKNOWN, None), (Status.PASS, UnknownReason.NO_DATA)])
def test_only_unknown_has_a_reason(status, reason):
    """An outcome has a reason if and only if it is unknown."""
    with pytest.raises(ValueError, match="if and only if"):
        Outcome(status, Message("x"), reason=reason)
    assert unknown(UnknownReason.BUG, Message("x")).observed == {}


def test_severities_are_ranked():
    """Severity ranks from info to critical."""
    assert [severity.rank for severity in Severity] == [0, 1, 2, 3]
    assert Severity("critical").rank == 3


def test_zones():
    """A column's own zone comes before that of the source; without either it has none."""
    zones = Zones("UTC", {"a": "Asia/Tokyo"})
    assert (zones.of("a"), zones.of("b"), Zones().of("a")) == ("Asia/Tokyo", "UTC", None)


def test_column():
    """A column is found by its exact name; another is suggested."""
    assert context().column("a").get_name() == "a"
    with pytest.raises(Misconfigured, match="column 'A' not found; did you mean 'a'"):
        context().column("A")


def test_filter_is_part_of_every_count():
    """Counts, load times and filtered rows all respect the check's own filter."""
    where = TABLE.a > 1
    filtered = context(where=where, loaded_at="loaded")
    bad = TABLE.a.isnull()
    assert filtered.rows.equals(TABLE.count(where=where))
    assert filtered.count(bad).equals(TABLE.count(where=bad & where))
    assert filtered.filtered.equals(TABLE.filter(where))
    assert filtered.first_bad_load(bad)["first_bad_load"].equals(filtered.readable(TABLE.loaded.min(where=bad & where)))
    assert context().filtered is TABLE
    assert context().count(bad).equals(TABLE.count(where=bad))
    assert context().first_bad_load(bad) == {}


def test_name():
    """A check is named by its id, else by its type with hyphens."""
    assert NotNull(columns=("a",)).name == "not-null"
    assert NotNull(id="mail", columns=("a",)).name == "mail"
    for wrong in ("", "-a", "a b", "a.b", "x" * 81):
        with pytest.raises(ValidationError):
            NotNull(id=wrong, columns=("a",))


def test_softened():
    """The softer form has the limits of `warn` and is otherwise the same."""
    check = NotNull(id="mail", columns=("a",), max_ratio=0.5, severity="critical", warn={"max_ratio": 0.1})
    softer = check.softened()
    assert softer == NotNull(id="mail", columns=("a",), max_ratio=0.1, severity="critical")
    assert softer.softened() is None
    assert NotNull(columns=("a",)).softened() is None


@pytest.mark.parametrize(
    ("warn", "message"),
    [
        ({}, "'warn' accepts limits only (deviation, limits, max_ratio); seen: nothing"),
        ({"columns": ["b"]}, "'warn' accepts limits only (deviation, limits, max_ratio); seen: columns"),
        ({"max_ratio": 2}, "in 'warn', max_ratio: expected at most 1"),
    ],
)
def test_warn_holds_limits(warn, message):
    """A `warn` block holds limits of the check, and valid ones."""
    with pytest.raises(ValidationError) as error:
        NotNull(columns=("a",), warn=warn)
    assert message in str(error.value)


def test_warn_of_a_check_without_softer_form():
    """A check without limits says that it has no softer form."""
    from checks.primary_key import PrimaryKey

    with pytest.raises(ValidationError, match="none, this check has no warning level"):
        PrimaryKey(columns=("a",), warn={"max": 1})


def test_where_is_refused_where_it_means_nothing():
    """A check that cannot filter says so."""
    with pytest.raises(ValidationError, match="this check does not support 'where'"):
        Sql(query="SELECT 1", where="a = 1")


@pytest.mark.parametrize(
    ("seen", "known", "hint"),
    [
        ("emial", ["email", "name"], "; did you mean 'email'?"),
        ("EMAIL", ["Email"], "; did you mean 'Email'?"),
        ("zzz", ["email"], ""),
        ("x", [], ""),
    ],
)
def test_did_you_mean(seen, known, hint):
    """The nearest known name is suggested, if any is near."""
    assert did_you_mean(seen, known) == hint


def test_cheap_to_import():
    """Naming a check's values does not import the engines behind its expressions."""
    loaded = subprocess.run(
        [sys.executable, "-c", "import sys, checks; print('ibis' in sys.modules, 'sqlglot' in sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert loaded.stdout.split() == ["False", "False"]


@pytest.mark.parametrize("kind", ["schema", "classification"])
def test_a_check_of_columns_takes_no_on_empty(kind):
    """It needs no row, so the key would change nothing: it is refused, and not in the schema for editors."""
    check = load_catalog()[kind]
    with pytest.raises(ValidationError, match="this check does not support 'on_empty'"):
        check(on_empty="pass")
    assert "on_empty" not in check.model_json_schema()["properties"]
