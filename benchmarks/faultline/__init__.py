"""Faultline, a benchmark of data faults: real tables in time, faults injected by seed, and tools that check them.

    histories ──> faults ──> ours, contestants ──> scores ──> page (docs/faultline.md)

Read `histories` (the tables, run by run), `faults` (what is injected), `knowledge` (what a configuration by hand
knows), `ours` and `contestants` (the tools), `scores` (what is measured) and `page`.
"""

from benchmarks.faultline.command import main

__all__ = ["main"]
