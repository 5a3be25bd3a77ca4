"""Run: the command line, the configuration, the engine and the reports. The only room that talks to the world.

The rooms of this house have plain names (`checks`, `store`, `sources` ...), so another package of the same name may
hide one of them. That is looked for once, here, because its effects would be strange and far away.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import Final

ROOMS: Final = ("sources", "checks", "incidents", "remedies", "store", "templates")


class ShadowedPackageError(ImportError):
    """Another package hides a room of Tablewatch."""


def _find(room: str) -> Path | None:
    spec = find_spec(room)
    if spec is None:
        return None
    if spec.submodule_search_locations:
        return Path(next(iter(spec.submodule_search_locations)))
    return Path(spec.origin) if spec.origin else None


def _guard_rooms() -> None:
    house = Path(__file__).resolve().parent.parent
    for room in ROOMS:
        result, expected = _find(room), house / room
        if result is None or result.resolve() != expected:
            raise ShadowedPackageError(
                f"package '{room}' was found at {result or 'no place at all'}, expected at {expected}; "
                f"install tablewatch in a separate virtual environment, or remove the other '{room}' from the "
                "import path"
            )


_guard_rooms()
