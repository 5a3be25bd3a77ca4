"""Which rows a node would suppress, when classes have to hold more than their size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from checks.risk.pairs import ClassPairs
from remedies.generalisation._kernels import Keys, Layout, roll_up
from remedies.generalisation._walks import pack
from remedies.generalisation.criteria import Breaks, Criterion
from remedies.generalisation.frequencies import Frequencies, number_rows

Whole = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class _Question:
    """One criterion, with the frequency table of the quasi-identifiers and its column alone."""

    breaks: Breaks
    layout: Layout
    classes: Keys


@dataclass(frozen=True, slots=True, eq=False)
class NodeClasses:
    """The classes of a node.

    `levels` (columns,), in the order of the table's columns. `sizes` (classes,), `broken` (classes,): whether it is
    suppressed. `leaves` (suppressed classes, columns): the first leaf of each of its labels.
    """

    levels: Whole
    sizes: Whole
    broken: npt.NDArray[np.bool_]
    leaves: Whole

    @property
    def suppressed(self) -> int:
        """Count the rows that are suppressed."""
        return int(self.sizes[self.broken].sum())


class Judge:
    """Looks at the classes of one node after the other."""

    def __init__(self, frequencies: Frequencies, k: int, criteria: Sequence[Criterion]) -> None:
        """Prepare the questions.

        Raises:
            Misfit: a sensitive column does not fit its criterion.
        """
        self.asks = bool(criteria)
        """Whether classes have to hold more than their size."""
        self._k = k
        self._columns = np.arange(len(frequencies.domains))
        self._questions = [_question(frequencies, criterion) for criterion in criteria]

    def look(self, levels: Whole, leaves: Whole, counts: Whole) -> NodeClasses:
        """Return the verdict on a node; `leaves` (classes, columns), `counts` (classes,), without sensitive values."""
        if not self.asks:
            broken = counts < self._k
            return NodeClasses(levels, counts, broken, leaves[broken])
        leaves, sizes, broken = self._classes(levels)
        broken |= sizes < self._k
        return NodeClasses(levels, sizes, broken, leaves[broken])

    def _classes(self, levels: Whole) -> tuple[Whole, Whole, npt.NDArray[np.bool_]]:
        """Return the leaves and the size of each class, and whether it breaks a criterion."""
        answers = [self._ask(question, levels) for question in self._questions]
        leaves, sizes, _ = answers[0]
        return leaves, sizes, np.logical_or.reduce([broken for _, _, broken in answers])

    def _ask(self, question: _Question, levels: Whole) -> tuple[Whole, Whole, npt.NDArray[np.bool_]]:
        keys = roll_up(question.layout, question.classes, self._columns, levels)
        classes, values = _parted(question.layout, keys)
        pairs = ClassPairs.of(classes, values, keys[:, -1].astype(np.int64))
        first = np.empty(len(pairs.starts), dtype=np.int64)
        first[classes] = np.arange(len(classes))
        return leaves_of(question.layout, keys[first])[:, :-1], pairs.sizes, question.breaks(pairs)


def _question(frequencies: Frequencies, criterion: Criterion) -> _Question:
    codes = frequencies.sensitive[criterion.column]
    values = np.arange(len(frequencies.sensitive_values[criterion.column]))[None, :]
    columns = [frequencies.codes[:, place] for place in range(len(frequencies.domains))]
    nodes = [*(domain.nodes for domain in frequencies.domains), values]
    classes, layout = pack([*columns, codes], nodes, frequencies.counts)
    nothing = np.zeros(0, dtype=np.int64)
    return _Question(criterion.breaks(frequencies), layout, roll_up(layout, classes, nothing, nothing))


def leaves_of(layout: Layout, classes: Keys) -> Whole:
    """Return what the keys of classes hold, column by column: int64 (classes, columns)."""
    return ((classes[:, layout.word] >> layout.shift) & layout.mask).astype(np.int64)


def _parted(layout: Layout, classes: Keys) -> tuple[Whole, Whole]:
    """Part keys into classes, which are numbered alike for every sensitive column, and sensitive values."""
    word, shift, mask = layout.word[-1], layout.shift[-1], layout.mask[-1]
    keys = classes[:, :-1].copy()
    keys[:, word] &= ~(mask << shift)
    return _numbered(keys), ((classes[:, word] >> shift) & mask).astype(np.int64)


def _numbered(keys: Keys) -> Whole:
    """Number rows of keys by their order, from the word that holds the first column to the last: int64 (rows,)."""
    words = [keys[:, word] for word in reversed(range(keys.shape[1]))]
    order = np.lexsort(words)
    new = np.zeros(len(keys), dtype=np.int64)
    for word in words:
        new[order[1:]] |= word[order[1:]] != word[order[:-1]]
    result = np.empty(len(keys), dtype=np.int64)
    result[order] = np.cumsum(new[order])
    return result


def broken_combinations(
    frequencies: Frequencies, levels: Sequence[int], k: int, criteria: Sequence[Criterion]
) -> npt.NDArray[np.bool_]:
    """Return of each combination whether its class at a node is smaller than k or breaks a criterion."""
    columns = [
        domain.nodes[level][frequencies.codes[:, place]]
        for place, (domain, level) in enumerate(zip(frequencies.domains, levels, strict=True))
    ]
    classes = number_rows(columns)
    sizes = np.zeros(int(classes.max()) + 1, dtype=np.int64)
    np.add.at(sizes, classes, frequencies.counts)
    broken = sizes < k
    for criterion in criteria:
        pairs = ClassPairs.of(classes, frequencies.sensitive[criterion.column], frequencies.counts)
        broken |= criterion.breaks(frequencies)(pairs)
    return broken[classes]
