"""What a microaggregation gives."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class Attempt:
    """One way that was tried, and what it alone would lose, per cent."""

    method: str
    information_loss: float


@dataclass(frozen=True, slots=True, eq=False)
class Microaggregation:
    """Groups, and what they cost."""

    labels: npt.NDArray[np.int64]  # (n,) groups numbered 0..g-1 by their first record
    information_loss: float  # per cent, 100 SSE / SST, in float64
    lower_bound: float | None  # per cent; no grouping can lose less; None: too many records to say
    group_sizes: npt.NDArray[np.int64]  # (g,)
    tried: tuple[Attempt, ...]  # in the order they were tried
    sweeps: int  # how many were made: with the same seed, `sweeps=` of this number gives the same labels
    seconds: float  # of the clock, without those for the lower bound
