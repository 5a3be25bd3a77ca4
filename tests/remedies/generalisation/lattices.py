"""Small random tables with hierarchies, and what plain loops find in them."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import pandas as pd
from hypothesis import strategies as st

from checks.risk import Hierarchy

PATIENTS = pd.DataFrame(
    [
        ("1/21/76", "Male", "53715"),
        ("4/13/86", "Female", "53715"),
        ("2/28/76", "Male", "53703"),
        ("1/21/76", "Male", "53703"),
        ("4/13/86", "Female", "53706"),
        ("2/28/76", "Female", "53706"),
    ],
    columns=["B", "S", "Z"],
).assign(count=1)
PATIENTS_HIERARCHIES = {
    "B": Hierarchy.of({day: ["*"] for day in ("1/21/76", "4/13/86", "2/28/76")}),
    "S": Hierarchy.of({sex: ["Person"] for sex in ("Male", "Female")}),
    "Z": Hierarchy.of({"53715": ["5371*", "537**"], "53703": ["5370*", "537**"], "53706": ["5370*", "537**"]}),
}


@dataclass(frozen=True)
class Case:
    """A table by its combinations, and the hierarchy of each quasi-identifier."""

    counts: pd.DataFrame
    hierarchies: dict[str, Hierarchy]

    @property
    def rows(self) -> int:
        """Count the rows."""
        return int(self.counts["count"].sum())

    @property
    def nodes(self) -> Iterator[tuple[int, ...]]:
        """Return every node of the lattice."""
        return product(*(range(hierarchy.height + 1) for hierarchy in self.hierarchies.values()))

    def classes(self, node: Sequence[int], sensitive: str = "") -> dict[tuple[Any, ...], Counter[Any]]:
        """Return the classes of a node, each with how often it has each sensitive value."""
        found: dict[tuple[Any, ...], Counter[Any]] = {}
        for row in self.counts.to_dict("records"):
            labels = tuple(
                label_of(row[name], hierarchy, level)
                for (name, hierarchy), level in zip(self.hierarchies.items(), node, strict=True)
            )
            value = row[sensitive] if sensitive else None
            found.setdefault(labels, Counter())[None if pd.isna(value) else value] += row["count"]
        return found


def label_of(value: Any, hierarchy: Hierarchy, level: int) -> Any:
    """Return what a value becomes; NULL stays what it is until all others are one."""
    if value is None or pd.isna(value):
        root = hierarchy.levels[-1][0]
        return root if level and all(set(one) == {root} for one in hierarchy.levels[level:]) else None
    return hierarchy.levels[level][hierarchy.levels[0].index(value)]


@st.composite
def hierarchies(draw: st.DrawFn, most: int = 6) -> Hierarchy:
    """Return a hierarchy of a few letters, whose levels nest; the top may have one label or several."""
    leaves = "abcdef"[: draw(st.integers(1, most))]
    levels = [tuple(leaves)]
    for height in range(1, draw(st.integers(0, 3)) + 1):
        below = sorted(set(levels[-1]))
        parent = {node: f"{height}{draw(st.integers(0, max(0, len(below) - 2)))}" for node in below}
        levels.append(tuple(parent[node] for node in levels[-1]))
    return Hierarchy(tuple(levels))


@st.composite
def cases(draw: st.DrawFn, *, columns: int = 3, nulls: bool = True) -> Case:
    """Return a table of a few columns, some with NULL, and a sensitive column of numbers."""
    named = {f"q{place}": draw(hierarchies()) for place in range(draw(st.integers(1, columns)))}
    row = st.tuples(
        *(st.sampled_from([*one.levels[0], *([None] if nulls else [])]) for one in named.values()),
        st.sampled_from([1, 2, 3, 5]),
        st.integers(1, 4),
    )
    rows = draw(st.lists(row, min_size=2, max_size=14))
    return Case(pd.DataFrame(rows, columns=[*named, "secret", "count"]), named)


def entropy_l(values: Counter[Any]) -> float:
    """Return exp of the entropy of a class."""
    rows = values.total()
    return math.exp(-sum(count / rows * math.log(count / rows) for count in values.values()))
