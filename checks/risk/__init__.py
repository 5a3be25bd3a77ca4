"""Disclosure risk as mathematics: arrays and pandas frames in, frozen dataclasses out. What the checks judge by."""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from checks.risk.composition import Composition as Composition
    from checks.risk.composition import intersect as intersect
    from checks.risk.hierarchy import Hierarchy as Hierarchy
    from checks.risk.l_measures import ColumnDiversity as ColumnDiversity
    from checks.risk.l_measures import LDiversity as LDiversity
    from checks.risk.l_measures import l_diversity as l_diversity
    from checks.risk.population import PopulationEstimate as PopulationEstimate
    from checks.risk.population import PopulationModel as PopulationModel
    from checks.risk.population import PopulationUniqueness as PopulationUniqueness
    from checks.risk.population import population_uniqueness as population_uniqueness
    from checks.risk.presence import JournalistRisk as JournalistRisk
    from checks.risk.presence import PresenceBounds as PresenceBounds
    from checks.risk.presence import delta_presence as delta_presence
    from checks.risk.presence import journalist_risk as journalist_risk
    from checks.risk.record_linkage import Linkage as Linkage
    from checks.risk.record_linkage import linkage as linkage
    from checks.risk.sizes import ClassSizes as ClassSizes
    from checks.risk.sizes import KAnonymity as KAnonymity
    from checks.risk.sizes import class_sizes as class_sizes
    from checks.risk.sizes import k_anonymity as k_anonymity
    from checks.risk.subsets import Separation as Separation
    from checks.risk.subsets import separations as separations
    from checks.risk.t_distances import ColumnCloseness as ColumnCloseness
    from checks.risk.t_distances import TCloseness as TCloseness
    from checks.risk.t_distances import t_closeness as t_closeness


_HOMES: Final = {
    "composition": "Composition intersect",
    "hierarchy": "Hierarchy",
    "l_measures": "ColumnDiversity LDiversity l_diversity",
    "population": "PopulationEstimate PopulationModel PopulationUniqueness population_uniqueness",
    "presence": "JournalistRisk PresenceBounds delta_presence journalist_risk",
    "record_linkage": "Linkage linkage",
    "sizes": "ClassSizes KAnonymity class_sizes k_anonymity",
    "subsets": "Separation separations",
    "t_distances": "ColumnCloseness TCloseness t_closeness",
}
"""Where each name is: a configuration that names a check does not wait for the mathematics of the others."""

_HOME_OF: Final = {name: home for home, names in _HOMES.items() for name in names.split()}
__all__ = list(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
