"""Disclosure risk as mathematics: arrays and pandas frames in, frozen dataclasses out. What the checks judge by."""

from checks.risk._k_anonymity import KAnonymity, k_anonymity
from checks.risk._population import Estimate, PopulationModel, PopulationUniqueness, population_uniqueness
from checks.risk._sizes import ClassSizes, class_sizes

__all__ = [
    "ClassSizes",
    "Estimate",
    "KAnonymity",
    "PopulationModel",
    "PopulationUniqueness",
    "class_sizes",
    "k_anonymity",
    "population_uniqueness",
]
