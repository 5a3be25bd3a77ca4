"""Presence of members of a population cannot be inferred."""

from collections.abc import Sequence
from datetime import date

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from checks import ClassQuestion, ColumnClass, Kind, Misconfigured, Status, UnknownReason
from checks.classes.population import Population
from checks.classes.tables import ClassTables
from checks.delta_presence import DeltaPresence
from checks.risk import JournalistRisk, delta_presence, journalist_risk
from tests.checks.ask import ENGINES, EXAMPLES, Question, Rows, ask, place
from tests.monitor.config.effects.effect import ABSENT
from tests.tiers import examples

OBSERVED = {"rows", "population_rows", "delta_min", "delta_max", "records_outside_population"}
_GIVEN = {"quasi_identifiers": ["q"], "population": "p", "max": 0.9}
EFFECTS = {
    "quasi_identifiers": (_GIVEN, ["q"], ["s"]),
    "population": ({**_GIVEN}, "p", "p2"),
    "population_columns": (_GIVEN, {}, {"q": "s"}),
    "min": (_GIVEN, 0, 0.4),
    "max": (_GIVEN, 0.5, 0.3),
    "where": (_GIVEN, ABSENT, "id > 1", "t", "rows"),
    "warn": (_GIVEN, ABSENT, {"max": 0.1}),
    "on_empty": ({**_GIVEN, "where": "id > 99"}, "unknown", "pass"),
}
CANARIES = [
    {"population": "{relation}", "quasi_identifiers": ["name", "born"], "max": 0.5, "warn": {"max": 0.1}},
    {"population": "{relation}", "quasi_identifiers": ["name", "born"], "max": 1},
    {"population": "{other}", "quasi_identifiers": ["name", "born"], "max": 0.5},
    {"population": "{other}", "quasi_identifiers": ["code"], "max": 1, "where": "CAST(code AS INTEGER) > 5"},
    {"population": "{other}", "quasi_identifiers": ["name"], "population_columns": {"name": "age"}, "min": 0.1},
    {"population": "{other}", "max": 0.5},
]

AGE = {"age": "text"}


def ages(**counts: int) -> Rows:
    """Return a table with so many rows of each age group."""
    return Rows(AGE, [(group.strip("_").replace("_", "-"),) for group, n in counts.items() for _ in range(n)])


POPULATION = ages(_10_19=5, _20_29=5, _30_39=10, _40_49=10, _50_59=20)
TRIAL = ages(_10_19=5, _40_49=1)
CHECK = DeltaPresence(quasi_identifiers=("age",), population="p", max=0.5)


def test_all_of_a_class_are_in(dialect):
    """Five people of an age live there and five are in the table: it is certain that each of them is."""
    with place(dialect, t=TRIAL, p=POPULATION) as here:
        outcome = ask(CHECK, here)
    assert outcome.status is Status.FAIL
    assert CHECK.kind is Kind.DISCLOSURE
    assert outcome.observed == {
        "rows": 6,
        "population_rows": 50,
        "classes": 2,
        "population_classes": 5,
        "records_outside_population": 0,
        "delta_min": 0.0,
        "delta_max": 1.0,
    }
    assert outcome.expected == {"min": None, "max": 0.5}
    assert (
        str(outcome.message) == "the presence of some people of p can be inferred with a probability of 100%, limit 50%"
    )


def test_classes_that_are_absent_count_as_nothing(dialect):
    """Of a class that is not in the table one knows that its people are absent: that breaks any smallest share."""
    wide = ages(_10_39=20, _40_49=10)
    with place(dialect, t=ages(_10_39=5, _40_49=1), p=wide) as here:
        outcome = ask(DeltaPresence(quasi_identifiers=("age",), population="p", min=0.1, max=0.25), here)
        softer = ask(
            DeltaPresence(quasi_identifiers=("age",), population="p", min=0.1, max=0.5, warn={"max": 0.2}), here
        )
    assert (outcome.status, outcome.observed["delta_min"], outcome.observed["delta_max"]) == (Status.PASS, 0.1, 0.25)
    assert softer.status is Status.WARN
    with place(dialect, t=ages(_10_39=5), p=wide) as here:
        outcome = ask(DeltaPresence(quasi_identifiers=("age",), population="p", min=0.1), here)
    assert (outcome.status, outcome.observed["delta_min"]) == (Status.FAIL, 0.0)
    assert str(outcome.message) == (
        "the absence of some people of p can be inferred: presence probability 0.0%, at least 10% expected"
    )


def test_a_population_without_the_table_is_none(dialect):
    """Rows that cannot be of the population make it unknown, never a pass; they are counted."""
    with place(dialect, t=ages(_10_19=7, _60_69=2), p=POPULATION) as here:
        outcome = ask(DeltaPresence(quasi_identifiers=("age",), population="p", max=1), here)
    assert outcome.reason is UnknownReason.MISCONFIGURED
    assert outcome.observed["records_outside_population"] == 4
    assert outcome.observed["delta_max"] is None
    assert str(outcome.message) == "at least 4 rows are not in p: it is not a population of this table"


def test_nothing_to_look_at(dialect):
    """Without rows, or without people, it is unknown."""
    for own, other in ((Rows(AGE), POPULATION), (TRIAL, Rows(AGE)), (Rows(AGE), Rows(AGE))):
        with place(dialect, t=own, p=other) as here:
            assert ask(CHECK, here).reason is UnknownReason.NO_DATA


def test_null_is_a_value_and_names_may_differ(dialect):
    """NULL equals NULL across the tables; a column may have another name, and another width, in the population."""
    own = Rows({"born": "date", "n": "INTEGER"}, [(None, 1), (date(2000, 1, 1), None)])
    people = Rows({"day": "date", "n": "int"}, [(None, 1), (None, 1), (date(2000, 1, 1), None)])
    check = DeltaPresence(
        quasi_identifiers=("n", "born"), population="p", population_columns={"born": "day"}, min=0.5, max=1
    )
    with place(dialect, t=own, p=people) as here:
        outcome = ask(check, here)
    assert (outcome.status, outcome.observed["delta_min"], outcome.observed["delta_max"]) == (Status.PASS, 0.5, 1.0)


def test_filter_and_classification(dialect):
    """The own filter narrows the table, not the population; quasi-identifiers may come from the classification."""
    check = DeltaPresence(population="p", max=1, where="age <> '10-19'")
    with place(dialect, t=TRIAL, p=POPULATION) as here:
        outcome = ask(check, here, classified={"age": ColumnClass.QUASI_IDENTIFIER})
        assert (outcome.observed["rows"], outcome.observed["delta_max"]) == (1, 0.1)
        with pytest.raises(Misconfigured, match="no quasi-identifier: name them"):
            ask(check, here)


def test_columns_that_do_not_fit():
    """Unknown columns on either side are named, and columns that cannot be compared."""
    people = Rows({"age": "text", "years": "int"}, [("1", 1)])
    with place("duckdb", t=POPULATION, p=people) as here:
        for names, columns, message in (
            (("aeg",), {}, r"column 'aeg' not found; did you mean 'age'\?"),
            (("age",), {"age": "yers"}, r"column 'yers' not found in p; did you mean 'years'\?"),
            (("age",), {"age": "years"}, r"column 'age' is of type string and p\.years of type int64"),
            (("age",), {"agee": "years"}, r"'agee' is not a quasi-identifier; did you mean 'age'\?"),
        ):
            check = DeltaPresence(quasi_identifiers=names, population="p", population_columns=columns, max=1)
            with pytest.raises(Misconfigured, match=message):
                ask(check, here)


@pytest.mark.parametrize(
    "wrong", [{}, {"min": 0.5, "max": 0.1}, {"max": 1.5}, {"min": -0.1}, {"max": 1, "quasi_identifiers": ("a", "a")}]
)
def test_parameters(wrong):
    """Refuses limits that are none, or that leave nothing between them."""
    with pytest.raises(ValidationError):
        DeltaPresence(population="p", **wrong)


PERSON = st.tuples(st.integers(0, 2) | st.none(), st.sampled_from(["x", "é"]) | st.none())
TYPES = {"a": "int", "b": "text"}


def journalist(dialect: str, own: Sequence[object], people: Sequence[object], k: int) -> JournalistRisk:
    """Ask an engine for the sizes in the population, as k-anonymity does."""
    with place(dialect, t=Rows(TYPES, own), p=Rows(TYPES, people)) as here:
        question = Question(DeltaPresence(quasi_identifiers=("a", "b"), population="p", max=1), here)
        population = Population.of(question.context, "p", ("a", "b"), {})
        asked = ClassQuestion(("a", "b"), population.sizes)
        answer = asked.answer(ClassTables(question.context.filtered, asked.quasi_identifiers))
        rows = here.run(here.backend.compile(answer))
    counted = [(int(row["population_size"]), int(row["rows"])) for row in rows]
    assert sum(int(row["classes"]) for row in rows) == len(set(own))
    return JournalistRisk.of(counted, k=k, outside=sum(int(row["outside"]) for row in rows))


@settings(max_examples=examples(EXAMPLES), deadline=None)
@given(st.lists(PERSON, min_size=1, max_size=14), st.lists(PERSON, min_size=1, max_size=6), st.booleans())
def test_agrees_with_the_library(people, own, drawn):
    """Every engine gives the presence and the journalist risk that the library gives on frames of the same rows."""
    own = [people[n % len(people)] for n in range(len(own))] if drawn else own
    table, population = (pd.DataFrame(rows, columns=["a", "b"]) for rows in (own, people))
    presence, risk = delta_presence(table, population, ["a", "b"]), journalist_risk(table, population, ["a", "b"], 3)
    for dialect in ENGINES:
        with place(dialect, t=Rows(TYPES, own), p=Rows(TYPES, people)) as here:
            seen = ask(DeltaPresence(quasi_identifiers=("a", "b"), population="p", max=1), here).observed
        assert seen["records_outside_population"] == presence.outside
        assert (seen["classes"], seen["population_classes"]) == (presence.classes, presence.population_classes)
        if not presence.outside:
            assert (seen["delta_min"], seen["delta_max"]) == (presence.delta_min, presence.delta_max)
        assert journalist(dialect, own, people, 3) == risk
