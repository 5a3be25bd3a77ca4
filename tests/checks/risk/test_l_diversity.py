"""l-diversity of frames."""

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks.risk import l_diversity

FRAMES = st.lists(
    st.tuples(st.sampled_from(["a", "b", None]), st.integers(0, 1), st.sampled_from(["x", "y", "z", None])),
    min_size=1,
    max_size=30,
)


def frame(*classes):
    """Return a frame of classes, each a text of one letter per record."""
    return pd.DataFrame(
        [(number, letter) for number, letters in enumerate(classes) for letter in letters], columns=["q", "s"]
    )


@pytest.mark.parametrize(
    ("letters", "distinct", "entropy"), [("HHVV", 2, 2.0), ("CHVV", 3, 2 * math.sqrt(2)), ("CCCC", 1, 1.0)]
)
def test_three_classes_of_four(letters, distinct, entropy):
    """Figures of each class, and of a table of all of them: the smallest."""
    alone = l_diversity(frame(letters), ["q"], "s")
    assert alone.l_distinct == distinct
    assert alone.l_entropy == pytest.approx(entropy, rel=1e-14)
    together = l_diversity(frame("HHVV", "CHVV", "CCCC"), ["q"], ["s"], l=2)
    assert (together.rows, together.classes, together.l_distinct, together.l_entropy) == (12, 3, 1, 1.0)
    assert (together.columns["s"].distinct.records, together.columns["s"].distinct.classes) == (4, 1)
    assert (together.columns["s"].entropy.records, together.columns["s"].recursive) == (4, None)


def test_recursive_diversity_counts_from_the_rarest():
    """Counts 5, 3, 2: r_1 < c (r_l + ... + r_m) with tails 10, 5, 2."""
    table = frame("aaaaabbbcc")
    found = {c: l_diversity(table, ["q"], "s", c=c).l_recursive for c in (0.5, 0.6, 1, 1.1, 2.5, 2.6, 100)}
    assert found == {0.5: 0, 0.6: 1, 1: 1, 1.1: 2, 2.5: 2, 2.6: 3, 100: 3}


def test_c_is_the_decimal_that_was_written():
    """With 7 of 107 records c = 0.07 is not enough, though 0.07 * 100 is more than 7 in floating point."""
    assert 0.07 * 100 > 7
    table = frame("a" * 7 + "".join(chr(200 + number) for number in range(93)))
    assert l_diversity(table, ["q"], "s", c=0.07).l_recursive == 0


def test_null_is_no_value_unless_it_is_declared_as_one():
    """A person without known values hides no other; declared as a value, all NULL are alike."""
    table = pd.DataFrame({"q": [None, None, 1, 1], "s": ["x", None, None, None]})
    found = l_diversity(table, ["q"], "s", l=2)
    declared = l_diversity(table, ["q"], "s", l=2, missing_is_a_value=True)
    assert (found.l_distinct, found.columns["s"].distinct.records) == (0, 4)
    assert (declared.l_distinct, declared.columns["s"].distinct.records) == (1, 2)


def test_several_columns_each_on_its_own():
    """The table is as diverse as its least diverse column."""
    table = pd.DataFrame({"q": [1, 1, 1], "s": list("xyz"), "t": list("xxy")})
    found = l_diversity(table, ["q"], ["s", "t"], c=3)
    assert {name: column.l_distinct for name, column in found.columns.items()} == {"s": 3, "t": 2}
    assert (found.l_distinct, found.l_recursive) == (2, 2)


def test_an_empty_frame_has_no_figures():
    """An empty table has no l; the index does not matter."""
    table = frame("ab")
    found = l_diversity(table[:0], ["q"], "s", c=1, l=2)
    assert (found.rows, found.classes, found.l_distinct, found.l_entropy, found.l_recursive) == (0, 0, None, None, None)
    assert found.columns["s"].distinct.records == 0
    assert l_diversity(pd.concat([table, table]), ["q"], "s").rows == 4


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"quasi_identifiers": []}, "no quasi-identifier"),
        ({"sensitive": []}, "no sensitive column"),
        ({"sensitive": ["s", "q"]}, "both quasi-identifier and sensitive: q"),
        ({"l": 1}, "l is 1; expected a number above 1"),
        ({"l": math.nan}, "l is nan; expected a number above 1"),
        ({"l": math.inf}, "l is inf; expected a number above 1"),
        ({"c": 0}, "c is 0; expected a number above 0"),
        ({"c": math.inf}, "c is inf"),
        ({"c": 0.12345678}, "at most six decimals"),
    ],
)
def test_what_is_wrong_is_reported(given, message):
    """Each in its own words."""
    asked = {"quasi_identifiers": ["q"], "sensitive": "s"} | given
    with pytest.raises(ValueError, match=message):
        l_diversity(frame("ab"), asked.pop("quasi_identifiers"), asked.pop("sensitive"), **asked)
    with pytest.raises(KeyError):
        l_diversity(frame("ab"), ["q"], "nowhere")


@given(FRAMES, st.sampled_from([0.5, 1.0, 1.5, 2.0, 3.25]))
def test_agrees_with_the_definitions(rows, c):
    """The figures are those of the definitions, by exact arithmetic, whatever the order of the rows."""
    table = pd.DataFrame(rows, columns=["a", "b", "s"])
    found = l_diversity(table.sample(frac=1, random_state=1), ["a", "b"], "s", c=c, l=2, missing_is_a_value=True)
    classes: dict[object, Counter[object]] = {}
    for *keys, value in rows:
        classes.setdefault(tuple(keys), Counter())[value] += 1
    counts = [sorted(one.values(), reverse=True) for one in classes.values()]
    assert found.l_distinct == min(map(len, counts))
    shares = [np.array(count) / sum(count) for count in counts]
    assert found.l_entropy == pytest.approx(min(math.exp(-(p * np.log(p)).sum()) for p in shares), rel=1e-12)
    assert found.l_recursive == min(
        sum(count[0] < Fraction(c) * sum(count[j:]) for j in range(len(count))) for count in counts
    )
    # entropy 2-diverse, exactly: n^n >= 2^n * product of c^c
    low = [count for count in counts if sum(count) ** sum(count) < 2 ** sum(count) * math.prod(k**k for k in count)]
    assert found.columns["s"].entropy.records == sum(map(sum, low))
    assert found.columns["s"].distinct.classes == sum(len(count) < 2 for count in counts)


@given(FRAMES, st.integers(1, 3))
def test_generalising_never_lowers_it(rows, c):
    """Leaving out a quasi-identifier merges classes: no l falls (Machanavajjhala et al. 2007, monotonicity)."""
    table = pd.DataFrame(rows, columns=["a", "b", "s"])
    fine, coarse = (l_diversity(table, names, "s", c=c) for names in (["a", "b"], ["a"]))
    assert coarse.l_distinct >= fine.l_distinct
    assert coarse.l_entropy >= fine.l_entropy * (1 - 1e-12)
    assert coarse.l_recursive >= fine.l_recursive
