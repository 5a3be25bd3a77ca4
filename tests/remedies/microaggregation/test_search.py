"""The search's sweeps: what they gain is real."""

import numpy as np
import pytest

from remedies.microaggregation._best import GroupSearch
from remedies.microaggregation._loss import loss_of

_SIZES = (5, 9, 6, 8, 7, 7)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_what_rounding_leaves_of_records_that_are_alike_is_no_gain(scale: float) -> None:
    """Three places of 42 records each: nothing can be gained, however often and at whatever scale it is tried."""
    places = scale * np.random.default_rng(1).normal(size=(3, 8))
    records = np.repeat(places, 42, axis=0).astype(np.float32)
    labels = np.repeat(np.arange(18), _SIZES * 3)
    search = GroupSearch(records, labels, 5, seed=1, threads=1)
    assert [search.sweep(rebuild=rebuild) for rebuild in (False, False, True, True)] == [0.0] * 4


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_a_gain_is_in_the_unit_of_the_records(scale: float) -> None:
    """What a sweep says it gained is by how much the sum of squares fell."""
    scores = scale * np.random.default_rng(2).normal(size=(200, 8))
    labels = np.arange(200) // 5
    search = GroupSearch(scores.astype(np.float32), labels, 5, seed=1, threads=1)
    gained = sum(search.sweep(rebuild=True) for _ in range(3))
    fell = (loss_of(scores, labels) - loss_of(scores, search.labels)) / 100 * float((scores**2).sum())
    assert gained == pytest.approx(fell, rel=1e-4)
