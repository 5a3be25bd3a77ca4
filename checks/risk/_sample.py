"""What the models of population uniqueness are given, and what they give."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeAlias

from checks.classes.arrays import np, npt
from checks.risk.sizes import ClassSizes

Floats: TypeAlias = "npt.NDArray[np.float64]"

COUNTED: Final = 9
"""Classes of up to this size are compared with what a model expects size by size, larger ones together."""
_LEAST: Final = 1e-16
"""A share that a model rules out counts as this much, so that a divergence is finite."""


@dataclass(frozen=True, eq=False)
class PopulationSample:
    """A sample of a population: its classes, and how many rows the population has (at least those of the sample)."""

    classes: ClassSizes
    population_size: int

    @cached_property
    def sizes(self) -> Floats:
        """Return the sizes of classes that occur, ascending."""
        return self.classes.sizes.astype(np.float64)

    @cached_property
    def weights(self) -> Floats:
        """Return how many classes there are of each of `sizes`."""
        return self.classes.classes.astype(np.float64)

    @cached_property
    def rows(self) -> int:
        """Count the rows of the sample."""
        return self.classes.rows

    @cached_property
    def count(self) -> int:
        """Count the classes of the sample."""
        return self.classes.count

    @cached_property
    def uniques(self) -> int:
        """Count the rows that are unique in the sample."""
        return self.classes.uniques

    @cached_property
    def fraction(self) -> float:
        """Return the share of the population that is in the sample, above 0 up to 1."""
        return self.rows / self.population_size

    def divergence(self, expected: Floats) -> float:
        """Measure how far the sizes of classes are from what a model expects: Kullback-Leibler, in nats, at least 0.

        The distributions are those of a class of the sample over the sizes 1, 2, ... `COUNTED`, and more. `expected`:
        shares or numbers of shape (COUNTED + 1,), in any unit. At most 37, where the model rules out what is there.
        """
        single = [self.classes.of_size(size) for size in range(1, COUNTED + 1)]
        observed = np.array([*single, self.count - sum(single)], dtype=np.float64) / self.count
        expected = np.maximum(expected / expected.sum(), _LEAST)
        occurs = observed > 0
        return max(0.0, float(observed[occurs] @ np.log(observed[occurs] / expected[occurs])))


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """A model that was fitted to a sample.

    `population_uniques`: as the model estimates them. `p_unique_given_sample_unique`: 0 to 1. `expected`: see
    `PopulationSample.divergence`. `problem`: what speaks against the fit, in a few words; None for nothing.
    """

    population_uniques: float
    p_unique_given_sample_unique: float
    expected: Floats
    problem: str | None = None


def with_the_rest(shares: Floats) -> Floats:
    """Add to the shares of classes of size 1, 2, ... `COUNTED` that of all larger ones."""
    return np.append(shares, max(0.0, 1.0 - math.fsum(shares)))
