"""`suppress`: records that too few are alike with leave, or as few of their cells as it takes."""

import random
from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from checks.risk import class_sizes
from remedies import Misfit, Refused
from remedies.generalisation.frequencies import EarlierOutput
from remedies.generalisation.recoded import Recodes
from remedies.generalise import Generalise
from remedies.suppress import Suppress
from tests.remedies.people import people
from tests.tiers import examples

TABLE = pd.DataFrame({"age": [1, 1, 1, 2, 2, 3], "city": ["x", "x", "x", "y", "z", "x"], "ill": list("aabbab")})


def test_records_in_small_classes_leave() -> None:
    """All others stay as they are, with their types and index."""
    treatment = Suppress(columns=("age", "city"), k=2).apply(TABLE)
    pd.testing.assert_frame_equal(treatment.frame, TABLE.iloc[:3])
    assert (treatment.bill.rows_suppressed, treatment.bill.rows_changed) == (3, 0)


def test_cells_are_blanked_and_their_types_kept() -> None:
    """Blanking one cell of a record may be enough; a column of whole numbers stays one."""
    treatment = Suppress(columns=("age", "city"), k=2, cells=True).apply(TABLE)
    assert treatment.frame["city"].isna().tolist() == [False, False, False, True, True]
    assert treatment.frame["age"].tolist() == [1, 1, 1, 2, 2]
    assert (treatment.bill.rows_suppressed, treatment.bill.cells_blanked) == (1, {"age": 0, "city": 2})


@pytest.mark.parametrize("arrow", [pd.ArrowDtype(pa.list_(pa.int64())), None])
@pytest.mark.parametrize("name", ["city", "ill"])
def test_a_column_of_lists_does_not_fit(name: str, arrow: pd.ArrowDtype | None) -> None:
    """Quasi-identifier or sensitive: an error of the input, with no value."""
    lists = pd.Series([[9, 9]] * 6, dtype=arrow)
    with pytest.raises(Misfit, match=r"cannot be compared|values of type list have no text") as error:
        Suppress(columns=("city",), k=2, l={"ill": 2}).apply(TABLE.assign(**{name: lists}))
    assert "9" not in str(error.value)


def test_weights_say_what_is_dear() -> None:
    """The cheaper of two cells is blanked."""
    frame = pd.DataFrame({"a": [1, 1, 2, 2], "b": [1, 2, 1, 2]})
    for dear, cheap in (("a", "b"), ("b", "a")):
        treated = Suppress(columns=("a", "b"), k=2, cells=True, weights={dear: 5}).apply(frame).frame
        assert treated[cheap].isna().all()
        assert treated[dear].notna().all()


@pytest.mark.parametrize("cells", [False, True])
def test_diversity_is_kept_too(cells: bool) -> None:
    """A class whose records share an illness leaves, large as it is."""
    treatment = Suppress(columns=("age",), k=2, l={"ill": 2}, cells=cells).apply(TABLE)  # type: ignore[dict-item] - pydantic reads it
    reached: Any = treatment.bill.guarantee.reached
    assert reached["l"]["ill"] >= 2


def test_a_table_of_which_nothing_would_be_left_is_refused() -> None:
    """Every name is unique."""
    with pytest.raises(Refused, match="no record would be left"):
        Suppress(columns=("name",), k=2).apply(people())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"weights": {"zip": 1}, "cells": True}, "'weights' names a column that is not in 'columns': zip"),
        ({"weights": {"age": 1}}, "'weights' goes with 'cells'"),
        ({"weights": {"age": 0}, "cells": True}, "greater than 0"),
    ],
)
def test_parameters_that_do_not_fit_are_reported(changes: dict[str, Any], message: str) -> None:
    """Every message says what was expected."""
    with pytest.raises(ValidationError, match=message):
        Suppress.model_validate({"columns": ("age",), "k": 2} | changes)


@given(
    rows=st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["x", "y", None])), min_size=2, max_size=30),
    cells=st.booleans(),
)
def test_k_holds_whatever_the_table(rows: list[tuple[int, str | None]], cells: bool) -> None:
    """Every class of the output has k rows, or nothing is given out."""
    frame = pd.DataFrame(rows, columns=["a", "b"])
    try:
        treated = Suppress(columns=("a", "b"), k=2, cells=cells).apply(frame).frame
    except Refused:
        assert class_sizes(frame, ["a", "b"]).uniques == len(frame)
    else:
        assert (class_sizes(treated, ["a", "b"]).smallest or 0) >= 2


def _half_alike(groups: int, alike: int) -> pd.DataFrame:
    """Return groups of ten, of which the first have one illness each, and all others two."""
    rows = range(10 * groups)
    ills = ["flu" if row // 10 < alike else ("flu", "gout")[row % 2] for row in rows]
    return pd.DataFrame({"a": [row // 10 for row in rows], "ill": ills})


@pytest.mark.parametrize("alike", [1, 3])
def test_a_missing_group_does_not_tell_that_its_values_were_alike(alike: int) -> None:
    """As many groups that hold are missing, and the suppressed records together are as diverse as a group has to be.

    With the totals of the table, an attacker who knows who is missing would else know the illness of all of them.
    """
    frame = _half_alike(12, alike)
    treatment = Suppress(columns=("a",), k=5, l={"ill": 2}).apply(frame)
    missing = set(frame["a"]) - set(treatment.frame["a"])
    assert set(range(alike)) < missing
    assert len(missing) >= 2 * alike
    assert frame[frame["a"].isin(missing)]["ill"].nunique() == 2
    added = len(missing) - alike
    assert treatment.bill.figures["mixed"] == {
        "classes_for_values": alike,
        "classes_besides": added,
        "rows_besides": 10 * added,
        "repeatable": False,
        "probability_for_values": alike / len(missing),
    }


def _missing(remedy: Suppress, frame: pd.DataFrame, key: bytes | None) -> frozenset[int]:
    return frozenset(set(frame["a"]) - set(remedy.apply(frame, key=key).frame["a"]))


def test_which_groups_are_missing_besides_depends_on_the_key_alone() -> None:
    """A choice that no key decides could be made again, and one that differs in each run is undone by two runs."""
    frame = _half_alike(40, 1)
    remedy = Suppress(columns=("a",), k=5, l={"ill": 2})
    keys = [bytes([number]) * 16 for number in range(6)]
    assert len({_missing(remedy, frame, key) for key in keys}) > 1
    assert len({_missing(remedy, frame, keys[0]) for _ in range(3)}) == 1
    assert len({_missing(remedy, frame, None) for _ in range(6)}) > 1
    assert remedy.apply(frame, key=keys[0]).bill.figures["mixed"]["repeatable"] is True  # type: ignore[index, call-overload] # a mapping


def test_groups_are_not_suppressed_for_their_values_where_too_few_others_hold() -> None:
    """There would be nothing to hide it among."""
    with pytest.raises(Refused, match="too few to conceal this"):
        Suppress(columns=("a",), k=5, l={"ill": 2}).apply(_half_alike(3, 2))


def test_small_groups_alone_take_no_others_with_them() -> None:
    """That a group is too small tells nothing of its values."""
    frame = pd.concat([_half_alike(6, 0), pd.DataFrame({"a": [99, 99], "ill": ["flu", "gout"]})], ignore_index=True)
    treatment = Suppress(columns=("a",), k=5, l={"ill": 2}).apply(frame)
    assert treatment.bill.rows_suppressed == 2
    assert treatment.bill.figures["mixed"] == {
        "classes_for_values": 0,
        "classes_besides": 0,
        "rows_besides": 0,
        "repeatable": True,
        "probability_for_values": 0.0,
    }


KINDS = {"alike": ("hiv", "hiv"), "one sex": ("hiv", "mixed"), "mixed": ("mixed", "mixed")}
GROUPINGS: Sequence[Recodes] = (
    Suppress.model_validate({"columns": ["zip", "sex"], "k": 5, "l": {"ill": 2}}),
    Suppress.model_validate({"columns": ["zip"], "k": 5, "l": {"ill": 2}}),
    *(
        Generalise.model_validate(
            {
                "columns": ["sex", "zip"],
                "k": 5,
                "l": {"ill": 2},
                "suppress": 0.99,
                "levels": {"sex": level},
                "hierarchies": {"zip": {"type": "mask", "hide": [1]}, "sex": {"type": "flat"}},
            }
        )
        for level in (0, 1)
    ),
)


@given(
    kinds=st.lists(st.sampled_from([*KINDS, "mixed", "mixed"]), min_size=12, max_size=20),
    sizes=st.lists(st.integers(2, 8), min_size=40, max_size=40),
    key=st.binary(min_size=1, max_size=8),
)
@example(kinds=["alike", *["mixed"] * 15], sizes=[5] * 40, key=b"key")
@settings(max_examples=examples(40))
def test_what_two_groupings_hide_does_not_tell_which_groups_are_alike(
    kinds: list[str], sizes: list[int], key: bytes
) -> None:
    """Of the postcodes that are missing in both, half at least hold, though one file tells apart by sex and one not."""
    cells = [(f"1{place:02}", sex, KINDS[kind][at]) for place, kind in enumerate(kinds) for at, sex in enumerate("FM")]
    rows = [
        (code, sex, ill if ill == "hiv" else ("flu", "cold")[number % 2])
        for (code, sex, ill), many in zip(cells, sizes, strict=False)
        for number in range(many)
    ]
    frame = pd.DataFrame(rows, columns=["zip", "sex", "ill"])
    postcodes, values = frame.groupby("zip").size(), frame.groupby("zip")["ill"].nunique()
    missing = []
    for remedy in GROUPINGS:
        try:
            left = remedy.apply(frame, key=key).frame.index
        except Refused:
            continue
        missing.append(set(frame["zip"]) - set(frame["zip"][left]))
    for one, other in combinations(missing, 2):
        both = [code for code in one & other if postcodes[code] >= 5]
        alike = [code for code in both if values[code] == 1]
        assert len(alike) <= len(both) / 2


@pytest.mark.parametrize("search", ["incognito", "datafly"])
def test_a_generalisation_keeps_its_limit_with_the_groups_that_hide_why_others_are_missing(search: str) -> None:
    """It goes up a level where both together would be more than may be left out."""
    frame = _half_alike(12, 1)
    tree = {"a": {"type": "intervals", "widths": [20, 60]}}
    words = {"columns": ("a",), "k": 5, "l": {"ill": 2}, "hierarchies": tree, "search": search}
    allowed = Generalise.model_validate({**words, "suppress": 0.2}).apply(frame).bill
    assert allowed.rows_suppressed in {0, 20}
    tight = Generalise.model_validate({**words, "suppress": 0.1}).apply(frame).bill
    assert tight.rows_suppressed == 0


@given(
    rows=st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from("xy"), st.sampled_from(["flu", "gout", "hiv"])),
        min_size=2,
        max_size=40,
    ),
    limit=st.sampled_from([{"l": {"ill": 2}}, {"t": {"ill": 0.4}}, {"l": {"ill": {"l": 1.5, "kind": "entropy"}}}]),
)
def test_cells_are_never_blanked_for_sensitive_values(
    rows: list[tuple[int, str, str]], limit: dict[str, dict[str, Any]]
) -> None:
    """A blanked class would show the values of the large class that is missing: such a class is there, or gone."""
    frame = pd.DataFrame(rows, columns=["a", "b", "ill"])
    sizes = frame.groupby(["a", "b"])["ill"].transform("size")
    try:
        treated = Suppress.model_validate({"columns": ("a", "b"), "k": 3, "cells": True, **limit}).apply(frame).frame
    except (Refused, Misfit):
        return
    large = treated[sizes[treated.index] >= 3]
    assert large.equals(frame.loc[large.index].astype(large.dtypes))


def _left_out(table: pd.DataFrame, earlier: list[tuple[pd.DataFrame, set[str]]]) -> list[EarlierOutput]:
    """Return what earlier outputs left out of the districts of a table, the last one first."""
    results = []
    for before, missing in reversed(earlier):
        now, then = table["zip"].value_counts(), before["zip"].value_counts()
        copies = {zip_: then[zip_] / now[zip_] if zip_ in missing else -np.inf for zip_ in then.index if zip_ in now}
        left_out = table["zip"].map(copies).fillna(0.0).to_numpy(dtype=np.float64)
        results.append(EarlierOutput(left_out, np.full(len(table), -1)))
    return results


@pytest.mark.parametrize(
    "remedy",
    [
        Suppress(columns=("zip",), k=5, l={"ill": 2}),
        Suppress(columns=("zip",), k=5, l={"ill": 2}, cells=True),
        Suppress(columns=("zip",), k=5, t={"ill": 0.5}),
        Generalise(columns=("zip",), k=5, l={"ill": 2}, hierarchies={"zip": {"type": "flat"}}, levels={}, suppress=0.9),
    ],
    ids=["records", "cells", "t", "levels"],
)
@given(dice=st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=examples(4))
def test_of_classes_that_went_together_half_hold_as_long_as_the_table_changes(remedy: Any, dice: random.Random) -> None:
    """Districts join, one that broke a limit holds again, and others break one: each goes with one that holds."""
    districts, alike = [f"{number}" for number in dice.sample(range(10_000, 99_999), 20)], set[str]()
    earlier: list[tuple[pd.DataFrame, set[str]]] = []
    since = dict[str, int]()
    for number in range(4):
        alike -= set(dice.sample(sorted(alike), min(1, len(alike))))
        alike |= set(dice.sample(sorted(set(districts) - since.keys()), 2))
        rows = [(name, "hiv" if name in alike else ill) for name in districts for ill in ("flu", "cold", "hiv") * 2]
        table = pd.DataFrame(rows, columns=["zip", "ill"])
        result = remedy.apply(table, key=b"key", earlier=_left_out(table, earlier)).frame
        missing = set(table["zip"]) - set(result["zip"])
        since = {name: since.get(name, number) for name in missing}
        together = Counter(since.values())
        assert all(2 * sum(since[name] == at for name in alike) <= together[at] for at in together)
        earlier.append((table, missing))
        districts += [f"{number}" for number in dice.sample(range(10_000, 99_999), 5)]
