"""Every record hides among k."""

from collections import Counter
from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from checks import ColumnClass, Misconfigured, Status, UnknownReason
from checks.classes.spellings import normal_form
from checks.k_anonymity import KAnonymityCheck
from checks.risk import journalist_risk
from tests.checks.ask import ENGINES, EXAMPLES, Question, Rows, ask, place
from tests.monitor.config.effects.effect import ABSENT
from tests.tiers import examples

OBSERVED = {
    "rows",
    "classes",
    "k",
    "sample_uniques",
    "records_below_k",
    "classes_below_k",
    "highest_risk",
    "average_risk",
    "journalist_highest_risk",
    "journalist_average_risk",
    "journalist_records_at_risk",
    "records_outside_population",
}
_GIVEN = {"quasi_identifiers": ["q"], "k": 2}
EFFECTS = {
    "quasi_identifiers": ({"k": 2}, ["q"], ["id"]),
    "k": (_GIVEN, 2, 3),
    "max_average_risk": (_GIVEN, 0.5, 0.1),
    "other_readings": ({"quasi_identifiers": ["b"], "k": 2}, True, False, "t", "k_wildcard"),
    "person": (_GIVEN, ABSENT, "p", "visits"),
    "identifiers": (_GIVEN, ABSENT, ["p"], "visits"),
    "pseudonyms": (_GIVEN, ABSENT, ["p"], "visits"),
    "population": (_GIVEN, ABSENT, "p", "t", "journalist_highest_risk"),
    "population_columns": ({**_GIVEN, "population": "o"}, {"q": "b"}, {"q": "qq"}),
    "where": (_GIVEN, ABSENT, "id < 4"),
    "warn": (_GIVEN, ABSENT, {"k": 3}),
    "on_empty": ({**_GIVEN, "where": "id > 99"}, "unknown", "pass"),
}
CANARIES = [
    {"quasi_identifiers": ["name", "fee", "born"], "k": 2, "warn": {"k": 3}},
    {"quasi_identifiers": ["name", "email"], "k": 2, "max_average_risk": 0.1},
    {"quasi_identifiers": ["code"], "k": 2, "where": "CAST(code AS INTEGER) > 5"},
    {"quasi_identifiers": ["name", "email"], "k": 2, "incremental": {"mode": "append", "watermark": "loaded_at"}},
    {"quasi_identifiers": ["name", "born"], "k": 2, "incremental": {"mode": "append", "watermark": "age"}},
    {"quasi_identifiers": ["name"], "k": 2, "incremental": {"mode": "append", "watermark": "code"}},
    {"quasi_identifiers": ["name", "born"], "k": 2, "population": "{relation}"},
    {"quasi_identifiers": ["name"], "k": 2, "population": "{other}", "population_columns": {"name": "age"}},
    {"quasi_identifiers": ["loaded_at"], "k": 2},
    {"quasi_identifiers": ["nowhere"], "k": 2},
    {"k": 2},
]

PEOPLE = {"age": "text", "city": "text"}
BINS = [
    ("[-25]", "東京都"), ("[-25]", None), ("[-25]", "東京都"), ("[30-50]", None), ("[30-50]", None), ("[30-50]", None),
    ("[50-]", None), ("[50-]", None),
]  # fmt: skip


def test_null_is_a_value_and_as_a_wildcard_it_is_shown_beside(dialect):
    """Eight rows, of which some have no prefecture: k is 1, and 2 with a missing value as any value."""
    with place(dialect, t=Rows(PEOPLE, BINS)) as here:
        outcome = ask(KAnonymityCheck(quasi_identifiers=("age", "city"), k=2), here)
    assert outcome.status is Status.FAIL
    assert (outcome.observed["k"], outcome.observed["k_wildcard"], outcome.observed["k_normalised"]) == (1, 2, 1)
    assert outcome.observed["records_below_k"] == 1
    assert outcome.observed["sample_uniques"] == 1
    assert outcome.observed["classes_below_k"] == 1
    assert (outcome.observed["highest_risk"], outcome.observed["average_risk"]) == (1.0, 0.5)
    assert outcome.observed["histogram"] == [[1, 1, 1], [2, 2, 4], [3, 1, 3]]


def test_the_column_that_does_the_damage_is_named(dialect):
    """The one without which most records would be in large enough groups."""
    rows = [("f", str(number)) for number in range(6)] + [("m", "0"), ("m", "0")]
    with place(dialect, t=Rows({"sex": "text", "born": "text"}, rows)) as here:
        outcome = ask(KAnonymityCheck(quasi_identifiers=("sex", "born"), k=2), here)
    assert str(outcome.message) == "6 of 8 records are in equivalence classes smaller than 2; born contributes most"
    assert outcome.observed["damage"] == {"born": 6, "sex": 1}
    assert outcome.observed["quasi_identifiers"] == ["sex", "born"]


def test_columns_that_do_the_same_damage(dialect):
    """Where leaving out one column helps as much as leaving out another, none of them is picked."""
    rows = [(letter, number) for letter in "ab" for number in "12"]
    with place(dialect, t=Rows(PEOPLE, rows)) as here:
        outcome = ask(KAnonymityCheck(quasi_identifiers=("age", "city"), k=2), here)
    assert str(outcome.message).endswith("smaller than 2; age, city contribute most, each equally")


def test_columns_that_only_together_do_the_damage(dialect):
    """Where no single column can be dropped to raise k, none is blamed."""
    with place(dialect, t=Rows(PEOPLE, [("a", "x"), ("b", "y")])) as here:
        outcome = ask(KAnonymityCheck(quasi_identifiers=("age", "city"), k=2), here)
    assert str(outcome.message).endswith("smaller than 2; no single column is the cause")


def test_one_quasi_identifier_alone(dialect):
    """Without the only one, all records are alike."""
    with place(dialect, t=Rows(PEOPLE, [("a", "x"), ("b", "x"), ("b", "y")])) as here:
        outcome = ask(KAnonymityCheck(quasi_identifiers=("age",), k=2), here)
    assert outcome.observed["damage"] == {"age": 1}


def test_spellings_are_shown_beside_and_never_decide(dialect):
    """Full-width, upper case, spaces and `1.0` are read as one beside; exported as they are, they tell people apart."""
    rows = [
        ("1", "Tokyo"),
        ("1.0", "tokyo "),
        ("1", "\N{FULLWIDTH LATIN CAPITAL LETTER T}okyo"),
        ("01", "kyoto"),
        ("01", "kyoto"),
    ]
    with place(dialect, t=Rows(PEOPLE, rows)) as here:
        outcome = ask(KAnonymityCheck(quasi_identifiers=("age", "city"), k=2), here)
        alone = ask(KAnonymityCheck(quasi_identifiers=("age", "city"), k=2, other_readings=False), here)
    assert outcome.status is Status.FAIL
    assert (outcome.observed["k"], outcome.observed["k_normalised"], outcome.observed["k_wildcard"]) == (1, 2, 1)
    assert (alone.observed["k_normalised"], alone.observed["k_wildcard"]) == (None, None)
    assert alone.observed["k"] == 1


def test_a_table_that_hides_everybody(dialect):
    """Passing says how many others there are at least."""
    with place(dialect, t=Rows(PEOPLE, [("a", "x")] * 3 + [("b", None)] * 4)) as here:
        outcome = ask(KAnonymityCheck(quasi_identifiers=("age", "city"), k=3), here)
    assert (outcome.status, str(outcome.message)) == (
        Status.PASS,
        "every record shares its quasi-identifiers with at least 2 others",
    )
    assert outcome.observed["damage"] == {}


def test_a_softer_limit_warns(dialect):
    """`warn: {k: 5}` is a warning where k is 3 or 4."""
    with place(dialect, t=Rows(PEOPLE, [("a", "x")] * 4)) as here:
        outcome = ask(KAnonymityCheck(quasi_identifiers=("age",), k=3, warn={"k": 5}), here)
    assert outcome.status is Status.WARN
    assert "4 of 4 records are in equivalence classes smaller than 5; no single column" in str(outcome.message)


def test_the_average_risk_has_a_limit_of_its_own(dialect):
    """Groups per record: the share of records that guessing names right."""
    with place(dialect, t=Rows(PEOPLE, [("a", "x")] * 2 + [("b", "x")] * 2)) as here:
        outcome = ask(KAnonymityCheck(quasi_identifiers=("age",), k=2, max_average_risk=0.25), here)
        exactly = ask(KAnonymityCheck(quasi_identifiers=("age",), k=2, max_average_risk=0.5), here)
    assert outcome.status is Status.FAIL
    assert str(outcome.message) == "the average risk of a record is 50%, at most 25% expected"
    assert exactly.status is Status.PASS, "at most means that the limit itself is allowed"


def test_a_floating_point_quasi_identifier_is_a_warning(dialect):
    """Its values are hardly ever alike, so a table that passes by luck says so."""
    with place(dialect, t=Rows({"height": "float"}, [(1.5,), (1.5,)])) as here:
        outcome = ask(KAnonymityCheck(quasi_identifiers=("height",), k=2), here)
    assert outcome.status is Status.WARN
    assert str(outcome.message).startswith("height: floating-point quasi-identifier")


@pytest.mark.parametrize(("rows", "k"), [([("a", "x")], 1), ([(None, None)] * 3, 3), ([(None, "x"), (None, "y")], 1)])
def test_few_rows_and_nothing_known(dialect, rows, k):
    """One row is a group of one; rows of which nothing is known are alike."""
    with place(dialect, t=Rows(PEOPLE, rows)) as here:
        assert ask(KAnonymityCheck(quasi_identifiers=("age", "city"), k=2), here).observed["k"] == k


@pytest.mark.parametrize(("others", "normalised"), [(1_000, 2), (1_001, None)])
def test_a_thousand_other_spellings_are_merged(others, normalised):
    """So many spellings are read as one by the engine; of one more it is not known what k would be."""
    rows = [(f"{prefix}{number}",) for number in range(others) for prefix in ("Name", "name")]
    with place("duckdb", t=Rows({"name": "text"}, rows)) as here:
        outcome = ask(KAnonymityCheck(quasi_identifiers=("name",), k=2), here)
    assert (outcome.observed["k"], outcome.observed["k_normalised"]) == (1, normalised)


def test_a_million_values_are_as_many_groups():
    """All rows are unique; so many values are not compared by their spelling, which is then not known."""
    with place("duckdb", t=Rows({"name": "text"})) as here:
        here.backend.con.execute("INSERT INTO t SELECT 'canary ' || i FROM range(1000000) r(i)")
        found = Question(KAnonymityCheck(quasi_identifiers=("name",), k=2), here)
        outcome = found.ask()
    assert (outcome.observed["k"], outcome.observed["sample_uniques"]) == (1, 1_000_000)
    assert (outcome.observed["k_wildcard"], outcome.observed["k_normalised"]) == (1, None)
    assert str(outcome.message).startswith("1,000,000 of 1,000,000 records are in equivalence classes smaller than 2")
    assert "canary" not in repr(outcome)


def test_values_of_mixed_types_are_told_apart():
    """SQLite keeps text in a column of numbers: each is what it is, and read as one spelling only beside."""
    rows = [(1, "x"), (1, "x"), ("canary", "x"), ("canary", "x"), (1.5, "x")]
    with place("sqlite", t=Rows({"age": "int", "city": "text"}, rows)) as here:
        outcome = ask(KAnonymityCheck(quasi_identifiers=("age", "city"), k=2), here)
    assert (outcome.observed["classes"], outcome.observed["sample_uniques"]) == (3, 1)
    assert "canary" not in repr(outcome)


def test_a_moment_is_one_value_wherever_it_was_noted(dialect):
    """Nine in the morning in Tokyo is midnight in UTC; SQLite keeps text, so there what is written counts."""
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    rows = [(moment,), (moment.astimezone(ZoneInfo("Asia/Tokyo")),)]
    with place(dialect, t=Rows({"seen": "timestamptz"}, rows)) as here:
        outcome = ask(KAnonymityCheck(quasi_identifiers=("seen",), k=2), here)
    assert outcome.observed["k"] == (1 if dialect == "sqlite" else 2)


def test_wall_clocks_need_no_zone(dialect):
    """Whether two are alike does not depend on where the clock hung."""
    rows = [(date(2026, 1, 1),), (date(2026, 1, 1),), (None,)]
    with place(dialect, t=Rows({"seen": "timestamp"}, rows)) as here:
        outcome = ask(KAnonymityCheck(quasi_identifiers=("seen",), k=2), here)
    assert (outcome.status, outcome.observed["classes"]) == (Status.FAIL, 2)


def test_an_empty_table_is_not_anonymous(dialect):
    """Without a row nothing is known; filtered to nothing too."""
    with place(dialect, t=Rows(PEOPLE, [])) as here:
        assert ask(KAnonymityCheck(quasi_identifiers=("age",), k=2), here).reason is UnknownReason.NO_DATA
    with place(dialect, t=Rows(PEOPLE, [("a", "x")])) as here:
        nothing = KAnonymityCheck(quasi_identifiers=("age",), k=2, where="age = 'z'")
        assert ask(nothing, here).reason is UnknownReason.NO_DATA


def test_the_classification_of_the_table_names_them(dialect):
    """Where a check names none, the columns that the table classifies as quasi-identifiers are meant."""
    classified = {"age": ColumnClass.QUASI_IDENTIFIER, "city": ColumnClass.OTHER}
    with place(dialect, t=Rows(PEOPLE, [("a", "x"), ("a", "y")])) as here:
        assert ask(KAnonymityCheck(k=2), here, classified=classified).observed["k"] == 2


def test_what_is_wrong_is_reported():
    """No quasi-identifier, an unknown column and a k below 2 have each their words, and none a value."""
    with place("duckdb", t=Rows(PEOPLE, BINS)) as here:
        with pytest.raises(Exception, match="no quasi-identifier: name them with 'quasi_identifiers'"):
            ask(KAnonymityCheck(k=2), here)
        with pytest.raises(Exception, match="column 'agee' not found; did you mean 'age'"):
            ask(KAnonymityCheck(quasi_identifiers=("agee",), k=2), here)
    with pytest.raises(ValidationError, match="greater than or equal to 2"):
        KAnonymityCheck(quasi_identifiers=("age",), k=1)


def test_no_value_of_the_table_is_in_what_is_judged(dialect):
    """The spellings that were compared end where they were measured."""
    with place(dialect, t=Rows(PEOPLE, [("canary", "x"), ("Canary", "x")])) as here:
        found = Question(KAnonymityCheck(quasi_identifiers=("age", "city"), k=2), here).measure()
    assert "anary" not in repr(found)


AGE = {"age": "text"}
TOWN = Rows({"group": "text"}, [("10-19",)] * 5 + [("20-29",)] * 20 + [(None,)] * 4 + [("90-99",)])
JOURNALIST = ("journalist_highest_risk", "journalist_average_risk", "journalist_records_at_risk")


def test_a_population_gives_the_journalist_risk(dialect):
    """Who does not know who is in the table has the whole class of the population to choose from."""
    check = KAnonymityCheck(quasi_identifiers=("age",), k=5, population="p", population_columns={"age": "group"})
    trial = Rows(AGE, [("10-19",)] * 2 + [("20-29",)] * 2 + [(None,)] * 2)
    with place(dialect, t=trial, p=TOWN) as here:
        outcome = ask(check, here)
    assert outcome.status is Status.FAIL, "the limit is one of the table alone"
    assert (outcome.observed["k"], outcome.observed["highest_risk"]) == (2, 0.5)
    assert outcome.observed["journalist_highest_risk"] == 0.25
    assert outcome.observed["journalist_average_risk"] == pytest.approx((2 / 5 + 2 / 20 + 2 / 4) / 6, abs=1e-15)
    assert outcome.observed["journalist_records_at_risk"] == 2
    assert outcome.observed["records_outside_population"] == 0


def test_without_a_population_there_is_no_journalist_risk(dialect):
    """It is null, not the prosecutor's."""
    with place(dialect, t=TOWN) as here:
        seen = ask(KAnonymityCheck(quasi_identifiers=("group",), k=2), here).observed
    assert [seen[name] for name in (*JOURNALIST, "records_outside_population")] == [None] * 4


def test_a_population_without_the_table_is_none(dialect):
    """What passes alone is unknown beside a table that cannot be its population; what is broken stays broken."""
    asked = {"quasi_identifiers": ("age",), "population": "p", "population_columns": {"age": "group"}}
    for people in (TOWN, Rows({"group": "text"})):
        with place(dialect, t=Rows(AGE, [("90-99",)] * 3), p=people) as here:
            passed, broken = ask(KAnonymityCheck(k=2, **asked), here), ask(KAnonymityCheck(k=5, **asked), here)
        outside = 3 - sum(row == ("90-99",) for row in people.rows)
        assert passed.reason is UnknownReason.MISCONFIGURED
        assert str(passed.message) == f"at least {outside} rows are not in p: it is not a population of this table"
        assert broken.status is Status.FAIL
        for seen in (passed.observed, broken.observed):
            assert [seen[name] for name in (*JOURNALIST, "records_outside_population")] == [None, None, None, outside]


def test_a_population_that_does_not_fit():
    """Its columns must be there and of one kind; names without a population, and counts that are kept, are refused."""
    with place("duckdb", t=Rows(AGE, [("a",)]), p=Rows({"group": "int"}, [(1,)])) as here:
        for names, message in (
            ({"age": "grup"}, r"column 'grup' not found in p; did you mean 'group'\?"),
            ({"age": "group"}, r"'age' is of type string and p\.group of type int64"),
        ):
            check = KAnonymityCheck(quasi_identifiers=("age",), k=2, population="p", population_columns=names)
            with pytest.raises(Misconfigured, match=message):
                ask(check, here)
    with pytest.raises(ValidationError, match="'population_columns' goes with 'population'"):
        KAnonymityCheck(k=2, population_columns={"age": "group"})
    with pytest.raises(ValidationError, match="cannot be combined with 'incremental'"):
        KAnonymityCheck(k=2, population="p", incremental={"mode": "append", "watermark": "age"})


PERSON = st.tuples(st.integers(0, 2) | st.none(), st.sampled_from(["x", "é"]) | st.none())


@settings(max_examples=examples(EXAMPLES), deadline=None)
@given(st.lists(PERSON, min_size=1, max_size=14), st.lists(st.integers(0, 99), min_size=1, max_size=6))
def test_journalist_risk_agrees_with_the_library(people, drawn):
    """Every engine gives the figures that the library gives on frames of the same rows."""
    own = [people[n % len(people)] for n in drawn]
    types = {"a": "int", "b": "text"}
    frames = [pd.DataFrame(rows, columns=["a", "b"]) for rows in (own, people)]
    known = journalist_risk(*frames, ["a", "b"], 3)
    for dialect in ENGINES:
        with place(dialect, t=Rows(types, own), p=Rows(types, people)) as here:
            seen = ask(KAnonymityCheck(quasi_identifiers=("a", "b"), k=3, population="p"), here).observed
        assert [seen[name] for name in JOURNALIST] == [known.highest, known.average, known.at_risk]
        assert seen["records_outside_population"] == known.outside


def _fits(one, other):
    return all(a is None or b is None or a == b for a, b in zip(one, other, strict=True))


@settings(max_examples=examples(EXAMPLES))
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "A ", "b", None]),
            st.sampled_from(["x", "\N{FULLWIDTH LATIN SMALL LETTER X}", None]),
            st.integers(0, 1),
        ),
        min_size=1,
        max_size=14,
    )
)
def test_agrees_with_counting_in_python(rows):
    """Every engine and every reading counts what a Counter and two loops over the same rows count."""
    sizes = Counter(rows)
    alike = Counter(tuple(normal_form(v) if isinstance(v, str) else v for v in row) for row in rows)
    for dialect in ENGINES:
        with place(dialect, t=Rows({"a": "text", "b": "text", "c": "int"}, rows)) as here:
            seen = ask(KAnonymityCheck(quasi_identifiers=("a", "b", "c"), k=3), here).observed
        assert seen["k"] == min(sizes.values())
        assert seen["records_below_k"] == sum(size for size in sizes.values() if size < 3)
        assert seen["k_normalised"] == min(alike.values())
        assert seen["k_wildcard"] == min(sum(_fits(row, other) for other in rows) for row in rows)
        for place_of, name in enumerate("abc") if seen["records_below_k"] else ():
            others = Counter(row[:place_of] + row[place_of + 1 :] for row in rows)
            still = sum(size for size in others.values() if size < 3)
            assert seen["damage"][name] == seen["records_below_k"] - still
