"""What there is to choose among: the nodes that hold, and what each of them loses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from checks import Json
from remedies._contract import Progress
from remedies.generalisation._criteria import Criterion
from remedies.generalisation._frequencies import Frequencies
from remedies.generalisation._incognito import Generalisations
from remedies.generalisation._judge import broken_combinations
from remedies.generalisation._objectives import By
from remedies.generalisation._recoding import Recoding
from remedies.generalisation._utility import Utilities, utilities

_FIGURE: Final[Mapping[By, Callable[[Utilities], float]]] = {
    By.LOSS: lambda found: found.total.loss,
    By.PRECISION: lambda found: -(found.total.precision or 0),
    By.STEPS: lambda found: found.total.steps or 0,
    By.DISCERNIBILITY: lambda found: found.discernibility,
    By.CLASS_SIZE: lambda found: found.average_class_size or float("inf"),
    By.ENTROPY: lambda found: found.total.entropy_bits,
    By.KL: lambda found: found.total.kl_nats,
}
"""What a node is sorted by, less being better."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A node that holds. `is_minimal`: none that it generalises holds."""

    levels: tuple[int, ...]
    is_minimal: bool
    utilities: Utilities


@dataclass(frozen=True, slots=True)
class Choices:
    """Nodes that hold, the best by a measure first.

    `holding`: how many there are; `minimal`: how many of them are minimal; `nodes`: how many the lattice has.
    `complete`: False where the budget ended the search, so that there may be more, and lower ones.
    """

    columns: tuple[str, ...]
    by: By
    nodes: int
    holding: int
    minimal: int
    least_height: int | None
    complete: bool
    listed: Sequence[Choice]

    def as_json(self) -> Mapping[str, Json]:
        """Give it as plain data."""
        return {
            "by": self.by.value,
            "nodes": self.nodes,
            "holding": self.holding,
            "minimal": self.minimal,
            "least_height": self.least_height,
            "complete": self.complete,
            "listed": [self._line(one) for one in self.listed],
        }

    def _line(self, one: Choice) -> Mapping[str, Json]:
        levels: dict[str, Json] = dict(zip(self.columns, one.levels, strict=True))
        return {"levels": levels, "is_minimal": one.is_minimal, "utilities": one.utilities.as_json()}


def choices(
    frequencies: Frequencies,
    found: Generalisations,
    k: int,
    *,
    by: By,
    every: bool,
    criteria: Sequence[Criterion],
    progress: Progress | None = None,
) -> Choices:
    """Measure nodes that a search found: the minimal ones, or every one.

    Args:
        frequencies: the table.
        found: what holds.
        k: rows of the smallest class.
        by: what to sort by; of equally good nodes the first in the order of their levels.
        every: measure all, at the cost of making each one's frequency set.
        criteria: what else classes have to hold; what breaks it is suppressed.
        progress: is told the share of the nodes that were measured.
    """
    listed = []
    chosen = range(len(found.nodes)) if every else found.is_minimal.nonzero()[0].tolist()
    for number, place in enumerate(chosen, 1):
        levels = tuple(found.nodes[place].tolist())
        broken = broken_combinations(frequencies, levels, k, criteria)
        measured = utilities(Recoding.of_node(frequencies, levels, broken), k=k)
        listed.append(Choice(levels, bool(found.is_minimal[place]), measured))
        if progress is not None:
            progress(number / len(chosen))
    return Choices(
        columns=found.columns,
        by=by,
        nodes=found.lattice,
        holding=len(found.nodes),
        minimal=int(found.is_minimal.sum()),
        least_height=found.least_height,
        complete=found.complete,
        listed=sorted(listed, key=lambda one: (_FIGURE[by](one.utilities), one.levels)),
    )
