"""Disclosure risk as mathematics: arrays and pandas frames in, frozen dataclasses out. What the checks judge by."""

from checks.risk._sizes import ClassSizes, class_sizes

__all__ = ["ClassSizes", "class_sizes"]
