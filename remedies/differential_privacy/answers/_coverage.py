"""What the accuracy of a noisy answer does not cover, in sentences that follow from the request and the declaration.

The accuracy that is printed is that of the noise. The distance from the exact number of the table has other parts:
rows of a unit above its limit, rows without a unit, NULL, and values outside what is declared. How many rows that
concerns is a number of the protected table and is never shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from checks import Json
from remedies.differential_privacy.answers._declared import Declared
from remedies.differential_privacy.answers.domain import BoundedColumn, CategoryColumn, Cells

if TYPE_CHECKING:
    from remedies.differential_privacy.answers._where import WhereComparison


def not_covered(
    declared: Declared, *, numbers: Sequence[str], cells: Sequence[str], where: Sequence[WhereComparison]
) -> Sequence[Mapping[str, Json]]:
    """Return what the accuracy does not cover, as plain data: `of`, a word for programs, and `text`, a sentence.

    Nothing of it depends on the table.

    Args:
        declared: what is declared of the table.
        numbers: columns whose numbers are added up, averaged or ranked.
        cells: columns whose values are counted by cell.
        where: comparisons that choose the rows.
    """
    results = [
        *_of_unit(declared),
        *(("values", _of_numbers(name, declared.limits(name))) for name in numbers),
        *(("values", _of_cells(name, declared.cells(name))) for name in cells),
        *(("where", text) for text in dict.fromkeys(_of_comparison(comparison, declared) for comparison in where)),
    ]
    return [{"of": of, "text": text} for of, text in results]


def _of_unit(declared: Declared) -> Iterable[tuple[str, str]]:
    if not declared.unit:
        return
    unit, most = declared.unit_name, declared.rows_per_unit
    rows = "1 row" if most == 1 else f"{most:,} rows"
    count = "counts" if most == 1 else "count"
    cut = (
        f"of a {unit} with more than {rows}, {rows} chosen at random {count}; the number of ignored rows is not shown."
    )
    yield "rows-cut", cut
    columns = " and ".join(declared.unit)
    yield (
        "no-unit",
        f"rows in which {columns} {'is' if len(declared.unit) == 1 else 'are'} NULL count together as one {unit}.",
    )


def _of_numbers(name: str, limits: BoundedColumn) -> str:
    missing = limits.number(limits.missing_units)
    exact = str(missing) if missing.denominator == 1 else f"{float(missing):g}"
    return (
        f"in {name}, NULL counts as {exact}, numbers outside {limits.low:f} to {limits.high:f} as the nearest limit, "
        f"and all are rounded to multiples of {limits.grid:f}."
    )


def _of_cells(name: str, cells: Cells) -> str:
    outside = "values that are not declared"
    if not isinstance(cells, CategoryColumn):
        outside = f"numbers outside {cells.range[0]} to {cells.range[1]}"
    counted = "in '(other)'" if cells.other is None else f"as {cells.label(cells.rest)}"
    return f"in {name}, NULL and {outside} are counted {counted}."


def _of_comparison(comparison: WhereComparison, declared: Declared) -> str:
    cells = declared.column(comparison.column)
    if isinstance(cells, CategoryColumn) and comparison.sign in {"=", "!="} and cells.other is not None:
        return f"{comparison.column} is compared with NULL and values that are not declared taken for {cells.other}."
    return f"rows in which {comparison.column} is NULL are not meant by '{comparison}'."
