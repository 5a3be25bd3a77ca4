"""Hierarchies for columns that need none: a value, or nothing of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from checks.risk import Hierarchy
from remedies.generalisation._levels import ROOT
from remedies.generalisation.spelling import distinct_texts

if TYPE_CHECKING:
    import pandas as pd


def plain(values: Iterable[object]) -> Hierarchy:
    """Return the hierarchy value, `*` of the values of a column; of one that holds only NULL, that of `*` alone."""
    texts = distinct_texts(values) or (ROOT,)
    return Hierarchy((texts, (ROOT,) * len(texts)))


def with_plain(
    table: pd.DataFrame, hierarchies: Mapping[str, Hierarchy], columns: Collection[str]
) -> Mapping[str, Hierarchy]:
    """Return the hierarchies, and a plain one for each of these columns that has none.

    A column that the table does not have gets one too: who reads the table says what is missing.
    """
    lacking = [name for name in dict.fromkeys(columns) if name not in hierarchies]
    entries = list(table.columns)
    return {**hierarchies, **{name: plain(table[name] if entries.count(name) == 1 else ()) for name in lacking}}
