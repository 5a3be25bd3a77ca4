"""Intervals for a share of rows, from a sample without replacement; both hold for tables of any size.

**Rows.** The number of bad rows in a simple random sample is hypergeometric. Uhlmann (1966) compares its tails with
those of the binomial distribution: below the share (x - 1) / (n - 1) times N / (N + 1), the probability of x or more is
the smaller one. The limits of Clopper and Pearson lie there for x >= 2. For x = 1 the probability of a bad row is at
most n times the share, whatever N is; it stands in place of theirs, which is too large by up to alpha / 4 of itself.

**Blocks.** Rows of a block are alike, so that n rows of m blocks may tell no more than m rows, and neither a binomial
nor a normal interval holds. Let block b have n_b rows, x_b of them bad, and no block more than M rows. If the share is
f, z_b = x_b - f n_b has mean 0 over all blocks, and lies between -f M and (1 - f) M. A simple random sample is
negatively associated (Joag-Dev and Proschan, 1983), so for each bet t in [0, 1] the product of the
1 - t z_b / ((1 - f) M) has an expectation of at most 1, and so has its mean over several t. It is large where f is
larger than the sample speaks for; good and bad rows change places for the other end. By Markov's inequality a share is
rejected with probability alpha / 2 at most where the mean exceeds 2 / alpha. (The bets are those of Waudby-Smith and
Ramdas, 2024, fixed in advance, which makes the order of the blocks irrelevant.) Nothing is assumed about how the bad
rows are spread.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

_BETS: Final = tuple(0.98 * 2.0**-power for power in range(16))
"""Large bets are best where blocks are alike, small ones where they differ and are many; bet n has the weight 1/n."""
_STEPS: Final = 60


def rows_interval(bad: int, rows: int, alpha: float) -> tuple[float, float]:
    """Return limits between which the share of bad rows lies, but for a probability of at most `alpha`.

    `rows` rows were drawn without replacement, at least one, and `bad` of them are bad.
    """
    return _least_share(bad, rows, alpha / 2), 1 - _least_share(rows - bad, rows, alpha / 2)


def _least_share(bad: int, rows: int, alpha: float) -> float:
    if bad == 0:
        return 0.0
    if bad == 1:
        return alpha / rows
    from scipy.special import betaincinv

    return float(betaincinv(bad, rows - bad + 1, alpha))


def blocks_interval(blocks: Sequence[tuple[int, int, int]], most_rows: int, alpha: float) -> tuple[float, float]:
    """Return limits between which the share of bad rows lies, but for a probability of at most `alpha`.

    Args:
        blocks: of the blocks that were drawn without replacement, `(rows, bad rows, number of such blocks)`.
        most_rows: no block of the table has more rows.
        alpha: the probability of a miss.
    """
    rows = sum(size * count for size, _, count in blocks)
    bad = sum(wrong * count for _, wrong, count in blocks)
    good_blocks = [(size, size - wrong, count) for size, wrong, count in blocks]
    greatest = _greatest_share(blocks, most_rows, alpha / 2, start=bad / rows)
    least = 1 - _greatest_share(good_blocks, most_rows, alpha / 2, start=1 - bad / rows)
    return max(0.0, least), greatest


def _greatest_share(blocks: Sequence[tuple[int, int, int]], most_rows: int, alpha: float, *, start: float) -> float:
    """Return the largest share that is not rejected: the evidence against a share grows with it."""
    import numpy as np

    sizes, bad, counts = (np.array(column, dtype=float) for column in zip(*blocks, strict=True))
    bets = np.array(_BETS)[:, None]
    weights = 1 / np.arange(1, len(_BETS) + 1)
    weights /= weights.sum()

    def evidence(share: float) -> float:
        payoffs = -bets * (bad - share * sizes) / ((1 - share) * most_rows)
        growth = np.log1p(payoffs) @ counts
        top = float(growth.max())
        return top + math.log(float(weights @ np.exp(growth - top)))

    return _largest(lambda share: evidence(share) < -math.log(alpha), start, 1.0)


def _largest(holds: Callable[[float], bool], low: float, high: float) -> float:
    """Return where a condition that holds at `low` ceases to hold, never too small; `high` itself is never asked."""
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if middle in {low, high}:
            break
        low, high = (middle, high) if holds(middle) else (low, middle)
    return high
