"""Choose one item of each menu within a budget, with a proven bound: the multiple-choice knapsack problem.

The budget is spent along the lower convex hulls of the menus, the step that saves most for its weight first (Sinha and
Zoltners, *Operations Research* 27, 1979). Where the walk is cut lies the optimum of the linear relaxation (Dyer 1984,
Zemel 1984), the bound. If it leaves a gap, dynamic programming goes through the items that it does not exclude
(Pisinger, *EJOR* 83, 1995).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple

_GOAL: Final = 0.001
"""The relative gap above which a choice is improved."""
_MOST_PARTIAL: Final = 100_000
"""Partial choices of the dynamic programme over all menus, beyond which it is given up."""
_SLACK: Final = 1e-9
"""The relative error of sums of floats."""


class MenuItem(NamedTuple):
    """An item of a menu: its weight in the budget, and the loss that remains with it; both 0 or more."""

    weight: float
    loss: float


@dataclass(frozen=True, slots=True)
class KnapsackChoice:
    """An item of each menu, by its place, with the sums of weight and loss.

    `bound`: no choice within the budget has a smaller loss. `slope`: the loss that one more unit of the budget saves in
    the linear relaxation.
    """

    chosen: tuple[int, ...]
    weight: float
    loss: float
    bound: float
    slope: float

    @property
    def gap(self) -> float:
        """Return by which share of its loss it may be worse than the best choice."""
        return max(0.0, self.loss - self.bound) / self.loss if self.loss else 0.0


class _Step(NamedTuple):
    efficiency: float
    menu: int
    weight: float
    loss: float
    place: int


class _Partial(NamedTuple):
    """A choice of the first menus. `excess`: the least by which whole choices that begin so exceed the bound."""

    weight: float
    loss: float
    excess: float
    place: int
    before: "_Partial | None"


@dataclass(frozen=True, slots=True)
class Frontier:
    """The best choices of menus for any budget: the lightest items, and the steps from them in order."""

    menus: Sequence[Sequence[MenuItem]]
    first: Sequence[int]
    steps: Sequence[_Step]

    @classmethod
    def of(cls, menus: Sequence[Sequence[MenuItem]]) -> "Frontier":
        """Return the frontier of menus, each of at least one item."""
        hulls = [_hull(menu) for menu in menus]
        steps = [step for number, corners in enumerate(hulls) for step in _steps(number, menus[number], corners)]
        return cls(menus, [corners[0] for corners in hulls], sorted(steps, key=lambda step: (-step[0], step[1:3])))

    @property
    def least(self) -> float:
        """Return the weight of the lightest choice."""
        return sum(menu[place].weight for menu, place in zip(self.menus, self.first, strict=True))

    def choose(self, budget: float) -> KnapsackChoice:
        """Return a choice within a budget of at least `least`."""
        chosen, ended, bound, slope = list(self.first), set(), None, 0.0
        weight, loss, limit = self.least, self._loss(chosen), budget * (1 + _SLACK)
        for step in self.steps:
            if step.menu not in ended and weight + step.weight <= limit:
                chosen[step.menu] = step.place
                weight, loss = weight + step.weight, loss - step.loss
            else:
                ended.add(step.menu)
                if bound is None:
                    bound, slope = loss - step.efficiency * max(0.0, budget - weight), step.efficiency
        choice = self._choice(chosen, bound, slope)
        while choice.gap > _GOAL and (better := self._improved(choice, limit)).gap < choice.gap:
            choice = better
        return choice

    def _loss(self, chosen: Sequence[int]) -> float:
        return sum(menu[place].loss for menu, place in zip(self.menus, chosen, strict=True))

    def _choice(self, chosen: Sequence[int], bound: float | None, slope: float) -> KnapsackChoice:
        weight, loss = (sum(menu[at][part] for menu, at in zip(self.menus, chosen, strict=True)) for part in (0, 1))
        return KnapsackChoice(tuple(chosen), weight, loss, loss if bound is None else min(bound, loss), slope)

    def _improved(self, choice: KnapsackChoice, limit: float) -> KnapsackChoice:
        """Return a choice with a smaller gap, or the same one where too many partial choices are possible.

        Of partial choices with almost the same loss the lightest stays, so that what this may lose is known.
        """
        slack, rest = choice.bound * min(0.005, choice.gap / 4), self.least
        priced = [[item.loss + choice.slope * item.weight for item in menu] for menu in self.menus]
        most = choice.loss - sum(map(min, priced)) + choice.slope * limit + choice.loss * _SLACK + slack
        partial, total = [_Partial(0.0, 0.0, 0.0, -1, None)], 0
        for menu, first, prices in zip(self.menus, self.first, priced, strict=True):
            rest -= menu[first].weight
            least = min(prices)
            core = [(*menu[at], price - least, at) for at, price in enumerate(prices) if price - least <= most]
            grown = (
                _Partial(entry.weight + weight, entry.loss + loss, entry.excess + excess, at, entry)
                for entry in partial
                for weight, loss, excess, at in core
                if entry.excess + excess <= most and entry.weight + weight + rest <= limit
            )
            partial = _undominated(grown, slack / len(self.menus))
            total += len(partial)
            if total > _MOST_PARTIAL:
                return choice
        best = min(partial, key=lambda entry: entry.loss, default=None)
        if best is None or best.loss >= choice.loss:
            return self._choice(choice.chosen, max(choice.bound, choice.loss - slack), choice.slope)
        chosen: list[int] = []
        at: _Partial | None = best
        while at is not None and at.before is not None:
            chosen, at = [at.place, *chosen], at.before
        return self._choice(chosen, max(choice.bound, best.loss - slack), choice.slope)


def _hull(menu: Sequence[MenuItem]) -> list[int]:
    """Return the places of the items on the lower convex hull, by weight, until the smallest loss."""
    corners: list[int] = []
    for place in sorted(range(len(menu)), key=lambda place: menu[place]):
        if corners and menu[place].loss >= menu[corners[-1]].loss:
            continue
        while len(corners) > 1 and _is_above(menu[corners[-2]], menu[corners[-1]], menu[place]):
            corners.pop()
        corners.append(place)
    return corners


def _is_above(low: MenuItem, middle: MenuItem, high: MenuItem) -> bool:
    before, after = low.loss - middle.loss, middle.loss - high.loss
    return before * (high.weight - middle.weight) <= after * (middle.weight - low.weight)


def _steps(number: int, menu: Sequence[MenuItem], corners: Sequence[int]) -> Iterator[_Step]:
    for low, high in pairwise(corners):
        weight, loss = menu[high].weight - menu[low].weight, menu[low].loss - menu[high].loss
        yield _Step(loss / weight, number, weight, loss, high)


def _undominated(partial: Iterable[_Partial], margin: float) -> list[_Partial]:
    """Return partial choices by weight, each better than the one before by more than a margin."""
    front: list[_Partial] = []
    for entry in sorted(partial, key=lambda entry: (entry.weight, entry.loss)):
        if not front or entry.loss < front[-1].loss - margin:
            front.append(entry)
    return front
