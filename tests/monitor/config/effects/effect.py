"""An entry of the tables: a key of the schema, two values of it, and the observation that differs by them."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final

ABSENT: Final = "(the key is absent)"


@dataclass(frozen=True, slots=True)
class Effect:
    """Two configurations that differ in one key only, by construction, and what is observed of each.

    `key` is the name of a section in the JSON Schema and its key, such as `Limits.k`. `path` leads from the `base` to
    it; its last step is the key, unless the keys of the section are names that people choose. `needs` names what has
    to be installed, in the words of `tests.needs`.
    """

    key: str
    base: Mapping[str, Any]
    values: tuple[Any, Any]
    observe: Callable[[Mapping[str, Any]], object]
    path: tuple[str | int, ...] = ()
    needs: tuple[str, ...] = ()

    def observations(self) -> tuple[object, object]:
        """Return what is observed with each of the values."""
        first, second = (self.observe(self._with(value)) for value in self.values)
        return first, second

    def _with(self, value: Any) -> Mapping[str, Any]:
        changed: Any = deepcopy(dict(self.base))
        *way, last = self.path or (self.key.rpartition(".")[2],)
        place = changed
        for step in way:
            place = place.setdefault(step, {}) if isinstance(place, dict) else place[step]
        if value == ABSENT:
            place.pop(last, None)
        else:
            place[last] = value
        return dict(changed)

    def __str__(self) -> str:
        return self.key


@dataclass(frozen=True, slots=True)
class ShownElsewhere:
    """A key whose effect needs what does not run in this process, and the test that shows it: `path::test_name`."""

    key: str
    test: str
    reason: str

    def __str__(self) -> str:
        return self.key
