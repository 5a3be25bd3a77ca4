"""Noisy answers about a table, each one statistic: what it costs, what it asks the engine, how noise is added."""

from collections.abc import Mapping
from typing import Annotated, Final, TypeAlias

from pydantic import Field

from remedies.differential_privacy.answers._contract import Statistic, Terms
from remedies.differential_privacy.answers._declared import ROW, Declared
from remedies.differential_privacy.answers._where import WhereComparison
from remedies.differential_privacy.answers.domain import BoundedColumn, CategoryColumn, Domain, SteppedColumn
from remedies.differential_privacy.answers.quantile import Quantile
from remedies.differential_privacy.answers.sums import Count, Histogram, Mean, Sum

AnyStatistic: TypeAlias = Annotated[Count | Histogram | Sum | Mean | Quantile, Field(discriminator="statistic")]

STATISTICS: Final[Mapping[str, type[Statistic]]] = {
    "count": Count,
    "histogram": Histogram,
    "mean": Mean,
    "quantile": Quantile,
    "sum": Sum,
}
"""Each statistic by its word."""

__all__ = [
    "ROW",
    "STATISTICS",
    "AnyStatistic",
    "BoundedColumn",
    "CategoryColumn",
    "Count",
    "Declared",
    "Domain",
    "Histogram",
    "Mean",
    "Quantile",
    "Statistic",
    "SteppedColumn",
    "Sum",
    "Terms",
    "WhereComparison",
]
