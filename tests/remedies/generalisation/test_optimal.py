"""The best node by each measure, proved."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks.risk import Hierarchy
from remedies import StopRequest
from remedies.generalisation import By, LDiversityLimit, optimal
from tests.remedies.generalisation.lattices import PATIENTS, PATIENTS_HIERARCHIES, Case, cases, label_of
from tests.tiers import examples


@pytest.mark.reference_data
@pytest.mark.parametrize(
    ("by", "limit", "levels", "value", "suppressed"),
    [
        ("discernibility", 0, (1, 1, 1, 2, 3, 2, 2, 1, 1), 33_627_534, 0),
        ("discernibility", 0.02, (0, 0, 1, 2, 3, 2, 2, 1, 1), 7_220_555, 105),
        ("loss", 0, (0, 4, 1, 1, 3, 2, 2, 1, 0), 0.573151, 0),
        ("loss", 0.02, (0, 3, 0, 2, 2, 1, 1, 2, 0), 0.313713, 506),
    ],
)
def test_adult(adult, by, limit, levels, value, suppressed):
    """Adult's optima are those that others have found by search and by brute force."""
    found = optimal(adult.counts, adult.hierarchies, 5, limit, by=by)
    assert (found.levels, found.suppressed, found.proved) == (levels, suppressed, True)
    assert found.value == pytest.approx(value, abs=2e-6)


def _values(case: Case, node, k, broken=lambda _: False) -> tuple[dict[By, float], int]:
    """Return every measure of a node by plain loops over rows, and the rows that are suppressed."""
    rows = []
    for row in case.counts.to_dict("records"):
        values = [None if pd.isna(row[name]) else row[name] for name in case.hierarchies]
        labels = tuple(
            label_of(value, hierarchy, level)
            for value, hierarchy, level in zip(values, case.hierarchies.values(), node, strict=True)
        )
        rows += [(values, labels)] * row["count"]
    classes = case.classes(node, "secret")
    lost = {labels for labels, one in classes.items() if one.total() < k or broken(one)}
    kept = [one.total() for labels, one in classes.items() if labels not in lost]
    suppressed = sum(labels in lost for _, labels in rows)
    found = {
        By.STEPS: sum(node) + suppressed / (len(rows) + 1),
        By.DISCERNIBILITY: sum(size**2 for size in kept) + suppressed * len(rows),
        By.CLASS_SIZE: sum(kept) / len(kept) if kept else math.inf,
    }
    loss, precision, entropy, kl = [], 0.0, 0.0, 0.0
    for place, (hierarchy, level) in enumerate(zip(case.hierarchies.values(), node, strict=True)):
        column = [(values[place], labels[place], labels in lost) for values, labels in rows]
        named = hierarchy.levels[level]
        total = 0.0
        for value, label, gone in column:
            under = 1 if label is None or not level else named.count(label)
            total += 1 if gone else (under - 1) / max(len(named) - 1, 1)
            precision += 1 if gone else level / max(hierarchy.height, 1)
            mates = len(column) if gone else sum(other == label for _, other, _ in column)
            entropy += -math.log2(sum(other == value for other, _, _ in column) / mates)
        loss.append(total / len(column))
        left = [(value, label) for value, label, gone in column if not gone]
        for value in {value for value, _, _ in column}:
            label = label_of(value, hierarchy, level)
            leaves = {other for other, theirs, _ in column if theirs == label}
            share = sum(other == value for other, _, _ in column) / len(column)
            spread = sum(theirs == label for _, theirs in left) / len(leaves) / len(left) if left else 0
            kl += share * math.log(share / spread) if spread else math.inf
    cells = len(rows) * len(node)
    found[By.LOSS] = float(np.prod([1 + one for one in loss])) ** (1 / len(node)) - 1
    found |= {By.PRECISION: precision / cells, By.ENTROPY: entropy, By.KL: kl}
    return found, suppressed


@pytest.mark.parametrize("by", list(By))
@given(case=cases(), k=st.integers(2, 4), limit=st.sampled_from([0, 0.2, 0.5]), sensitive=st.booleans())
@settings(deadline=None, max_examples=examples(50))
def test_no_node_is_better(by, case, k, limit, sensitive):
    """No node that holds has a lower value by plain loops, and that of the optimum is what loops give it."""
    if case.rows < k:
        return
    most = int(round(limit * 100) * case.rows // 100)

    def broken(values) -> bool:
        return sensitive and len(values) < 2

    criteria = [LDiversityLimit("secret", 2)] if sensitive else []
    counts = case.counts if sensitive else case.counts.drop(columns="secret")
    values_by_node = {node: _values(case, node, k, broken) for node in case.nodes}
    holding = {node: values[by] for node, (values, suppressed) in values_by_node.items() if suppressed <= most}
    found = optimal(counts, case.hierarchies, k, limit, by=by, criteria=criteria)
    assert found.proved
    if not holding:
        assert found.levels is None
        return
    best = min(holding.values())
    assert found.value == pytest.approx(best, rel=1e-9, abs=1e-9)
    assert holding[found.levels] == pytest.approx(best, rel=1e-9, abs=1e-9)
    assert found.suppressed == values_by_node[found.levels][1]
    if by in {By.DISCERNIBILITY, By.CLASS_SIZE}:  # of whole numbers: what is equally good is so exactly
        assert sum(found.levels) == min(sum(node) for node, value in holding.items() if value == holding[found.levels])


@pytest.mark.parametrize("by", [By.LOSS, By.DISCERNIBILITY, By.ENTROPY, By.KL])
@pytest.mark.parametrize("columns", ["ab", "ba"])
def test_fewer_steps_elsewhere_in_the_lattice(by, columns):
    """A node that is as good is found where no descent leads, though its bound is no lower than the best."""
    tall = Hierarchy((("x", "y"), ("x", "y"), ("*", "*")))
    flat = Hierarchy((("x", "y"), ("*", "*")))
    counts = pd.DataFrame([("x", "x"), ("x", "y"), ("y", "x"), ("y", "y")], columns=["a", "b"]).assign(count=1)
    found = optimal(counts, {name: {"a": tall, "b": flat}[name] for name in columns}, 2, by=by)
    assert dict(zip(found.columns, found.levels or (), strict=True)) == {"a": 0, "b": 1}


@pytest.mark.parametrize("by", [By.LOSS, By.DISCERNIBILITY, By.ENTROPY, By.KL, By.CLASS_SIZE])
def test_a_level_that_joins_nothing_is_not_chosen(by):
    """Of equally good nodes the one with the fewest steps is best: `a` goes up no level that has the labels below."""
    idle = Hierarchy((("x", "y", "z"), ("x", "y", "z"), ("xy", "xy", "z"), ("xy", "xy", "z"), ("*", "*", "*")))
    counts = pd.DataFrame({"a": ["x", "y", "z"], "b": ["1", "1", "1"], "count": [1, 1, 2]})
    flat = Hierarchy((("1", "2"), ("*", "*")))
    for hierarchies in ({"a": idle, "b": flat}, {"b": flat, "a": idle}):
        found = optimal(counts, hierarchies, 2, by=by)
        assert dict(zip(found.columns, found.levels or (), strict=True)) == {"a": 2, "b": 0}


def test_the_best_so_far_is_given_where_time_ends():
    """When the budget ends the search, a node that holds is given, and not said to be the best."""
    found = optimal(PATIENTS, PATIENTS_HIERARCHIES, 2, by="steps", budget=0)
    assert not found.proved
    assert found.levels in {(1, 1, 0), (0, 1, 2), (1, 0, 2), (1, 1, 1), (1, 1, 2)}


@pytest.mark.parametrize("after", [0.0, 0.6])
def test_the_best_so_far_is_given_to_who_has_enough(after):
    """A progress callback can end the search, in each of its parts."""

    def tell(share: float) -> None:
        if share >= after:
            raise StopRequest

    found = optimal(PATIENTS, PATIENTS_HIERARCHIES, 2, by="steps", progress=tell)
    assert not found.proved
    assert found.levels is not None


def test_fewest_steps():
    """Of the patients' generalisations the one with the fewest steps is known."""
    found = optimal(PATIENTS, PATIENTS_HIERARCHIES, 2, by="steps")
    assert (found.levels, found.value) == ((1, 1, 0), 2)


def test_an_unknown_measure():
    """A measure that does not exist is refused."""
    with pytest.raises(ValueError, match="'beauty' is not a valid By"):
        optimal(PATIENTS, PATIENTS_HIERARCHIES, 2, by="beauty")
