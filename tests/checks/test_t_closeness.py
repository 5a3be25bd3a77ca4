"""Sensitive values are spread in every group as in the table."""

from datetime import date, datetime

import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from checks import ColumnClass, Status, UnknownReason
from checks.risk import Hierarchy, t_closeness
from checks.t_closeness import TClosenessCheck
from tests.checks.ask import ENGINES, EXAMPLES, Question, Rows, ask, place
from tests.monitor.config.effects.effect import ABSENT
from tests.tiers import examples

OBSERVED = {
    "rows",
    "classes",
    "t",
    "records_above_t",
    "classes_above_t",
    "distance",
    "reference",
    "reference_table",
    "reference_t",
    "reference_records_above_t",
    "reference_classes_above_t",
}
_GIVEN = {"quasi_identifiers": ["q"], "sensitive": ["id"], "t": 0.4, "distance": "ordered"}
_OF_S = {"quasi_identifiers": ["q"], "sensitive": ["s"], "t": 0.5}
EFFECTS = {
    "quasi_identifiers": (_GIVEN, ["q"], ["at"]),
    "sensitive": ({**_GIVEN, "distance": "equal"}, ["id"], ["s"]),
    "t": (_GIVEN, 0.4, 0.1),
    "distance": (_GIVEN, "ordered", "equal"),
    "hierarchy": (
        {**_GIVEN, "sensitive": ["s"], "distance": "equal", "t": 0.2},
        ABSENT,
        {"s1": ["low", "*"], "s2": ["low", "*"], "s3": ["high", "*"]},
    ),
    "person": (_OF_S, ABSENT, "p", "visits", "counted_by"),
    "identifiers": ({**_OF_S, "t": 0}, ABSENT, ["p"], "visits", "t_normalised"),
    "pseudonyms": ({**_OF_S, "t": 0}, ABSENT, ["p"], "visits", "t_normalised"),
    "missing_is_a_value": (_OF_S, ABSENT, ["s"], "visits", "t_known"),
    "spelling_is_a_value": (_OF_S, ABSENT, ["s"], "visits", "t_normalised"),
    "reference": ({**_GIVEN, "sensitive": ["s"], "distance": "equal", "t": 0.5}, "p", "p2"),
    "reference_columns": (
        {**_GIVEN, "sensitive": ["s"], "distance": "equal", "t": 0.5, "reference": "p"},
        {},
        {"s": "qq"},
    ),
    "where": (_GIVEN, ABSENT, "id <> 2"),
    "warn": (_GIVEN, ABSENT, {"t": 0.1}),
    "on_empty": ({**_GIVEN, "where": "id > 99"}, "unknown", "pass"),
}
CANARIES = [
    {"quasi_identifiers": ["age", "code"], "sensitive": ["name", "fee"], "t": 0.1, "warn": {"t": 0}},
    {"quasi_identifiers": ["name"], "sensitive": ["fee"], "t": 0.1, "distance": "ordered"},
    {"quasi_identifiers": ["name"], "sensitive": ["born"], "t": 1, "distance": "ordered"},
    {"quasi_identifiers": ["loaded_at"], "sensitive": ["name"], "t": 0.1},
    {"quasi_identifiers": ["age"], "sensitive": ["name"], "t": 0.1, "distance": "ordered"},
    {"quasi_identifiers": ["age"], "sensitive": ["name"], "t": 0.1, "hierarchy": {"ann": ["*"], "bob": ["*"]}},
    {"quasi_identifiers": ["age"], "sensitive": ["born"], "t": 0.1, "where": "CAST(code AS INTEGER) > 5"},
    {"quasi_identifiers": ["age"], "sensitive": ["name"], "t": 0.1, "reference": "{other}"},
    {"quasi_identifiers": ["name"], "sensitive": ["fee"], "t": 0, "distance": "ordered", "reference": "{relation}"},
    {
        "quasi_identifiers": ["age"],
        "sensitive": ["name"],
        "t": 0.1,
        "reference": "{other}",
        "reference_columns": {"name": "age"},
    },
]

SALARIES = [(1, 3), (1, 4), (1, 5), (2, 6), (2, 8), (2, 11), (3, 7), (3, 9), (3, 10)]
TREE = {"0": ["low", "*"], "1": ["low", "*"], "2": ["high", "*"], "3": ["high", "*"]}
DEEP = {"0": ["a", "A", "*"], "1": ["a", "A", "*"], "2": ["b", "A", "*"], "3": ["c", "C", "*"]}
KEYS = st.tuples(st.sampled_from(["a", "b", None]), st.integers(0, 1))


def closeness(**given):
    """Return the check of `s` among those alike in `q`, with these parameters."""
    return TClosenessCheck(**{"quasi_identifiers": ("q",), "sensitive": ("s",), "t": 0.3} | given)


def test_salaries_in_order(dialect):
    """The lowest three of nine salaries are 0.375 away, every third one less."""
    with place(dialect, t=Rows({"q": "int", "s": "int"}, SALARIES)) as here:
        ordered = ask(closeness(distance="ordered"), here)
        equal = ask(closeness(t=0.7), here)
        limit = ask(closeness(distance="ordered", t=0.375), here)
    assert ordered.status is Status.FAIL
    assert (
        str(ordered.message)
        == "3 of 9 records are in equivalence classes whose distribution of s is more than 0.3 from the table's"
    )
    assert (ordered.observed["t"], ordered.observed["classes_above_t"]) == (0.375, 1)
    assert (ordered.observed["rows"], ordered.observed["classes"], ordered.observed["reference"]) == (9, 3, "table")
    assert (equal.status, equal.observed["t"]) == (Status.PASS, pytest.approx(2 / 3))
    assert str(equal.message) == "in every equivalence class the distribution of s is within 0.7 of the table's"
    assert limit.status is Status.PASS


def test_a_column_without_a_value_has_no_distance(dialect):
    """All NULL: no class was compared with anything, unless NULL is declared to be a value."""
    with place(dialect, t=Rows({"q": "int", "s": "text"}, [(1, None), (2, None)])) as here:
        outcome = ask(closeness(), here)
        declared = ask(closeness(missing_is_a_value=("s",)), here)
    assert (outcome.status, outcome.reason, outcome.observed["t"]) == (Status.UNKNOWN, UnknownReason.NO_DATA, None)
    assert (declared.status, declared.observed["t"]) == (Status.PASS, 0.0)


def test_a_root_above_the_root_makes_no_distance_smaller():
    """The height counts levels up to the first that joins all values; t by the height as given stands beside."""
    rows = [(1, "a"), (1, "a"), (2, "b"), (2, "b")]
    for path, expected in ((["any"], None), (["any", "any", "any"], 1 / 6)):
        with place("duckdb", t=Rows({"q": "int", "s": "text"}, rows)) as here:
            outcome = ask(closeness(hierarchy={"a": path, "b": path}), here)
        assert outcome.observed["t"] == 0.5
        assert outcome.observed["t_as_given"] == (None if expected is None else pytest.approx(expected))


def test_a_softer_limit_warns(dialect):
    """`warn: {t: 0.1}` is a warning where t is between; the worst column is named."""
    table = [(1, 1, 1), (1, 2, 1), (2, 2, 1), (2, 1, 2)]
    with place(dialect, t=Rows({"q": "int", "s": "int", "r": "int"}, table)) as here:
        outcome = ask(closeness(sensitive=("s", "r"), warn={"t": 0.1}), here)
    assert outcome.status is Status.WARN
    assert (
        str(outcome.message)
        == "4 of 4 records are in equivalence classes whose distribution of r is more than 0.1 from the table's"
    )
    assert {name: one["t"] for name, one in outcome.observed["sensitive"].items()} == {"s": 0.0, "r": 0.25}


def test_a_hierarchy_is_a_distance(dialect):
    """Values that meet below the root are nearer; numbers and text are found in it by their text, NULL has its own."""
    table = [(1, 0), (2, 1)]
    with place(dialect, t=Rows({"q": "int", "s": "int"}, table)) as here:
        near = ask(closeness(hierarchy={0: ["low", "*"], 1: ["low", "*"], 2: ["high", "*"]}), here)
    with place(dialect, t=Rows({"q": "int", "s": "text"}, [(1, "0"), (2, None)])) as here:
        far = ask(closeness(hierarchy="0;low;*\n1;low;*\n2;high;*\n"), here)
    assert (near.status, near.observed["t"], near.observed["distance"]) == (Status.PASS, 0.25, "hierarchical")
    assert (far.status, far.observed["t"]) == (Status.FAIL, 0.5)


SKEWED = Rows({"pay": "int"}, [(value,) for value in (3, 4, 5, 6, 7, 8, 9, 10, 11, 11, 11, None)])


def test_a_reference_table_is_compared_with_besides(dialect):
    """What is given away is compared with itself and with what it was made from; either breaks the limit."""
    given = {"distance": "ordered", "reference": "r", "reference_columns": {"s": "pay"}}
    with place(dialect, t=Rows({"q": "int", "s": "int"}, SALARIES), r=SKEWED) as here:
        both, only = ask(closeness(t=0.9, **given), here), ask(closeness(t=0.375, **given), here)
        alone = ask(closeness(t=0.4, distance="ordered"), here)
    frame, other = pd.DataFrame(SALARIES, columns=["q", "s"]), pd.DataFrame({"s": [row[0] for row in SKEWED.rows]})
    expected = t_closeness(frame, ["q"], "s", distance="ordered", reference=other.astype({"s": "Int64"}), t=0.375)
    assert (both.observed["t"], both.observed["reference"], both.observed["reference_table"]) == (0.375, "table", "r")
    assert both.observed["reference_t"] == pytest.approx(expected.t, rel=1e-12)
    assert expected.t > 0.375
    assert only.observed["reference_records_above_t"] == expected.columns["s"].above.records > 0
    assert only.observed["records_above_t"] == 0
    assert only.status is Status.FAIL
    assert (
        str(only.message)
        == "3 of 9 records are in equivalence classes whose distribution of s is more than 0.375 from that of r"
    )
    assert [alone.observed[f"reference_{name}"] for name in ("t", "records_above_t", "table", "sensitive")] == [
        None
    ] * 4


def test_a_table_that_is_as_its_reference(dialect):
    """The table itself is as far from a group as the table."""
    for distance in ({"distance": "ordered"}, {}, {"hierarchy": {number: ["*"] for number in range(12)}}):
        with place(dialect, t=Rows({"q": "int", "s": "int"}, SALARIES)) as here:
            outcome = ask(closeness(t=0.9, reference="t", **distance), here)
        assert outcome.status is Status.PASS
        assert outcome.observed["reference_t"] == outcome.observed["t"]
        said = "in every equivalence class the distribution of s is within 0.9 of the table's and of t"
        assert str(outcome.message) == said


def test_a_reference_that_cannot_be_compared_with(dialect):
    """Without a row, with values that the hierarchy does not know, or of another kind."""
    rows = Rows({"q": "int", "s": "text"}, [(1, "0"), (2, "1")])
    with place(dialect, t=rows, r=Rows({"s": "text", "n": "int"}, [("canary", 1)]), e=Rows({"s": "text"})) as here:
        empty = ask(closeness(reference="e"), here)
        assert (empty.reason, str(empty.message)) == (UnknownReason.NO_DATA, "e is empty")
        strange = ask(closeness(reference="r", hierarchy=TREE), here)
        assert (strange.reason, str(strange.message)) == (
            UnknownReason.MISCONFIGURED,
            "s: 1 value is not in the hierarchy",
        )
        for names, said in (
            ({"s": "nn"}, "column 'nn' not found in r; did you mean 'n'"),
            ({"s": "n"}, r"column 's' is of type string and r\.n of type int64"),
            ({"ss": "s"}, "'ss' is not a sensitive column; did you mean 's'"),
        ):
            with pytest.raises(Exception, match=said):
                ask(closeness(reference="r", reference_columns=names), here)
    with pytest.raises(ValidationError, match="'reference_columns' goes with 'reference'"):
        closeness(reference_columns={"s": "n"})


def test_values_outside_the_hierarchy_are_counted(dialect):
    """What it does not know makes the check unknown, and is not shown."""
    with place(dialect, t=Rows({"q": "int", "s": "text"}, [(1, "0"), (2, "canary"), (2, None), (2, "canary")])) as here:
        outcome = ask(closeness(hierarchy=TREE), here)
    assert (outcome.status, outcome.reason) == (Status.UNKNOWN, UnknownReason.MISCONFIGURED)
    assert str(outcome.message) == "s: 1 value is not in the hierarchy"


@pytest.mark.parametrize(
    ("kind", "low", "high"),
    [
        ("date", date(2026, 1, 9), date(2026, 1, 10)),
        ("timestamp", datetime(2026, 1, 9, 5), datetime(2026, 1, 9, 20)),  # noqa: DTZ001 - a wall clock
        ("float", -2.5, 10.0),
    ],
)
def test_times_and_fractions_have_an_order(dialect, kind, low, high):
    """Three values, of which the class of the lower two is a third of the line away, on average."""
    table = [(1, low), (1, high), (2, None), (2, None)]
    with place(dialect, t=Rows({"q": "int", "s": kind}, table)) as here:
        assert ask(closeness(distance="ordered"), here).observed["t"] == pytest.approx(0.375)


def test_text_has_no_order():
    """Its places in an alphabet are no distance; SQLite's text in a column of numbers is counted."""
    said = "column 's' is of type string; 'ordered' takes numbers, dates and times"
    with place("duckdb", t=Rows({"q": "int", "s": "text"}, [(1, "x")])) as here, pytest.raises(Exception, match=said):
        ask(closeness(distance="ordered"), here)
    for kind in ("int", "timestamp"):
        with place("sqlite", t=Rows({"q": "int", "s": kind}, [(1, "canary"), (1, None)])) as here:
            outcome = ask(closeness(distance="ordered"), here)
        assert outcome.reason is UnknownReason.MISCONFIGURED
        assert str(outcome.message).startswith("s: 1 value cannot be ordered, since its type differs from the column")


def test_sqlite_puts_times_in_order_however_they_are_written():
    """With T or a space, with an offset or without, the moment counts."""
    table = [(1, "2026-01-02 00:30:00+09:00"), (2, "2026-01-01T16:00:00Z"), (2, "2026-01-01 17:00:00+00:00")]
    with place("sqlite", t=Rows({"q": "int", "s": "timestamp"}, table)) as here:
        assert ask(closeness(distance="ordered"), here).observed["t"] == pytest.approx(0.5)


def test_the_classification_of_the_table_names_them(dialect):
    """Where a check names none, the columns that the table classifies are meant."""
    classified = {"q": ColumnClass.QUASI_IDENTIFIER, "s": ColumnClass.SENSITIVE}
    with place(dialect, t=Rows({"q": "int", "s": "int"}, [(1, 7), (2, 7)])) as here:
        assert ask(TClosenessCheck(t=0), here, classified=classified).observed["t"] == 0
        assert ask(TClosenessCheck(t=0, distance="ordered"), here, classified=classified).status is Status.PASS


def test_an_empty_table_is_not_close(dialect):
    """Without a row nothing is known; filtered to nothing too."""
    for distance in ({}, {"distance": "ordered"}, {"hierarchy": TREE}):
        with place(dialect, t=Rows({"q": "int", "s": "int"}, [])) as here:
            assert ask(closeness(**distance), here).reason is UnknownReason.NO_DATA
        with place(dialect, t=Rows({"q": "int", "s": "int"}, [(1, 2)])) as here:
            assert ask(closeness(where="q = 7", **distance), here).reason is UnknownReason.NO_DATA


def test_what_is_wrong_is_reported():
    """Two distances at once, a tree for two columns or for fractions, and what is no tree; none with a value."""
    with place("duckdb", t=Rows({"q": "int", "s": "float", "r": "int"}, [(1, 1.5, 2)])) as here:
        for wrong, said in (
            ({"sensitive": ("s", "r"), "hierarchy": TREE}, "a hierarchy is of one sensitive column"),
            ({"hierarchy": TREE}, "column 's' is of type float64; a hierarchy is of text, whole numbers or dates"),
            ({"sensitive": ("nowhere",)}, "column 'nowhere' not found"),
            ({"sensitive": ("q",)}, "both quasi-identifier and sensitive: q"),
        ):
            with pytest.raises(Exception, match=said):
                ask(closeness(**wrong), here)
    for wrong, said in (
        ({"t": 1.5}, "less than or equal to 1"),
        ({"distance": "ordered", "hierarchy": TREE}, "'hierarchy' defines the distance"),
        ({"hierarchy": {"x": ["A"], "y": ["A", "*"]}}, "1 of 2 values of a hierarchy have another number of ancestors"),
        ({"hierarchy": "x,A,*"}, "no line of a hierarchy has an ancestor"),
        ({"hierarchy": {"x": "A"}}, "valid tuple"),
        ({"hierarchy": {number: ["*"] for number in range(10_001)}}, "a hierarchy of 10,001 values; a statement takes"),
    ):
        with pytest.raises(ValidationError, match=said):
            closeness(**wrong)


def test_no_value_of_the_table_is_in_what_is_measured(dialect):
    """Only counts and distances come back."""
    with place(dialect, t=Rows({"q": "text", "s": "text"}, [("canary", "canary")])) as here:
        assert "canary" not in repr(Question(closeness(), here).measure())


@settings(max_examples=examples(EXAMPLES), deadline=None)
@given(
    st.lists(st.tuples(KEYS, st.sampled_from([0, 1, 2, None])), min_size=1, max_size=12),
    st.lists(st.sampled_from([1, 2, 3, None]), min_size=1, max_size=12),
)
def test_distances_from_a_reference_agree_with_the_library(found, others):
    """Every engine finds the distance from a reference, which may have other values, that the library finds."""
    table = [(*keys, value) for keys, value in found]
    frame = pd.DataFrame(table, columns=["a", "b", "s"]).astype({"s": "Int64"})
    other = pd.DataFrame({"s": others}).astype({"s": "Int64"})
    tree = {"hierarchy": Hierarchy.of(TREE)}
    for expecting, asked in (({}, {}), ({"distance": "ordered"},) * 2, (tree, {"hierarchy": TREE})):
        expected = t_closeness(frame, ["a", "b"], "s", reference=other, t=0.3, **expecting)
        for dialect in ENGINES:
            rows, people = (
                Rows({"a": "text", "b": "int", "s": "int"}, table),
                Rows({"s": "int"}, [(s,) for s in others]),
            )
            with place(dialect, t=rows, r=people) as here:
                seen = ask(closeness(quasi_identifiers=("a", "b"), reference="r", **asked), here).observed
            if expected.t is None:
                assert seen == {"rows": expected.rows, "t": None}
                continue
            above = expected.columns["s"].above
            assert seen["reference_t"] == pytest.approx(expected.t, rel=1e-12)
            assert (seen["reference_records_above_t"], seen["reference_classes_above_t"]) == (
                above.records,
                above.classes,
            )


def _agrees(table, types, expected, **given):
    for dialect in ENGINES:
        with place(dialect, t=Rows({"a": "text", "b": "int", **types}, table)) as here:
            seen = ask(closeness(quasi_identifiers=("a", "b"), **given), here).observed
        if expected.t is None:
            assert seen == {"rows": expected.rows, "t": None}
            continue
        above = expected.columns["s"].above
        assert (seen["rows"], seen["classes"]) == (expected.rows, expected.classes)
        assert seen["t"] == pytest.approx(expected.t, rel=1e-12)
        assert (seen["records_above_t"], seen["classes_above_t"]) == (above.records, above.classes)


@settings(max_examples=examples(EXAMPLES))
@given(st.lists(st.tuples(KEYS, st.sampled_from(["0", "1", "2", "3", None])), min_size=1, max_size=30))
def test_values_without_order_agree_with_the_library(found):
    """Every engine finds the equal and the hierarchical distance that the library finds."""
    table = [(*keys, value) for keys, value in found]
    frame = pd.DataFrame(table, columns=["a", "b", "s"])
    _agrees(table, {"s": "text"}, t_closeness(frame, ["a", "b"], "s", t=0.3))
    for tree in (TREE, DEEP):
        expected = t_closeness(frame, ["a", "b"], "s", hierarchy=Hierarchy.of(tree), t=0.3)
        _agrees(table, {"s": "text"}, expected, hierarchy=tree)


@settings(max_examples=examples(EXAMPLES))
@given(st.lists(st.tuples(KEYS, st.one_of(st.none(), st.integers(-4, 12))), min_size=1, max_size=40))
@example([(("a", 0), None), (("a", 1), 3), (("b", 0), None), ((None, 1), None), (("a", 0), 0), ((None, 0), 0)])
def test_values_in_order_agree_with_the_library(found):
    """Every engine finds the ordered distance that the library finds."""
    table = [(*keys, value) for keys, value in found]
    frame = pd.DataFrame(table, columns=["a", "b", "s"]).astype({"s": "Int64"})
    expected = t_closeness(frame, ["a", "b"], "s", distance="ordered", t=0.3)
    _agrees(table, {"s": "int"}, expected, distance="ordered")
