"""How far an output is from its input, by counts, is what `checks.risk` says by rows."""

from typing import Any, Literal

import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from checks.risk import Hierarchy, t_closeness
from checks.risk.pairs import readings_of
from remedies import Misfit
from remedies.generalisation.criteria import farthest
from remedies.generalisation.frequencies import read_table
from remedies.generalisation.levels import with_plain

ROWS = st.lists(st.tuples(st.sampled_from("xy"), st.sampled_from([1, 2, 5, None])), min_size=1, max_size=30)


@given(rows=ROWS, kept=st.integers(1, 30), distance=st.sampled_from(["equal", "ordered"]))
@example(rows=[("x", None), ("x", 1)], kept=1, distance="equal")
def test_counts_say_what_rows_say(
    rows: list[tuple[str, int | None]], kept: int, distance: Literal["equal", "ordered"]
) -> None:
    """Against the values of the input, and against those of the output itself."""
    before = pd.DataFrame(rows, columns=["a", "s"])
    before["s"] = before["s"].astype("Int64")
    after = before.iloc[:kept]
    frequencies, _ = read_table(before, with_plain(before, {}, ["a"]), sensitive=["s"])
    counts = after.groupby(["a", "s"], dropna=False).size().rename("n").reset_index()
    readings = readings_of(frequencies.sensitive_values["s"])
    found = farthest(counts, ["a"], "s", distance=distance, reference=frequencies, readings=readings)
    wanted = t_closeness(after, ["a"], "s", distance=distance, reference=before).columns["s"].t
    own = t_closeness(after, ["a"], "s", distance=distance).columns["s"].t
    if wanted is None:  # where no value is known, frames have no t, and here missing values are a value
        assert after["s"].isna().all()
    else:
        assert found.t == pytest.approx(wanted)
    assert found.t_of_output == pytest.approx(own or 0.0)
    assert found.above(0.2) == (found.t > 0.2 + 1e-12)


@pytest.mark.parametrize(
    ("rows", "message"), [([], "the output has no rows"), ([("x", 9, 1)], "values that the input has not")]
)
def test_what_cannot_be_compared_is_reported(rows: list[tuple[str, int, int]], message: str) -> None:
    """An output is never close to something that it does not come from."""
    before = pd.DataFrame({"a": ["x"], "s": [1]})
    frequencies, _ = read_table(before, with_plain(before, {}, ["a"]), sensitive=["s"])
    with pytest.raises(Misfit, match=message):
        farthest(pd.DataFrame(rows, columns=["a", "s", "n"]), ["a"], "s", distance="equal", reference=frequencies)


@given(rows=ROWS, kept=st.integers(1, 30))
def test_counts_say_what_rows_say_by_a_hierarchy(rows: list[tuple[str, int | None]], kept: int) -> None:
    """Values are as far apart as the level is high at which they meet; NULL meets none."""
    before = pd.DataFrame(rows, columns=["a", "s"])
    before["s"] = before["s"].astype("Int64")
    after = before.iloc[:kept]
    tree = Hierarchy((("1", "2", "5"), ("low", "low", "high"), ("*", "*", "*")))
    frequencies, _ = read_table(before, with_plain(before, {}, ["a"]), sensitive=["s"])
    counts = after.groupby(["a", "s"], dropna=False).size().rename("n").reset_index()
    readings = readings_of(frequencies.sensitive_values["s"])
    how: Any = {"distance": "hierarchical", "hierarchy": tree, "readings": readings}
    found = farthest(counts, ["a"], "s", reference=frequencies, **how)
    wanted = t_closeness(after, ["a"], "s", hierarchy=tree, reference=before).columns["s"].t
    own = t_closeness(after, ["a"], "s", hierarchy=tree).columns["s"].t
    assert (found.t, found.t_of_output) == (pytest.approx(wanted or 0.0), pytest.approx(own or 0.0))
