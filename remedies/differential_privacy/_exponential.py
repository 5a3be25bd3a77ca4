"""Choose one of the declared candidates by its utility, sampled exactly (McSherry, Talwar 2007).

For quantiles it is used as by Smith 2011. Candidate c comes with probability proportional to exp(epsilon u(c) / (2 D)),
where D bounds how far one unit's record moves any u(c). Rejection: a candidate drawn uniformly is kept with probability
exp(-epsilon (u_max - u(c)) / (2 D)), a coin that is exact. The candidates and their order are part of the request,
never of the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from remedies._errors import Misfit
from remedies.differential_privacy._bytes import below
from remedies.differential_privacy._coins import exponential_coin
from remedies.differential_privacy._epsilon import NANO
from remedies.differential_privacy._sensitivity import check_share


def exponential_mechanism(utilities: Sequence[int], *, sensitivity: int, nano_epsilon: int) -> int:
    """Give the position of one candidate; it takes at most as many tries, on average, as there are candidates.

    Raises:
        Misfit: there is no candidate, a utility is no integer, or the sensitivity or the loss is not above 0.
    """
    if not utilities:
        raise Misfit("there is no candidate to choose from")
    if any(not isinstance(utility, int) for utility in utilities):
        raise Misfit("utilities are integers; multiply fractions, and their sensitivity, by the common denominator")
    if sensitivity <= 0 or nano_epsilon <= 0:
        raise Misfit(f"sensitivity {sensitivity} and {nano_epsilon} nano-epsilon, expected both above 0")
    best = max(utilities)
    rate = Fraction(nano_epsilon, 2 * NANO * sensitivity)
    while True:
        position = below(len(utilities))
        if exponential_coin(rate * (best - utilities[position])):
            return position


def quantile_utilities(rows_below: Sequence[int], *, rows: int, share: Fraction) -> list[int]:
    """Give the utility of each candidate as a quantile: -|#(x < c) - q n|, times the denominator of q.

    `rows_below`: of each candidate, how many of the `rows` values lie below it.

    Raises:
        Misfit: the share is not between 0 and 1.
    """
    check_share(share)
    return [-abs(share.denominator * count - share.numerator * rows) for count in rows_below]
