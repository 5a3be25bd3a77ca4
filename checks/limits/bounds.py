"""How far from what is usual a value may be: by the rank of its distance among those of the past, or by hand."""

from math import log, log1p, pi, sqrt
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]

_NEVER: Final = 1e-12
_LARGEST: Final = 3
"""How many of the largest distances show how fast the tail falls."""
_NEAR: Final = 2.0
"""Up to so many times the reach of the other looks, an alarm that nobody answered counts as noise."""
_ROUNDING: Final = 1 + 1e-12
"""1/49 of 49 is a whole rank, though floating point numbers make it less."""
_EQUAL: Final = 1e-9
"""Below this share of the mean deviation, a median deviation is rounding: most residuals are equal."""
_TO_SIGMA: Final = 1.4826
"""The standard deviation of a normal distribution, in median absolute deviations."""


def distances_from_others(residuals: Floats, *, above_only: bool = False) -> Floats:
    """Return how far each of at least three residuals is from the median of the others; above it where `above_only`.

    A median without the value itself, as for the value that is judged: else the past would look calmer than the future.
    """
    order = np.argsort(residuals)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    ordered, half = residuals[order], len(order) // 2
    if len(order) % 2:
        below, middle, above = ordered[half - 1 : half + 2]
        pairs = (middle + above) / 2, (below + above) / 2
        centre = np.select([rank < half, rank == half], pairs, (below + middle) / 2)
    else:
        centre = np.where(rank < half, ordered[half], ordered[half - 1])
    away: Floats = residuals - centre
    return away if above_only else np.abs(away)


def tops_of_runs(distances: Floats) -> Floats:
    """Return the distances that are larger than the one before and the one after: consecutive looks are one alarm.

    Above a limit that is seldom exceeded there are as many of them as runs of looks.
    """
    before, after = np.append(-np.inf, distances[:-1]), np.append(distances[1:], -np.inf)
    tops = distances[(distances > before) & (distances >= after)]
    return tops if len(tops) > _LARGEST else distances


def reach_by_rank(tops: Floats, looks: int, chance: float) -> float:
    """Return the distance beyond which an alarm begins at one look with a chance; `tops` of so many looks are known.

    Among n distances and the next one each is equally likely to be the k-th largest, whatever their distribution, so
    the next one exceeds the k-th largest of n with a chance of k / (n + 1). Between two ranks, and beyond the largest
    distance, the tail is taken as exponential; beyond it, by the mean excess of the three largest and the quantile that
    is exact for such a tail. It is never less than the largest then, so that the chance is at most 1 / (n + 1).
    """
    ordered = np.sort(tops)[::-1]
    rank = chance * (looks + 1) * _ROUNDING
    if rank >= 1:
        place = min(int(rank), len(ordered) - 1)
        step = min(1.0, log(rank / place) / log1p(1 / place))
        return float(ordered[place - 1] + (ordered[place] - ordered[place - 1]) * step)
    start = ordered[_LARGEST]
    excess = float(np.mean(ordered[:_LARGEST]) - start)
    tail = _LARGEST * excess * (((_LARGEST + 1) / rank) ** (1 / _LARGEST) - 1)
    return float(max(start + tail, ordered[0]))


def reach_of_promise(distances: Floats, unanswered: Floats, chance: float) -> float:
    """Return the same from distances in the order of time, and those of alarms of which nobody told what they were.

    Of these the near ones count as noise. Without them the tail would be cut off, and each false alarm would draw the
    limit nearer; with the far ones each bad day would widen it.
    """
    tops, looks = tops_of_runs(distances), len(distances)
    near = unanswered[unanswered <= _NEAR * reach_by_rank(tops, looks, chance)]
    return reach_by_rank(np.append(tops, near), looks + len(near), chance)


def reach_by_sigma(residuals: Floats, sigma: float, floor: float = 0.0) -> float:
    """Return a number of robust standard deviations, of which at least `floor` is believed."""
    return sigma * max(robust_scale(residuals), floor, _NEVER)


def robust_scale(residuals: Floats) -> float:
    """Return the median absolute deviation as a standard deviation; the mean one where most residuals are equal."""
    away = np.abs(residuals - np.median(residuals))
    middle, mean = float(np.median(away)), float(np.mean(away))
    return middle * _TO_SIGMA if middle > mean * _EQUAL else mean * sqrt(pi / 2)
