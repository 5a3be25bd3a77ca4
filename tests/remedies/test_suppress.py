"""`suppress`: records that too few are alike with leave, or as few of their cells as it takes."""

from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from checks.risk import class_sizes
from remedies import Refused
from remedies.generalise import Generalise
from remedies.suppress import Suppress
from tests.remedies.people import people

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
    """Everybody is alone with their name."""
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

    With the totals of the table, whoever knows who is missing would else know the illness of all of them.
    """
    frame = _half_alike(12, alike)
    treatment = Suppress(columns=("a",), k=5, l={"ill": 2}).apply(frame)
    missing = set(frame["a"]) - set(treatment.frame["a"])
    assert set(range(alike)) < missing
    assert len(missing) >= 2 * alike
    assert frame[frame["a"].isin(missing)]["ill"].nunique() == 2
    besides = len(missing) - alike
    assert treatment.bill.figures["mixed"] == {
        "classes_for_values": alike,
        "classes_besides": besides,
        "rows_besides": 10 * besides,
    }


def test_which_groups_are_missing_besides_is_drawn_anew() -> None:
    """A fixed choice could be made again by whoever knows the groups, and what it leaves is what was alike."""
    frame = _half_alike(40, 1)
    remedy = Suppress(columns=("a",), k=5, l={"ill": 2})
    drawn = {frozenset(set(frame["a"]) - set(remedy.apply(frame).frame["a"])) for _ in range(6)}
    assert len(drawn) > 1


def test_groups_are_not_suppressed_for_their_values_where_too_few_others_hold() -> None:
    """There would be nothing to hide it among."""
    with pytest.raises(Refused, match="too few to conceal this"):
        Suppress(columns=("a",), k=5, l={"ill": 2}).apply(_half_alike(3, 2))


def test_small_groups_alone_take_no_others_with_them() -> None:
    """That a group is too small tells nothing of its values."""
    frame = pd.concat([_half_alike(6, 0), pd.DataFrame({"a": [99, 99], "ill": ["flu", "gout"]})], ignore_index=True)
    treatment = Suppress(columns=("a",), k=5, l={"ill": 2}).apply(frame)
    assert treatment.bill.rows_suppressed == 2
    assert treatment.bill.figures["mixed"] == {"classes_for_values": 0, "classes_besides": 0, "rows_besides": 0}


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
