"""The loops of Mondrian: where a part of the table can be cut, and what it spans.

A part is a stretch of `order`, which holds numbers of combinations. All parts of a round are looked at in one call.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from remedies._compiled import compiled, inner

Whole = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


class CutColumns(NamedTuple):
    """The columns of a table, as they are cut.

    `codes` (combinations, columns): leaves, or of numbers their rank. `numeric` (columns,). `null` (columns,): the rank
    of NULL among numbers, above all others, or -1. `start` (columns, levels): where a level's
    stretch of `nodes` and `widths` begins. `nodes`: of each leaf the first one with the same label. `widths`: of each
    leaf the share of the column that its label covers, 0 to 1; of numbers, at level 0, the number divided by the range.
    """

    codes: Whole
    numeric: Mask
    null: Whole
    start: Whole
    nodes: Whole
    widths: Floats


@inner
def span(columns: CutColumns, order: Whole, column: int) -> tuple[int, int]:
    """Return what a part holds of a column: the lowest and highest rank.

    Or level and node of the lowest common label.
    """
    first = columns.codes[order[0], column]
    if columns.numeric[column]:
        low = high = first
        for place in order:
            low = min(low, columns.codes[place, column])
            high = max(high, columns.codes[place, column])
        return low, high
    level = 0
    for place in order:
        code = columns.codes[place, column]
        while columns.nodes[columns.start[column, level] + code] != columns.nodes[columns.start[column, level] + first]:
            level += 1
    return level, columns.nodes[columns.start[column, level] + first]


@inner
def _width(columns: CutColumns, column: int, low: int, high: int) -> float:
    """Return how wide a span is, 0 to 1; 0 if there is nothing to cut."""
    start = columns.start[column, 0]
    if not columns.numeric[column]:
        return columns.widths[columns.start[column, low] + high] if low else 0.0
    if low == high:
        return 0.0
    return 1.0 if high == columns.null[column] else columns.widths[start + high] - columns.widths[start + low]


@inner
def _rows_below(columns: CutColumns, counts: Whole, order: Whole, column: int, rank: int) -> int:
    below = 0
    for place in order:
        if columns.codes[place, column] < rank:
            below += counts[place]
    return below


@inner
def _cut_numbers(columns: CutColumns, counts: Whole, order: Whole, k: int, column: int, low: int, high: int) -> int:
    """Return the first rank of the upper side: NULL if it can be cut off, or of the most even cut.

    -1 if none can be.
    """
    rows = _rows_below(columns, counts, order, column, high + 1)
    if high == columns.null[column]:
        numbers = _rows_below(columns, counts, order, column, high)
        if numbers >= k and rows - numbers >= k:
            return high
    first, last = low + 1, high  # in between is the first rank with half of the rows below it, if there is one
    while first < last:
        middle = (first + last) // 2
        if 2 * _rows_below(columns, counts, order, column, middle) >= rows:
            last = middle
        else:
            first = middle + 1
    below, before = (
        _rows_below(columns, counts, order, column, first),
        _rows_below(columns, counts, order, column, first - 1),
    )
    even = min(below, rows - below)
    if max(before, even) < k:
        return -1
    return first - 1 if before >= even else first


@inner
def _cut(
    columns: CutColumns, counts: Whole, order: Whole, k: int, column: int, low: int, high: int, part: Whole, room: Whole
) -> int:
    """Cut along a column: write the side of each combination, and give how many sides there are; 0 if it cannot be."""
    if columns.numeric[column]:
        cut = _cut_numbers(columns, counts, order, k, column, low, high)
        if cut < 0:
            return 0
        for place in range(len(order)):
            part[place] = 1 if columns.codes[order[place], column] >= cut else 0
        return 2
    sides = 0
    start, whole = columns.start[column, low - 1], room[: room.shape[0] // 2]
    rows = room[room.shape[0] // 2 :]
    for place in range(len(order)):
        node = columns.nodes[start + columns.codes[order[place], column]]
        if whole[node] < 0:
            whole[node] = sides
            rows[sides] = 0
            sides += 1
        part[place] = whole[node]
        rows[whole[node]] += counts[order[place]]
    for place in order:
        whole[columns.nodes[start + columns.codes[place, column]]] = -1
    for side in range(sides):
        if rows[side] < k:
            return 0
    return sides


@compiled
def propose(
    columns: CutColumns, counts: Whole, order: Whole, starts: Whole, ends: Whole, tried: Mask, k: int, part: Whole
) -> Whole:
    """Find for each part the widest column along which it can be cut, all sides at least k: give how many sides.

    0 sides: no column is left. `tried` (parts, columns): what is not to be tried; what was tried is added.
    `part` (combinations,): is written with the side of each, as `order` has them.
    """
    width = columns.codes.shape[1]
    sides = np.zeros(len(starts), np.int64)
    room = np.full(2 * (len(columns.nodes) + 1), -1, np.int64)
    low, high, wide = np.empty(width, np.int64), np.empty(width, np.int64), np.empty(width, np.float64)
    for number in range(len(starts)):
        own, side = order[starts[number] : ends[number]], part[starts[number] : ends[number]]
        for column in range(width):
            low[column], high[column] = span(columns, own, column)
            wide[column] = _width(columns, column, low[column], high[column])
        while sides[number] == 0:
            best = -1
            for column in range(width):
                if not tried[number, column] and wide[column] > 0 and (best < 0 or wide[column] > wide[best]):
                    best = column
            if best < 0:
                break
            tried[number, best] = True
            sides[number] = _cut(columns, counts, own, k, best, low[best], high[best], side, room)
    return sides


@compiled
def cut_up(order: Whole, starts: Whole, ends: Whole, sides: Whole, part: Whole) -> tuple[Whole, Whole]:
    """Put each part's combinations in the order of their sides, and give where the new parts begin and end."""
    many = 0
    for number in range(len(starts)):
        many += sides[number]
    new_starts, new_ends = np.empty(many, np.int64), np.empty(many, np.int64)
    count = 0
    for number in range(len(starts)):
        first, last = starts[number], ends[number]
        own, side = order[first:last].copy(), part[first:last]
        at = first
        for item in range(sides[number]):
            new_starts[count] = at
            for place in range(len(own)):
                if side[place] == item:
                    order[at] = own[place]
                    at += 1
            new_ends[count] = at
            count += 1
    return new_starts, new_ends


@compiled
def spans(columns: CutColumns, order: Whole, starts: Whole, ends: Whole) -> Whole:
    """Return the span of each part in each column: int64 (parts, columns, 2)."""
    result = np.empty((len(starts), columns.codes.shape[1], 2), np.int64)
    for number in range(len(starts)):
        for column in range(columns.codes.shape[1]):
            own = order[starts[number] : ends[number]]
            result[number, column, 0], result[number, column, 1] = span(columns, own, column)
    return result
