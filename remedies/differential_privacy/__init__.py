"""Randomisation and differential privacy as mathematics: exact noise, local reports, batches, streams, accounting."""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from remedies.differential_privacy._binary import BinaryMechanism as BinaryMechanism
    from remedies.differential_privacy._matrix import Replacement as Replacement
    from remedies.differential_privacy._reconstruct import Reconstruction as Reconstruction
    from remedies.differential_privacy._reconstruct import reconstruct as reconstruct
    from remedies.differential_privacy._retention import epsilon_for_pk as epsilon_for_pk
    from remedies.differential_privacy._retention import epsilon_of as epsilon_of
    from remedies.differential_privacy._retention import pk_of as pk_of
    from remedies.differential_privacy._retention import retention as retention
    from remedies.differential_privacy._samplers import discrete_gaussian as discrete_gaussian
    from remedies.differential_privacy._samplers import discrete_laplace as discrete_laplace
    from remedies.differential_privacy._samplers import exponential_mechanism as exponential_mechanism
    from remedies.differential_privacy._samplers import gaussian_square as gaussian_square
    from remedies.differential_privacy._samplers import many_discrete_gaussian as many_discrete_gaussian
    from remedies.differential_privacy._samplers import many_discrete_laplace as many_discrete_laplace
    from remedies.differential_privacy._samplers import permute_and_flip as permute_and_flip
    from remedies.differential_privacy._samplers import quantile_utilities as quantile_utilities
    from remedies.differential_privacy._sparse_vector import SparseVector as SparseVector
    from remedies.differential_privacy._spread import gaussian_variance as gaussian_variance
    from remedies.differential_privacy._spread import laplace_variance as laplace_variance
    from remedies.differential_privacy._spread import laplace_within as laplace_within
    from remedies.differential_privacy.accounting import Accounting as Accounting
    from remedies.differential_privacy.accounting import Plan as Plan
    from remedies.differential_privacy.accounting import WindowBudget as WindowBudget
    from remedies.differential_privacy.accounting import delta_of as delta_of
    from remedies.differential_privacy.accounting import epsilon_of_rho as epsilon_of_rho
    from remedies.differential_privacy.accounting import parallel as parallel
    from remedies.differential_privacy.accounting import plan as plan
    from remedies.differential_privacy.accounting import rho_of_pure as rho_of_pure
    from remedies.differential_privacy.accounting import rho_within as rho_within
    from remedies.differential_privacy.accounting import sentence as sentence
    from remedies.differential_privacy.comparison import Comparison as Comparison
    from remedies.differential_privacy.comparison import compare as compare
    from remedies.differential_privacy.epsilon import laplace_scale as laplace_scale
    from remedies.differential_privacy.epsilon import nano as nano
    from remedies.differential_privacy.frequency_oracles import Estimates as Estimates
    from remedies.differential_privacy.frequency_oracles import Oracle as Oracle
    from remedies.differential_privacy.frequency_oracles import choose_oracle as choose_oracle
    from remedies.differential_privacy.frequency_oracles import oracles as oracles
    from remedies.differential_privacy.frequency_oracles import perturb as perturb
    from remedies.differential_privacy.mechanism import Mechanism as Mechanism
    from remedies.differential_privacy.mechanism import Randomised as Randomised
    from remedies.differential_privacy.mechanism import randomise as randomise
    from remedies.differential_privacy.sensitivity import Adjacency as Adjacency
    from remedies.differential_privacy.sensitivity import Sensitivity as Sensitivity
    from remedies.differential_privacy.sensitivity import centred_sum_sensitivity as centred_sum_sensitivity
    from remedies.differential_privacy.sensitivity import count_sensitivity as count_sensitivity
    from remedies.differential_privacy.sensitivity import group_sum_sensitivity as group_sum_sensitivity
    from remedies.differential_privacy.sensitivity import halves as halves
    from remedies.differential_privacy.sensitivity import histogram_sensitivity as histogram_sensitivity
    from remedies.differential_privacy.sensitivity import mean_of as mean_of
    from remedies.differential_privacy.sensitivity import quantile_sensitivity as quantile_sensitivity
    from remedies.differential_privacy.sensitivity import sum_sensitivity as sum_sensitivity
    from remedies.differential_privacy.synthesis import SynthesisMechanism as SynthesisMechanism
    from remedies.differential_privacy.synthesis import Synthetic as Synthetic
    from remedies.differential_privacy.synthesis import synthesise as synthesise


_HOMES: Final = {
    "_binary": "BinaryMechanism",
    "_matrix": "Replacement",
    "_reconstruct": "Reconstruction reconstruct",
    "_retention": "epsilon_for_pk epsilon_of pk_of retention",
    "_samplers": (
        "discrete_gaussian discrete_laplace exponential_mechanism gaussian_square many_discrete_gaussian "
        "many_discrete_laplace permute_and_flip quantile_utilities"
    ),
    "_sparse_vector": "SparseVector",
    "_spread": "gaussian_variance laplace_variance laplace_within",
    "accounting": "Accounting Plan WindowBudget delta_of epsilon_of_rho parallel plan rho_of_pure rho_within sentence",
    "comparison": "Comparison compare",
    "epsilon": "laplace_scale nano",
    "frequency_oracles": "Estimates Oracle choose_oracle oracles perturb",
    "mechanism": "Mechanism Randomised randomise",
    "sensitivity": (
        "Adjacency Sensitivity centred_sum_sensitivity count_sensitivity group_sum_sensitivity halves "
        "histogram_sensitivity mean_of quantile_sensitivity sum_sensitivity"
    ),
    "synthesis": "SynthesisMechanism Synthetic synthesise",
}
"""Where each name is: a configuration that mentions an epsilon does not wait for arrays."""

_HOME_OF: Final = {name: home for home, names in _HOMES.items() for name in names.split()}
__all__ = list(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
