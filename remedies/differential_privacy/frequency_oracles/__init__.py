"""Local differential privacy: each person randomises their own value, the server counts without bias.

One file per way to encode a value; names, probabilities and variances are those of Wang, Blocki, Li, Jha 2017 (USENIX
Security).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from remedies.differential_privacy.frequency_oracles._contract import Estimates, Oracle, SupportOracle
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
    "oracles",
]

oracles: Final[Mapping[str, type[Oracle]]] = MappingProxyType(
    {oracle.name: oracle for oracle in (GRR, SUE, OUE, BLH, OLH, SHE, THE, HadamardResponse)}
)
"""Every oracle by its name."""
