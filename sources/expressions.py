"""Ibis, imported when it is first used: reading a configuration needs the parameters of checks, and no engine.

`dt` are the data types, `ir` the types of expressions, `ops` the operations. Modules that only write expressions
import these names from here, and begin with `from __future__ import annotations`, so that annotations import nothing.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ibis
    import ibis.expr.datatypes as dt
    import ibis.expr.operations as ops
    import ibis.expr.types as ir
else:
    from sources.lazy import LazyModule

    ibis = LazyModule("ibis")
    dt = LazyModule("ibis.expr.datatypes")
    ops = LazyModule("ibis.expr.operations")
    ir = LazyModule("ibis.expr.types")

__all__ = ["dt", "ibis", "ir", "ops"]
