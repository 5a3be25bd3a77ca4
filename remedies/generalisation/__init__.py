"""Generalisation as mathematics: hierarchies, frequency tables, searches among levels, and what each loses."""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from checks.risk import Hierarchy as Hierarchy
    from remedies.generalisation._comparison import FigureChange as FigureChange
    from remedies.generalisation._comparison import ResultChange as ResultChange
    from remedies.generalisation._comparison import compare_results as compare_results
    from remedies.generalisation._faults import FaultKind as FaultKind
    from remedies.generalisation._faults import HierarchyFault as HierarchyFault
    from remedies.generalisation._faults import hierarchy_faults as hierarchy_faults
    from remedies.generalisation._faults import row_faults as row_faults
    from remedies.generalisation._files import read_hierarchy as read_hierarchy
    from remedies.generalisation._files import write_hierarchy as write_hierarchy
    from remedies.generalisation._groups import DateLevel as DateLevel
    from remedies.generalisation._groups import dates as dates
    from remedies.generalisation._groups import tree as tree
    from remedies.generalisation._intervals import bins as bins
    from remedies.generalisation._intervals import breaks as breaks
    from remedies.generalisation._intervals import coding as coding
    from remedies.generalisation._intervals import intervals as intervals
    from remedies.generalisation.by import By as By
    from remedies.generalisation.criteria import LDiversityLimit as LDiversityLimit
    from remedies.generalisation.criteria import TClosenessLimit as TClosenessLimit
    from remedies.generalisation.datafly_search import Datafly as Datafly
    from remedies.generalisation.datafly_search import datafly as datafly
    from remedies.generalisation.folder import hierarchies_in as hierarchies_in
    from remedies.generalisation.incognito_search import Generalisations as Generalisations
    from remedies.generalisation.incognito_search import incognito as incognito
    from remedies.generalisation.levels import flat as flat
    from remedies.generalisation.levels import masks as masks
    from remedies.generalisation.mondrian_search import mondrian as mondrian
    from remedies.generalisation.optimal_search import Optimum as Optimum
    from remedies.generalisation.optimal_search import optimal as optimal
    from remedies.generalisation.recoding import RecodedColumn as RecodedColumn
    from remedies.generalisation.recoding import Recoding as Recoding
    from remedies.generalisation.spec import HierarchySpec as HierarchySpec
    from remedies.generalisation.spec import hierarchy_spec as hierarchy_spec
    from remedies.generalisation.spelling import path_of_null as path_of_null
    from remedies.generalisation.spelling import text_of as text_of
    from remedies.generalisation.spelling import texts_of as texts_of
    from remedies.generalisation.suppression import suppress_cells as suppress_cells
    from remedies.generalisation.suppression import suppress_records as suppress_records
    from remedies.generalisation.utility import CellUtilities as CellUtilities
    from remedies.generalisation.utility import Utilities as Utilities
    from remedies.generalisation.utility import utilities as utilities


_HOMES: Final = {
    "_comparison": "FigureChange ResultChange compare_results",
    "_faults": "FaultKind HierarchyFault hierarchy_faults row_faults",
    "_files": "read_hierarchy write_hierarchy",
    "_groups": "DateLevel dates tree",
    "_intervals": "bins breaks coding intervals",
    "by": "By",
    "criteria": "LDiversityLimit TClosenessLimit",
    "datafly_search": "Datafly datafly",
    "folder": "hierarchies_in",
    "incognito_search": "Generalisations incognito",
    "levels": "Hierarchy flat masks",
    "mondrian_search": "mondrian",
    "optimal_search": "Optimum optimal",
    "recoding": "RecodedColumn Recoding",
    "spec": "HierarchySpec hierarchy_spec",
    "spelling": "path_of_null text_of texts_of",
    "suppression": "suppress_cells suppress_records",
    "utility": "CellUtilities Utilities utilities",
}
"""Where each name is: a configuration that only names hierarchies does not wait for compiled kernels."""

_HOME_OF: Final = {name: home for home, names in _HOMES.items() for name in names.split()}
__all__ = list(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
