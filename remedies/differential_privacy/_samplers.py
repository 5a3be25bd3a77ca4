"""Exact random draws from integers: coins, discrete Laplace and Gaussian noise, selection by utility.

Noise is that of Canonne, Kamath, Steinke 2020, whose algorithms and theorem are numbered here. A coin has a probability
that is exact: a fraction, or a power of e (algorithm 1). P[z] is over all integers z.

Laplace (algorithm 2): P[z] is proportional to exp(-|z| / scale). An integer statistic of L1 sensitivity D plus this
noise with scale D / epsilon is epsilon-differentially private, with nothing lost to rounding.

Gaussian (algorithm 3): P[z] is proportional to exp(-z^2 / (2 sigma^2)). Integer statistics of L2 sensitivity D, each
with such noise of its own, are (D^2 / (2 sigma^2))-zCDP together (theorem 4).

Selection: two mechanisms are epsilon-differentially private where D bounds how far one unit's record moves any utility
u(c), and both toss exact coins of probability exp(-epsilon (u_max - u(c)) / (2 D)) for candidates in random order:

- the exponential mechanism (McSherry, Talwar 2007) draws candidates with replacement until a coin comes up heads, so
  that c is selected with probability proportional to exp(epsilon u(c) / (2 D));
- permute-and-flip (McKenna, Sheldon 2020) draws them without replacement. Its expected error is never larger, and up to
  two times smaller (theorems 2 and 3 of that paper).

The candidates and their order are part of the request, never of the data.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from remedies._errors import Misfit
from remedies.differential_privacy.epsilon import NANO
from remedies.differential_privacy.random_bytes import Flags, Words, below, flags, many_below
from remedies.differential_privacy.sensitivity import check_share


def coin(numerator: int, denominator: int) -> bool:
    """Return true with probability `numerator` / `denominator`, exactly."""
    return below(denominator) < numerator


def exponential_coin(gamma: Fraction) -> bool:
    """Return true with probability exp(-gamma), exactly, for any gamma >= 0.

    exp(-gamma) is the product of as many exp(-1) as gamma holds whole ones, and of one for the rest; the first coin
    that fails ends it, so it takes 1.6 rounds on average however large gamma is.
    """
    whole, rest = divmod(gamma.numerator, gamma.denominator)
    for _ in range(whole):
        if not _unit_coin(1, 1):
            return False
    return _unit_coin(rest, gamma.denominator)


def _unit_coin(numerator: int, denominator: int) -> bool:
    """Return true with probability exp(-gamma) for gamma = numerator / denominator <= 1.

    The first k at which a coin of gamma / k fails is odd with probability 1 - gamma + gamma^2/2! - ... = exp(-gamma).
    """
    k = 1
    while coin(numerator, denominator * k):
        k += 1
    return k % 2 == 1


def unit_coins(numerators: Words, denominator: int) -> Flags:
    """Toss one coin of exp(-numerator / denominator) for each numerator (0 to `denominator`), as `_unit_coin` does.

    `denominator` is at most 2^40: then k would have to reach 2^24, which has probability 1 / (2^24)!, before
    `many_below` would refuse.
    """
    tossed = np.zeros(numerators.size, dtype=np.bool_)
    still = np.arange(numerators.size)
    k = 1
    while still.size:
        goes_on = many_below(denominator * k, still.size) < numerators[still]
        if k % 2 == 1:
            tossed[still[~goes_on]] = True
        still = still[goes_on]
        k += 1
    return tossed


Integers: TypeAlias = NDArray[np.int64]

_ONE: Final = Fraction(1)
_HALF: Final = 1 << 63
_WIDEST: Final = 1 << 40
"""Numerators up to this one leave 23 bits for the whole parts; larger ones are sampled one by one."""


def exact_scale(scale: int | Fraction) -> Fraction:
    """Check that a scale is exact and above 0.

    Raises:
        Misfit: it is a float or no number at all, or not above 0.
    """
    if isinstance(scale, bool) or not isinstance(scale, int | Fraction):
        raise Misfit(f"the scale is a {type(scale).__name__}, expected an int or a Fraction, such as Fraction(2, 3)")
    if scale <= 0:
        raise Misfit(f"the scale is {scale}, expected a number above 0")
    return Fraction(scale)


def discrete_laplace(scale: int | Fraction) -> int:
    """Draw one integer z with probability proportional to exp(-|z| / scale), exactly.

    Raises:
        Misfit: the scale is not an int or a Fraction above 0.
    """
    exact = exact_scale(scale)
    top, bottom = exact.numerator, exact.denominator
    while True:
        part = below(top)
        if not exponential_coin(Fraction(part, top)):
            continue
        whole = 0
        while exponential_coin(_ONE):
            whole += 1
        size = (part + top * whole) // bottom
        negative = coin(1, 2)
        if not (negative and size == 0):
            return -size if negative else size


def many_discrete_laplace(scale: int | Fraction, count: int) -> Integers:
    """Draw `count` independent integers as `discrete_laplace` does, many at once.

    Raises:
        Misfit: the scale is not an int or a Fraction above 0.
    """
    exact = exact_scale(scale)
    if exact.numerator > _WIDEST or exact.denominator > _WIDEST:
        return np.array([discrete_laplace(exact) for _ in range(count)], dtype=np.int64)
    noise = np.empty(count, dtype=np.int64)
    filled = 0
    while filled < count:
        batch = _batch(exact, count - filled)[: count - filled]
        noise[filled : filled + batch.size] = batch
        filled += batch.size
    return noise


def _batch(scale: Fraction, count: int) -> Integers:
    """Draw the values of about twice `count` tries: which try fails is no secret."""
    parts = many_below(scale.numerator, 2 * count + 16)
    parts = parts[unit_coins(parts, scale.numerator)]
    wholes = np.zeros(parts.size, dtype=np.uint64)
    still = np.arange(parts.size)
    while still.size:
        still = still[unit_coins(np.ones(still.size, dtype=np.uint64), 1)]
        wholes[still] += np.uint64(1)
    sizes = ((parts + np.uint64(scale.numerator) * wholes) // np.uint64(scale.denominator)).astype(np.int64)
    negative = flags(_HALF, sizes.size)
    signed: Integers = np.where(negative, -sizes, sizes)[~(negative & (sizes == 0))]
    return signed


def gaussian_square(l2_squared: int | Fraction, nano_rho: int) -> Fraction:
    """Return the exact sigma^2 at which a statistic costs `nano_rho`: D^2 / (2 rho).

    Raises:
        Misfit: the sensitivity or the loss is not above 0.
    """
    if l2_squared <= 0 or nano_rho <= 0:
        raise Misfit(f"squared sensitivity {l2_squared} and {nano_rho} nano-rho, expected both above 0")
    return Fraction(l2_squared) * NANO / (2 * nano_rho)


def discrete_gaussian(sigma_squared: int | Fraction) -> int:
    """Draw one integer z with probability proportional to exp(-z^2 / (2 sigma^2)), exactly.

    A discrete Laplace of scale t = floor(sigma) + 1 is kept with probability exp(-(|z| - sigma^2/t)^2 / (2 sigma^2)).

    Raises:
        Misfit: sigma^2 is not an int or a Fraction above 0.
    """
    square = exact_scale(sigma_squared)
    scale = math.isqrt(math.floor(square)) + 1
    while True:
        noise = discrete_laplace(scale)
        distance = abs(noise) - square / scale
        if exponential_coin(distance**2 / (2 * square)):
            return noise


def many_discrete_gaussian(sigma_squared: int | Fraction, count: int) -> Integers:
    """Draw `count` independent integers as `discrete_gaussian` does, many at once.

    With sigma^2 = a/b, noise z of scale t is kept with probability exp(-(b t |z| - a)^2 / (2 a b t^2)).

    Raises:
        Misfit: sigma^2 is not an int or a Fraction above 0.
    """
    square = exact_scale(sigma_squared)
    scale = math.isqrt(math.floor(square)) + 1
    top, bottom = square.numerator, square.denominator
    denominator = 2 * top * bottom * scale**2
    if denominator > _WIDEST:
        return np.array([discrete_gaussian(square) for _ in range(count)], dtype=np.int64)
    kept: list[Integers] = [np.empty(0, dtype=np.int64)]
    while sum(part.size for part in kept) < count:
        noise = many_discrete_laplace(scale, 2 * count + 16)
        farthest = int(np.abs(noise).max())
        if bottom * scale * farthest >= 1 << 31:  # its square might not fit
            continue
        gamma = ((bottom * scale * np.abs(noise) - top) ** 2).astype(np.uint64)
        wholes, rest = np.divmod(gamma, np.uint64(denominator))
        heads = unit_coins(rest, denominator)
        still = np.flatnonzero(heads & (wholes > 0))
        while still.size:
            heads[still] = unit_coins(np.ones(still.size, dtype=np.uint64), 1)
            wholes[still] -= np.uint64(1)
            still = still[heads[still] & (wholes[still] > 0)]
        kept.append(noise[heads])
    return np.concatenate(kept)[:count]


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
