"""PostgreSQL's own types of text compare by their own rules, and an enum with any text."""

import os

import pytest

from checks import Status
from checks.accepted_values import AcceptedValues
from checks.metric import Metric
from checks.not_null import NotNull
from checks.range import Range
from checks.schema import Schema
from checks.unique import Unique
from checks.volume import Volume
from tests.checks.ask import POSTGRES, Rows, ask, place
from tests.needs import skip

pytestmark = pytest.mark.postgres

SCHEMA = "odd types"
TYPES = f"""
DROP SCHEMA IF EXISTS "{SCHEMA}" CASCADE;
CREATE SCHEMA "{SCHEMA}";
CREATE TYPE "{SCHEMA}"."Mood" AS ENUM ('a', 'b');
CREATE TYPE mood AS ENUM ('a', 'b');
CREATE DOMAIN feeling AS mood;
CREATE DOMAIN state AS feeling;
CREATE DOMAIN word AS text;
CREATE DOMAIN code AS char(5);
CREATE DOMAIN amount AS numeric(10, 2) CHECK (VALUE > 0)
"""


@pytest.fixture(autouse=True)
def server():
    """Return a server that has the types."""
    if not os.environ.get(POSTGRES):
        skip("postgres")
    with place("postgres") as made:
        for command in TYPES.split(";"):
            made.backend.con.execute(command)
        yield made
        made.backend.con.execute("DROP DOMAIN amount, code, word, state, feeling; DROP TYPE mood")
        made.backend.con.execute(f'DROP SCHEMA "{SCHEMA}" CASCADE')


def violations(kind, stored, values, where=None):
    """Return how many of the stored values are not accepted, by the list or by `share` of its first value."""
    with place("postgres", t=Rows({"v": kind}, [(one,) for one in stored])) as made:
        outcome = ask(AcceptedValues(column="v", values=values, where=where), made)
        assert outcome.status in {Status.PASS, Status.FAIL}, outcome
        shares = [ask(Metric(aggregate="share", column="v", value=one, min=0, where=where), made) for one in values]
    rows = outcome.observed["rows"]
    assert rows - sum(round(share.observed["value"] * rows) for share in shares) == outcome.observed["violations"]
    return outcome.observed["violations"]


@pytest.mark.parametrize("kind", ["mood", "feeling", "state", f'"{SCHEMA}"."Mood"'])
def test_an_enum_is_compared_with_any_text(kind):
    """A list may be a release ahead of an enum's labels, also below domains and in a schema out of sight."""
    assert violations(kind, ["a", "b", "b"], ("a", "later")) == 2
    where = "v::text = 'b'"  # PostgreSQL itself has no = between a domain over an enum and a text
    assert violations(kind, ["a", "b", "b"], ("a", "later"), where=where) == 2


def test_blanks_at_the_end_of_fixed_length_text_do_not_count():
    """char(n) fills up with blanks and compares without them, however the list writes it."""
    for kind in ("char(5)", 'char(5) COLLATE "C"', "code", "bpchar"):
        assert violations(kind, ["ab", "ab ", "x"], ("ab   ",)) == 1, kind
        assert violations(kind, ["ab", "ab ", "x"], ("ab",)) == 1, kind
        assert violations(kind, ["ab", "ab ", "x"], ("ab",), where="v = 'ab  '") == 0, kind


def test_a_domain_and_a_name_are_the_text_below():
    """A domain over text compares as text, with blanks and capitals; so do varchar(n) and name."""
    for kind in ("word", "varchar(9)", "name", "text"):
        assert violations(kind, ["ab", "ab ", "AB"], ("ab",)) == 2, kind


def test_citext_takes_capitals_for_small_letters(server):
    """A column of citext compares as PostgreSQL compares it: without regard to case."""
    import psycopg

    try:
        server.backend.con.execute("CREATE EXTENSION IF NOT EXISTS citext SCHEMA pg_catalog")
    except psycopg.Error as error:
        pytest.skip(f"the server has no extension citext, or does not allow it ({type(error).__name__})")
    try:
        server.backend.con.execute("CREATE DOMAIN mail AS citext")
        for kind in ("citext", "mail"):
            assert violations(kind, ["ACTIVE", "active", "gone"], ("Active",)) == 1
            assert violations(kind, ["ACTIVE", "active", "gone"], ("x",), where="v = 'aCTIVE'") == 2
    finally:
        server.backend.con.execute("DROP DOMAIN IF EXISTS mail; DROP EXTENSION citext CASCADE")


def test_a_range_takes_domains_over_numbers_and_times_in_fixed_length_text():
    """A domain over numbers is numbers; text of a fixed length holds times though blanks follow them."""
    with place("postgres", t=Rows({"n": "amount", "c": "char(12)"}, [(1, "2026-01-01"), (5, "2026-01-09")])) as made:
        numbers = ask(Range(column="n", max=4), made)
        times = ask(Range(column="c", max="2026-01-05"), made)
    assert (numbers.status, numbers.observed) == (Status.FAIL, {"rows": 2, "violations": 1})
    assert (times.status, times.observed) == (Status.FAIL, {"rows": 2, "violations": 1})


def test_an_enum_and_a_domain_are_of_the_type_that_a_schema_names():
    """A schema check calls an enum a string, and a domain by the type below it."""
    with place("postgres", t=Rows({"m": "mood", "w": "word", "n": "amount"}, [])) as made:
        outcome = ask(Schema(columns={"m": "string", "w": "text", "n": "decimal(10, 2)"}), made)
    assert outcome.status is Status.PASS, outcome


@pytest.mark.parametrize(
    ("check", "key", "seen"),
    [
        (NotNull(columns=["v"]), "nulls", {"v": 1}),
        (Range(column="v", min=0, max=10), "violations", 1),
        (Metric(column="v", aggregate="sum", max=100), "value", "2.25"),
        (AcceptedValues(column="v", values=["5.25"]), "violations", 1),
        (Unique(columns=["v"]), "duplicate_keys", 0),
        (Volume(min=0, where="v > 5"), "rows", 1),
    ],
)
def test_money_is_a_number(check, key, seen):
    """Checks of numbers take it, and count its NULLs."""
    with place("postgres", t=Rows({"v": "money"}, [("5.25",), (None,), ("-3",)])) as made:
        observed = ask(check, made).observed[key]
    assert (str(observed) if isinstance(seen, str) else observed) == seen
