"""Datafly: quick, and no optimum."""

import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from checks.risk import Hierarchy
from remedies._errors import Misfit
from remedies.generalisation import LDiversityLimit, datafly, optimal, utilities
from remedies.generalisation.datafly_search import raise_until
from tests.remedies.generalisation.lattices import PATIENTS, PATIENTS_HIERARCHIES, cases, label_of
from tests.remedies.generalisation.losses import classes_of, read


def _by_loops(case, k, limit):
    """Do what the paper says, by plain loops: the levels, or None where the highest are not enough."""
    names, levels = list(case.hierarchies), [0] * len(case.hierarchies)
    while True:
        classes = case.classes(levels)
        if sum(one.total() for one in classes.values() if one.total() < k) <= limit * case.rows:
            return tuple(levels)
        varied = [
            len({label_of(value, case.hierarchies[name], level) for value in case.counts[name].astype(object)})
            if level < case.hierarchies[name].height
            else 0
            for name, level in zip(names, levels, strict=True)
        ]
        if not max(varied):
            return None
        levels[varied.index(max(varied))] += 1


@given(case=cases(), k=st.integers(2, 4), limit=st.sampled_from([0, 0.25, 0.5]))
def test_the_most_varied_column_goes_up(case, k, limit):
    """The levels are those of the published algorithm, and every class that is released has k rows."""
    assume(case.rows >= k)
    known, expected = read(case), _by_loops(case, k, limit)
    if expected is None:
        with pytest.raises(Misfit, match="at the highest levels too many rows still break a limit"):
            raise_until(known.frequencies, k, limit)
        return
    found = raise_until(known.frequencies, k, limit)
    assert found.levels == expected
    assert len(found.raised) == sum(expected)
    assert all(one.total() >= k for one in classes_of(known.rows(found.recoding)).values())
    assert found.recoding.rows_suppressed <= limit * case.rows


def test_patients():
    """On the six patients it goes up three times where two would do."""
    found = datafly(PATIENTS, PATIENTS_HIERARCHIES, 2)
    assert found.raised == ("B", "Z", "S")
    assert found.levels == (1, 1, 1)
    assert sum(optimal(PATIENTS, PATIENTS_HIERARCHIES, 2, by="steps").levels) == 2


@given(case=cases(columns=2), k=st.integers(2, 3))
def test_criteria_hold(case, k):
    """What breaks a criterion counts as what is too small, and is suppressed in the end."""
    assume(case.rows >= k)
    known = read(case)
    try:
        found = raise_until(known.frequencies, k, 0.4, criteria=[LDiversityLimit("secret", 2)])
    except Misfit:
        return
    classes = classes_of(known.rows(found.recoding)).values()
    assert all(len(one) >= 2 and one.total() >= k for one in classes)
    assert found.recoding.rows_suppressed <= 0.4 * case.rows


@pytest.mark.reference_data
def test_adult(adult):
    """On Adult it loses by discernibility several times what the optimum does."""
    found = datafly(adult.counts, adult.hierarchies, 5, 0.02)
    assert found.recoding.rows_suppressed <= 0.02 * 30_162
    assert utilities(found.recoding).discernibility > 4 * 7_220_555
    assert utilities(found.recoding).smallest_class >= 5


def test_what_does_not_fit():
    """Too few rows and limits out of range are refused."""
    counts = pd.DataFrame({"q": ["a", "b"], "count": 1})
    hierarchy = Hierarchy.of({"a": ["*"], "b": ["*"]})
    with pytest.raises(Misfit, match="2 rows cannot form a class of 3"):
        datafly(counts, {"q": hierarchy}, 3)
    with pytest.raises(ValueError, match="the suppression limit is 1"):
        datafly(counts, {"q": hierarchy}, 2, 1)
