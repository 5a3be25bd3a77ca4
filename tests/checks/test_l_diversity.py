"""Every group has several sensitive values."""

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from checks import ColumnClass, Status, UnknownReason
from checks.l_diversity import LDiversityCheck
from checks.risk import l_diversity
from tests.checks.ask import ENGINES, EXAMPLES, Question, Rows, ask, place
from tests.monitor.config.effects.effect import ABSENT
from tests.tiers import examples

OBSERVED = {"rows", "classes", "l_distinct", "l_entropy", "l_recursive", "records_below_l", "classes_below_l"}
_OF_S = {"quasi_identifiers": ["q"], "sensitive": ["s"], "l": 2}
_GIVEN = {**_OF_S, "sensitive": ["n"], "missing_is_a_value": ["n"]}
_AS_THEY_ARE = {**_OF_S, "missing_is_a_value": ["s"], "spelling_is_a_value": ["s"]}
EFFECTS = {
    "quasi_identifiers": (_GIVEN, ["q"], ["a"]),
    "sensitive": (_GIVEN, ["n"], ["s"]),
    "l": (_GIVEN, 2, 3),
    "person": (_AS_THEY_ARE, ABSENT, "p", "visits"),
    "identifiers": (_AS_THEY_ARE, ABSENT, ["p"], "visits"),
    "pseudonyms": (_AS_THEY_ARE, ABSENT, ["p"], "visits"),
    "missing_is_a_value": ({**_OF_S, "spelling_is_a_value": ["s"]}, ABSENT, ["s"], "visits"),
    "spelling_is_a_value": ({**_OF_S, "missing_is_a_value": ["s"]}, ABSENT, ["s"], "visits"),
    "variant": ({**_GIVEN, "sensitive": ["s"]}, "distinct", "entropy", "skewed"),
    "c": ({**_GIVEN, "sensitive": ["s"], "variant": "recursive"}, 5, 2, "skewed"),
    "where": (_GIVEN, ABSENT, "id < 4"),
    "warn": (_GIVEN, ABSENT, {"l": 3}),
    "on_empty": ({**_GIVEN, "where": "id > 99"}, "unknown", "pass"),
}
CANARIES = [
    {"quasi_identifiers": ["name", "fee"], "sensitive": ["email", "born"], "l": 2, "warn": {"l": 3}},
    {"quasi_identifiers": ["name"], "sensitive": ["fee"], "l": 1.5, "variant": "entropy"},
    {"quasi_identifiers": ["age"], "sensitive": ["name"], "l": 2, "variant": "recursive", "c": 2},
    {"quasi_identifiers": ["age"], "sensitive": ["name"], "l": 2, "where": "CAST(code AS INTEGER) > 5"},
    {"quasi_identifiers": ["loaded_at"], "sensitive": ["name"], "l": 2},
    {"quasi_identifiers": ["name"], "sensitive": ["name"], "l": 2},
    {"quasi_identifiers": ["name"], "l": 2},
]

TYPES = {"q": "int", "s": "text"}


def rows(*classes):
    """Return rows of classes, each a text of one letter per record."""
    return [(number, letter) for number, letters in enumerate(classes) for letter in letters]


def diversity(**given):
    """Return the check of `s` among those alike in `q`, with these parameters."""
    return LDiversityCheck(**{"quasi_identifiers": ("q",), "sensitive": ("s",), "l": 2} | given)


def test_classes_of_four(dialect):
    """Of three classes one has a single value: the table is 1-diverse, and four records are at risk."""
    with place(dialect, t=Rows(TYPES, rows("HHVV", "CHVV", "CCCC"))) as here:
        outcome = ask(diversity(), here)
    assert outcome.status is Status.FAIL
    assert str(outcome.message) == "4 of 12 records are in equivalence classes with fewer than 2 distinct values of s"
    assert (outcome.observed["l_distinct"], outcome.observed["l_entropy"], outcome.observed["rows"]) == (1, 1.0, 12)
    assert (outcome.observed["records_below_l"], outcome.observed["classes_below_l"]) == (4, 1)
    assert (outcome.observed["classes"], outcome.observed["l_recursive"]) == (3, None)
    assert outcome.observed["quasi_identifiers"] == ["q"]


def test_entropy_of_values_that_are_equally_frequent_is_their_number(dialect):
    """The limit itself is allowed, though it is a sum of logarithms."""
    with place(dialect, t=Rows(TYPES, rows("HHVV", "CHVV"))) as here:
        enough = ask(diversity(variant="entropy"), here)
        more = ask(diversity(variant="entropy", l=2.5), here)
    assert (enough.status, enough.observed["l_entropy"]) == (Status.PASS, pytest.approx(2.0, rel=1e-12))
    assert str(enough.message) == "every equivalence class has an entropy l of at least 2 in s"
    assert str(more.message) == "4 of 8 records are in equivalence classes with an entropy l below 2.5 in s"


def test_recursive_diversity(dialect):
    """Counts 5, 3, 2: r_1 < c (r_l + ... + r_m) with tails 10, 5, 2; softer limits are counted apart."""
    with place(dialect, t=Rows(TYPES, rows("aaaaabbbcc"))) as here:
        passed = ask(diversity(variant="recursive", c=1.1), here)
        failed = ask(diversity(variant="recursive", c=1), here)
        warned = ask(diversity(variant="recursive", c=2.5, warn={"l": 3}), here)
        softer = ask(diversity(variant="recursive", c=2.6, warn={"c": 1}), here)
    assert (passed.status, passed.observed["l_recursive"]) == (Status.PASS, 2)
    assert str(passed.message) == "every equivalence class is recursively (1.1, 2)-diverse in s"
    assert (failed.status, failed.observed["l_recursive"]) == (Status.FAIL, 1)
    assert "not recursively (1, 2)-diverse in s" in str(failed.message)
    assert (warned.status, warned.observed["records_below_l"]) == (Status.WARN, 10)
    assert (softer.status, softer.observed["l_recursive"]) == (Status.WARN, 1)


def test_the_least_diverse_column_is_named(dialect):
    """Several columns are looked at one by one; NULL is a value of a quasi-identifier, and none of a sensitive one."""
    table = [(None, "x", "u"), (None, None, "u"), (1, "x", None), (1, "y", None)]
    with place(dialect, t=Rows({"q": "int", "s": "text", "r": "text"}, table)) as here:
        outcome = ask(diversity(sensitive=("s", "r")), here)
    assert str(outcome.message) == "4 of 4 records are in equivalence classes with fewer than 2 distinct values of r"
    assert {name: one["l_distinct"] for name, one in outcome.observed["sensitive"].items()} == {"s": 1, "r": 0}
    assert {name: one["l_exact"] for name, one in outcome.observed["sensitive"].items()} == {"s": 2, "r": 1}
    assert outcome.observed["sensitive"]["s"]["records_below_l"] == 2


def test_the_classification_of_the_table_names_them(dialect):
    """Where a check names none, the columns that the table classifies are meant."""
    classified = {"q": ColumnClass.QUASI_IDENTIFIER, "s": ColumnClass.SENSITIVE}
    with place(dialect, t=Rows(TYPES, rows("ab", "cd"))) as here:
        outcome = ask(LDiversityCheck(l=2), here, classified=classified)
    assert (outcome.status, str(outcome.message)) == (
        Status.PASS,
        "every equivalence class has at least 2 distinct values of s",
    )


@pytest.mark.parametrize(("others", "normalised"), [(999, 1), (1_000, 2)])
def test_a_thousand_other_spellings_of_values_are_merged(others, normalised):
    """So many are read as one by their normal form; where there is one more, only case and white space are folded."""
    rows = [("b", f"{prefix}{number}") for number in range(others) for prefix in ("Name", "name")]
    wide = "".join(chr(0xFEE0 + ord(letter)) for letter in "flu")
    with place("duckdb", t=Rows({"q": "text", "s": "text"}, [*rows, ("a", "flu"), ("a", wide)])) as here:
        outcome = ask(LDiversityCheck(l=2, quasi_identifiers=("q",), sensitive=("s",)), here)
    assert (outcome.observed["l_distinct"], outcome.observed["l_normalised"]) == (normalised, normalised)


def test_an_empty_table_is_not_diverse(dialect):
    """Without a row nothing is known; filtered to nothing too."""
    with place(dialect, t=Rows(TYPES, [])) as here:
        assert ask(diversity(variant="recursive", c=1), here).reason is UnknownReason.NO_DATA
    with place(dialect, t=Rows(TYPES, rows("ab"))) as here:
        assert ask(diversity(where="q = 7"), here).reason is UnknownReason.NO_DATA
        assert ask(diversity(where="q = 0"), here).observed["rows"] == 2


def test_what_is_wrong_is_reported():
    """Columns that are not there or both kinds, limits that say nothing, and a c without its variant."""
    with place("duckdb", t=Rows(TYPES, rows("ab"))) as here:
        for wrong, said in (
            ({"quasi_identifiers": ()}, "no quasi-identifier: name them"),
            ({"sensitive": ()}, "no sensitive column: name them with 'sensitive'"),
            ({"sensitive": ("ss",)}, "column 'ss' not found; did you mean 's'"),
            ({"sensitive": ("q",)}, "both quasi-identifier and sensitive: q; a column can be only one of them"),
        ):
            with pytest.raises(Exception, match=said):
                ask(diversity(**wrong), here)
    for wrong, said in (
        ({"l": 1}, "greater than 1"),
        ({"c": 2}, "'c' and 'variant: recursive' go together"),
        ({"variant": "recursive"}, "'c' and 'variant: recursive' go together"),
        ({"variant": "recursive", "c": -1}, "expected a number above 0"),
        ({"variant": "recursive", "c": 1, "warn": {"c": 0}}, "in 'warn'"),
    ):
        with pytest.raises(ValidationError, match=said):
            diversity(**wrong)


def test_no_value_of_the_table_is_in_what_is_measured(dialect):
    """Only counts come back."""
    with place(dialect, t=Rows(TYPES, [(1, "canary")])) as here:
        assert "canary" not in repr(Question(diversity(), here).measure())


@settings(max_examples=examples(EXAMPLES))
@given(
    st.lists(
        st.tuples(st.sampled_from(["a", "b", None]), st.integers(0, 1), st.sampled_from(["x", "y", "z", None])),
        min_size=1,
        max_size=30,
    ),
    st.sampled_from([0.5, 1.0, 1.25, 2.0, 3.25]),
)
def test_agrees_with_the_library(table, c):
    """Every engine measures what the library measures of a frame of the same rows."""
    frame = pd.DataFrame(table, columns=["a", "b", "s"])
    found = l_diversity(frame, ["a", "b"], "s", c=c, l=2)
    own = found.columns["s"]
    broken = {"distinct": own.distinct, "entropy": own.entropy, "recursive": own.recursive}
    for dialect in ENGINES:
        with place(dialect, t=Rows({"a": "text", "b": "int", "s": "text"}, table)) as here:
            for variant, counted in broken.items():
                given = {"variant": variant, "c": c if variant == "recursive" else None}
                seen = ask(diversity(quasi_identifiers=("a", "b"), **given), here).observed
                assert (seen["rows"], seen["classes"]) == (found.rows, found.classes)
                assert seen["l_distinct"] == found.l_distinct
                assert seen["l_entropy"] == pytest.approx(found.l_entropy, rel=1e-12)
                assert (seen["records_below_l"], seen["classes_below_l"]) == (counted.records, counted.classes)
                assert seen["l_recursive"] == (found.l_recursive if variant == "recursive" else None)
