"""A comparison of the ways to disclose, as plain data, and the true counts it is made from: for the steward only."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from monitor.releases.disclosure.table_ref import TableRef
from monitor.releases.treatment.table_reader import reading
from monitor.terminal.output import count
from monitor.terminal.problem import ExitCode, Problem, Stop
from remedies import Misfit
from remedies.differential_privacy import epsilon_of
from remedies.differential_privacy.answers import Declared
from remedies.differential_privacy.answers.grid import CELL, Grid
from remedies.differential_privacy.answers.reading import Reader

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from ibis.expr import types as ir

    from checks import Json
    from remedies.differential_privacy import Comparison
    from remedies.differential_privacy.answers.domain import Cells
    from remedies.differential_privacy.comparison import ComparisonAtEpsilon

_EXACT: Final = 2**53


def count_cells(
    place: TableRef, domains: "Mapping[str, Cells]", *, weight: str | None = None
) -> "npt.NDArray[np.int64]":
    """Return the rows of each combination of declared values, with an axis for each column, in its order.

    `weight`: a column that says how many records a row stands for.

    Raises:
        Stop: the table cannot be read or lacks a column, or has rows outside the domains or weights that are no counts.
    """
    import numpy as np

    try:
        grid = Grid.of(domains, Declared(domain=dict(domains)))
        with reading(place) as (source, table):
            results = source.fetch(
                source.compile(_asked(Reader(table, source.dialect, source.types_declared), grid, weight))
            )
    except Misfit as error:
        raise Stop(ExitCode.USAGE, Problem("disclosure.misfit", str(error))) from None
    _check_weights(results, weight)
    laid = np.array(grid.filled(results, "records"), dtype=np.int64)
    counts = laid.reshape([domain.cells for domain in domains.values()])
    for axis, (name, cells) in enumerate(domains.items()):
        outside = int(counts.take(range(cells.size, cells.cells), axis=axis).sum())
        if outside:
            seen = count(outside, "record")
            message = f"column '{name}' has {seen} outside its declared domain, NULL included"
            raise Stop(ExitCode.USAGE, Problem("disclosure.misfit", message, hint=f"--other '{name}=VALUE'"))
        counts = counts.take(range(cells.size), axis=axis)
    return counts


def _asked(reader: Reader, grid: Grid, weight: str | None) -> "ir.Table":
    cell = grid.cell(reader)
    if weight is None:
        placed = reader.table.select(**{CELL: cell})
        return placed.group_by(CELL).aggregate(records=placed.count())
    import ibis

    number = reader.number(weight)
    placed = reader.table.select(**{CELL: cell, "weight": number})
    item = placed["weight"]
    within = ibis.greatest(ibis.least(item, float(_EXACT)), 0.0)  # no engine has a whole number for 1e300
    is_count = item.notnull() & (item == within.floor())  # false and NULL is false
    return placed.group_by(CELL).aggregate(records=is_count.ifelse(item, 0.0).sum(), odd=is_count.ifelse(0, 1).sum())


def _check_weights(results: Any, weight: str | None) -> None:
    odd = sum(int(row.get("odd") or 0) for row in results)
    if weight is not None and odd:
        seen = count(odd, "cell")
        message = f"column '{weight}' has {seen} that are not counts; expected whole numbers, 0 or more"
        raise Stop(ExitCode.USAGE, Problem("disclosure.misfit", message))
    if sum(int(row["records"] or 0) for row in results) > _EXACT:
        raise Stop(ExitCode.USAGE, Problem("disclosure.misfit", "the records are too many to be counted exactly"))


EQUATION: Final = (
    "retentions solve equation 6 of Yamaguchi, Terada and Yoshiura; the rho that the paper takes is epsilon "
    "over the sum of the domain sizes, the first term of a series, and does not"
)


def comparison_json(comparison: "Comparison", domains: "Mapping[str, Cells]") -> "Mapping[str, Json]":
    """Return all of it; amounts of epsilon and scales are texts, since they are exact."""
    return {
        "label": comparison.label,
        "by": list(domains),
        "domains": {name: [domain.label(cell) for cell in range(domain.size)] for name, domain in domains.items()},
        "records": comparison.rows,
        "rows_per_unit": comparison.rows_per_unit,
        "adjacency": "substitute",
        "delta": float(comparison.delta),
        "runs": comparison.runs,
        "note": EQUATION,
        "at": [_at(item, domains, comparison.shape) for item in comparison.at],
    }


def labels(place: Sequence[int], domains: "Mapping[str, Cells]") -> "Mapping[str, Json]":
    """Return the values of a cell."""
    return {name: domain.label(at) for at, (name, domain) in zip(place, domains.items(), strict=True)}


def linear_retention(epsilon: Decimal, shape: Sequence[int]) -> str:
    """Return what the paper would print as rho, to two digits."""
    return f"{float(epsilon) / sum(shape):.2g}"


def cost_of(retention: str, shape: Sequence[int]) -> float | None:
    """Return the epsilon that such a rho really costs; None where it is not a probability below 1."""
    rho = Fraction(retention)
    return epsilon_of(rho, shape) if rho < 1 else None


def _at(at_epsilon: "ComparisonAtEpsilon", domains: "Mapping[str, Cells]", shape: Sequence[int]) -> "Json":
    linear = linear_retention(at_epsilon.epsilon, shape)
    plain = _plain(asdict(at_epsilon), domains)
    return {**plain, "paper": {"retention": linear, "epsilon": cost_of(linear, shape)}}


def _plain(value: Any, domains: "Mapping[str, Cells]") -> Any:
    if isinstance(value, Mapping):
        return {
            name: labels(part, domains) if name == "worst_cell" else _plain(part, domains)
            for name, part in value.items()
        }
    if isinstance(value, tuple | list):
        return [_plain(part, domains) for part in value]
    if isinstance(value, Decimal):
        return f"{value:f}"
    return str(value) if isinstance(value, Fraction) else value
