import json
import math
from fractions import Fraction

import numpy as np
import pytest

from remedies._errors import Misfit
from remedies.differential_privacy import _sparse_vector
from remedies.differential_privacy._sparse_vector import SparseVector
from remedies.differential_privacy.epsilon import NANO
from tests.remedies.differential_privacy.distributions import FALSE_ALARM, laplace_probability


@pytest.mark.parametrize(
    ("positives", "monotone", "e1", "e2", "scales"),
    [
        (1, False, 0.3864882, 0.6135118, (2.5874011, 3.2599210)),
        (1, True, 0.5, 0.5, (2.0, 2.0)),
        (10, False, 0.1195020, 0.8804980, (8.3680631, 22.7144176)),
    ],
)
def test_the_published_scales(positives: int, monotone: bool, e1: float, e2: float, scales: tuple[float, float]):
    """At epsilon 1: the losses in the ratio of least variance, exactly epsilon together."""
    vector = SparseVector(1, positives=positives, monotone=monotone)
    assert sum(vector.losses) == NANO
    assert [float(loss) / NANO for loss in vector.losses] == pytest.approx([e1, e2], abs=5e-8)
    assert (float(vector.threshold_scale), float(vector.answer_scale)) == pytest.approx(scales, abs=2e-7)


@pytest.mark.parametrize("epsilon", ["0.000000001", "0.3", "1000000"])
@pytest.mark.parametrize("positives", [1, 7, 10**6])
def test_the_losses_are_all_of_epsilon(epsilon: str, positives: int):
    """To the last digit, for the smallest epsilon too; the scales cost exactly them."""
    vector = SparseVector(epsilon, positives=positives, sensitivity=3)
    thresholds, answers = vector.losses
    assert min(thresholds, answers) > 0
    assert thresholds + answers == vector.nano_epsilon
    assert Fraction(3) / vector.threshold_scale * NANO == thresholds
    assert 2 * positives * Fraction(3) / vector.answer_scale * NANO == answers


def test_it_stops_after_its_positives(monkeypatch: pytest.MonkeyPatch):
    """Without noise it says what is above, as often as it may; what is below costs nothing."""
    monkeypatch.setattr(_sparse_vector, "discrete_laplace", lambda _scale: 0)
    vector = SparseVector(1, positives=2)
    said = [vector.above(answer, 10) for answer in (9, 3, 10, 9)]
    assert said == [False, False, True, False]
    assert vector.left == 1
    assert vector.above(np.int64(11), 10)
    with pytest.raises(Misfit, match="2 answers were above; begin a new sparse vector"):
        vector.above(0, 10)
    assert vector.left == 0


def test_each_answer_has_noise_of_its_own_and_all_thresholds_share_one(monkeypatch: pytest.MonkeyPatch):
    """Known wrong variants leave out the threshold's noise, or do not scale the answers' by c."""
    drawn: list[Fraction] = []
    monkeypatch.setattr(_sparse_vector, "discrete_laplace", lambda scale: drawn.append(scale) or len(drawn))
    vector = SparseVector(1, positives=3)
    assert drawn == [vector.threshold_scale]
    assert vector.above(0, 1)  # 0 + 2 >= 1 + 1
    assert not vector.above(0, 3)  # 0 + 3 < 3 + 1
    assert drawn[1:] == [vector.answer_scale] * 2


@pytest.mark.usefixtures("fixed_bytes")
def test_it_errs_as_often_as_the_noise_says():
    """P[above] of an answer on its threshold, by the sum over both noises: within 5.5 deviations of 5,000 vectors."""
    vector = SparseVector(1)
    threshold, answer = (laplace_probability(float(scale)) for scale in (vector.threshold_scale, vector.answer_scale))
    mass = [answer(z) for z in range(-120, 121)]
    share = sum(threshold(t) * sum(mass[max(0, t - 2 + 120) :]) for t in range(-100, 101))
    seen = sum(SparseVector(1).above(7, 5) for _ in range(5_000))
    assert abs(seen - 5_000 * share) <= FALSE_ALARM * math.sqrt(5_000 * share * (1 - share))


def test_a_restored_vector_goes_on_with_the_same_threshold():
    """Through JSON: the noise, and how many were found."""
    vector = SparseVector("0.5", positives=5, sensitivity=2, monotone=True)
    vector.above(10**6, 0)
    stored = json.loads(json.dumps(vector.state()))
    restored = SparseVector.restore(stored)
    assert restored.state() == vector.state()
    assert restored.left == 4
    assert restored.answer_scale == vector.answer_scale


@pytest.mark.parametrize(
    "changed",
    [
        {"form": "x"},
        {"found": 3},
        {"found": -1},
        {"monotone": 1},
        {"threshold_noise": 0.5},
        {"more": 1},
        {"positives": 0},
    ],
    ids=str,
)
def test_a_state_that_was_never_written_is_refused(changed: dict[str, object]):
    """More found than it may, unknown fields, floats."""
    with pytest.raises(Misfit):
        SparseVector.restore(SparseVector(1, positives=2).state() | changed)


@pytest.mark.parametrize(
    "wrong", [{"epsilon": "1e0"}, {"positives": 0}, {"positives": 1.5}, {"sensitivity": 0}], ids=str
)
def test_a_vector_without_meaning_is_refused(wrong: dict[str, object]):
    """Before anything is drawn."""
    with pytest.raises(Misfit):
        SparseVector(**({"epsilon": 1} | wrong))


@pytest.mark.parametrize(("answer", "threshold"), [(0.5, 0), (0, 0.5), (None, 0), (True, 0), ("1", 0)])
def test_answers_and_thresholds_are_integers(answer: object, threshold: object):
    """Discrete noise proves nothing about fractions."""
    with pytest.raises(Misfit, match="expected to be an integer"):
        SparseVector(1).above(answer, threshold)
