import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remedies._errors import Misfit
from remedies.differential_privacy import _binary as binary
from remedies.differential_privacy._binary import BinaryMechanism
from remedies.differential_privacy._spread import laplace_variance
from remedies.differential_privacy.sensitivity import Adjacency
from tests.remedies.differential_privacy.distributions import FALSE_ALARM

VARIANCES = [50, 50, 100, 50, 100, 100, 150, 50, 100, 100, 150, 100, 150, 150, 200, 50]
"""Of steps 1 to 16, per FIGURES: continuous noise of scale 5, a node 50."""


def test_the_published_scales_and_variances_of_16_steps():
    """Node scale 5, under substitute 10; a node's variance is 49.83367 with discrete noise."""
    mechanism = BinaryMechanism(1, horizon=16)
    assert mechanism.scale() == 5
    assert BinaryMechanism(1, horizon=16, adjacency="substitute").scale() == 10
    assert laplace_variance(mechanism.scale()) == pytest.approx(49.83367, abs=1e-5)
    nodes = [variance // 50 for variance in VARIANCES]
    assert [mechanism.variance(step) for step in range(1, 17)] == pytest.approx([49.833666138 * n for n in nodes])


@pytest.mark.usefixtures("fixed_bytes")
def test_answers_vary_as_the_formula_says():
    """A thousand streams of 7 steps: unbiased within 5.5 deviations, variances within 5.5 of their deviations.

    The noise of one node has a kurtosis of 6, so a sample variance deviates by sqrt(5 / 1000) of itself at most.
    """
    runs = []
    for _ in range(1_000):
        mechanism = BinaryMechanism(2, horizon=7)
        runs.append([mechanism.add(3) - 3 * step for step in range(1, 8)])
    errors = np.array(runs)
    expected = np.array([mechanism.variance(step) for step in range(1, 8)])
    assert np.all(np.abs(errors.mean(axis=0)) <= FALSE_ALARM * np.sqrt(expected / 1_000))
    assert errors.var(axis=0) == pytest.approx(expected, rel=FALSE_ALARM * math.sqrt(5 / 1_000))


def _recorded(monkeypatch: pytest.MonkeyPatch) -> list[Fraction]:
    """Let every noise be a power of 1000, so that an answer shows which nodes are in it; record their scales."""
    scales: list[Fraction] = []

    def noise(scale: Fraction) -> int:
        scales.append(scale)
        return 1000 ** len(scales)

    monkeypatch.setattr(binary, "discrete_laplace", noise)
    return scales


@pytest.mark.parametrize("horizon", [None, 37])
def test_an_answer_is_the_count_and_the_noise_of_its_nodes(horizon: int | None, monkeypatch: pytest.MonkeyPatch):
    """Each step draws once; an answer holds as many noises as its variance says, each once, and the true count."""
    scales = _recorded(monkeypatch)
    mechanism = BinaryMechanism(1, horizon=horizon)
    for step in range(1, 38):
        answer = mechanism.add(step % 5)
        true = sum(at % 5 for at in range(1, step + 1))
        assert len(scales) == step
        digits = []
        rest = answer - true
        while rest:
            rest, digit = divmod(rest, 1000)
            digits.append(digit)
        held = [number for number, digit in enumerate(digits) if digit]
        assert {digits[number] for number in held} == {1}
        assert mechanism.variance(step) == pytest.approx(sum(laplace_variance(scales[n - 1]) for n in held))
        assert step in held, "the newest event is covered by the newest noise"


@pytest.mark.parametrize(("horizon", "adjacency"), [(None, "add-remove"), (21, "add-remove"), (None, "substitute")])
def test_an_event_costs_at_most_epsilon(horizon: int | None, adjacency: str, monkeypatch: pytest.MonkeyPatch):
    """Moving an event changes the nodes that cover it, each at 1 / scale: together at most epsilon."""
    scales = _recorded(monkeypatch)
    mechanism = BinaryMechanism(1, horizon=horizon, adjacency=adjacency)
    covered: dict[int, tuple[int, int]] = {}
    held: set[int] = set()
    for step in range(1, 22):
        before = held
        answer = mechanism.add(0)
        held = {number for number in range(1, step + 1) if answer // 1000**number % 1000}
        # the new node reaches back over the nodes that it took the place of, if they are of its own tree
        gone = before - held
        covered[step] = (min([covered[number][0] for number in gone], default=step), step)
    costs = [sum(1 / scales[node - 1] for node, (a, b) in covered.items() if a <= at <= b) for at in range(1, 22)]
    if adjacency == "add-remove":
        assert max(costs) <= 1
    else:
        assert sum(sorted(costs)[-2:]) <= 1


def test_more_events_of_a_unit_make_wider_noise():
    """User level multiplies by the events of a unit; a window, by its steps."""
    assert BinaryMechanism("0.1", horizon=16, events=30).scale() == 1500
    assert BinaryMechanism(1, horizon=16, window=7).scale() == 35
    assert BinaryMechanism(1, horizon=16, window=7, events=2, adjacency=Adjacency.SUBSTITUTE).scale() == 140


def test_unknown_horizons_double():
    """Trees of 1, 2, 4 ... steps have 1, 2, 3 ... levels, and the full ones stay in the answer by their root."""
    mechanism = BinaryMechanism(1)
    node = [laplace_variance(level) for level in (1, 2, 3, 4)]
    assert [mechanism.scale(tree) for tree in range(4)] == [1, 2, 3, 4]
    assert [mechanism.variance(step) for step in range(1, 9)] == pytest.approx(
        [
            node[0],
            node[0] + node[1],
            node[0] + node[1],
            *(node[0] + node[1] + nodes * node[2] for nodes in (1, 1, 2, 1)),
            node[0] + node[1] + node[2] + node[3],
        ]
    )


@given(st.lists(st.integers(0, 9), max_size=40), st.sampled_from([None, 40]), st.integers(0, 40))
def test_a_restored_mechanism_goes_on_with_the_same_noise(events: list[int], horizon: int | None, stop: int):
    """A restart after any step, through JSON, changes no answer that is out, and no noise."""
    mechanism = BinaryMechanism("0.5", horizon=horizon, events=2, window=3, adjacency="substitute")
    for happened in events[:stop]:
        mechanism.add(happened)
    restored = BinaryMechanism.restore(json.loads(json.dumps(mechanism.state())))
    assert restored.answer == mechanism.answer
    assert restored.state() == mechanism.state()
    for happened in events[stop:]:
        restored.add(happened)
    assert restored.step == len(events)
    assert len(restored.state()["nodes"]) <= 7


def test_the_horizon_ends():
    """A seventeenth step would be free of charge: it is refused, and changes nothing."""
    mechanism = BinaryMechanism(1, horizon=2)
    mechanism.add(1)
    last = mechanism.add(1)
    with pytest.raises(Misfit, match="horizon of 2 steps is used up"):
        mechanism.add(1)
    assert (mechanism.step, mechanism.answer) == (2, last)
    for step in (0, 3):
        with pytest.raises(Misfit, match="is not one of the stream's"):
            mechanism.variance(step)


@pytest.mark.parametrize("events", [-1, 0.5, "1", None, True])
def test_a_step_has_a_whole_number_of_events(events: object):
    """What was given is not shown, for it is data; and no noise is drawn."""
    mechanism = BinaryMechanism(1)
    with pytest.raises(Misfit, match="number of events of a step is expected to be an integer of at least 0"):
        mechanism.add(events)
    assert mechanism.step == 0


@pytest.mark.parametrize(
    "wrong",
    [{"epsilon": 0}, {"horizon": 0}, {"horizon": 1.5}, {"events": 0}, {"window": 0}, {"adjacency": "edge"}],
    ids=str,
)
def test_a_stream_without_meaning_is_refused(wrong: dict[str, object]):
    """Before anything is drawn."""
    with pytest.raises(Misfit):
        BinaryMechanism(**({"epsilon": 1} | wrong))


@pytest.mark.parametrize(
    "changed",
    [
        *({"step": wrong} for wrong in (4, -1, 2.0)),
        *({"nodes": wrong} for wrong in ({"0": 1}, None, {"1": 1, "0": 0.5})),
        *({"nano_epsilon": wrong} for wrong in (0, True)),
        *({"form": "binary-mechanism/2"}, {"adjacency": "edge"}, {"horizon": 2}, {"closed": None}, {"count": -1}),
        {"seed": 1},
    ],
    ids=str,
)
def test_a_state_that_was_never_written_is_refused(changed: dict[str, object]):
    """A later form, another step than its nodes', unknown fields: nothing goes on from there."""
    mechanism = BinaryMechanism(1, horizon=8)
    for _ in range(3):
        mechanism.add(1)
    with pytest.raises(Misfit):
        BinaryMechanism.restore(mechanism.state() | changed)
