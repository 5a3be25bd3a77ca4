"""Randomisation and differential privacy as mathematics: exact noise, local reports, batches, streams, accounting."""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from remedies.differential_privacy._matrix import Replacement
    from remedies.differential_privacy._mechanism import Mechanism
    from remedies.differential_privacy._randomise import Randomised, randomise
    from remedies.differential_privacy._reconstruct import Reconstruction, reconstruct
    from remedies.differential_privacy._retention import epsilon_for_pk, epsilon_of, pk_of, retention

__all__ = [
    "Mechanism",
    "Randomised",
    "Reconstruction",
    "Replacement",
    "epsilon_for_pk",
    "epsilon_of",
    "pk_of",
    "randomise",
    "reconstruct",
    "retention",
]

_PLACES: Final = {
    "Mechanism": "_mechanism",
    "Randomised": "_randomise",
    "Reconstruction": "_reconstruct",
    "Replacement": "_matrix",
    "epsilon_for_pk": "_retention",
    "epsilon_of": "_retention",
    "pk_of": "_retention",
    "randomise": "_randomise",
    "reconstruct": "_reconstruct",
    "retention": "_retention",
}
"""Where each name is: a configuration that mentions an epsilon does not wait for arrays."""


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
