"""What became of an analysis: the results of one query, on the table before and on the one after."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from checks import Json, did_you_mean
from checks.risk.pairs import class_numbers
from remedies._errors import Misfit
from remedies.generalisation.utility import INFINITE

if TYPE_CHECKING:
    import pandas as pd

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class FigureChange:
    """The change of a column of figures, over the lines that both results have.

    `cells`: how many there are with a number on both sides. `mean`, `largest`: of |after - before| / |before|; of
    something that was 0 before it is `math.inf`, or 0 if it still is; None without a cell. `vanished`, `appeared`:
    cells that have become NULL, or have ceased to be.
    """

    cells: int
    mean: float | None
    largest: float | None
    vanished: int
    appeared: int


@dataclass(frozen=True, slots=True, eq=False)
class ResultChange:
    """The change of the result of a query.

    `keys`: the columns by which lines are found again. `vanished`, `appeared`: lines that only the first or only the
    second result has. `lines`: one for each line of either result, in the order of the first and then the second: the
    keys, and for each figure `<name> before`, `<name> after` and `<name> change`, which is (after - before) / |before|
    and NaN where one of them is missing.
    """

    keys: tuple[str, ...]
    lines_before: int
    lines_after: int
    vanished: int
    appeared: int
    figures: Mapping[str, FigureChange]
    lines: pd.DataFrame

    def as_json(self) -> Mapping[str, Json]:
        """Return what it says of all lines together as plain data; an infinite change is the text `infinite`."""
        figures = {
            name: {
                "cells": figure.cells,
                "mean": INFINITE if figure.mean == math.inf else figure.mean,
                "largest": INFINITE if figure.largest == math.inf else figure.largest,
                "vanished": figure.vanished,
                "appeared": figure.appeared,
            }
            for name, figure in self.figures.items()
        }
        return {
            "keys": list(self.keys),
            "lines_before": self.lines_before,
            "lines_after": self.lines_after,
            "vanished": self.vanished,
            "appeared": self.appeared,
            "figures": figures,
        }


def compare_results(before: pd.DataFrame, after: pd.DataFrame, *, keys: Sequence[str] | None = None) -> ResultChange:
    """Compare the results of one query on two tables.

    Args:
        before: what it gave on the table as it was.
        after: what it gives on the table as it is; the columns in any order.
        keys: the columns by which lines are found again, NULL being a value of its own. By default all that hold no
            numbers in both results: `GROUP BY` a number, such as a year, and name it here.

    Raises:
        Misfit: the columns differ, a key does not tell all lines apart, or nothing is left to compare.
    """
    names = _names(before, after)
    own = _keys(before, after, names) if keys is None else tuple(keys)
    unknown = [name for name in own if name not in names]
    if unknown:
        raise Misfit(f"column '{unknown[0]}' is not in the result{did_you_mean(unknown[0], names)}")
    figures = [name for name in names if name not in own]
    not_numeric = [name for name in figures if not (_is_number(before, name) and _is_number(after, name))]
    if not_numeric or not figures:
        text = f"column '{not_numeric[0]}' is no key and holds no numbers" if not_numeric else "all columns are keys"
        raise Misfit(f"{text}; expected numbers to compare beside the keys")
    for frame, ordinal in ((before, "first"), (after, "second")):
        if frame.duplicated(list(own)).any() if own else len(frame) > 1:
            raise Misfit(f"several lines of the {ordinal} result have the same key; expected one: name more keys")
    return _compared(before, after, own, figures)


def _compared(before: pd.DataFrame, after: pd.DataFrame, keys: tuple[str, ...], figures: Sequence[str]) -> ResultChange:
    import pandas as pd

    both = pd.concat([before[list(keys)].astype(object), after[list(keys)].astype(object)], ignore_index=True)
    line = class_numbers(both, keys) if keys else np.zeros(len(both), dtype=np.int64)
    old, new = line[: len(before)], line[len(before) :]
    many = int(line.max(initial=-1)) + 1
    first = np.unique(line, return_index=True)[1]
    shown = {name: both[name].to_numpy()[first] for name in keys}
    changes = {}
    for name in figures:
        was, now = _placed(before, name, old, many), _placed(after, name, new, many)
        change = _relative(was, now)
        shown |= {f"{name} before": was, f"{name} after": now, f"{name} change": change}
        common = np.intersect1d(old, new)
        changes[name] = _figure(was[common], now[common], change[common])
    return ResultChange(
        keys=keys,
        lines_before=len(before),
        lines_after=len(after),
        vanished=len(np.setdiff1d(old, new)),
        appeared=len(np.setdiff1d(new, old)),
        figures=changes,
        lines=pd.DataFrame(shown),
    )


def _figure(was: Floats, now: Floats, change: Floats) -> FigureChange:
    changes = np.abs(change[~(np.isnan(was) | np.isnan(now))])
    return FigureChange(
        cells=len(changes),
        mean=float(changes.mean()) if len(changes) else None,
        largest=float(changes.max()) if len(changes) else None,
        vanished=int((~np.isnan(was) & np.isnan(now)).sum()),
        appeared=int((np.isnan(was) & ~np.isnan(now)).sum()),
    )


def _relative(was: Floats, now: Floats) -> Floats:
    result = np.where(now > was, np.inf, -np.inf)
    result[now == was] = 0.0
    result[np.isnan(was) | np.isnan(now)] = np.nan
    some = np.isfinite(was) & (was != 0)
    result[some] = (now[some] - was[some]) / np.abs(was[some])
    return result


def _placed(frame: pd.DataFrame, name: str, lines: npt.NDArray[np.int64], many: int) -> Floats:
    result = np.full(many, np.nan)
    result[lines] = frame[name].to_numpy(dtype=np.float64, na_value=np.nan)
    return result


def _names(before: pd.DataFrame, after: pd.DataFrame) -> tuple[str, ...]:
    names, others = [str(name) for name in before.columns], [str(name) for name in after.columns]
    if len(set(names)) < len(names) or sorted(names) != sorted(others):
        raise Misfit(
            f"the results have the columns {', '.join(names)} and {', '.join(others)}; expected the same, once"
        )
    return tuple(names)


def _keys(before: pd.DataFrame, after: pd.DataFrame, names: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in names if not (_is_number(before, name) and _is_number(after, name)))


def _is_number(frame: pd.DataFrame, name: str) -> bool:
    """Check whether a column holds numbers; Decimals are, and a column without a value may be."""
    from pandas.api.types import infer_dtype, is_bool_dtype, is_numeric_dtype

    column = frame[name]
    if column.dtype == object:
        return infer_dtype(column, skipna=True) in {"integer", "floating", "mixed-integer-float", "decimal", "empty"}
    return is_numeric_dtype(column) and not is_bool_dtype(column)
