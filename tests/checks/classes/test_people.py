"""People are counted once, in the place of their rows; missing values and spellings do not make a class diverse."""

import math
from collections import defaultdict

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from checks import ColumnClass, Status
from checks.classes.spellings import normal_form
from checks.k_anonymity import KAnonymityCheck
from checks.l_diversity import LDiversityCheck
from checks.population_uniqueness import PopulationUniquenessCheck
from checks.t_closeness import TClosenessCheck
from tests.checks.ask import ENGINES, EXAMPLES, Question, Rows, ask, place
from tests.needs import skip
from tests.tiers import examples

TYPES = {"p": "text", "q": "text", "s": "text"}
VISITS = [(f"p{person}", str(person), "flu" if visit else "cold") for person in range(4) for visit in range(6)]


@pytest.fixture(params=["duckdb", "sqlite", "postgres", "mysql"])
def engine(request):
    """Return each engine that is there in turn."""
    if request.param not in ENGINES:
        skip(request.param)
    return request.param


def checks(**given):
    """Return the check of each kind that counts people, of `s` among those alike in `q`."""
    of = {"quasi_identifiers": ("q",), **given}
    sensitive = {"sensitive": ("s",), **of}
    return (
        KAnonymityCheck(k=5, **of),
        LDiversityCheck(l=2, **sensitive),
        PopulationUniquenessCheck(sampling_fraction=1.0, max_population_unique_fraction=0.5, **of),
    )


def test_the_visits_of_one_person_hide_nobody(engine):
    """Six rows of each person look like k = 6; with the person column k is 1, and an l of 1."""
    with place(engine, t=Rows(TYPES, VISITS)) as here:
        by_rows = [ask(check, here) for check in checks()]
        by_person = [ask(check, here) for check in checks(person="p")]
        by_identifier = [ask(check, here) for check in checks(identifiers=("p",))]
        named = {"p": ColumnClass.DIRECT_IDENTIFIER}
        classified = [ask(check, here, classified=named) for check in checks()]
    assert [outcome.status for outcome in by_rows] == [Status.PASS] * 3
    assert by_rows[0].observed["people"] is None
    for outcomes in (by_person, by_identifier, classified):
        assert [outcome.status for outcome in outcomes] == [Status.FAIL] * 3
        sizes = outcomes[0].observed
        assert (sizes["k"], sizes["k_of_rows"], sizes["rows"], sizes["people"]) == (1, 6, 24, 4)
        assert (sizes["records_below_k"], sizes["highest_risk"], sizes["counted_by"]) == (4, 1.0, "p")
        assert outcomes[1].observed["l_distinct"] == 1
        assert outcomes[1].observed["records_below_l"] == 4
        assert outcomes[2].observed["rows"] == 4


def test_an_identifier_that_does_not_repeat_leaves_rows(engine):
    """A number of its own for each row is no person; rows without one are of a person each."""
    rows = [(None if row == 1 else f"v{row}", "x", "ab"[row % 2]) for row in range(5)]
    with place(engine, t=Rows(TYPES, rows)) as here:
        outcome = ask(KAnonymityCheck(quasi_identifiers=("q",), k=5, identifiers=("p",)), here)
    with place(engine, t=Rows(TYPES, [*rows, ("v0", "x", "a")])) as here:
        one = ask(KAnonymityCheck(quasi_identifiers=("q",), k=5, person="p"), here)
    assert (outcome.status, outcome.observed["counted_by"]) == (Status.PASS, None)
    assert (one.observed["k"], str(one.message)) == (
        5,
        "every person shares the quasi-identifiers with at least 4 other people (by p)",
    )


def test_a_value_that_all_of_a_class_have_is_certain(engine):
    """Five people with flu and cold each are two values of rows, and flu is certain for each of the five."""
    rows = [(f"p{person}", "x", value) for person in range(5) for value in ("flu", "cold")]
    for variant, c in (("distinct", None), ("entropy", None), ("recursive", 3.0)):
        given = {"quasi_identifiers": ("q",), "sensitive": ("s",), "l": 2, "variant": variant, "c": c}
        with place(engine, t=Rows(TYPES, rows)) as here:
            assert ask(LDiversityCheck(**given), here).status is Status.PASS
            outcome = ask(LDiversityCheck(person="p", **given), here)
        assert (outcome.status, outcome.observed["records_below_l"]) == (Status.FAIL, 5)


def test_a_person_counts_once_with_each_value(engine):
    """A hundred visits of one person for flu do not make flu frequent."""
    rows = [("a", "x", "flu")] * 100 + [("b", "x", "cold"), ("c", "y", "flu"), ("d", "y", "cold")]
    with place(engine, t=Rows(TYPES, rows)) as here:
        given = {"quasi_identifiers": ("q",), "sensitive": ("s",), "t": 0.1}
        by_rows, by_person = ask(TClosenessCheck(**given), here), ask(TClosenessCheck(person="p", **given), here)
    assert by_rows.status is Status.FAIL
    assert (by_person.status, by_person.observed["t"]) == (Status.PASS, 0.0)


SPELLED = {"hiv, NULL": ["hiv"] * 4 + [None], "spellings": ["hiv", "HIV", "hiv ", "Hiv"], "both": ["hiv", "HIV", " "]}


@pytest.mark.parametrize("values", SPELLED.values(), ids=SPELLED)
def test_missing_values_and_spellings_make_no_class_diverse(engine, values):
    """What is missing is not known to be another value, and a reader takes `HIV` for `hiv`, unless declared."""
    others = [("x", "other", value) for value in ("flu", "cold", "hiv", "ulcer")]
    rows = [("x", "one", value) for value in values] + others
    given = {"quasi_identifiers": ("q",), "sensitive": ("s",)}
    values_too = {"missing_is_a_value": ("s",), "spelling_is_a_value": ("s",)}
    with place(engine, t=Rows(TYPES, rows)) as here:
        outcome = ask(LDiversityCheck(l=2, **given), here)
        entropy = ask(LDiversityCheck(l=1.2, variant="entropy", **given), here)
        recursive = ask(LDiversityCheck(l=2, variant="recursive", c=9.0, **given), here)
        declared = ask(LDiversityCheck(l=2, **given, **values_too), here)
        near = ask(TClosenessCheck(t=0, **given), here)
        near_as_declared = ask(TClosenessCheck(t=0, **given, **values_too), here)
    assert (outcome.status, outcome.observed["l_distinct"]) == (Status.FAIL, 1)
    assert outcome.observed["l_exact"] == len(set(values))
    assert outcome.observed["records_below_l"] == len(values)
    assert min(outcome.observed["l_known"], outcome.observed["l_normalised"]) <= outcome.observed["l_exact"]
    assert (entropy.status, recursive.status) == (Status.FAIL, Status.FAIL)
    assert (declared.status, declared.observed["l_known"], declared.observed["l_normalised"]) == (
        Status.PASS,
        None,
        None,
    )
    assert near.observed["t"] >= near.observed["t_exact"] == near_as_declared.observed["t"]


def test_more_values_than_are_compared_are_folded_by_the_engine(monkeypatch):
    """A column of very many values is read in lower case and without white space around."""
    monkeypatch.setattr("checks.classes.readings.MOST_VALUES", 2)
    rows = [("x", "one", value) for value in ("hiv", "HIV", "Hiv ", " hiv")]
    for dialect in ENGINES:
        with place(dialect, t=Rows(TYPES, rows)) as here:
            outcome = ask(LDiversityCheck(l=2, quasi_identifiers=("q",), sensitive=("s",)), here)
        assert (outcome.status, outcome.observed["l_normalised"]) == (Status.FAIL, 1)


def test_people_cannot_be_counted_from_kept_counts():
    """Counts that are kept are of rows."""
    with pytest.raises(ValidationError, match="'incremental' counts rows and cannot be combined with 'person'"):
        KAnonymityCheck(k=2, person="p", incremental={"mode": "append", "watermark": "at"})


def test_people_whom_a_pseudonym_links_hide_among_those_alike_in_all_rows(engine):
    """Two visits in x and one in y tell a person from five who have one in each, though both classes have six."""
    rows = [(f"p{person}", key, "ab"[person % 2]) for person in range(5) for key in "xy"]
    rows += [("q", key, "b") for key in "xxy"]
    with place(engine, t=Rows(TYPES, rows)) as here:
        apart = [ask(check, here) for check in checks(person="p")]
        linked = [ask(check, here) for check in checks(person="p", pseudonyms=("p",))]
        by_identifier = ask(checks(identifiers=(), pseudonyms=("p",))[0], here)
        (bad,) = ask_violations(checks(person="p", pseudonyms=("p",))[0], here, among="x")
    assert [outcome.status for outcome in apart[:2]] == [Status.PASS] * 2
    assert (apart[0].observed["k"], linked[0].observed["k"], by_identifier.observed["k"]) == (6, 1, 1)
    assert str(linked[0].message) == (
        "1 of 6 people are alike in all of their rows with fewer than 4 others (by p, whose pseudonyms link rows; the "
        "table has 13 rows)"
    )
    assert (linked[1].status, linked[1].observed["l_distinct"]) == (Status.FAIL, 1)
    assert (linked[2].observed["sample_uniques"], apart[2].observed["sample_uniques"]) == (2, 0)
    of_both = [(f"v{visit}", "xy"[visit % 2], str(max(visit, 1))) for visit in range(12)]  # the first two are of one
    with place(engine, t=Rows(TYPES, of_both)) as here:
        by_another = ask(checks(person="p", pseudonyms=("s",))[0], here)
    assert (by_another.observed["counted_by"], by_another.observed["k"]) == ("s", 1)
    assert bad == {"q": "x", "people": 1}


def ask_violations(check, here, *, among):
    """Return the classes of one value of `q` that break a limit."""
    table = check.violations(Question(check, here).context)
    return [row for row in here.run(here.compiled(table)) if row["q"] == among]


ROWS = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "c", None]),
        st.sampled_from(["x", "y"]),
        st.sampled_from(["flu", "FLU", "cold", " ", None]),
    ),
    min_size=1,
    max_size=25,
)


@settings(max_examples=examples(EXAMPLES))
@example([(None, "x", "flu"), (None, "x", "cold"), ("a", "x", "flu"), ("a", "y", None)], ())
@given(ROWS, st.sampled_from([(), ("p",)]))
def test_every_engine_counts_people_as_counting_by_hand_does(rows, linked):
    """k, the people below it, their risk, and the least l."""
    for dialect in ENGINES:
        with place(dialect, t=Rows(TYPES, rows)) as here:
            for apart, given in ((False, {"person": "p"}), (True, {"identifiers": ("p",)})):
                size, diverse = (ask(check, here).observed for check in checks(**given, pseudonyms=linked)[:2])
                if size["counted_by"] is None:  # the rows are as bad: no person has two in one class
                    continue
                by_hand = _by_hand(rows, apart=apart, linked=bool(linked))
                assert (size["k"], size["people"], size["records_below_k"]) == by_hand[:3]
                assert size["average_risk"] == pytest.approx(by_hand[3])
                assert sum(bar[2] for bar in size["histogram"]) == by_hand[1]
                if not apart:
                    assert diverse["l_distinct"] == by_hand[4]


def _by_hand(rows, *, apart, linked):
    if linked:
        named = [(number if apart and who is None else who, key) for number, (who, key, _) in enumerate(rows)]
        whole = [sorted(key for other, key in named if other == who) for who, _ in named]
        rows = [(who, (key, *of_person), value) for (who, key, value), of_person in zip(rows, whole, strict=True)]
    classes, known, people = defaultdict(set), defaultdict(lambda: defaultdict(set)), defaultdict(lambda: math.inf)
    exact = defaultdict(lambda: defaultdict(set))
    for number, (person, key, value) in enumerate(rows):
        who = number if person is None and apart else person
        classes[key].add(who)
        exact[key][value].add(who)
        if value is not None and value.strip():
            known[key][normal_form(value)].add(who)
    for members in classes.values():
        for who in members:
            people[who] = min(people[who], len(members))
    readings = [_least(known, classes), _least(exact, classes)]
    below = sum(size < 5 for size in people.values())
    return (
        min(people.values()),
        len(people),
        below,
        sum(1 / size for size in people.values()) / len(people),
        min(readings),
    )


def _least(values, classes):
    least = []
    for key in classes:
        having = {who for some in values[key].values() for who in some}
        certain = any(some == having for some in values[key].values())
        least.append(1 if certain else len(values[key]))
    return min(least)
