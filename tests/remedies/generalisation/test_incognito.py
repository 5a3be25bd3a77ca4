"""All generalisations that hold, and none else."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks.risk import Hierarchy
from remedies import Misfit
from remedies.generalisation import LDiversityLimit, TClosenessLimit, incognito
from remedies.generalisation import _walks as walks
from tests.remedies.generalisation.lattices import PATIENTS, PATIENTS_HIERARCHIES, Case, cases, entropy_l
from tests.tiers import examples


def _nodes(levels) -> set[tuple[int, ...]]:
    return {tuple(node) for node in levels.tolist()}


def _holds(case: Case, node, k, most, broken=lambda _: False) -> bool:
    classes = case.classes(node, "secret").values()
    return sum(one.total() for one in classes if one.total() < k or broken(one)) <= most


def _least(nodes) -> set[tuple[int, ...]]:
    """Return the nodes that generalise no other."""
    return {node for node in nodes if not any(low != node and all(np.less_equal(low, node)) for low in nodes)}


@pytest.mark.parametrize(
    ("k", "nodes", "least"),
    [
        (2, {(1, 1, 0), (0, 1, 2), (1, 0, 2), (1, 1, 1), (1, 1, 2)}, {(1, 1, 0), (0, 1, 2), (1, 0, 2)}),
        (3, {(1, 0, 2), (1, 1, 2)}, {(1, 0, 2)}),
    ],
)
def test_patients(k, nodes, least):
    """The example of the paper has the nodes that are known, all minimal ones, not only those of the least height."""
    found = incognito(PATIENTS, PATIENTS_HIERARCHIES, k)
    assert (_nodes(found.nodes), _nodes(found.minimal)) == (nodes, least)
    assert found.complete
    assert found.lattice == 12


@pytest.mark.reference_data
@pytest.mark.parametrize(
    ("k", "limit", "nodes", "least", "height"),
    [(5, 0, 87, 27, 14), (5, 0.02, 2861, 787, 9), (5, 0.05, 5184, 1071, 8), (10, 0, 65, 20, 14)],
)
def test_adult(adult, k, limit, nodes, least, height):
    """Adult has as many k-anonymous and minimal nodes as are known, with and without suppression."""
    found = incognito(adult.counts, adult.hierarchies, k, limit)
    assert (len(found.nodes), len(found.minimal), found.least_height) == (nodes, least, height)
    assert found.lattice == 12_960


@given(case=cases(), k=st.integers(2, 6), limit=st.sampled_from([0, 0.1, 0.25, 0.5]))
@settings(deadline=None)
def test_every_node_that_holds_and_no_other(case, k, limit):
    """What plain loops over all nodes find is found, NULL as a value of its own, and so are the minimal nodes."""
    if case.rows < k:
        return
    counts = case.counts.drop(columns="secret")
    most = int(round(limit * 100) * case.rows // 100)
    expected = {node for node in case.nodes if _holds(case, node, k, most)}
    found = incognito(counts, case.hierarchies, k, limit)
    assert _nodes(found.nodes) == expected
    assert _nodes(found.minimal) == _least(expected)
    assert found.least_height == min(map(sum, expected), default=None)


def _distinct(values: Counter) -> bool:
    return len(values) < 2


def _entropy(values: Counter) -> bool:
    return entropy_l(values) < 1.8 - 1e-9


def _recursive(values: Counter) -> bool:
    counts = sorted(values.values(), reverse=True)
    return not counts[0] < 1.5 * sum(counts[1:])


def _far(case: Case):
    everybody = Counter()
    for one in case.classes([0] * len(case.hierarchies), "secret").values():
        everybody.update(one)
    rows = everybody.total()

    def broken(values: Counter) -> bool:
        apart = sum(abs(values[value] / values.total() - count / rows) for value, count in everybody.items()) / 2
        return apart > 0.3 + 1e-12

    return broken


def _far_along_a_line(case: Case):
    everybody = Counter()
    for one in case.classes([0] * len(case.hierarchies), "secret").values():
        everybody.update(one)
    rows, values = everybody.total(), sorted(everybody)

    def broken(one: Counter) -> bool:
        ahead = np.cumsum([one[value] / one.total() - everybody[value] / rows for value in values])
        return np.abs(ahead).sum() / max(len(values) - 1, 1) > 0.25 + 1e-12

    return broken


CRITERIA = [
    (LDiversityLimit("secret", 2), lambda _: _distinct),
    (LDiversityLimit("secret", 1.8, "entropy"), lambda _: _entropy),
    (LDiversityLimit("secret", 2, "recursive", c=1.5), lambda _: _recursive),
    (TClosenessLimit("secret", 0.3), _far),
    (TClosenessLimit("secret", 0.25, "ordered"), _far_along_a_line),
]


@pytest.mark.parametrize(
    ("criterion", "broken"), CRITERIA, ids=["distinct", "entropy", "recursive", "equal", "ordered"]
)
@given(case=cases(), k=st.integers(2, 4), limit=st.sampled_from([0, 0.2, 0.5]))
@settings(deadline=None, max_examples=examples(60))
def test_criteria_of_sensitive_columns(criterion, broken, case, k, limit):
    """A node holds where classes that are small or break the criterion have few enough rows, monotone or not."""
    if case.rows < k:
        return
    most = int(round(limit * 100) * case.rows // 100)
    breaks = broken(case)
    expected = {node for node in case.nodes if _holds(case, node, k, most, breaks)}
    found = incognito(case.counts, case.hierarchies, k, limit, criteria=[criterion])
    assert _nodes(found.nodes) == expected
    assert _nodes(found.minimal) == _least(expected)


@given(case=cases(), stages=st.sampled_from([0.0, 1e9]))
@settings(deadline=None)
def test_parts_of_the_columns_only_save_work(case, stages):
    """However many parts of the columns are looked at first, the nodes are the same."""
    if case.rows < 2:
        return
    counts = case.counts.drop(columns="secret")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(walks, "_WORTH", stages)
        found = incognito(counts, case.hierarchies, 2)
    assert _nodes(found.nodes) == {node for node in case.nodes if _holds(case, node, 2, 0)}


def test_more_columns_than_fit_one_word():
    """Columns whose leaves need more than 64 bits together are distinguished all the same."""
    rng = np.random.default_rng(1)
    leaves = [f"{number:04d}" for number in range(3000)]
    hierarchy = Hierarchy.of({leaf: [leaf[:2], "*"] for leaf in leaves})
    columns = {f"q{place}": rng.choice(leaves, 400) for place in range(7)}
    twins = pd.concat([pd.DataFrame(columns)] * 2, ignore_index=True).assign(count=1)
    named = dict.fromkeys(columns, hierarchy)
    assert len(incognito(twins, named, 2).nodes) == 3**7
    assert incognito(pd.DataFrame(columns).assign(count=1), named, 2).nodes.tolist()[-1] == [2] * 7


def test_a_combination_may_come_in_several_rows():
    """Rows of the frequency table with the same combination are added up."""
    twice = pd.concat([PATIENTS, PATIENTS], ignore_index=True)
    assert [0, 0, 0] in incognito(twice, PATIENTS_HIERARCHIES, 2).nodes.tolist()


def test_values_are_known_by_their_texts():
    """Whole numbers and floats that are whole are found under the digits of the hierarchy."""
    hierarchy = Hierarchy.of({"17": ["*"], "18": ["*"]})
    for numbers in ([17, 18], [17.0, 18.0]):
        found = incognito(pd.DataFrame({"age": numbers, "count": 2}), {"age": hierarchy}, 4)
        assert found.nodes.tolist() == [[1]]


def test_what_the_budget_leaves_is_reported():
    """A search that is ended gives what holds so far, and says that there may be more."""
    found = incognito(PATIENTS, PATIENTS_HIERARCHIES, 2, budget=0)
    assert not found.complete
    assert len(found.nodes) == 0


def test_nothing_holds():
    """Where even the top failed, there is no node, and no height."""
    hierarchy = Hierarchy((("a", "b"),))
    found = incognito(pd.DataFrame({"q": ["a", "b"], "count": [1, 3]}), {"q": hierarchy}, 2)
    assert (len(found.nodes), found.least_height, found.complete) == (0, None, True)


TWO = pd.DataFrame({"q": ["a", "b"], "count": [2, 3]})
FLAT = {"q": Hierarchy.of({"a": ["*"], "b": ["*"]})}


@pytest.mark.parametrize(
    ("counts", "named", "k", "limit", "error", "words"),
    [
        (TWO, FLAT, 1, 0, ValueError, "k is 1; expected at least 2"),
        (TWO, FLAT, 2, 1, ValueError, "the suppression limit is 1"),
        (TWO, FLAT, 6, 0, Misfit, "5 rows cannot form a class of 6"),
        (TWO, {}, 2, 0, Misfit, "column 'q' has no hierarchy"),
        (TWO, {"p": FLAT["q"]}, 2, 0, Misfit, "column 'p' not found"),
        (TWO.drop(columns="count"), FLAT, 2, 0, Misfit, "column 'count' not found"),
        (TWO.assign(count=[0, 2]), FLAT, 2, 0, Misfit, "no positive whole number"),
        (TWO.assign(count=[1.5, 2]), FLAT, 2, 0, Misfit, "no positive whole number"),
        (TWO.assign(q=["a", "z"]), FLAT, 2, 0, Misfit, "column 'q': 1 value has no path in the hierarchy"),
        (TWO[:0], FLAT, 2, 0, Misfit, "the table has no rows"),
    ],
)
def test_bad_input(counts, named, k, limit, error, words):
    """Errors say what was seen and what was expected, and no value of the table."""
    with pytest.raises(error) as raised:
        incognito(counts, named, k, limit)
    assert words in str(raised.value)
    assert "z" not in str(raised.value).replace("zero", "")


def test_a_lattice_too_large_is_refused():
    """A lattice whose nodes would take gigabytes is refused before any work, with what to do instead."""
    tall = Hierarchy(tuple(("a", "b") for _ in range(20)))
    wide = {f"q{place}": tall for place in range(7)}
    table = pd.DataFrame({**{name: ["a", "b"] for name in wide}, "count": 1})
    with pytest.raises(Misfit, match="mondrian or datafly"):
        incognito(table, wide, 2)


def test_progress_never_falls():
    """The caller is given the share of the lattice that is done."""
    reported: list[float] = []
    incognito(PATIENTS, PATIENTS_HIERARCHIES, 2, progress=reported.append)
    assert reported[-1] == 1
    assert reported == sorted(reported)


@pytest.mark.parametrize(
    ("rows", "reached", "missed"),
    [
        ([("x", 1, 2), ("y", 1, 1), ("y", 2, 1)], TClosenessLimit("s", 0.25), TClosenessLimit("s", 0.2499)),
        ([("x", 1, 2), ("x", 2, 2), ("y", 1, 1), ("y", 2, 1)], LDiversityLimit("s", 2), LDiversityLimit("s", 3)),
        (
            [("x", 1, 1), ("x", 2, 1), ("y", 1, 1), ("y", 2, 1)],
            LDiversityLimit("s", 2, "entropy"),
            LDiversityLimit("s", 2.01, "entropy"),
        ),
        (
            [("x", 1, 1), ("x", 2, 1), ("y", 1, 1), ("y", 2, 1)],
            LDiversityLimit("s", 2, "recursive", 1.01),
            LDiversityLimit("s", 2, "recursive", 1.0),
        ),
    ],
)
def test_a_limit_that_is_just_reached_holds(rows, reached, missed):
    """At the limit itself a class is in order, just beyond it none of these tables is at its lowest level."""
    counts = pd.DataFrame(rows, columns=["a", "s", "count"])
    flat = {"a": Hierarchy((("x", "y"), ("*", "*")))}
    for criterion, holds in ((reached, True), (missed, False)):
        found = incognito(counts, flat, 2, criteria=[criterion])
        assert ([0] in found.nodes.tolist()) is holds
