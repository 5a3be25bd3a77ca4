"""Which few columns single out how many records."""

from itertools import combinations

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks import ColumnClass, Misconfigured, PeopleTable, Status, UnknownReason
from checks.reidentification_by_subset import ReidentificationBySubset
from checks.risk import class_sizes, separations
from checks.risk.subsets import SpecialUniques
from tests.checks.ask import ENGINES, EXAMPLES, Question, Rows, ask, place
from tests.monitor.config.effects.effect import ABSENT
from tests.tiers import examples

OBSERVED = {"rows", "sets"}
EFFECTS = {
    "quasi_identifiers": ({"known": 1, "max_unique_fraction": 0}, ["q"], ["id"]),
    "known": ({"quasi_identifiers": ["q", "s"], "max_unique_fraction": 0.3}, 1, 2),
    "max_unique_fraction": ({"quasi_identifiers": ["id"], "known": 1}, 0, 1),
    "where": ({"quasi_identifiers": ["q"], "known": 1, "max_unique_fraction": 0}, ABSENT, "id < 4"),
    "warn": ({"quasi_identifiers": ["id"], "known": 1, "max_unique_fraction": 1}, ABSENT, {"max_unique_fraction": 0}),
    "special_uniques": (
        {"quasi_identifiers": ["id"], "known": 1, "max_unique_fraction": 1},
        False,
        True,
        "t",
        "special_uniques",
    ),
    "person": (
        {"quasi_identifiers": ["q"], "known": 1, "max_unique_fraction": 1},
        ABSENT,
        "p",
        "visits",
        "rows",
    ),
    "on_empty": (
        {"quasi_identifiers": ["q"], "known": 1, "max_unique_fraction": 0, "where": "id > 99"},
        "unknown",
        "pass",
    ),
}
CANARIES = [
    {"quasi_identifiers": ["name", "fee", "born"], "max_unique_fraction": 0},
    {"quasi_identifiers": ["age", "fee"], "max_unique_fraction": 1},
    {"quasi_identifiers": ["age", "nowhere"], "max_unique_fraction": 1},
]

STATES = Rows(
    {"age": "int", "sex": "text", "state": "text"},
    [(20, "F", "CA"), (30, "F", "CA"), (40, "F", "TX"), (20, "M", "NY"), (40, "M", "CA")],
)


def _check(**given):
    return ReidentificationBySubset(quasi_identifiers=("age", "sex", "state"), **{"max_unique_fraction": 0, **given})


def test_distinction_and_separation(dialect):
    """Five rows of Motwani & Xu: how many values, and how many pairs of rows, each set of columns tells apart."""
    with place(dialect, t=STATES) as here:
        outcome = ask(_check(known=2), here)
    found = {
        tuple(one["columns"]): (one["distinction"], round(one["separation"], 9)) for one in outcome.observed["sets"]
    }
    assert found[("sex",)] == (0.4, 0.6)
    assert found[("state",)] == (0.6, 0.7)
    assert found[("age",)] == (0.6, 0.8)
    assert found[("sex", "state")] == (0.8, 0.9)


def test_the_smallest_set_that_does_the_damage_is_named(dialect):
    """One column that singles a person out is worse than two that do."""
    with place(dialect, t=STATES) as here:
        strict, loose = ask(_check(), here), ask(_check(max_unique_fraction=0.5), here)
        none = ask(_check(max_unique_fraction=1), here)
    assert str(strict.message) == "state together identify 2 of 5 records"
    assert str(loose.message) == "age, sex together identify 5 of 5 records"
    assert str(none.message) == "sets of up to 3 columns identify at most 5 of 5 records, by age, sex"
    assert (strict.status, loose.status, none.status) == (Status.FAIL, Status.FAIL, Status.PASS)


def test_the_limit_itself_is_allowed(dialect):
    """29 of 100 is not more than 0.29, although 0.29 times 100 is less than 29 in floating point."""
    rows = [(str(number),) for number in range(29)] + [("many",)] * 71
    with place(dialect, t=Rows({"a": "text"}, rows)) as here:
        allowed, less = (
            ask(ReidentificationBySubset(quasi_identifiers=("a",), max_unique_fraction=limit), here)
            for limit in (0.29, 0.289)
        )
    assert str(allowed.message) == "a single column identifies at most 29 of 100 records, by a"
    assert (allowed.status, less.status) == (Status.PASS, Status.FAIL)


def test_parts_of_a_set_that_singles_nobody_out_are_not_looked_at(dialect):
    """A set never makes fewer records unique than a part of it does."""
    with place(dialect, t=Rows(STATES.types, [(20, "F", "CA")] * 2 + [(30, "F", "TX")] * 2)) as here:
        outcome = ask(_check(), here)
    assert [one["columns"] for one in outcome.observed["sets"]] == [["age", "sex", "state"]]
    assert str(outcome.message) == "no set of up to 3 columns identifies a record"
    assert outcome.status is Status.PASS


def test_bad_input(dialect):
    """Nothing to look at, no column, too many sets: each has its words."""
    with place(dialect, t=Rows(STATES.types)) as here:
        assert ask(_check(), here).reason is UnknownReason.NO_DATA
        with pytest.raises(Misconfigured, match="no quasi-identifier"):
            ask(ReidentificationBySubset(max_unique_fraction=0), here)
        classified = {"sex": ColumnClass.QUASI_IDENTIFIER}
        assert ask(ReidentificationBySubset(max_unique_fraction=0), here, classified=classified).reason is not None
    many = {f"c{number}": "int" for number in range(24)}
    with place(dialect, t=Rows(many, [tuple(range(24))])) as here, pytest.raises(Misconfigured, match="at most 2,000"):
        ask(ReidentificationBySubset(quasi_identifiers=tuple(many), max_unique_fraction=0), here)


@settings(max_examples=examples(EXAMPLES))
@given(st.lists(st.tuples(*[st.sampled_from(["x", "y", None])] * 2, st.integers(0, 3)), min_size=1, max_size=12))
def test_agrees_with_the_library_and_with_counting_all(rows):
    """Engines and library agree, and what pruning leaves out has no uniques."""
    frame = pd.DataFrame(rows, columns=["a", "b", "c"])
    found = separations(frame, ["a", "b", "c"])
    for size in (1, 2, 3):
        for combination in combinations("abc", size):
            uniques = class_sizes(frame, combination).uniques
            assert found[combination].uniques == uniques if combination in found else uniques == 0
    for dialect in ENGINES:
        with place(dialect, t=Rows({"a": "text", "b": "text", "c": "int"}, rows)) as here:
            seen = ask(ReidentificationBySubset(quasi_identifiers=("c", "a", "b"), max_unique_fraction=1), here)
        sets = {tuple(one["columns"]): one for one in seen.observed["sets"]}
        assert {one: (it["uniques"], it["distinction"], it["separation"]) for one, it in sets.items()} == {
            one: (it.uniques, it.distinction, it.separation) for one, it in found.items()
        }


def _minimal_uniques(rows, names, known):
    """Enumerate all sets of columns: how many rows are unique in each, and in no part of it."""
    counts = {}
    for size in range(1, known + 1):
        for chosen in combinations(range(len(names)), size):
            counts[tuple(names[place] for place in chosen)] = sum(
                _alone(rows, row, chosen) and not any(_alone(rows, row, set(chosen) - {left}) for left in chosen)
                for row in rows
            )
    return counts


def _alone(rows, row, places):
    return sum(all(other[place] == row[place] for place in places) for other in rows) == 1


SPECIAL = st.lists(st.tuples(*[st.sampled_from([None, 1, 2, 3])] * 4), min_size=1, max_size=14)


@given(rows=SPECIAL, known=st.integers(1, 4))
@settings(max_examples=examples(EXAMPLES), deadline=None)
def test_special_uniques_are_those_of_the_enumeration(rows, known):
    """Minimal sample uniques by set and by size, and the score of Elliot et al., as all sets tried one by one say."""
    names = ("a", "b", "c", "d")
    counts = _minimal_uniques(rows, names, known)
    most = min(known, 3)
    scores = dict.fromkeys(range(1, 5), 1)
    for size in range(1, most + 1):
        for below in range(size, most + 1):
            scores[size] *= 4 - below
    total = sum(count * scores[len(chosen)] for chosen, count in counts.items())
    for engine in ENGINES:
        with place(engine, t=Rows(dict.fromkeys(names, "int"), rows)) as here:
            check = ReidentificationBySubset(
                quasi_identifiers=names, known=known, max_unique_fraction=1, special_uniques=True
            )
            special = ask(check, here).observed["special_uniques"]
        found = {tuple(item["columns"]): item["count"] for item in special["sets"]}
        assert found == {chosen: count for chosen, count in counts.items() if count}
        by_size = {item["columns"]: item["count"] for item in special["by_size"]}
        assert by_size == {
            size: sum(count for chosen, count in counts.items() if len(chosen) == size) for size in range(1, known + 1)
        }
        for name in names:
            of_column = sum(count * scores[len(chosen)] for chosen, count in counts.items() if name in chosen)
            assert special["contribution"][name] == (pytest.approx(of_column / total) if total else None)


def test_scores_of_the_paper():
    """With eight columns and sets of up to three, sets of one, two and three columns score 210, 30 and 5."""
    special = SpecialUniques({}, 8, 3)
    assert [special.score(size) for size in (1, 2, 3)] == [210, 30, 5]


def test_people_are_special_uniques(dialect):
    """A person alone in a set is one, however many rows; two people alike in it are none."""
    rows = [("ann", 1, "x"), ("ann", 1, "x"), ("bob", 2, "x"), ("cy", 2, "y"), (None, 3, "z"), (None, 4, "z")]
    with place(dialect, t=Rows({"p": "text", "a": "int", "b": "text"}, rows)) as here:
        check = ReidentificationBySubset(
            quasi_identifiers=("a", "b"), max_unique_fraction=1, special_uniques=True, person="p"
        )
        outcome = ask(check, here)
    special = {tuple(item["columns"]): item["count"] for item in outcome.observed["special_uniques"]["sets"]}
    assert outcome.observed["rows"] == 4
    assert special == {("a",): 2, ("b",): 2, ("a", "b"): 1}  # ann and the unnamed, cy and the unnamed, bob


def test_counts_of_few_people_are_not_shown():
    """What is of fewer than k is left out, and what would tell it by a sum; zero and larger counts are shown."""
    special = SpecialUniques({("a",): 2, ("b",): 9, ("a", "b"): 0, ("a", "c"): 1, ("b", "c"): 4}, 3, 2, k=5)
    assert [special.shown(count) for count in special.counts.values()] == [None, 9, 0, None, None]
    assert [special.of_size(1), special.of_size(2)] == [None, 5]
    assert SpecialUniques({("a",): 1}, 2, 1, k=5).contribution("a") is None
    people = PeopleTable(5, {"age": ColumnClass.QUASI_IDENTIFIER})
    with place("duckdb", t=STATES) as here:
        check = _check(max_unique_fraction=1, special_uniques=True)
        observed = Question(check, here, people=people).ask().observed["special_uniques"]
    assert observed["hidden_below"] == 5
    assert all(item["count"] is None for item in observed["sets"])
