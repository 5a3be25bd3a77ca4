"""Being in a table, and hiding in a population."""

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks.risk import JournalistRisk, PresenceBounds, class_sizes, delta_presence, journalist_risk


def ages(**counts):
    """Return a frame with so many rows of each age group."""
    return pd.DataFrame({"age": [group.strip("_").replace("_", "-") for group, n in counts.items() for _ in range(n)]})


POPULATION = ages(_10_19=5, _20_29=5, _30_39=10, _40_49=10, _50_59=20)


def test_all_of_a_class_are_in():
    """Five people of an age live there and five are in the table: it is certain that each of them is."""
    found = delta_presence(ages(_10_19=5, _40_49=1), POPULATION, ["age"])
    assert found == PresenceBounds(
        rows=6, population_rows=50, classes=2, population_classes=5, outside=0, delta_min=0.0, delta_max=1.0
    )


def test_wider_classes_hide_who_is_in():
    """Among twenty people of a wider class five are in: a quarter."""
    population = ages(_10_39=20, _40_49=10)
    found = delta_presence(ages(_10_39=5, _40_49=1), population, ["age"])
    assert (found.delta_min, found.delta_max) == (0.1, 0.25)


def test_null_is_a_value_of_its_own():
    """NULL equals NULL, and columns may have other names in the population."""
    table = pd.DataFrame({"age": ["1", None], "sex": [1.0, None]})
    population = pd.DataFrame({"group": ["1", None, None, "2"], "gender": [1, None, None, None]})
    found = delta_presence(table, population, {"age": "group", "sex": "gender"})
    assert (found.delta_min, found.delta_max, found.outside) == (0.0, 1.0, 0)
    assert journalist_risk(table, population, {"age": "group", "sex": "gender"}, 2).average == 0.75


def test_a_population_without_the_table_is_none():
    """Rows that cannot be of the population are counted, and there is no journalist risk."""
    table = ages(_10_19=7, _60_69=2)
    assert delta_presence(table, POPULATION, ["age"]).outside == 4
    assert journalist_risk(table, POPULATION, ["age"], 5) == JournalistRisk(9, 4, None, None, None, None)


def test_journalist_risk():
    """Highest is 1 / the smallest F; average the mean of 1/F over the rows; at risk are rows with F below k."""
    found = journalist_risk(ages(_10_19=2, _40_49=1, _50_59=1), POPULATION, ["age"], 10)
    assert found == JournalistRisk(
        rows=4, outside=0, smallest=5, highest=0.2, average=(2 / 5 + 1 / 10 + 1 / 20) / 4, at_risk=2
    )


def test_journalist_risk_of_counts():
    """The counts that an engine gives make the same figures, in any order and in parts."""
    assert JournalistRisk.of([(10, 1), (5, 1), (20, 1), (5, 1)], k=10) == journalist_risk(
        ages(_10_19=2, _40_49=1, _50_59=1), POPULATION, ["age"], 10
    )
    assert JournalistRisk.of([], k=2) == JournalistRisk(0, 0, None, None, None, None)
    assert JournalistRisk.of([(0, 3), (5, 1)], k=2) == JournalistRisk(4, 3, None, None, None, None)
    assert JournalistRisk.of([(5, 9)], k=2, outside=4).highest is None


def test_empty_sides():
    """An empty table has no risk; without population nothing can be said."""
    assert delta_presence(POPULATION[:0], POPULATION, ["age"]).delta_max == 0.0
    assert delta_presence(POPULATION[:0], POPULATION[:0], ["age"]).delta_max is None
    assert delta_presence(POPULATION, POPULATION[:0], ["age"]).outside == 50
    assert journalist_risk(POPULATION[:0], POPULATION, ["age"], 2).highest is None


def test_what_does_not_fit_is_refused():
    """No quasi-identifier, a column that is not there, columns of two kinds, and a k of 1."""
    table = POPULATION.assign(number=1)
    with pytest.raises(ValueError, match="at least one shared column"):
        delta_presence(table, table, [])
    with pytest.raises(KeyError, match="column 'aeg' not found; did you mean 'age'"):
        delta_presence(table, table, ["aeg"])
    with pytest.raises(ValueError, match="'age' is of two kinds, number and text"):
        journalist_risk(table, table, {"age": "number"}, 2)
    with pytest.raises(ValueError, match="k is at least 2: a class of one row hides no person; seen 1"):
        journalist_risk(table, table, ["age"], 1)


PEOPLE = st.lists(st.tuples(st.integers(0, 2) | st.none(), st.sampled_from("xy") | st.none()), min_size=1, max_size=20)


@given(PEOPLE, st.data())
def test_laws_of_a_sample(people, data):
    """In a sample of a population: shares lie in [0, 1], and journalist risk is never above prosecutor risk."""
    population = pd.DataFrame(people, columns=["a", "b"])
    table = population[data.draw(st.lists(st.booleans(), min_size=len(people), max_size=len(people)))]
    presence, risk = delta_presence(table, population, ["a", "b"]), journalist_risk(table, population, ["a", "b"], 3)
    assert presence.outside == risk.outside == 0
    assert 0 <= presence.delta_min <= presence.delta_max <= 1
    assert (presence.delta_min == presence.delta_max == 1) == (len(table) == len(population))
    if len(table):
        sizes = class_sizes(table, ["a", "b"])
        assert risk.average <= sizes.count / sizes.rows + 1e-12
        assert risk.highest <= 1 / sizes.smallest
        assert risk.smallest >= sizes.smallest
