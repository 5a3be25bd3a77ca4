"""Texts of which less and less is left."""

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remedies import Misfit
from remedies.generalisation import FaultKind, masks
from tests.remedies.generalisation.hierarchy_laws import assert_sound

_BY_CHANCE = frozenset({FaultKind.GAP, FaultKind.OVERLAP, FaultKind.MISPLACED})
"""Of digits with a 0 for a mask, that labels look like intervals: -10 is `00-1`."""
_VISIBLE = st.characters().filter(lambda character: not character.isspace())
_TEXTS = st.lists(st.text(max_size=8) | st.integers(), min_size=1)


def test_postcodes_lose_their_last_digits() -> None:
    """The example of LeFevre, DeWitt and Ramakrishnan (2005)."""
    made = masks([53715, 53703, 53706, None], hide=[1, 2])
    assert list(zip(*made.levels, strict=True)) == [
        ("53703", "5370*", "537**", "*"),
        ("53706", "5370*", "537**", "*"),
        ("53715", "5371*", "537**", "*"),
    ]


def test_a_shorter_value_does_not_show_its_length() -> None:
    """All labels are filled up; `keep` joins values by what they begin with."""
    made = masks(["SW1A 1AA", "SW1A 2AB", "N1 9GU"], keep=[4, 2, 0], character="_", root=None)
    assert made.levels[1:] == (
        ("N1 9____", "SW1A____", "SW1A____"),
        ("N1______", "SW______", "SW______"),
        ("________",) * 3,
    )
    assert masks(["abc", "a"], hide=[1], root=None).levels == (("a", "abc"), ("a**", "ab*"))
    assert masks(["abc", "a"], hide=[1], length=4, root=None).levels[1] == ("a***", "abc*")


def test_the_left_side_may_be_hidden_first() -> None:
    """Labels are filled up on the left; a text that is shorter than what is kept stays whole."""
    assert masks(["53715", "703"], hide=[1, 4], side="left", root=None).levels == (
        ("53715", "703"),
        ("*3715", "**703"),
        ("****5", "****3"),
    )
    assert masks(["53715", "703"], keep=[2, 0], side="left", root=None).levels[1:] == (
        ("***15", "***03"),
        ("*****", "*****"),
    )


@given(_TEXTS, st.sets(st.integers(1, 9), min_size=1), _VISIBLE, st.none() | st.integers(10, 12))
def test_masks_nest(values: list[object], numbers: set[int], character: str, length: int | None) -> None:
    """Of texts of any length, with any mask, also one that occurs in them."""
    asked: tuple[Any, Any] = ({"hide": sorted(numbers)}, {"keep": sorted(numbers, reverse=True)})
    for words, side in product(asked, ("right", "left")):
        made = masks(values, character=character, length=length, side=side, **words)
        assert_sound(made, values, seen=_BY_CHANCE if side == "left" else frozenset())
        assert all(len(set(map(len, level))) == 1 for level in made.levels[1:]) or length is not None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "either 'hide' or 'keep'"),
        ({"hide": [1], "keep": [1]}, "either 'hide' or 'keep'"),
        ({"hide": [2, 1]}, "'hide' is not ascending from 1 on"),
        ({"hide": [0, 1]}, "'hide' is not ascending from 1 on"),
        ({"keep": [1, 2]}, "'keep' is not descending"),
        ({"keep": [1, -1]}, "'keep' is not descending"),
        ({"hide": [1], "character": "**"}, "the mask is one character, not 2"),
        ({"hide": [1], "character": " "}, "the mask is a blank"),
        ({"hide": [1], "character": "\x85"}, "the mask is a blank"),
        ({"keep": [4], "length": 4}, "a 'length' of 4 hides nothing where 4 characters are kept"),
    ],
)
def test_masks_that_do_not_nest_are_refused(given: dict[str, Any], message: str) -> None:
    """What was given is named."""
    with pytest.raises(Misfit, match=message):
        masks(["abc"], **given)
