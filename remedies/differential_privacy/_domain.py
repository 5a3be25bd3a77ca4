"""The declared domain of a column: all values it could have had, and what everything else is taken for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from remedies._errors import Misfit
from remedies.generalisation import text_of, texts_of

if TYPE_CHECKING:
    import pandas as pd

Codes: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Coded:
    """A column as places in its domain, int64 (n,), and which cells were NULL or outside of it, bool (n,)."""

    places: Codes
    outside: npt.NDArray[np.bool_]

    def changed(self, drawn: Codes) -> npt.NDArray[np.bool_]:
        """Tell which cells hold another value than before, bool (n,)."""
        return np.asarray(self.outside | (self.places != drawn))


@dataclass(frozen=True, slots=True, eq=False)
class Domain:
    """All values a column could have had. `other`: the place of what all else is taken for."""

    name: str
    declared: tuple[object, ...]
    places: Mapping[str, int]
    other: int | None

    @classmethod
    def read(cls, name: str, values: Sequence[object], others: Mapping[str, object]) -> Domain:
        """Look a declared domain through.

        Raises:
            Misfit: it is empty, holds NULL or a value twice, or does not have the value all others are taken for.
        """
        said = f"the domain of column '{name}'"
        if isinstance(values, str | bytes) or not len(values):
            raise Misfit(f"{said} is to be a list of one or more values")
        texts = [text_of(value) for value in values]
        if None in texts:
            raise Misfit(f"{said} holds NULL; name a value that NULL is taken for, with `others`")
        places = {text: place for place, text in enumerate(texts) if text is not None}
        if len(places) < len(texts):
            raise Misfit(f"{said} has {len(texts)} values, of which only {len(places)} differ; name each once")
        other = text_of(others[name]) if name in others else None
        if name in others and (other is None or other not in places):
            raise Misfit(f"{said} does not have the value that all others are taken for; add it")
        return cls(name, tuple(values), places, None if other is None else places[other])

    @property
    def size(self) -> int:
        """How many values there are."""
        return len(self.declared)

    def read_column(self, column: pd.Series[Any]) -> Coded:
        """Find the place of each value.

        Raises:
            Misfit: some have none.
        """
        texts = texts_of(column)
        found = np.array([-1 if text is None else self.places.get(text, -1) for text in texts], dtype=np.int64)
        outside = found < 0
        if self.other is None and outside.any():
            count = int(outside.sum())
            cells = "1 cell" if count == 1 else f"{count} cells"
            raise Misfit(
                f"column '{self.name}' has {cells} outside its declared domain, NULL included; name a value of the "
                "domain that they are taken for, with `others`"
            )
        return Coded(np.where(outside, -1 if self.other is None else self.other, found), outside)

    def column(self, codes: Codes, index: pd.Index[Any]) -> pd.Series[Any]:
        """Give a column of the domain's own type."""
        import pandas as pd

        return pd.Series(pd.Index(list(self.declared)).take(codes), index=index, name=self.name)
