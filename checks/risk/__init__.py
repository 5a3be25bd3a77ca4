"""Disclosure risk as mathematics: arrays and pandas frames in, frozen dataclasses out. What the checks judge by."""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from checks.risk.composition import Composition, intersect
    from checks.risk.hierarchy import Hierarchy
    from checks.risk.l_measures import ColumnDiversity, LDiversity, l_diversity
    from checks.risk.population import PopulationEstimate, PopulationModel, PopulationUniqueness, population_uniqueness
    from checks.risk.presence import JournalistRisk, PresenceBounds, delta_presence, journalist_risk
    from checks.risk.record_linkage import Linkage, linkage
    from checks.risk.sizes import ClassSizes, KAnonymity, class_sizes, k_anonymity
    from checks.risk.subsets import Separation, separations
    from checks.risk.t_distances import ColumnCloseness, TCloseness, t_closeness

__all__ = [
    "ClassSizes",
    "ColumnCloseness",
    "ColumnDiversity",
    "Composition",
    "Hierarchy",
    "JournalistRisk",
    "KAnonymity",
    "LDiversity",
    "Linkage",
    "PopulationEstimate",
    "PopulationModel",
    "PopulationUniqueness",
    "PresenceBounds",
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

_PLACES: Final = {
    "ClassSizes": "sizes",
    "ColumnCloseness": "t_distances",
    "ColumnDiversity": "l_measures",
    "Composition": "composition",
    "PopulationEstimate": "population",
    "Hierarchy": "hierarchy",
    "JournalistRisk": "presence",
    "KAnonymity": "sizes",
    "LDiversity": "l_measures",
    "Linkage": "record_linkage",
    "PopulationModel": "population",
    "PopulationUniqueness": "population",
    "PresenceBounds": "presence",
    "Separation": "subsets",
    "TCloseness": "t_distances",
    "class_sizes": "sizes",
    "delta_presence": "presence",
    "intersect": "composition",
    "journalist_risk": "presence",
    "k_anonymity": "sizes",
    "l_diversity": "l_measures",
    "linkage": "record_linkage",
    "population_uniqueness": "population",
    "separations": "subsets",
    "t_closeness": "t_distances",
}
"""Where each name is: a configuration that names a check does not wait for the mathematics of the others."""


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
