"""The declared domain of a column: all values it could have had, and what everything else is taken for."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from remedies._errors import Misfit
from remedies.differential_privacy.answers.canonical import Canonical, canonical
from remedies.differential_privacy.answers.domain import SteppedColumn
from remedies.generalisation import text_of, texts_of

if TYPE_CHECKING:
    import pandas as pd

Codes: TypeAlias = npt.NDArray[np.int64]

_NUMBER: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?")


@dataclass(frozen=True, slots=True, eq=False)
class Coded:
    """A column as places in its domain, int64 (n,), and which cells do not hold what is there, bool (n,).

    These were NULL, outside of the domain, or a number within a wider cell.
    """

    places: Codes
    respelled: npt.NDArray[np.bool_]

    def changed(self, codes: Codes) -> npt.NDArray[np.bool_]:
        """Return which cells hold another value than before, bool (n,)."""
        return np.asarray(self.respelled | (self.places != codes))


@dataclass(frozen=True, slots=True, eq=False)
class CategoryDomain:
    """All values a column could have had. `other`: the place of what all else is taken for.

    `range`: where it is one of numbers that are put into cells first, whose smallest numbers are what is declared.
    """

    name: str
    declared: tuple[object, ...]
    places: Mapping[str, int]
    other: int | None
    range: SteppedColumn | None = None
    alike: Mapping[Canonical, int] = field(default_factory=dict)
    """The place of each value that no other one equals but for its spelling."""

    @classmethod
    def read(cls, name: str, values: Sequence[object] | SteppedColumn, others: Mapping[str, object]) -> CategoryDomain:
        """Check a declared domain.

        Raises:
            Misfit: it is empty, holds NULL or a value twice, or does not have the value all others are taken for.
        """
        if isinstance(values, SteppedColumn):
            return cls._of_range(name, values, others.get(name, values.other))
        current_text = f"the domain of column '{name}'"
        if isinstance(values, str | bytes) or not len(values):
            raise Misfit(f"{current_text} is to be a list of one or more values")
        texts = [text_of(value) for value in values]
        if None in texts:
            raise Misfit(f"{current_text} holds NULL; name a value that NULL is taken for, with `others`")
        places = {text: place for place, text in enumerate(texts) if text is not None}
        if len(places) < len(texts):
            raise Misfit(f"{current_text} has {len(texts)} values, of which only {len(places)} differ; name each once")
        other = text_of(others[name]) if name in others else None
        if name in others and (other is None or other not in places):
            raise Misfit(f"{current_text} does not have the value that all others are taken for; add it")
        return cls(name, tuple(values), places, None if other is None else places[other], alike=_alike(places))

    @classmethod
    def _of_range(cls, name: str, values: SteppedColumn, other: object) -> CategoryDomain:
        labels = tuple(values.label(cell) for cell in range(values.size))
        places = {str(label): place for place, label in enumerate(labels)}
        text = text_of(other)
        place = None if text is None else _cell(text, values)
        if text is not None and place is None:
            raise Misfit(f"the range of column '{name}' does not have the number that all others are taken for")
        return cls(name, labels, places, place, values)

    @property
    def size(self) -> int:
        """Return the number of values."""
        return len(self.declared)

    def read_column(self, column: pd.Series[Any]) -> Coded:
        """Find the place of each value.

        Raises:
            Misfit: some have none.
        """
        texts = texts_of(column)
        entries = {text: self.place(text) for text in set(texts)}
        result = np.array([entries[text] for text in texts], dtype=np.int64)
        outside = result < 0
        if self.other is None and outside.any():
            count = int(outside.sum())
            cells = "1 cell" if count == 1 else f"{count} cells"
            raise Misfit(
                f"column '{self.name}' has {cells} outside its declared domain, NULL included; name a value of the "
                "domain that they are taken for, with `others`"
            )
        own = np.array([text in self.places for text in texts], dtype=np.bool_) if self.range else ~outside
        return Coded(np.where(outside, -1 if self.other is None else self.other, result), ~own)

    def place(self, text: str | None) -> int:
        """Find a value, however a writer spelled it: -1 where it is NULL or none of the domain.

        What type a column of a file has, and so how its values are spelled, may follow from a single row.
        """
        if text is None:
            return -1
        place = self.places.get(text)
        if place is None:
            place = self.alike.get(canonical(text)) if self.range is None else _cell(text, self.range)
        return -1 if place is None else place

    def column(self, codes: Codes, index: pd.Index[Any]) -> pd.Series[Any]:
        """Return a column of the domain's own type."""
        import pandas as pd

        return pd.Series(pd.Index(list(self.declared)).take(codes), index=index, name=self.name)


def _alike(places: Mapping[str, int]) -> Mapping[Canonical, int]:
    times = Counter(map(canonical, places))
    return {result: place for text, place in places.items() if times[result := canonical(text)] == 1}


def _cell(text: str, values: SteppedColumn) -> int | None:
    """Find the cell that a number is in; None where it is none, or outside."""
    if not _NUMBER.fullmatch(text.strip()):
        return None
    low, high = values.range
    number = math.floor(Decimal(text.strip()))
    return (number - low) // values.width if low <= number <= high else None
