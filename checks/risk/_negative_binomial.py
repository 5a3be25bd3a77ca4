"""The negative binomial distribution as the models of class sizes need it: by its odds, in logarithms."""

from __future__ import annotations

import math
from typing import Final

from checks.classes.arrays import np
from checks.risk._likelihood import Parameter, log_rising
from checks.risk._sample import Floats

SHAPE: Final = Parameter(math.log(1e-6), math.log(1e6), "the shape lies at 0", "the shape has no bound")
"""The logarithm of the shape r. At 0 it is the logarithmic series, without a bound it is the Poisson distribution."""
ODDS: Final = Parameter(-35.0, 45.0, "the odds lie at 0", "the odds have no bound")
"""The logarithm of the odds b."""


def log_ways(shape: float, numbers: Floats) -> Floats:
    """Return log(Gamma(r + j) / (Gamma(r) j!)) for whole numbers j, at least 0."""
    from scipy.special import gammaln

    return np.asarray(log_rising(shape, numbers) - gammaln(numbers + 1), dtype=np.float64)


def log_chances(ways: Floats, numbers: Floats, *, shape: float, odds: float) -> Floats:
    """Return log P(X = j), where `ways` is `log_ways` of j: P(X = j) = ways_j (b / (1 + b))^j (1 + b)^-r; mean r b.

    Of X things each is kept with the chance c: what is kept is negative binomial again, with the odds c b, since the
    generating function (1 + b - b z)^-r has z replaced by 1 - c + c z.
    """
    return ways + numbers * -math.log1p(1 / odds) - shape * math.log1p(odds)
