"""What a generalisation made of a table, cell by cell."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks.risk import Hierarchy
from remedies._errors import Misfit
from remedies.generalisation import Recoding
from remedies.generalisation.frequencies import read_table
from remedies.generalisation.levels import with_plain
from remedies.generalisation.recoding import EVERYTHING, Labels
from tests.remedies.generalisation.lattices import cases, label_of
from tests.remedies.generalisation.losses import classes_of, read

AGES = Hierarchy.of({str(age): [f"{age // 10 * 10}s", "*"] for age in range(20, 40)})
SEXES = Hierarchy.of({sex: ["*"] for sex in ("F", "M")})
PEOPLE = pd.DataFrame(
    {"age": [21, 25, 21, 38], "name": ["a", "b", "c", "d"], "sex": ["F", "M", "F", None], "pay": [1.5, 2, 3, 4]},
    index=[7, 3, 9, 1],
)


@given(case=cases(), data=st.data())
def test_cells_have_the_label_of_their_level(case, data):
    """Each cell has the ancestor of its value at the level; NULL stays until all others are one."""
    node = data.draw(st.sampled_from(list(case.nodes)))
    known = read(case)
    for row in known.rows(Recoding.of_node(known.frequencies, node)):
        assert row.labels == tuple(
            label_of(value, hierarchy, level)
            for value, hierarchy, level in zip(row.held, case.hierarchies.values(), node, strict=True)
        )


@given(case=cases(), data=st.data())
def test_a_label_covers_one_stretch_of_leaves(case, data):
    """The leaves under a label are those between its ends, and no others."""
    node = data.draw(st.sampled_from(list(case.nodes)))
    recoding = Recoding.of_node(read(case).frequencies, node)
    for column, hierarchy, level in zip(recoding.columns, case.hierarchies.values(), node, strict=True):
        labels, leaves = column.labels, list(column.domain.values)
        for place, text in enumerate(labels.texts):
            under = {leaves[leaf] for leaf in labels.order[labels.first[place] : labels.last[place]]}
            assert under == {value for value in leaves if label_of(value, hierarchy, level) == text}


@given(case=cases(), data=st.data())
def test_classes_read_alike(case, data):
    """A class is what has the same labels; suppressed combinations are in none."""
    node, known = data.draw(st.sampled_from(list(case.nodes))), read(case)
    many = len(known.frequencies.counts)
    gone = np.array(data.draw(st.lists(st.booleans(), min_size=many, max_size=many)))
    recoding = Recoding.of_node(known.frequencies, node, gone)
    rows = known.rows(recoding)
    assert sorted(recoding.class_sizes()) == sorted(one.total() for one in classes_of(rows).values())
    assert recoding.rows_suppressed == sum(row.gone for row in rows)
    assert ((recoding.classes() < 0) == gone).all()


def test_a_table_leaves_with_its_labels():
    """Generalised columns become texts; level 0, other columns, the index and the input stay as they are."""
    frequencies, combinations = read_table(PEOPLE, {"age": AGES, "sex": SEXES})
    before = PEOPLE.copy(deep=True)
    gone = np.array([False, False, True])
    found = Recoding.of_node(frequencies, (1, 0), gone).apply(PEOPLE, combinations)
    assert found["age"].tolist() == ["20s", "20s", "20s"]
    assert found.index.tolist() == [7, 3, 9]
    assert found["sex"].tolist() == ["F", "M", "F"]
    assert found.dtypes[["sex", "pay", "name"]].equals(PEOPLE.dtypes[["sex", "pay", "name"]])
    pd.testing.assert_frame_equal(PEOPLE, before)
    whole = Recoding.of_node(frequencies, (0, 1)).apply(PEOPLE, combinations)
    assert whole["age"].dtype == PEOPLE["age"].dtype
    assert whole["sex"].tolist() == ["*", "*", "*", "*"]


def test_rows_may_share_an_index():
    """Rows are distinguished by where they stand, not by their index."""
    twice = PEOPLE.set_axis([1, 1, 2, 2])
    frequencies, combinations = read_table(twice, {"age": AGES, "sex": SEXES})
    found = Recoding.of_node(frequencies, (1, 0)).apply(twice, combinations)
    assert found["age"].tolist() == ["20s", "20s", "20s", "30s"]
    assert found.index.tolist() == [1, 1, 2, 2]


@pytest.mark.parametrize("kind", ["float64", "float32", "Float64", "double[pyarrow]", "float[pyarrow]"])
def test_zero_has_no_sign(kind):
    """-0.0 and 0.0 are one value, and leave as one text; type, NULL and all other numbers stay."""
    table = pd.DataFrame({"q": pd.Series([0.0, -0.0, -1.5, None], dtype=kind)})
    frequencies, combinations = read_table(table, with_plain(table, {}, ["q"]))
    found = Recoding.of_node(frequencies, (0,)).apply(table, combinations)["q"]
    assert found.dtype == table["q"].dtype
    assert [str(value) for value in found[:3]] == ["0.0", "0.0", "-1.5"]
    assert found.isna().tolist() == [False, False, False, True]


def test_null_stays_null_below_the_root():
    """A NULL without a line of its own is still NULL where other values have groups."""
    hierarchy = Hierarchy.of({"a": ["x", "*"], "b": ["x", "*"], "c": ["y", "*"]})
    table = pd.DataFrame({"q": ["a", "b", None, "c"]})
    frequencies, combinations = read_table(table, {"q": hierarchy})
    found = Recoding.of_node(frequencies, (1,)).apply(table, combinations)["q"]
    assert found.isna().tolist() == [False, False, True, False]
    assert Recoding.of_node(frequencies, (2,)).apply(table, combinations)["q"].tolist() == ["*"] * 4


def test_labels_that_read_alike_are_one():
    """A text that stands for several nodes covers all of them, since no reader can tell which was meant."""
    labels = Labels(
        texts=np.array(["x", "y", "x"], dtype=object),
        levels=np.array([1, 1, 2]),
        widths=np.array([1, 1, 3]),
        order=np.arange(3),
        first=np.array([0, 2, 0]),
        last=np.array([1, 3, 3]),
    )
    merged, numbers = labels.merged(np.array([0, 1, 2, 1]))
    assert merged.texts.tolist() == ["x", "y"]
    assert numbers.tolist() == [0, 1, 0, 1]
    assert (merged.levels.tolist(), merged.widths.tolist()) == ([2, 1], [3, 1])
    assert (merged.first.tolist(), merged.last.tolist()) == ([0, 2], [3, 3])
    blank = Labels(labels.texts, np.array([1, 1, EVERYTHING]), labels.widths, labels.order, labels.first, labels.last)
    assert blank.merged(np.array([0]))[0].levels[0] == EVERYTHING


@pytest.mark.parametrize(
    ("levels", "message"),
    [((0,), "1 levels for 2 columns"), ((0, 2), "column 'sex' has no level 2; its levels are 0 to 1")],
)
def test_levels_have_to_fit(levels, message):
    """There is one level for each column, and the hierarchy has it."""
    frequencies, _ = read_table(PEOPLE, {"age": AGES, "sex": SEXES})
    with pytest.raises(Misfit, match=message):
        Recoding.of_node(frequencies, levels)
