"""`generalise`: values become broader until k records are alike, however levels are found."""

from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from checks.risk import class_sizes, l_diversity, t_closeness
from remedies import Misfit, Refused
from remedies.generalisation import Hierarchy, hierarchy_spec
from remedies.generalise import Generalise
from tests.remedies.people import EXAMPLES, people


def remedy(**changes: Any) -> Generalise:
    """Return a generalisation of the table of people."""
    return Generalise.model_validate(EXAMPLES["generalise"] | changes)


def test_levels_are_named_and_proved() -> None:
    """The bill says the level of each column in words, the measure and its value, and that none is better."""
    bill = remedy().apply(people(300)).bill
    figures: Any = bill.figures
    assert (figures["search"], figures["by"], figures["proved"]) == ("incognito", "loss", True)
    assert figures["value"] == pytest.approx(figures["utilities"]["total"]["loss"])
    assert figures["levels"].keys() == {"age", "joined", "grade", "city"}
    assert {one["name"] for one in figures["levels"].values()} <= {
        *("unchanged", "bands of 5", "bands of 10", "bands of 20", "bands of 40", "year", "decade", "2 labels"),
        "one label for all",
    }
    assert bill.rows_suppressed <= 30


def test_level_0_keeps_values_and_types() -> None:
    """A column that stays as it is has its type; all others hold texts."""
    levels = {"age": 0, "joined": 3, "grade": 2, "city": 1}
    frame = people(300)
    treated = remedy(levels=levels, suppress=0.9).apply(frame).frame
    pd.testing.assert_series_equal(treated["age"], frame.loc[treated.index, "age"])
    assert treated[["joined", "grade", "city"]].drop_duplicates().to_numpy().tolist() == [["*", "*", "*"]]


@pytest.mark.parametrize("more", [{}, {"search": "datafly"}, {"levels": {"born": 2, "age": 2}}, {"search": "mondrian"}])
@pytest.mark.parametrize("missing", [None, np.nan, pd.NaT])
def test_a_column_that_holds_only_null_blocks_nothing(more: dict[str, Any], missing: object) -> None:
    """It stays as it is, by any search, at fixed levels below the root, and with limits on sensitive values."""
    frame = pd.DataFrame({"age": [number % 20 for number in range(100)], "born": missing, "ill": ["flu", "gout"] * 50})
    hierarchies = {name: {"type": "intervals", "widths": [5, 10]} for name in ("age", "born")}
    words = {"columns": ["age", "born"], "k": 5, "hierarchies": hierarchies, "l": {"ill": 2}, **more}
    treated = Generalise.model_validate(words).apply(frame)
    assert treated.frame["born"].isna().all()
    assert class_sizes(treated.frame, ["age", "born"]).smallest == treated.bill.guarantee.reached["k"]


@pytest.mark.parametrize("born", [[""], ["", None], ["", "17", "22", None]])
@pytest.mark.parametrize("more", [{}, {"search": "datafly"}, {"levels": {"born": 2, "age": 2}}, {"search": "mondrian"}])
def test_empty_texts_block_nothing(more: dict[str, Any], born: list[str | None]) -> None:
    """Where numbers are declared: the classes of the result are as large as stated."""
    column = pd.Series(born * (120 // len(born)), dtype="string")
    frame = pd.DataFrame({"age": [number // 12 for number in range(120)], "born": column})
    hierarchies = {name: {"type": "intervals", "widths": [5, 10]} for name in ("age", "born")}
    words = {"columns": ["age", "born"], "k": 5, "hierarchies": hierarchies, "suppress": 0, **more}
    treated = Generalise.model_validate(words).apply(frame)
    assert class_sizes(treated.frame, ["age", "born"]).smallest == treated.bill.guarantee.reached["k"]


@pytest.mark.parametrize("by", ["precision", "steps", "discernibility", "class-size", "entropy", "kl"])
def test_each_measure_is_as_small_as_it_says(by: str) -> None:
    """What is chosen by a measure has no more of it than what is chosen by loss."""
    of = {
        "precision": lambda figures: -figures["total"]["precision"],
        "steps": lambda figures: figures["total"]["steps"],
        "discernibility": lambda figures: figures["discernibility"],
        "class-size": lambda figures: figures["average_class_size"],
        "entropy": lambda figures: figures["total"]["entropy_bits"],
        "kl": lambda figures: float(str(figures["total"]["kl_nats"]).replace("infinite", "inf")),
    }[by]
    mine, other = (
        of(remedy(by=measure, suppress=0).apply(people(200)).bill.figures["utilities"]) for measure in (by, "loss")
    )
    assert mine <= other + 1e-12 * abs(other)


@pytest.mark.parametrize("search", ["incognito", "datafly", "mondrian"])
def test_limits_on_sensitive_columns_hold(search: str) -> None:
    """Diversity and closeness of the output are what the bill says, by `checks.risk`."""
    frame = people(300)
    changes: dict[str, Any] = {} if search != "mondrian" else {"suppress": 0}
    limits = {"l": {"diagnosis": {"l": 1.5, "kind": "entropy"}}, "t": {"diagnosis": 0.3}}
    treatment = remedy(search=search, **limits, **changes).apply(frame)
    reached: Any = treatment.bill.guarantee.reached
    columns = treatment.bill.guarantee.columns
    found = l_diversity(treatment.frame, columns, "diagnosis").columns["diagnosis"].l_entropy
    assert found is not None
    assert found == reached["l"]["diagnosis"] >= 1.5 - 1e-9
    close = t_closeness(treatment.frame, columns, "diagnosis", reference=frame).columns["diagnosis"].t
    assert close == reached["t"]["diagnosis"]["t"] <= 0.3


def test_mondrian_cuts_numbers_and_loses_less() -> None:
    """A column of numbers needs no hierarchy to be cut, and values may have several labels."""
    frame = people(300)
    some = {name: value for name, value in EXAMPLES["generalise"]["hierarchies"].items() if name != "age"}
    local = remedy(search="mondrian", hierarchies=some, suppress=0).apply(frame).bill
    whole = remedy(suppress=0).apply(frame).bill
    assert local.figures["levels"] is None
    total: Any = [one.figures["utilities"]["total"]["loss"] for one in (local, whole)]  # type: ignore[index, call-overload] - plain data
    assert total[0] < total[1]


def test_a_built_hierarchy_is_taken_as_it_is() -> None:
    """A notebook gives the hierarchy itself, or what declares one."""
    frame = pd.DataFrame({"sex": ["f", "m"] * 3})
    made = Hierarchy.of({"f": ("*",), "m": ("*",)})
    for one in (made, hierarchy_spec({"type": "flat"})):
        treated = Generalise(columns=("sex",), k=4, hierarchies={"sex": one}).apply(frame).frame
        assert treated["sex"].tolist() == ["*"] * 6


def test_all_faults_are_told_at_once() -> None:
    """Each column's hierarchy is looked through, and values are counted, not shown."""
    frame = pd.DataFrame({"a": ["secret", "x"], "b": ["y", "other secret"]})
    hierarchies = {"a": Hierarchy.of({"x": ("*",)}), "b": Hierarchy.of({"y": ("*",)})}
    with pytest.raises(Misfit) as caught:
        Generalise(columns=("a", "b"), k=2, hierarchies=hierarchies).apply(frame)
    said = str(caught.value)
    assert said.count("1 value of the table without a line") == 2
    assert "column 'a'" in said
    assert "column 'b'" in said
    assert "secret" not in said


def test_fixed_levels_that_suppress_too_much_are_refused() -> None:
    """The limit of suppression binds fixed levels too."""
    levels = {"age": 1, "joined": 1}
    with pytest.raises(Refused, match=r"at these levels \d+ of 60 records break a limit, and 6 may be suppressed"):
        remedy(levels=levels).apply(people())


def test_what_no_level_reaches_is_refused() -> None:
    """Two diagnoses are never three."""
    with pytest.raises(Refused, match="no generalisation meets the limits"):
        remedy(l={"diagnosis": 3}).apply(people())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"columns": ("age", "joined", "grade")}, "'hierarchies' names a column that is not in 'columns': city"),
        ({"hierarchies": {}}, "no hierarchy for age, joined, grade, city"),
        ({"levels": {"zip": 1}}, "'levels' names a column that is not in 'columns': zip"),
        ({"levels": {"age": 1}, "search": "datafly"}, "fixed 'levels' leave nothing to search: remove search"),
        ({"search": "mondrian"}, "'mondrian' does not go by that: remove suppress"),
        ({"search": "datafly", "by": "kl"}, "'datafly' does not go by that: remove by"),
        ({"suppress": 1}, "less than 1"),
        ({"suppress": "-1%"}, "valid number"),
        ({"l": {"diagnosis": 1}}, "greater than 1"),
        ({"l": {"diagnosis": {"l": 2, "kind": "recursive"}}}, "c belongs to 'recursive'"),
        ({"l": {"city": 2}}, "both quasi-identifier and sensitive: city"),
        ({"t": {"diagnosis": {"t": 2}}}, "less than or equal to 1"),
        ({"hierarchies": {"age": 3}}, "expected a hierarchy, or what declares one"),
        ({"hierarchies": {"age": {"type": "intervall"}}}, "did you mean 'intervals'"),
    ],
)
def test_parameters_that_do_not_fit_are_reported(changes: dict[str, Any], message: str) -> None:
    """Every message says what was expected."""
    with pytest.raises(ValidationError, match=message):
        remedy(**changes)


@given(
    rows=st.lists(st.tuples(st.integers(0, 9), st.sampled_from(["x", "y", None])), min_size=4, max_size=40),
    k=st.integers(2, 4),
    search=st.sampled_from(["incognito", "datafly", "mondrian"]),
    share=st.sampled_from(["0", "20%"]),
)
def test_k_holds_whatever_the_table(rows: list[tuple[int, str | None]], k: int, search: str, share: str) -> None:
    """Every class of the output has k rows, no more are suppressed than may be, and columns and order stay."""
    frame = pd.DataFrame(rows, columns=["a", "b"])
    if frame["b"].isna().all():
        frame.loc[0, "b"] = "x"
    hierarchies = {"a": {"type": "intervals", "widths": [2, 4]}, "b": {"type": "flat"}}
    limit = "0" if search == "mondrian" else share
    made = Generalise(columns=("a", "b"), k=k, hierarchies=hierarchies, search=search, suppress=limit).apply(frame)  # type: ignore[arg-type] - pydantic reads it
    assert (class_sizes(made.frame, ["a", "b"]).smallest or 0) >= k
    assert len(frame) - len(made.frame) == made.bill.rows_suppressed <= (0 if limit == "0" else 0.2) * len(frame)
    assert made.frame.index.is_monotonic_increasing
    assert made.frame.columns.tolist() == ["a", "b"]


def test_columns_of_every_type_are_generalised() -> None:
    """Whole numbers with NULL, decimals, days and booleans are found in their hierarchies."""
    frame = pd.DataFrame(
        {
            "a": pd.array([1, 2, None, 4], dtype="Int64"),
            "b": [date(2024, 1, 1), date(2024, 2, 1), date(2025, 1, 1), date(2025, 2, 1)],
            "c": [True, False, True, False],
            "d": np.array([1.5, 2.5, np.nan, 2.5]),
        }
    )
    hierarchies = {
        "a": {"type": "intervals", "widths": [5]},
        "b": {"type": "dates", "levels": ["year"]},
        "c": {"type": "tree", "groups": {"either": ["true", "false"]}},
        "d": {"type": "intervals", "widths": [10]},
    }
    levels = {"a": 1, "b": 1, "c": 1, "d": 1}
    made = Generalise(columns=tuple("abcd"), k=2, hierarchies=hierarchies, levels=levels, suppress=0.5).apply(frame)
    assert made.frame.to_numpy().tolist() == [["0-4", "2024", "either", "[0, 10["]] * 2
