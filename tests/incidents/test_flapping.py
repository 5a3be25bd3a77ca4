"""A check that changes its mind too often flaps, by Nagios' rule."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incidents.lifecycle import RESULTS, is_flapping, share_of_change

results = st.text("PF", max_size=RESULTS)


@pytest.mark.parametrize(
    ("recent", "share"),
    [
        ("", Fraction(0)),
        ("P", Fraction(0)),
        ("P" * 21, Fraction(0)),
        ("PF" * 10 + "P", Fraction(1)),
        ("P" * 20 + "F", Fraction(6, 100)),
        ("P" + "F" * 20, Fraction(4, 100)),
        ("PF", Fraction(6, 100)),
    ],
)
def test_newer_changes_weigh_more(recent, share):
    """Each of 20 steps weighs 0.8 (oldest) to 1.2 (newest) of a twentieth, 20 in all; missing steps are no changes."""
    assert share_of_change(recent) == share


@given(results)
def test_the_share_is_a_share(recent):
    """The share of change is between 0 and 1."""
    assert 0 <= share_of_change(recent) <= 1


def test_flapping_has_two_thresholds():
    """It starts at 20 % and goes on until 5 %: what is between keeps what was."""
    between = "P" * 18 + "FPP"
    assert Fraction(5, 100) < share_of_change(between) < Fraction(20, 100)
    assert is_flapping(between, before=True)
    assert not is_flapping(between, before=False)


def test_an_alternating_check_flaps_after_four_changes():
    """F P F P F: four changes among the last 21 results are enough."""
    assert not is_flapping("FPFP", before=False)
    assert is_flapping("FPFPF", before=False)


def test_twenty_percent_is_flapping():
    """Two old and two new changes weigh exactly a fifth, and that is enough."""
    recent = "PF" + "P" * 17 + "FP"
    assert share_of_change(recent) == Fraction(20, 100)
    assert is_flapping(recent, before=False)


def test_a_stable_check_stops_to_flap():
    """Twenty equal results after a change end flapping."""
    assert not is_flapping("F" + "P" * 20, before=True)
