"""Nodes that are measured one after the other lose what each loses when it is measured alone."""

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from checks.risk import Hierarchy
from remedies import StopRequest
from remedies.generalisation import By, LDiversityLimit, Recoding, utilities
from remedies.generalisation.choices import choices
from remedies.generalisation.frequencies import read_counts
from remedies.generalisation.incognito_search import generalisations
from remedies.generalisation.limits_of_classes import broken_combinations
from tests.remedies.generalisation.lattices import Case, cases


@given(case=cases(), k=st.integers(2, 4), limit=st.sampled_from([0, 0.2, 0.5]), sensitive=st.booleans())
def test_each_node_is_measured_as_it_is_alone(case: Case, k: int, limit: float, sensitive: bool) -> None:
    """All that holds is listed once, and its measures are those of `utilities` on its recoding."""
    if case.rows < k:
        return
    criteria = [LDiversityLimit("secret", 2)] if sensitive else []
    frequencies = read_counts(case.counts, case.hierarchies, sensitive=["secret"])
    found = generalisations(frequencies, k, limit, criteria=criteria)
    listed = choices(frequencies, found, k, by=By.STEPS, every=True, criteria=criteria).listed
    assert sorted(one.levels for one in listed) == sorted(map(tuple, found.nodes.tolist()))
    assert {one.levels for one in listed if one.is_minimal} == set(map(tuple, found.minimal.tolist()))
    for one in listed:
        broken = broken_combinations(frequencies, one.levels, k, criteria)
        assert one.utilities == utilities(Recoding.of_node(frequencies, one.levels, broken), k=k)


def test_more_columns_than_fit_one_word() -> None:
    """Suppressed combinations are found by keys of several words."""
    leaves = tuple(f"{number:03}" for number in range(200))
    tree = Hierarchy((leaves, ("*",) * 200))
    rng = np.random.default_rng(1)
    columns = {f"q{place}": rng.choice(leaves, 60) for place in range(9)}
    counts = pd.DataFrame(columns).assign(count=1)
    counts.loc[:29] = counts.loc[0].to_numpy()
    frequencies = read_counts(counts, dict.fromkeys(columns, tree))
    found = generalisations(frequencies, 4, 0.6)
    for one in choices(frequencies, found, 4, by=By.LOSS, every=False, criteria=[]).listed:
        broken = broken_combinations(frequencies, one.levels, 4, [])
        assert one.utilities == utilities(Recoding.of_node(frequencies, one.levels, broken), k=4)
        assert broken.any()


def test_who_has_enough_has_what_was_measured() -> None:
    """It is said that this is not all."""
    counts = pd.DataFrame({"a": ["x", "y"], "count": [2, 2]})
    frequencies = read_counts(counts, {"a": Hierarchy((("x", "y"), ("*", "*")))})
    found = generalisations(frequencies, 2)

    def tell(_: float) -> None:
        raise StopRequest

    some = choices(frequencies, found, 2, by=By.LOSS, every=True, criteria=[], progress=tell)
    assert (len(some.listed), some.holding, some.complete) == (1, 2, False)
