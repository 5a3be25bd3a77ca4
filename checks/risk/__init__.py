"""Disclosure risk as mathematics: arrays and pandas frames in, frozen dataclasses out. What the checks judge by."""

from checks.risk._composition import Composition, intersect
from checks.risk._hierarchy import Hierarchy
from checks.risk._k_anonymity import KAnonymity, k_anonymity
from checks.risk._l_diversity import ColumnDiversity, LDiversity, l_diversity
from checks.risk._linkage import Linkage, linkage
from checks.risk._population import Estimate, PopulationModel, PopulationUniqueness, population_uniqueness
from checks.risk._presence import JournalistRisk, Presence, delta_presence, journalist_risk
from checks.risk._sizes import ClassSizes, class_sizes
from checks.risk._subsets import Separation, separations
from checks.risk._t_closeness import ColumnCloseness, TCloseness, t_closeness

__all__ = [
    "ClassSizes",
    "ColumnCloseness",
    "ColumnDiversity",
    "Composition",
    "Estimate",
    "Hierarchy",
    "JournalistRisk",
    "KAnonymity",
    "LDiversity",
    "Linkage",
    "PopulationModel",
    "PopulationUniqueness",
    "Presence",
    "Separation",
    "TCloseness",
    "class_sizes",
    "delta_presence",
    "intersect",
    "journalist_risk",
    "k_anonymity",
    "l_diversity",
    "linkage",
    "population_uniqueness",
    "separations",
    "t_closeness",
]
