"""A small shop with planted faults, scanned for six simulated weeks by the real engine.

    _shop (data) + _plan (faults) ─> _replay ─> store ─> _story
                                                └─> _live

In: a folder to write to. Out: data, configuration, store and reports there. Read `_plan`, `_replay`, `_build`.
"""

from monitor.demo._build import DAYS, Demo, DemoError, build_demo, explained, newest_start
from monitor.demo._live import LiveShop
from monitor.demo._plan import FAULTS, NULLS, PlantedFault
from monitor.demo._story import DemoResult, tell

__all__ = [
    "DAYS",
    "FAULTS",
    "NULLS",
    "Demo",
    "DemoError",
    "DemoResult",
    "LiveShop",
    "PlantedFault",
    "build_demo",
    "explained",
    "newest_start",
    "tell",
]
