"""NumPy, imported when it is first used: commands that compute no figure need none.

Modules that a configuration or the store loads import these names from here, and evaluate none of them while they are
imported: they begin with `from __future__ import annotations`, and write aliases of array types as texts.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
else:
    from sources.expressions import LazyModule

    np = LazyModule("numpy")
    npt = LazyModule("numpy.typing")

__all__ = ["np", "npt"]
