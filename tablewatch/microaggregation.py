"""Microaggregation as mathematics: arrays and pandas frames in, frozen dataclasses out."""

from importlib import import_module
from types import ModuleType

import remedies.microaggregation as _library
from remedies.microaggregation import *

__all__ = _library.__all__


def __getattr__(name: str) -> ModuleType:
    if name == "spark":
        return import_module(f"{_library.__name__}.spark")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
