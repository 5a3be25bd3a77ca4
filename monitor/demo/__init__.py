"""A small shop with planted faults, watched for six simulated weeks by the real engine."""

from monitor.demo._build import DAYS, Demo, DemoError, build_demo, explained, newest_start
from monitor.demo._plan import FAULTS, Fault
from monitor.demo._story import Story, tell

__all__ = ["DAYS", "FAULTS", "Demo", "DemoError", "Fault", "Story", "build_demo", "explained", "newest_start", "tell"]
