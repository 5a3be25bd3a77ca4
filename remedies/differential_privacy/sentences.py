"""What a privacy loss means in plain words: by how much at most an answer's probability would change."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Final

from remedies.differential_privacy._powers import exp_above
from remedies.differential_privacy.accounting import Accounting, delta_of, epsilon_of_rho
from remedies.differential_privacy.epsilon import NANO
from remedies.differential_privacy.sensitivity import Adjacency

CHANGE: Final[Mapping[Adjacency, str]] = {
    Adjacency.SUBSTITUTE: "were different",
    Adjacency.ADD_REMOVE: "were missing, or were added",
}
"""What changes between neighbouring tables."""

_CENTS: Final = 100
_WHOLE: Final = 1_000
_LONG: Final = 10**9
_TENS: Final = Fraction(4343, 10_000)
"""A little above the decimal logarithm of e."""
_FURTHEST: Final = 2_000
"""Above e^2000 not even the number of digits needs to be the least."""


def sentence(
    largest: int,
    total: int,
    *,
    accounting: Accounting = Accounting.PURE,
    delta: Fraction | None = None,
    unit: str = "one person's record",
    adjacency: Adjacency = Adjacency.SUBSTITUTE,
) -> str:
    """Return what the costliest answer about a table, and all of them together, reveal, with factors rounded up.

    `largest`, `total`: in the nano units of the accounting. `delta`: under zCDP, the budget's own. `adjacency`: whether
    the loss bounds what a unit's record can be, or whether it is there at all.

    Raises:
        Misfit: under zCDP, delta is not between 0 and 1.
    """
    if total == 0:
        return "no query has been answered yet"
    if accounting is Accounting.ZCDP:
        probability = delta_of(delta if delta is not None else 0)
        largest, total = epsilon_of_rho(largest, probability), epsilon_of_rho(total, probability)
        but = f" (except with probability {float(probability):g})"
    else:
        but = ""
    return (
        f"if {unit} {CHANGE[adjacency]}, no answer would become more than {times(largest)} times as likely (rounded "
        f"up); all answers so far about this table together: at most {times(total)} times{but}"
    )


def times(nano_epsilon: int) -> str:
    """Write exp(epsilon), rounded up: two places below 1,000, whole numbers below 10^9, then powers of ten."""
    if nano_epsilon == 0:
        return "1.00"
    if nano_epsilon > _FURTHEST * NANO:
        return f"10^{math.ceil(nano_epsilon * _TENS / NANO)}"
    factor = exp_above(Fraction(nano_epsilon, NANO))
    if factor < _WHOLE:
        return f"{math.ceil(factor * _CENTS) / _CENTS:.2f}"
    if factor < _LONG:
        return f"{math.ceil(factor):,}"
    return f"10^{len(str(math.ceil(factor)))}"
