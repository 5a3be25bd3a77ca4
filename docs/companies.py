"""Draw the eleven companies of docs/remedies.md, grouped in two ways."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from remedies.microaggregation import information_loss, mhm, microaggregate, npn_path

# area in m2 and employees: Tanaka, Kamidoi, Wakabayashi (DEIM 2015 G1-4), table 1
_COMPANIES: Final = (
    *((790, 55), (710, 44), (730, 32), (810, 17), (950, 3), (510, 25)),
    *((400, 45), (330, 50), (510, 5), (760, 52), (50, 12)),
)
_WIDE, _HIGH, _GAP = 46, 14, "    "


def companies() -> str:
    """Return the two groupings side by side, as text."""
    table = np.array(_COMPANIES, dtype=np.float64)
    path = mhm(table, npn_path(table), 3)
    best = microaggregate(table, 3, seed=1).labels
    pictures = [
        [f"{name}: {information_loss(table, labels):.2f} % lost".ljust(_WIDE), *_picture(table, labels)]
        for name, labels in (("npn (the path, cut optimally)", path), ("best (no partition loses less)", best))
    ]
    lines = (_GAP.join(pair).rstrip() for pair in zip(*pictures, strict=True))
    return "\n".join(("```text", *lines, "```"))


def _picture(table: "np.ndarray[tuple[int, int], np.dtype[np.float64]]", labels: Sequence[int]) -> Sequence[str]:
    low, high = table.min(axis=0), table.max(axis=0)
    places = np.rint((table - low) / (high - low) * (_WIDE - 1, _HIGH - 1)).astype(int)
    cells = [[" "] * _WIDE for _ in range(_HIGH)]
    for (column, row), label in zip(places, labels, strict=True):
        cells[_HIGH - 1 - row][column] = "ABCDEFGHIJK"[label]
    return ["".join(row) for row in cells]
