"""What a recoding changed is counted by its frequency table as by going through the rows."""

from typing import Any

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from remedies.generalisation import Recoding, hierarchy_spec, text_of
from remedies.generalisation.frequencies import read_table
from remedies.generalisation.recoded import changes
from remedies.generalisation.spec import level_name

SPECS = {
    "a": hierarchy_spec({"type": "coding", "top": 5}),
    "b": hierarchy_spec({"type": "tree", "groups": {"x": ["x"], "others": ["y", "z"]}}),
}


@given(
    rows=st.lists(st.tuples(st.integers(0, 9), st.sampled_from(["x", "y", None])), min_size=1, max_size=30),
    levels=st.tuples(st.integers(0, 2), st.integers(0, 2)),
    seed=st.integers(0, 99),
)
def test_counts_are_those_of_the_rows(rows: list[tuple[Any, ...]], levels: tuple[int, int], seed: int) -> None:
    """Cells that read otherwise, are blanked or filled, and rows that have one, without those that are suppressed."""
    frame = pd.DataFrame(rows, columns=["a", "b"])
    hierarchies = {name: spec.build(frame[name] if name == "a" else ["x", "y", "z"]) for name, spec in SPECS.items()}
    frequencies, combinations = read_table(frame, hierarchies)
    suppressed = np.random.default_rng(seed).random(len(frequencies.counts)) < 0.3
    recoding = Recoding.of_node(frequencies, levels, suppressed)
    after = recoding.apply(frame, combinations)
    found, before = changes(recoding), frame.loc[after.index]
    was, now = ([[text_of(cell) for cell in table[name]] for name in "ab"] for table in (before, after))
    differs = [[one != other for one, other in zip(*pair, strict=True)] for pair in zip(was, now, strict=True)]
    assert (found.rows, found.rows_suppressed) == (len(frame), len(frame) - len(after))
    assert list(found.changed.values()) == [sum(cells) for cells in differs]
    assert found.rows_changed == sum(map(any, zip(*differs, strict=True)))
    pairs = [list(zip(*pair, strict=True)) for pair in zip(was, now, strict=True)]
    assert list(found.filled.values()) == [
        sum(one is None and other is not None for one, other in pair) for pair in pairs
    ]
    assert list(found.blanked.values()) == [
        sum(one is not None and other is None for one, other in pair) for pair in pairs
    ]


def test_levels_have_names_without_values() -> None:
    """A level is named by its declaration; what has no words of its own by how many labels it has."""
    result = [
        ({"type": "intervals", "widths": [5, 10], "top": 80, "bottom": 20}, (3, 90), "<20 and >=80", "bands of 5"),
        ({"type": "intervals", "widths": [2.5, 5]}, (3, 90), "bands of 2.5", "bands of 5"),
        ({"type": "dates", "levels": ["month", "year"]}, ("2024-01-01", "2025-01-01"), "month", "year"),
        ({"type": "mask", "hide": [1, 3]}, ("1234", "1299"), "last character hidden", "last 3 characters hidden"),
        ({"type": "mask", "keep": [3, 1]}, ("1234", "2299"), "first 3 characters kept", "first character kept"),
        ({"type": "coding", "top": 50}, (3, 90), ">=50", "one label for all"),
        ({"type": "tree", "groups": {"x": ["a"], "y": ["b"]}}, ("a", "b"), "2 labels", "one label for all"),
    ]
    for declared, values, first, second in result:
        spec = hierarchy_spec(declared)
        made = spec.build(values)
        names = [level_name(spec, made, level) for level in range(made.height + 1)]
        assert (names[0], names[1], names[2], names[-1]) == ("unchanged", first, second, "one label for all")
    assert level_name(None, made, 1) == "2 labels"
