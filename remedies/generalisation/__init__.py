"""Generalisation as mathematics: hierarchies, frequency tables, searches among levels, and what each loses."""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from checks.risk import Hierarchy
    from remedies.generalisation._bins import bins
    from remedies.generalisation._comparison import FigureChange, ResultChange, compare_results
    from remedies.generalisation._dates import DateLevel, dates
    from remedies.generalisation._fault import FaultKind, HierarchyFault
    from remedies.generalisation._faults import hierarchy_faults, row_faults
    from remedies.generalisation._files import read_hierarchy, write_hierarchy
    from remedies.generalisation._intervals import breaks, coding, intervals
    from remedies.generalisation._tree import tree
    from remedies.generalisation.by import By
    from remedies.generalisation.criteria import LDiversityLimit, TClosenessLimit
    from remedies.generalisation.datafly_search import Datafly, datafly
    from remedies.generalisation.folder import hierarchies_in
    from remedies.generalisation.incognito_search import Generalisations, incognito
    from remedies.generalisation.levels import flat, masks
    from remedies.generalisation.mondrian_search import mondrian
    from remedies.generalisation.optimal_search import Optimum, optimal
    from remedies.generalisation.recoding import RecodedColumn, Recoding
    from remedies.generalisation.spec import HierarchySpec, hierarchy_spec
    from remedies.generalisation.spelling import path_of_null, text_of, texts_of
    from remedies.generalisation.suppression import suppress_cells, suppress_records
    from remedies.generalisation.utility import CellUtilities, Utilities, utilities

__all__ = [
    "By",
    "CellUtilities",
    "Datafly",
    "DateLevel",
    "FaultKind",
    "FigureChange",
    "Generalisations",
    "Hierarchy",
    "HierarchyFault",
    "HierarchySpec",
    "LDiversityLimit",
    "Optimum",
    "RecodedColumn",
    "Recoding",
    "ResultChange",
    "TClosenessLimit",
    "Utilities",
    "bins",
    "breaks",
    "coding",
    "compare_results",
    "datafly",
    "dates",
    "flat",
    "hierarchies_in",
    "hierarchy_faults",
    "hierarchy_spec",
    "incognito",
    "intervals",
    "masks",
    "mondrian",
    "optimal",
    "path_of_null",
    "read_hierarchy",
    "row_faults",
    "suppress_cells",
    "suppress_records",
    "text_of",
    "texts_of",
    "tree",
    "utilities",
    "write_hierarchy",
]

_PLACES: Final = {
    "By": "by",
    "CellUtilities": "utility",
    "Datafly": "datafly_search",
    "DateLevel": "_dates",
    "HierarchyFault": "_fault",
    "FaultKind": "_fault",
    "FigureChange": "_comparison",
    "Generalisations": "incognito_search",
    "Hierarchy": "levels",
    "HierarchySpec": "spec",
    "LDiversityLimit": "criteria",
    "Optimum": "optimal_search",
    "RecodedColumn": "recoding",
    "Recoding": "recoding",
    "ResultChange": "_comparison",
    "TClosenessLimit": "criteria",
    "Utilities": "utility",
    "bins": "_bins",
    "breaks": "_intervals",
    "coding": "_intervals",
    "compare_results": "_comparison",
    "datafly": "datafly_search",
    "dates": "_dates",
    "flat": "levels",
    "hierarchies_in": "folder",
    "hierarchy_faults": "_faults",
    "hierarchy_spec": "spec",
    "incognito": "incognito_search",
    "intervals": "_intervals",
    "masks": "levels",
    "mondrian": "mondrian_search",
    "optimal": "optimal_search",
    "path_of_null": "spelling",
    "read_hierarchy": "_files",
    "row_faults": "_faults",
    "suppress_cells": "suppression",
    "suppress_records": "suppression",
    "text_of": "spelling",
    "texts_of": "spelling",
    "tree": "_tree",
    "utilities": "utility",
    "write_hierarchy": "_files",
}
"""Where each name is: a configuration that only names hierarchies does not wait for compiled kernels."""


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
