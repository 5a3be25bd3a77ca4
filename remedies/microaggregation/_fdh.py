"""The fixed-distance-heuristic path (FDH): region by region of the space that balls around anchors cut out."""

from typing import Final, Literal, SupportsIndex

import numpy as np
import numpy.typing as npt

from remedies._compiled import compiled
from remedies._errors import Misfit
from remedies.microaggregation._blocks import on_axes
from remedies.microaggregation._extremes import apart64, margins, tie
from remedies.microaggregation._input import finite, whole
from remedies.microaggregation._npn import first_identical, outermost, walk, with_identical
from remedies.microaggregation.standardisation import z_scores

_MOST_ANCHORS: Final = 62  # the bits of a region are one whole number
_ROUNDING: Final = 1 + 2.0**-40  # a mean of equal distances may come out below them


def fdh_path(
    X: npt.ArrayLike,
    *,
    anchors: SupportsIndex | npt.ArrayLike = 3,
    divisor: float = 3,
    seed: int | None = 0,
    radius: Literal["mean", "quantile"] = "mean",
) -> npt.NDArray[np.int64]:
    """Order the records region by region, and inside a region always on to the nearest unvisited one.

    Each anchor is a record with a ball around it; a record's bits say in which balls it lies (its border counts), and
    records with the same bits are a region. The path starts with the record farthest from the centroid. When a region
    is used up, the next one has the lowest Hamming distance of bits, then the nearest centroid to the used-up region's,
    then the smallest bits read as a number (first anchor first); it starts with its record nearest to the path's end.
    Ties between records go to the lowest index. O(n d anchors), and inside regions as `npn_path`.

    Args:
        X: (n, d), or (n,) for one column; finite numbers in any unit; standardised here.
        anchors: how many records to draw as anchors, or their indices; at most 62.
        divisor: m > 0. With `radius="mean"` a ball's radius is r / m, r the mean distance of the anchor to the other
            records.
        seed: of the draw, when `anchors` is a number. The same seed draws the same anchors; None draws others each
            time.
        radius: "mean" as published; "quantile" is our own: the ball holds the nearest 1 / (m + 1) of the other records,
            so that skewed tables do not end up in one region.

    Returns:
        (n,) int64: a permutation of 0..n-1.

    Raises:
        Misfit: the table is not finite and numeric, or anchors, divisor or radius do not fit.

    Source: DEIM 2015 G1-4, section 3 (FDH).
    """
    scores = z_scores(X)
    records = _anchors(anchors, seed, records=scores.shape[0])
    parts = finite(divisor, name="the divisor")
    if parts <= 0:
        raise Misfit(f"the divisor is {parts}; expected more than 0")
    if radius not in {"mean", "quantile"}:
        raise Misfit("the radius is neither 'mean' nor 'quantile'")
    bits = _bits(scores, records, parts, radius)
    first = first_identical(scores)
    distinct = np.flatnonzero(first == np.arange(first.size))
    return with_identical(_along_regions(scores, distinct, bits), first)


def _anchors(anchors: SupportsIndex | npt.ArrayLike, seed: int | None, *, records: int) -> npt.NDArray[np.int64]:
    if isinstance(anchors, SupportsIndex) and not isinstance(anchors, np.ndarray):
        many = whole(anchors, name="anchors")
        if not 1 <= many <= min(_MOST_ANCHORS, records):
            raise Misfit(f"anchors is {many}; expected 1 to {min(_MOST_ANCHORS, records)}")
        return np.random.default_rng(seed).choice(records, many, replace=False).astype(np.int64)  # randomness: function
    array = np.asarray(anchors)
    if array.ndim != 1 or array.dtype.kind not in "iu" or not 1 <= array.size <= _MOST_ANCHORS:
        raise Misfit(f"the anchors are not 1 to {_MOST_ANCHORS} indices of records")
    if int(array.min()) < 0 or int(array.max()) >= records:
        raise Misfit(f"the anchors have indices outside 0..{records - 1}")
    return array.astype(np.int64)


def _bits(
    scores: npt.NDArray[np.float64], anchors: npt.NDArray[np.int64], divisor: float, radius: str
) -> npt.NDArray[np.int64]:
    """Return (n,) regions: bits as one number, the first anchor's the highest."""
    others = scores.shape[0] - 1
    bits = np.zeros(scores.shape[0], np.int64)
    for anchor in anchors:
        apart = np.sqrt(_squares(scores, scores[anchor]))
        if others == 0:
            reach = 0.0
        elif radius == "mean":
            reach = float(apart.sum()) / others / divisor
        else:
            inside = min(others, max(1, round(others / (divisor + 1))))
            reach = float(np.partition(np.delete(apart, anchor), inside - 1)[inside - 1])
        bits = 2 * bits + (apart <= reach * _ROUNDING)
    return bits


@compiled
def _squares(scores: npt.NDArray[np.float64], point: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    squares = np.empty(scores.shape[0])
    for i in range(squares.size):
        squares[i] = apart64(scores, i, point)
    return squares


def _along_regions(
    scores: npt.NDArray[np.float64], distinct: npt.NDArray[np.int64], bits: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Return the path over distinct records."""
    regions, region_of, sizes = np.unique(bits, return_inverse=True, return_counts=True)
    centroids = _sums(scores, region_of.astype(np.int64), regions.size) / sizes[:, None]
    by_region = distinct[np.argsort(region_of[distinct], kind="stable")]  # ascending inside a region
    ends = np.searchsorted(region_of[by_region], np.arange(regions.size + 1))
    points = on_axes(scores)
    radius = margins(scores)[0]
    pending = np.ones(regions.size, np.bool_)
    start = outermost(scores)
    region = int(region_of[start])
    path: list[npt.NDArray[np.int64]] = []
    while region >= 0:
        pending[region] = False
        members = by_region[ends[region] : ends[region + 1]]
        inside = np.ascontiguousarray(scores[members])
        if path:
            start = members[_first_nearest(_squares(inside, scores[path[-1][-1]]), radius)]
        path.append(members[walk(inside, points[members], int(np.searchsorted(members, start)))])
        region = _next_region(regions, centroids, pending, region, radius)
    return np.concatenate(path)


@compiled
def _sums(scores: npt.NDArray[np.float64], of: npt.NDArray[np.int64], groups: int) -> npt.NDArray[np.float64]:
    total = np.zeros((groups, scores.shape[1]))
    for i in range(of.size):
        for j in range(scores.shape[1]):
            total[of[i], j] += scores[i, j]
    return total


@compiled
def _first_nearest(squares: npt.NDArray[np.float64], radius: float) -> int:
    least = squares.min()
    at = 0
    while squares[at] > least + tie(least, radius):
        at += 1
    return at


@compiled
def _next_region(
    regions: npt.NDArray[np.int64],
    centroids: npt.NDArray[np.float64],
    pending: npt.NDArray[np.bool_],
    used_up: int,
    radius: float,
) -> int:
    """Return the waiting region to go on with, or -1; regions ascend by their bits."""
    best = -1
    fewest = 64
    least = np.inf
    for region in np.flatnonzero(pending):
        differ = 0
        bits = regions[region] ^ regions[used_up]
        while bits > 0:
            differ += bits & 1
            bits >>= 1
        if differ > fewest:
            continue
        square = apart64(centroids, region, centroids[used_up])
        if differ < fewest or square < least - tie(least, radius):
            best, fewest, least = int(region), differ, square
    return best
