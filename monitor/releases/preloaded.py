"""What trying a remedy needs: importing this imports it, once, in the process that those who try are forked from.

Nothing may be opened or drawn here, and no thread may be started: each of them would go on with a copy of it.
"""

import gc
from importlib import import_module
from typing import Final

_NEEDED: Final = (
    "monitor.releases.compare",
    "monitor.releases.treat",
    "monitor.releases.treatment.analysis",
    "numba",
    "remedies.code",
    "remedies.generalise",
    "remedies.microaggregate",
    "remedies.randomise",
    "remedies.suppress",
)

for _name in _NEEDED:
    import_module(_name)
import_module("duckdb").close()  # importing it opens a database, with a thread
gc.collect()
gc.freeze()  # else the first collection of each process copies all of this
