"""Add up what answers cost, in integers: nano-epsilon under pure accounting, nano-rho under zero-concentrated one.

Whatever is rounded is rounded up. Sources: basic, parallel and advanced composition: Dwork, Roth 2014, theorems 3.16
and 3.20, McSherry 2009; zero-concentrated differential privacy (zCDP): Bun, Steinke 2016, propositions 1.3 and 1.4 and
lemma 2.3.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Final

from remedies._errors import Misfit
from remedies.differential_privacy.epsilon import NANO, exp_above, log_above, root_above
from remedies.differential_privacy.sensitivity import Adjacency


class Accounting(StrEnum):
    """The one unit in which a budget counts for life: integer nano-epsilon, or integer nano-rho."""

    PURE = "pure"
    ZCDP = "zcdp"


@dataclass(frozen=True, slots=True)
class Plan:
    """The total cost of a batch of equal answers, in nano-epsilon, by three compositions.

    `basic` holds with certainty; `advanced` and `zcdp` hold but for the probability delta.
    """

    basic: int
    advanced: int
    zcdp: int

    @property
    def least(self) -> int:
        """The smallest of the three; for few answers it is the basic one."""
        return min(self.basic, self.advanced, self.zcdp)


def parallel(
    parts: Iterable[int],
    *,
    adjacency: Adjacency,
    accounting: Accounting = Accounting.PURE,
    both_signs: bool = False,
) -> int:
    """Return what answers about disjoint parts of a table cost together, each priced for a record added or removed.

    Under add-remove a record is in one part: the largest. Under substitute it can leave one part and enter another: the
    sum of the two largest. `both_signs`: a record's share of an answer can be positive or negative (sums with limits of
    both signs, means, quantiles). Then a change inside one part moves its answer by up to twice what entering moves it,
    which costs twice as much, four times in zCDP, and may be more than the two largest together.
    """
    largest = sorted(parts, reverse=True)[:2]
    if not largest:
        return 0
    if adjacency is Adjacency.ADD_REMOVE:
        return largest[0]
    inside = (4 if accounting is Accounting.ZCDP else 2) * largest[0] if both_signs else 0
    return max(sum(largest), inside)


def rho_of_pure(nano_epsilon: int) -> int:
    """Return what a pure answer costs in nano-rho: epsilon^2 / 2, rounded up (Bun, Steinke 2016, proposition 1.4)."""
    return -(-(nano_epsilon**2) // (2 * NANO))


def epsilon_of_rho(nano_rho: int, delta: Fraction) -> int:
    """Return the nano-epsilon at which rho-zCDP holds but for delta: rho + 2 sqrt(rho ln(1/delta)), rounded up.

    Raises:
        Misfit: delta is not between 0 and 1.
    """
    return _nano(_epsilon_of_rho(Fraction(nano_rho, NANO), delta))


def rho_within(nano_epsilon: int, delta: Fraction) -> int:
    """Return the most nano-rho whose `epsilon_of_rho` is at most `nano_epsilon`: 0 if not even 1 is.

    Raises:
        Misfit: delta is not between 0 and 1.
    """
    low, high = 0, nano_epsilon + 1
    while high - low > 1:
        middle = (low + high) // 2
        if epsilon_of_rho(middle, delta) <= nano_epsilon:
            low = middle
        else:
            high = middle
    return low


def plan(nano_epsilon: int, *, answers: int, delta: Fraction) -> Plan:
    """Return what `answers` pure answers at `nano_epsilon` each cost together, announced and reserved at once.

    Advanced composition: e sqrt(2 k ln(1/delta)) + k e (exp(e) - 1). A planning figure: adaptive answers, asked one by
    one, are added up in the budget's own unit.

    Raises:
        Misfit: delta is not between 0 and 1, or there is no answer.
    """
    if answers < 1:
        raise Misfit(f"{answers} answers, expected at least one")
    item = Fraction(nano_epsilon, NANO)
    log = log_above(1 / delta_of(delta))
    advanced = item * root_above(2 * answers * log) + answers * item * (exp_above(item) - 1)
    return Plan(
        basic=answers * nano_epsilon,
        advanced=_nano(advanced),
        zcdp=_nano(_epsilon_of_rho(answers * item**2 / 2, delta)),
    )


def delta_of(delta: str | float | Decimal | Fraction) -> Fraction:
    """Read a probability between 0 and 1, exactly as it prints: "1e-6", 0.000001, Fraction(1, 10**6).

    Raises:
        Misfit: it is not a number between 0 and 1, or smaller than 10^-300.
    """
    try:
        read = delta if isinstance(delta, Fraction) else Fraction(Decimal(str(delta)))
    except (ArithmeticError, ValueError):
        read = Fraction(0)
    if isinstance(delta, bool) or not Fraction(1, 10**300) <= read < 1:
        raise Misfit(f"delta is {str(delta)[:40]!r}, expected a probability between 0 and 1, such as 1e-6")
    return read


def _epsilon_of_rho(rho: Fraction, delta: Fraction) -> Fraction:
    return rho + 2 * root_above(rho * log_above(1 / delta_of(delta))) if rho else Fraction(0)


def _nano(loss: Fraction) -> int:
    return math.ceil(loss * NANO)


@dataclass(frozen=True, slots=True)
class WindowBudget:
    """The budget of any `window` consecutive steps of a stream: `bound`, in nano units of one accounting.

    For releases of their own noise at each step, such as a histogram a day: a person whose events lie within so many
    steps loses at most the bound, though the stream never ends (w-event privacy; Kellaris et al. 2014).
    """

    bound: int
    window: int

    def __post_init__(self) -> None:
        if self.bound < 1 or self.window < 1:
            raise Misfit(f"a bound of {self.bound} over {self.window} steps, expected both to be at least 1")

    def remaining(self, charges: Mapping[int, int], *, step: int) -> int:
        """Return the most that may still be charged at a step, given what each step was charged: 0 or more.

        Every window that holds the step counts, also those that reach beyond it to steps already charged.
        """
        spent = sum(charges.get(at, 0) for at in range(step - self.window + 1, step + 1))
        most = spent
        for last in range(step + 1, step + self.window):
            spent += charges.get(last, 0) - charges.get(last - self.window, 0)
            most = max(most, spent)
        return max(0, self.bound - most)


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
