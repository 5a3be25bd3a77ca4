"""Generalisation as mathematics: hierarchies, frequency tables, searches among levels, and what each loses."""

from checks.risk import Hierarchy
from remedies.generalisation._bins import bins
from remedies.generalisation._coding import coding
from remedies.generalisation._dates import DateLevel, dates
from remedies.generalisation._fault import Fault, FaultKind
from remedies.generalisation._faults import hierarchy_faults, row_faults
from remedies.generalisation._files import read_hierarchy, write_hierarchy
from remedies.generalisation._folder import hierarchies_in
from remedies.generalisation._intervals import breaks, intervals
from remedies.generalisation._masks import masks
from remedies.generalisation._spec import HierarchySpec, hierarchy_spec
from remedies.generalisation._spell import path_of_null, text_of, texts_of
from remedies.generalisation._tree import tree

__all__ = [
    "DateLevel",
    "Fault",
    "FaultKind",
    "Hierarchy",
    "HierarchySpec",
    "bins",
    "breaks",
    "coding",
    "dates",
    "hierarchies_in",
    "hierarchy_faults",
    "hierarchy_spec",
    "intervals",
    "masks",
    "path_of_null",
    "read_hierarchy",
    "row_faults",
    "text_of",
    "texts_of",
    "tree",
    "write_hierarchy",
]
