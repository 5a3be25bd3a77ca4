"""Checks, channels and sources of other distributions, which name them by entry points.

    [project.entry-points."tablewatch.checks"]
    text_length = "parcels.checks:TextLength"

A name of Tablewatch itself is never replaced, and of two distributions with one name the first in the alphabet counts.
What is refused or cannot be loaded costs only itself.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any

from sources._contract import SourceError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


class PluginGroup(StrEnum):
    """What other distributions can add."""

    CHECKS = "tablewatch.checks"
    CHANNELS = "tablewatch.channels"
    SOURCES = "tablewatch.sources"


class PluginError(SourceError):
    """A plugin that cannot be used; the text says which, of which distribution, and why."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """What a distribution adds under a name."""

    group: PluginGroup
    name: str
    entry: EntryPoint

    @property
    def distribution(self) -> str:
        """Return the name and version of its distribution."""
        dist = self.entry.dist
        return "an unknown distribution" if dist is None else f"{dist.name} {dist.version}"

    def load(self, base: type | None = None) -> Any:
        """Import it; a class that is meant as an instance of `base`, such as a kind of channel, is called.

        Raises:
            PluginError: it cannot be imported, or is not what its group is for.
        """
        try:
            value = self.entry.load()
            value = value() if base is not None and isinstance(value, type) else value
        except Exception as error:
            raise PluginError(f"{self} cannot be loaded ({type(error).__name__}: {error})") from error
        if base is not None and not isinstance(value, base):
            raise PluginError(f"{self} is no {base.__name__}")
        return value

    def __str__(self) -> str:
        """Return what it is, in the words of messages."""
        word = self.group.value.rpartition(".")[2].removesuffix("s")
        return f"{word} '{self.name}' of {self.distribution}"


@cache
def plugins(group: PluginGroup) -> Mapping[str, Plugin]:
    """Return what the installed distributions add to a group, by name."""
    from importlib.metadata import entry_points  # few processes need it

    found: dict[str, Plugin] = {}
    for plugin in sorted((Plugin(group, entry.name, entry) for entry in entry_points(group=group.value)), key=str):
        found.setdefault(plugin.name, plugin)
    return found


def usable_plugins(group: PluginGroup, own: Collection[str]) -> Mapping[str, Plugin]:
    """Return the plugins of a group whose names are not those of Tablewatch itself."""
    return {name: plugin for name, plugin in plugins(group).items() if name not in own}


def refused_plugins(group: PluginGroup, own: Collection[str]) -> Mapping[str, str]:
    """Return why plugins are refused for their names."""
    return {
        name: f"{plugin} has the name of one of Tablewatch, which stays; it needs another name"
        for name, plugin in plugins(group).items()
        if name in own
    }
