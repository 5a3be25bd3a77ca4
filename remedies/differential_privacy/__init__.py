"""Randomisation and differential privacy as mathematics: exact noise, local reports, batches, streams, accounting."""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from remedies.differential_privacy._binary import BinaryMechanism
    from remedies.differential_privacy._exponential import (
        exponential_mechanism,
        permute_and_flip,
        quantile_utilities,
    )
    from remedies.differential_privacy._gaussian import discrete_gaussian, gaussian_square
    from remedies.differential_privacy._laplace import discrete_laplace, many_discrete_laplace
    from remedies.differential_privacy._local import choose_oracle, perturb
    from remedies.differential_privacy._matrix import Replacement
    from remedies.differential_privacy._mean import halves, mean_of
    from remedies.differential_privacy._mechanism import Mechanism
    from remedies.differential_privacy._reconstruct import Reconstruction, reconstruct
    from remedies.differential_privacy._retention import epsilon_for_pk, epsilon_of, pk_of, retention
    from remedies.differential_privacy._sparse_vector import SparseVector
    from remedies.differential_privacy._spread import gaussian_variance, laplace_variance, laplace_within
    from remedies.differential_privacy._window import WindowBudget
    from remedies.differential_privacy.accounting import (
        Accounting,
        Plan,
        delta_of,
        epsilon_of_rho,
        parallel,
        plan,
        rho_of_pure,
        rho_within,
    )
    from remedies.differential_privacy.comparison import Comparison, compare
    from remedies.differential_privacy.epsilon import laplace_scale, nano
    from remedies.differential_privacy.frequency_oracles import Estimates, Oracle, oracles
    from remedies.differential_privacy.mechanism import Randomised, randomise
    from remedies.differential_privacy.sensitivity import (
        Adjacency,
        Sensitivity,
        centred_sum_sensitivity,
        count_sensitivity,
        group_sum_sensitivity,
        histogram_sensitivity,
        quantile_sensitivity,
        sum_sensitivity,
    )
    from remedies.differential_privacy.sentences import sentence

__all__ = [
    "Accounting",
    "Adjacency",
    "BinaryMechanism",
    "Comparison",
    "Estimates",
    "Mechanism",
    "Oracle",
    "Plan",
    "Randomised",
    "Reconstruction",
    "Replacement",
    "Sensitivity",
    "SparseVector",
    "WindowBudget",
    "centred_sum_sensitivity",
    "choose_oracle",
    "compare",
    "count_sensitivity",
    "delta_of",
    "discrete_gaussian",
    "discrete_laplace",
    "epsilon_for_pk",
    "epsilon_of",
    "epsilon_of_rho",
    "exponential_mechanism",
    "gaussian_square",
    "gaussian_variance",
    "group_sum_sensitivity",
    "halves",
    "histogram_sensitivity",
    "laplace_scale",
    "laplace_variance",
    "laplace_within",
    "many_discrete_laplace",
    "mean_of",
    "nano",
    "oracles",
    "parallel",
    "permute_and_flip",
    "perturb",
    "pk_of",
    "plan",
    "quantile_sensitivity",
    "quantile_utilities",
    "randomise",
    "reconstruct",
    "retention",
    "rho_of_pure",
    "rho_within",
    "sentence",
    "sum_sensitivity",
]

_PLACES: Final = {
    "Accounting": "accounting",
    "Adjacency": "sensitivity",
    "BinaryMechanism": "_binary",
    "Comparison": "comparison",
    "Estimates": "frequency_oracles",
    "Mechanism": "_mechanism",
    "Oracle": "frequency_oracles",
    "Plan": "accounting",
    "Randomised": "mechanism",
    "Reconstruction": "_reconstruct",
    "Replacement": "_matrix",
    "Sensitivity": "sensitivity",
    "SparseVector": "_sparse_vector",
    "WindowBudget": "_window",
    "centred_sum_sensitivity": "sensitivity",
    "choose_oracle": "_local",
    "compare": "comparison",
    "count_sensitivity": "sensitivity",
    "delta_of": "accounting",
    "discrete_gaussian": "_gaussian",
    "discrete_laplace": "_laplace",
    "epsilon_for_pk": "_retention",
    "epsilon_of": "_retention",
    "epsilon_of_rho": "accounting",
    "exponential_mechanism": "_exponential",
    "gaussian_square": "_gaussian",
    "gaussian_variance": "_spread",
    "group_sum_sensitivity": "sensitivity",
    "halves": "_mean",
    "histogram_sensitivity": "sensitivity",
    "laplace_scale": "epsilon",
    "laplace_variance": "_spread",
    "laplace_within": "_spread",
    "many_discrete_laplace": "_laplace",
    "mean_of": "_mean",
    "nano": "epsilon",
    "oracles": "frequency_oracles",
    "parallel": "accounting",
    "permute_and_flip": "_exponential",
    "perturb": "_local",
    "pk_of": "_retention",
    "plan": "accounting",
    "quantile_sensitivity": "sensitivity",
    "quantile_utilities": "_exponential",
    "randomise": "mechanism",
    "reconstruct": "_reconstruct",
    "retention": "_retention",
    "rho_of_pure": "accounting",
    "rho_within": "accounting",
    "sentence": "sentences",
    "sum_sensitivity": "sensitivity",
}
"""Where each name is: a configuration that mentions an epsilon does not wait for arrays."""


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
