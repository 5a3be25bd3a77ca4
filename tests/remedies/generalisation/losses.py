"""What is lost, by plain loops over rows: the definitions once more."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

import numpy as np
import pandas as pd

from checks.risk import Hierarchy
from remedies.generalisation import Recoding
from remedies.generalisation.frequencies import Frequencies, read_table
from remedies.generalisation.recoding import EVERYTHING as LEVEL_OF_EVERYTHING
from tests.remedies.generalisation.lattices import Case, label_of

EVERYTHING = "everything"


@dataclass(frozen=True)
class Row:
    """A row: the values it held, its labels, and whether it is suppressed."""

    held: tuple[Any, ...]
    labels: tuple[Any, ...]
    gone: bool
    secret: Any = None


@dataclass(frozen=True)
class Read:
    """A case as rows, its frequency table, and the combination of each row."""

    table: pd.DataFrame
    frequencies: Frequencies
    combinations: np.ndarray

    def rows(self, recoding: Recoding) -> list[Row]:
        """Return the rows, with the labels that a recoding of the frequency table writes."""
        gone = recoding.suppressed[self.combinations]
        values = [_cells(self.table[name]) for name in self.frequencies.columns]
        labels = [
            [
                EVERYTHING if level == LEVEL_OF_EVERYTHING else text
                for text, level in zip(_cells(column.labels.texts), column.labels.levels, strict=True)
            ]
            for column in recoding.columns
        ]
        numbers = [column.numbers[self.combinations] for column in recoding.columns]
        return [
            Row(
                tuple(column[place] for column in values),
                tuple(texts[number[place]] for texts, number in zip(labels, numbers, strict=True)),
                bool(gone[place]),
                secret,
            )
            for place, secret in enumerate(_cells(self.table["secret"]))
        ]


def read(case: Case) -> Read:
    """Read a case, row by row."""
    table = case.counts.loc[case.counts.index.repeat(case.counts["count"])].reset_index(drop=True)
    return Read(table, *read_table(table.drop(columns="count"), case.hierarchies, sensitive=["secret"]))


def classes_of(rows: Sequence[Row]) -> dict[tuple[Any, ...], Counter[Any]]:
    """Return the sensitive values of each class that is released."""
    found: dict[tuple[Any, ...], Counter[Any]] = {}
    for row in rows:
        if not row.gone:
            found.setdefault(row.labels, Counter())[row.secret] += 1
    return found


def path_of(value: Any, hierarchy: Hierarchy) -> list[Any]:
    """Return what a value is at each level."""
    return [value, *(label_of(value, hierarchy, level) for level in range(1, hierarchy.height + 1))]


def lines_under(label: Any, hierarchy: Hierarchy) -> list[str]:
    """Return the lines of a hierarchy under a label that some value has."""
    if label == EVERYTHING:
        return list(hierarchy.levels[0])
    return [line for line in hierarchy.levels[0] if label in path_of(line, hierarchy)]


@dataclass(frozen=True)
class Lost:
    """What a column has lost."""

    precision: float
    entropy_bits: float
    most_bits: float
    loss: float
    kl_nats: float


def lost(column: Sequence[tuple[Any, Any, bool]], hierarchy: Hierarchy, of_all: int | None = None) -> Lost:
    """Measure a column of (value, label, gone); a label of EVERYTHING could be any value.

    `of_all`: the level of all labels; without it that of each is the first at which the value is called so.
    """
    total = Counter(value for value, _, _ in column)
    cover = {
        label: {value for value in total if label == EVERYTHING or label in path_of(value, hierarchy)}
        for _, label, gone in column
        if not gone
    }
    precision, bits, most, loss = 0.0, 0.0, 0.0, 0.0
    for value, label, gone in column:
        anything = gone or label == EVERYTHING
        level = of_all if of_all is not None or anything else path_of(value, hierarchy).index(label)
        precision += 1 if anything else level / max(hierarchy.height, 1)
        mates = len(column) if anything else sum(total[other] for other in cover[label])
        bits += -math.log2(total[value] / mates)
        most += -math.log2(total[value] / len(column))
        under = 1 if level == 0 or label is None else len(lines_under(label, hierarchy))
        loss += 1 if anything else (under - 1) / max(len(hierarchy.values) - 1, 1)
    return Lost(1 - precision / len(column), bits, most, loss / len(column), _kl(column, cover))


def _kl(column: Sequence[tuple[Any, Any, bool]], cover: dict[Any, set[Any]]) -> float:
    total = Counter(value for value, _, _ in column)
    released = [label for _, label, gone in column if not gone]
    found = 0.0
    for value, count in total.items():
        share = sum(1 / len(cover[label]) for label in released if value in cover[label]) / max(len(released), 1)
        found += count / len(column) * math.log(count / len(column) / share) if share else math.inf
    return found


def squares(column: Sequence[tuple[int | None, str | None, bool]], hierarchy: Hierarchy, representative: str) -> float:
    """Sum the squares of a column of whole numbers."""
    found = 0.0
    for value, label, gone in column:
        if value is None:
            continue
        text = str(value)
        under = [
            int(line)
            for line in hierarchy.levels[0]
            if gone or line == text == label or (label != text and label in path_of(line, hierarchy))
        ]
        held = sorted(one for one, _, _ in column if one is not None and one in under)
        stands = {"midpoint": (min(under) + max(under)) / 2, "mean": fmean(held), "median": median(held)}
        found += (value - stands[representative]) ** 2
    return found


def discernibility(rows: Sequence[Row]) -> int:
    """Sum what each row costs."""
    sizes = {labels: one.total() for labels, one in classes_of(rows).items()}
    return sum(len(rows) if row.gone else sizes[row.labels] for row in rows)


def _cells(column: Iterable[Any]) -> list[Any]:
    return [None if pd.isna(value) else value for value in column]
