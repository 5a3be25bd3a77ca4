"""Trees in files."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remedies import Misfit
from remedies.generalisation import FaultKind, tree
from remedies.generalisation._groups import tree_faults
from tests.remedies.generalisation.hierarchy_laws import assert_sound


def test_a_single_trunk_is_the_root() -> None:
    """No other one is put above it."""
    assert tree(["Male"], groups={"Person": ["Male", "Female"]}).levels == (("Male", "Female"), ("Person", "Person"))


def test_a_shorter_branch_stays_a_value_for_longer() -> None:
    """So a level has groups of one rank."""
    groups = {"Europe": {"West": ["France"], "North": ["Norway"]}, "Asia": ["Japan", {"South": ["India"]}], "Sea": None}
    assert list(zip(*tree(None, groups=groups).levels, strict=True)) == [
        ("France", "West", "Europe", "*"),
        ("Norway", "North", "Europe", "*"),
        ("Japan", "Japan", "Asia", "*"),
        ("India", "South", "Asia", "*"),
        ("Sea", "Sea", "Sea", "*"),
    ]


def test_values_are_texts_and_null_may_be_one() -> None:
    """Numbers and booleans are spelled as those of a column; nothing in a list is NULL."""
    made = tree([1, True, None], groups={"low": [1, 2.0], "other": [True, None]}, root="all")
    assert made.levels == (("1", "2", "true", ""), ("low", "low", "other", "other"), ("all",) * 4)
    assert tree([], groups={"one": "a", "two": "b"}).levels[:2] == (("a", "b"), ("one", "two"))


def test_a_name_may_be_that_of_a_value_where_levels_differ() -> None:
    """'Other' can be a value of the group 'Other'."""
    assert tree(None, groups={"Other": ["Other", "None"], "Work": ["Paid"]}).levels[1] == ("Other", "Other", "Work")


@st.composite
def _trees(draw: st.DrawFn) -> dict[str, Any]:
    """Return trees in which every name stands once."""
    names = iter(range(10_000))

    def branch(depth: int) -> Any:
        if depth == 0 or draw(st.booleans()):
            return [f"v{next(names)}" for _ in range(draw(st.integers(1, 3)))]
        return {f"g{next(names)}": branch(depth - 1) for _ in range(draw(st.integers(1, 3)))}

    return {f"t{number}": branch(3) for number in range(draw(st.integers(1, 3)))}


@given(_trees())
def test_trees_nest(groups: dict[str, Any]) -> None:
    """However deep their branches are."""
    made = tree(None, groups=groups)
    assert tree_faults(groups) == ()
    assert_sound(made, made.values)
    assert len(set(made.levels[-1])) == 1


@pytest.mark.parametrize(
    ("groups", "kind", "message"),
    [
        ({}, FaultKind.EMPTY, "there is no group"),
        ({"a": []}, FaultKind.EMPTY, "1 group without a member"),
        ({"": ["a"], "b": ["c"]}, FaultKind.EMPTY, "1 group without a name"),
        ({"x": ["a", "b"], "y": ["b"]}, FaultKind.DUPLICATE, "1 value is in several places: 'b'; expected each in one"),
        ({"x": ["a", "a"]}, FaultKind.DUPLICATE, "1 value is in several places: 'a'"),
        (
            {"x": {"other": ["a"]}, "y": {"other": ["b"]}},
            FaultKind.DUPLICATE,
            "1 group is in several places: 'other'",
        ),
        ({"x": {"b": ["a"]}, "y": ["b"]}, FaultKind.DUPLICATE, "1 group is in several places: 'b'"),
    ],
)
def test_trees_with_faults_are_refused(groups: dict[str, Any], kind: FaultKind, message: str) -> None:
    """The names of the tree may be shown: they are no values of a table."""
    assert kind in {fault.kind for fault in tree_faults(groups)}
    with pytest.raises(Misfit, match=message):
        tree(None, groups=groups)


def test_all_faults_are_named_at_once() -> None:
    """A group without members and a value in two groups."""
    with pytest.raises(Misfit, match="1 group without a member; 1 value is in several places"):
        tree(None, groups={"x": [], "y": ["a"], "z": ["a"]})


def test_values_that_are_not_in_the_tree_are_counted() -> None:
    """A table that would lose values is refused."""
    with pytest.raises(Misfit, match="2 values are not in the tree, which knows 1") as caught:
        tree(["a", "secret", "c", None], groups={"x": ["a"]})
    assert "secret" not in str(caught.value)


def test_a_tree_has_an_end() -> None:
    """One of more than 50 levels is a mistake."""
    deep: Any = ["a"]
    for number in range(60):
        deep = {f"g{number}": deep}
    with pytest.raises(Misfit, match="more than 50 levels"):
        tree(None, groups=deep)
