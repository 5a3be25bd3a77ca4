"""The nearest-point-next path (NPN): from the outermost record always to the nearest that was not visited."""

import numpy as np
import numpy.typing as npt

from remedies.microaggregation._axes import on_axes
from remedies.microaggregation._duplicates import first_identical, with_identical
from remedies.microaggregation._walk import outermost, walk
from remedies.microaggregation.standardisation import z_scores


def npn_path(X: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Order the records: first the one farthest from the centroid, then always the nearest unvisited one.

    Ties go to the lowest index. Exact at every size: a k-d tree and float32 only rule out what cannot be nearest, and
    float64 decides among the rest. Identical records follow each other in ascending order, and are searched for once.
    Worst case O(n^2 d), as the definition; how much the tree spares depends on the data.

    Args:
        X: (n, d), or (n,) for one column; finite numbers in any unit; standardised here.

    Returns:
        (n,) int64: a permutation of 0..n-1.

    Raises:
        Misfit: the table is not finite and numeric.

    Source: DEIM 2015 G1-4, section 2 (NPN-MHM); Domingo-Ferrer et al., VLDB Journal 15 (2006), section 4.
    """
    scores = z_scores(X)
    first = first_identical(scores)
    distinct = np.flatnonzero(first == np.arange(first.size))
    chosen = np.ascontiguousarray(scores[distinct])
    path = walk(chosen, on_axes(chosen), outermost(chosen))
    return with_identical(distinct[path], first)
