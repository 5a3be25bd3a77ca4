"""Modules that are imported when they are first used."""

from importlib import import_module
from types import ModuleType
from typing import Any


class LazyModule(ModuleType):
    """A module that is imported when an attribute of it is first read."""

    def __getattr__(self, name: str) -> Any:
        module = import_module(self.__name__)
        self.__dict__.update(vars(module))
        return getattr(module, name)
