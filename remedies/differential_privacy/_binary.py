"""Running counts over a stream by the binary mechanism (Dwork et al. 2010; Chan, Shi, Song 2011, algorithm 2).

The steps are leaves of a binary tree. The count up to step t is the sum of the nodes that t's binary digits name, and
each node has noise of its own, drawn once and used as long as the node is: so the error grows with log T, not with T.
An event changes one node on each level, hence the scale levels x sensitivity / epsilon.

Since the nodes add up to the true count, only their noise is kept, and of a node that was merged nothing.

Without a horizon, trees of 1, 2, 4, 8 ... steps follow one another. An event lies in one tree (under substitute, in at
most two, each at half of epsilon), so each has the whole epsilon, and its root stands for it when it is full.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Final

from remedies._errors import Misfit
from remedies.differential_privacy._samplers import discrete_laplace
from remedies.differential_privacy._spread import laplace_variance
from remedies.differential_privacy._state import integer, read_state, whole
from remedies.differential_privacy.epsilon import Loss, decimal_of, laplace_scale, nano
from remedies.differential_privacy.sensitivity import Adjacency

_FORM: Final = "binary-mechanism/1"
_FIELDS: Final = {
    "nano_epsilon", "horizon", "adjacency", "events", "window", "step", "count", "closed", "nodes",
}  # fmt: skip


class BinaryMechanism:
    """A running count that is released after each step, epsilon for the whole stream together.

    Which events are protected together: one (`events=1`, event level), all of a unit that has at most m in the stream
    (`events=m`, user level), or all of a unit within any w steps in a row, at most m in each (`window=w`, w-event
    privacy, Kellaris et al. 2014).

    The state (`state`, plain data) holds the noise and the true count: it is as secret as the data. Store it before
    an answer is released: a restored mechanism goes on with the same noise, whereas drawing noise of a node again would
    break the guarantee.
    """

    def __init__(
        self,
        epsilon: Loss,
        *,
        horizon: int | None = None,
        adjacency: Adjacency | str = Adjacency.ADD_REMOVE,
        events: int = 1,
        window: int | None = None,
    ) -> None:
        """Start a stream. `horizon`: how many steps there will be at most; None: unknown.

        Raises:
            Misfit: epsilon makes no sense, or the horizon, the events or the window are not at least 1.
        """
        self.nano_epsilon = nano(epsilon)
        self.horizon = None if horizon is None else integer(horizon, name="the horizon", least=1)
        self.events = integer(events, name="events", least=1)
        self.window = None if window is None else integer(window, name="the window", least=1)
        if adjacency not in list(Adjacency):
            raise Misfit(f"adjacency is {adjacency!r}, expected 'substitute' or 'add-remove'")
        self.adjacency = Adjacency(adjacency)
        self._step, self._count, self._closed = 0, 0, 0
        self._nodes: dict[int, int] = {}

    @property
    def sensitivity(self) -> int:
        """Return how far one unit's events move the counts of one level at most, in L1."""
        moved = 2 if self.adjacency is Adjacency.SUBSTITUTE else 1
        return moved * self.events * (self.window or 1)

    @property
    def step(self) -> int:
        """Return the number of steps."""
        return self._step

    @property
    def answer(self) -> int:
        """The noisy count of all events so far: as it was released, as often as it is asked for. May be negative."""
        return self._count + self._closed + sum(self._nodes.values())

    def add(self, events: int) -> int:
        """Take one step with that many events, and return the noisy count of all so far.

        Raises:
            Misfit: the number is no integer of at least 0, or the horizon is used up.
        """
        happened = integer(events, name="the number of events of a step", least=0)
        if self.horizon is not None and self._step >= self.horizon:
            raise Misfit(
                f"the horizon of {self.horizon} steps is used up; begin a new mechanism, which is a new charge"
            )
        tree, place = self._place(self._step + 1)
        level = (place & -place).bit_length() - 1
        noise = discrete_laplace(self.scale(tree))
        if place == 1:
            self._closed += sum(self._nodes.values())
            self._nodes = {}
        self._nodes = {other: node for other, node in self._nodes.items() if other > level} | {level: noise}
        self._step += 1
        self._count += happened
        return self.answer

    def scale(self, tree: int = 0) -> Fraction:
        """Return the exact scale of a node's noise.

        Without a horizon, of tree number 0, 1, 2 ... with 2^number steps.
        """
        levels = tree + 1 if self.horizon is None else self.horizon.bit_length()
        return laplace_scale(levels * self.sensitivity, self.nano_epsilon)

    def variance(self, step: int) -> float:
        """Return the variance of the answer after a step, 1 or later: of its nodes, with discrete noise.

        Raises:
            Misfit: there is no such step.
        """
        if step < 1 or (self.horizon is not None and step > self.horizon):
            raise Misfit(f"step {step} is not one of the stream's, which begins with 1")
        tree, place = self._place(step)
        full = sum(laplace_variance(self.scale(number)) for number in range(tree))
        return full + place.bit_count() * laplace_variance(self.scale(tree))

    def state(self) -> dict[str, object]:
        """Return everything as plain data, for `restore`. It is as secret as the events."""
        return {
            "form": _FORM,
            "nano_epsilon": self.nano_epsilon,
            "horizon": self.horizon,
            "adjacency": self.adjacency.value,
            "events": self.events,
            "window": self.window,
            "step": self._step,
            "count": self._count,
            "closed": self._closed,
            "nodes": {str(level): noise for level, noise in self._nodes.items()},
        }

    @classmethod
    def restore(cls, state: Mapping[str, object]) -> BinaryMechanism:
        """Return the mechanism of a stored state.

        Raises:
            Misfit: it is not what `state` gave.
        """
        read_state(state, form=_FORM, fields=_FIELDS)
        restored = cls(
            decimal_of(whole(state, "nano_epsilon")),
            horizon=None if state["horizon"] is None else whole(state, "horizon"),
            adjacency=str(state["adjacency"]),
            events=whole(state, "events"),
            window=None if state["window"] is None else whole(state, "window"),
        )
        restored._step, restored._count = whole(state, "step", least=0), whole(state, "count", least=0)
        restored._closed = whole(state, "closed")
        nodes = state["nodes"]
        if not isinstance(nodes, Mapping) or set(nodes) != restored._levels():
            raise Misfit("the state's nodes are not those of its step")
        restored._nodes = {int(level): whole(nodes, level) for level in nodes}
        if restored.horizon is not None and restored._step > restored.horizon:
            raise Misfit("the state's step lies beyond its horizon")
        return restored

    def _levels(self) -> set[str]:
        place = self._place(self._step)[1] if self._step else 0
        return {str(level) for level in range(place.bit_length()) if place >> level & 1}

    def _place(self, step: int) -> tuple[int, int]:
        """Return the number of the tree that a step is in, and its place in there, from 1."""
        if self.horizon is not None:
            return 0, step
        tree = step.bit_length() - 1
        return tree, step - (1 << tree) + 1
