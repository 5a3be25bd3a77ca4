"""The FDH path: region by region."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remedies import Misfit
from remedies.microaggregation import fdh_path, npn_path
from tests.remedies.microaggregation import textbook
from tests.remedies.microaggregation.tables import COMPANIES, cloud, grids
from tests.tiers import examples


@given(grids(), st.data())
@settings(max_examples=examples(60))
def test_definition_with_ties(table, data):
    """On whole numbers with many ties the path is the definition's."""
    anchors = data.draw(st.lists(st.integers(0, len(table) - 1), min_size=1, max_size=4, unique=True))
    divisor = data.draw(st.sampled_from([1, 2, 3]))
    assert fdh_path(table, anchors=anchors, divisor=divisor).tolist() == textbook.fdh(
        textbook.Table(table), anchors, divisor
    )


@pytest.mark.parametrize("seed", range(6))
def test_definition_on_floats(seed: int):
    """On floats the path is the definition's, for one to five anchors."""
    table = cloud(seed, 250)
    anchors = np.random.default_rng(seed).choice(250, 1 + seed % 5, replace=False)
    expected = textbook.fdh(textbook.Table(table, exact=False), anchors.tolist(), 1.5)
    assert fdh_path(table, anchors=anchors, divisor=1.5).tolist() == expected


def test_one_region_is_npn():
    """Balls that hold nothing but their anchor's duplicates leave one more region: NPN from the anchor's end."""
    path = fdh_path(COMPANIES, anchors=[10], divisor=1e9)
    assert path[0] == 10
    assert path.tolist() == npn_path(COMPANIES).tolist()


def test_every_region_is_finished_first():
    """No region is entered twice."""
    table = cloud(3, 300)
    path = fdh_path(table, anchors=[0, 1, 2], divisor=1)
    scores = (table - table.mean(axis=0)) / table.std(axis=0)
    code = np.zeros(300, int)
    for anchor in range(3):
        apart = np.linalg.norm(scores - scores[anchor], axis=1)
        code = 2 * code + (apart <= apart.sum() / 299)
    along = code[path]
    assert np.count_nonzero(np.diff(along)) == len(set(along.tolist())) - 1


def test_drawn_anchors_follow_the_seed():
    """The same seed draws the same anchors, another seed others."""
    table = cloud(1, 200)
    assert fdh_path(table, anchors=3, seed=7).tolist() == fdh_path(table, anchors=3, seed=7).tolist()
    paths = {tuple(fdh_path(table, anchors=3, divisor=1, seed=seed).tolist()) for seed in range(5)}
    assert len(paths) > 1


def test_quantile_radius_halves():
    """Our own radius puts the nearest half of the other records inside for divisor 1: they come first or last."""
    table = np.exp(np.random.default_rng(0).normal(0, 2, (101, 2)))
    path = fdh_path(table, anchors=[17], divisor=1, radius="quantile")
    scores = (table - table.mean(axis=0)) / table.std(axis=0)
    inside = np.argsort(np.linalg.norm(scores - scores[17], axis=1))[:51]
    assert set(path[:51].tolist()) == set(inside.tolist()) or set(path[50:].tolist()) == set(inside.tolist())


def test_one_record():
    """A single record is its own path."""
    assert fdh_path([[1.0]], anchors=[0]).tolist() == [0]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"anchors": 12}, "anchors is 12; expected 1 to 11"),
        ({"anchors": 0}, "anchors is 0"),
        ({"anchors": [11]}, "outside 0..10"),
        ({"anchors": [-1]}, "outside 0..10"),
        ({"anchors": []}, "indices of records"),
        ({"anchors": [0.5]}, "indices of records"),
        ({"anchors": True}, "truth value"),
        ({"divisor": 0}, "the divisor is 0.0; expected more than 0"),
        ({"divisor": float("nan")}, "the divisor is not finite"),
        ({"divisor": "3"}, "the divisor is a str"),
        ({"radius": "median"}, "neither 'mean' nor 'quantile'"),
    ],
)
def test_wrong_arguments(wrong, says: str):
    """What does not fit is named, with what would."""
    with pytest.raises(Misfit, match=says.replace("(", r"\(")):
        fdh_path(COMPANIES, **wrong)


def test_fractions_are_not_floats():
    """A divisor is a number of a usual kind."""
    with pytest.raises(Misfit, match="Fraction"):
        fdh_path(COMPANIES, divisor=Fraction(3))
