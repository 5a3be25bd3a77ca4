"""Local differential privacy: each person randomises their own value, the server counts without bias.

One file per way to encode a value; names, probabilities and variances are those of Wang, Blocki, Li, Jha 2017 (USENIX
Security).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from types import MappingProxyType
from typing import Any, Final

from checks import did_you_mean
from remedies._errors import Misfit
from remedies.differential_privacy.epsilon import Loss
from remedies.differential_privacy.frequency_oracles._contract import Estimates, Oracle, SupportOracle
from remedies.differential_privacy.frequency_oracles.choices import Declared
from remedies.differential_privacy.frequency_oracles.grr import GRR
from remedies.differential_privacy.frequency_oracles.hadamard import HadamardResponse
from remedies.differential_privacy.frequency_oracles.hashing import BLH, OLH
from remedies.differential_privacy.frequency_oracles.histogram import SHE, THE
from remedies.differential_privacy.frequency_oracles.unary import OUE, SUE

__all__ = [
    "BLH",
    "GRR",
    "OLH",
    "OUE",
    "SHE",
    "SUE",
    "THE",
    "Estimates",
    "HadamardResponse",
    "Oracle",
    "SupportOracle",
    "choose_oracle",
    "oracles",
    "perturb",
]

oracles: Final[Mapping[str, type[Oracle]]] = MappingProxyType(
    {oracle.name: oracle for oracle in (GRR, SUE, OUE, BLH, OLH, SHE, THE, HadamardResponse)}
)
"""Every oracle by its name."""

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
    """Randomise one person's value; return the report, plain data, which is all that may leave their device.

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
