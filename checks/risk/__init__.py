"""Disclosure risk as mathematics: arrays and pandas frames in, frozen dataclasses out. What the checks judge by."""

from checks.risk.class_risks import KAnonymity, k_anonymity
from checks.risk.composition import Composition, intersect
from checks.risk.hierarchy import Hierarchy
from checks.risk.l_measures import ColumnDiversity, LDiversity, l_diversity
from checks.risk.population import Estimate, PopulationModel, PopulationUniqueness, population_uniqueness
from checks.risk.presence import JournalistRisk, Presence, delta_presence, journalist_risk
from checks.risk.record_linkage import Linkage, linkage
from checks.risk.sizes import ClassSizes, class_sizes
from checks.risk.subsets import Separation, separations
from checks.risk.t_distances import ColumnCloseness, TCloseness, t_closeness

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
