"""A generalisation hierarchy: for each value of a column, what it becomes at each level."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from checks.classes.arrays import np, npt

Path = Sequence[str]


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """The values of a column and their ancestors, level by level.

    `levels[0]` are the values, each once; `levels[i][j]` is the ancestor of value j at level i. All levels are equally
    long. Who has the same ancestor at a level has the same one at every level above. The last level may be one node
    (the root, such as `*`) or several: what is above them is everything. Texts only: numbers and dates as written.
    """

    levels: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        """Refuse what is no hierarchy. Messages count, and name no value.

        Raises:
            ValueError: there is no value, levels differ in length, a value comes twice, or an ancestor has two parents.
        """
        if not self.levels or not self.levels[0]:
            raise ValueError("a hierarchy without a value")
        values = self.levels[0]
        if any(len(level) != len(values) for level in self.levels):
            raise ValueError("the levels of a hierarchy differ in length")
        again = len(values) - len(set(values))
        if again:
            raise ValueError(f"{again} values come more than once in a hierarchy; each has one line")
        for number, (lower, upper) in enumerate(zip(self.levels, self.levels[1:], strict=False)):
            parents = len(set(zip(lower, upper, strict=True))) - len(set(lower))
            if parents:
                raise ValueError(
                    f"at level {number} of a hierarchy there are {parents} more parents than nodes; expected one each"
                )

    @classmethod
    def of(cls, ancestors: Mapping[str, Path]) -> Hierarchy:
        """Take the ancestors of each value, nearest first; each value has as many.

        Raises:
            ValueError: as in the class, or values have more or fewer ancestors than others.
        """
        return cls._of_paths([value, *path] for value, path in ancestors.items())

    @classmethod
    def from_csv(cls, text: str, *, delimiter: str = ";") -> Hierarchy:
        """Read ARX's form: a line for each value without a head, the value first, then its ancestors.

        Raises:
            ValueError: as `of`, or no line has an ancestor.
        """
        cells = csv.reader(io.StringIO(text.removeprefix("\N{BYTE ORDER MARK}")), delimiter=delimiter)
        lines = [line for line in cells if line]
        if lines and all(len(line) == 1 for line in lines):
            raise ValueError(
                f"no line of a hierarchy has an ancestor; expected 'value{delimiter}ancestor{delimiter}...'"
            )
        return cls._of_paths(lines)

    @classmethod
    def _of_paths(cls, paths: Iterable[Path]) -> Hierarchy:
        results = [tuple(path) for path in paths]
        if not results:
            raise ValueError("a hierarchy without a value")
        lengths = [len(path) for path in results]
        usual = max(set(lengths), key=lambda length: (lengths.count(length), length))
        unequal = sum(length != usual for length in lengths)
        if unequal:
            raise ValueError(
                f"{unequal} of {len(results)} values of a hierarchy have another number of ancestors than {usual - 1}; "
                "expected the same for all (repeat one where a branch is shorter)"
            )
        return cls(tuple(zip(*results, strict=True)))

    @property
    def values(self) -> tuple[str, ...]:
        """Return the values it knows."""
        return self.levels[0]

    @property
    def height(self) -> int:
        """Count the levels above the values."""
        return len(self.levels) - 1

    @property
    def partitions(self) -> int:
        """Count the levels that tell values apart, from the values up to below the root; at least 1."""
        return max(1, sum(len(set(level)) > 1 for level in self.levels))

    def nodes(self) -> npt.NDArray[np.int64]:
        """Number the nodes of each level from 0, in order of appearance: shape (levels, values)."""
        numbered = []
        for level in self.levels:
            places: dict[str, int] = {}
            numbered.append([places.setdefault(node, len(places)) for node in level])
        return np.array(numbered, dtype=np.int64)

    def missing(self, values: Iterable[str]) -> int:
        """Count the distinct values that it does not know."""
        return len(set(values) - set(self.levels[0]))
