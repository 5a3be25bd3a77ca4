"""Choose an oracle by the variance rule, and randomise one value: what a person's own device needs."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Final

from checks import did_you_mean
from remedies._errors import Misfit
from remedies.differential_privacy.epsilon import Loss
from remedies.differential_privacy.frequency_oracles import GRR, OLH, OUE, Oracle, oracles
from remedies.differential_privacy.frequency_oracles.choices import Declared

MOST_BITS: Final = 1024
"""The longest report of OUE that is chosen: one bit for each value. OLH reports three numbers, whatever the domain."""


def choose_oracle(domain: Declared, epsilon: Loss, *, other: Hashable = None) -> Oracle:
    """Return the oracle of least variance (Wang et al. 2017, section 5.1).

    GRR iff d < 3 exp(epsilon) + 2; beyond, OUE for domains of up to 1,024 values and OLH for larger ones, which vary
    alike. The domain (its values, or d for 0 to d - 1) and epsilon alone decide, so clients and server choose alike.

    Raises:
        Misfit: the domain or epsilon makes no sense.
    """
    hashing = OLH(domain, epsilon, other=other)
    size = hashing.choices.size
    if size < 3 * hashing.odds + 2:
        return GRR(domain, epsilon, other=other)
    return OUE(domain, epsilon, other=other) if size <= MOST_BITS else hashing


def perturb(
    value: Hashable, domain: Declared, *, epsilon: Loss, oracle: str | None = None, other: Hashable = None
) -> Any:
    """Randomise one person's value: gives the report, plain data, which is all that may leave their device.

    Each report of the same value costs epsilon again; keep the first one and send it again instead. For many values
    and for the estimates, take the oracle itself: `oracles["GRR"](domain, epsilon)`, or `choose_oracle`.

    Raises:
        Misfit: the domain, epsilon or the oracle's name makes no sense, or the value is not in the domain.
    """
    if oracle is None:
        return choose_oracle(domain, epsilon, other=other).perturb(value)
    if oracle.upper() not in oracles:
        raise Misfit(f"no oracle '{oracle}'{did_you_mean(oracle.upper(), oracles)}; available: {', '.join(oracles)}")
    return oracles[oracle.upper()](domain, epsilon, other=other).perturb(value)
