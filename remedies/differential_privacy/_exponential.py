"""Select one of the declared candidates by its utility, sampled exactly.

Both mechanisms are epsilon-differentially private where D bounds how far one unit's record moves any utility u(c), and
both toss exact coins of probability exp(-epsilon (u_max - u(c)) / (2 D)) for candidates in random order:

- the exponential mechanism (McSherry, Talwar 2007) draws candidates with replacement until a coin comes up heads, so
  that c is selected with probability proportional to exp(epsilon u(c) / (2 D));
- permute-and-flip (McKenna, Sheldon 2020) draws them without replacement. Its expected error is never larger, and up to
  two times smaller (theorems 2 and 3 there).

The candidates and their order are part of the request, never of the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate, pairwise

from remedies._errors import Misfit
from remedies.differential_privacy._samplers import exponential_coin
from remedies.differential_privacy.epsilon import NANO
from remedies.differential_privacy.random_bytes import below
from remedies.differential_privacy.sensitivity import check_share


def exponential_mechanism(utilities: Sequence[int], *, sensitivity: int, nano_epsilon: int) -> int:
    """Return the position of one candidate; it takes at most as many tries, on average, as there are candidates.

    Raises:
        Misfit: there is no candidate, a utility is no integer, or the sensitivity or the loss is not above 0.
    """
    best, rate = _checked(utilities, sensitivity=sensitivity, nano_epsilon=nano_epsilon)
    while True:
        position = below(len(utilities))
        if exponential_coin(rate * (best - utilities[position])):
            return position


def permute_and_flip(utilities: Sequence[int], *, sensitivity: int, nano_epsilon: int) -> int:
    """Return the position of one candidate; each candidate is tried at most once.

    Raises:
        Misfit: there is no candidate, a utility is no integer, or the sensitivity or the loss is not above 0.
    """
    best, rate = _checked(utilities, sensitivity=sensitivity, nano_epsilon=nano_epsilon)
    untried = list(range(len(utilities)))
    while True:  # ends: the coin of the best candidate always comes up heads
        drawn = below(len(untried))
        position, untried[drawn] = untried[drawn], untried[-1]
        untried.pop()
        if exponential_coin(rate * (best - utilities[position])):
            return position


def quantile_utilities(rows_at: Sequence[int], *, share: Fraction) -> list[int]:
    """Return the utility of each candidate as the quantile of that share q, times the denominator of q.

    `rows_at`: how many of the n rows equal each candidate, from the smallest candidate to the largest; every row equals
    one of them. A candidate c is a quantile where q n lies in [#(x < c), #(x <= c)]. Its utility is minus the distance
    of q n from that interval; inside, the distance is counted as negative: how far q n lies from the nearer end. So the
    utility is min(q n - #(x < c), #(x <= c) - q n), of which `quantile_sensitivity` bounds how far a unit moves it.

    Raises:
        Misfit: the share is not between 0 and 1.
    """
    check_share(share)
    target = share.numerator * sum(rows_at)
    ends = [share.denominator * upto for upto in accumulate(rows_at, initial=0)]
    return [min(target - low, high - target) for low, high in pairwise(ends)]


def _checked(utilities: Sequence[int], *, sensitivity: int, nano_epsilon: int) -> tuple[int, Fraction]:
    """Return the largest utility and the rate epsilon / (2 D).

    Raises:
        Misfit: as of the mechanisms.
    """
    if not utilities:
        raise Misfit("there is no candidate to choose from")
    if any(not isinstance(utility, int) for utility in utilities):
        raise Misfit("utilities are integers; multiply fractions, and their sensitivity, by the common denominator")
    if sensitivity <= 0 or nano_epsilon <= 0:
        raise Misfit(f"sensitivity {sensitivity} and {nano_epsilon} nano-epsilon, expected both above 0")
    return max(utilities), Fraction(nano_epsilon, 2 * NANO * sensitivity)
