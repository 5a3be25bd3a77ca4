"""What the models of pages share: they are frozen, name their schema, and say what is wrong in the same way."""

from datetime import datetime
from fractions import Fraction
from typing import Annotated, Final, TypeAlias

from annotated_types import Ge, Le, MaxLen
from pydantic import BaseModel, ConfigDict

from incidents import Downtime, Statistics, from_us, hours
from monitor.config.project import Project
from monitor.terminal.problem import ExitCode, Problem, Stop

LARGEST_PAGE: Final = 100
Number: TypeAlias = Annotated[int, Ge(1), Le(2**63 - 1)]
"""The number of a row; databases hold no larger."""
Size: TypeAlias = Annotated[int, Ge(1), Le(LARGEST_PAGE)]
Name: TypeAlias = Annotated[str, MaxLen(500)]


class Shape(BaseModel):
    """A frozen part of a model."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class Amount(Shape):
    """Money: null where no rate is configured."""

    amount: float | None
    currency: str

    @classmethod
    def of(cls, project: Project, amount: Fraction | None) -> "Amount":
        """Return an exact amount, rounded this once."""
        return cls(amount=project.currency.number(amount), currency=project.currency.code)


class TimeDistribution(Shape):
    """How long whole incidents took, in hours."""

    min: float
    mean: float
    median: float
    p90: float
    max: float

    @classmethod
    def of(cls, statistics: Statistics | None) -> "TimeDistribution | None":
        """Return statistics as a model; None without any incident."""
        if statistics is None:
            return None
        return cls(**{part: as_hours(getattr(statistics, part)) for part in cls.model_fields})


class DowntimeTotals(Shape):
    """The downtime of a time: hours, with its range by when the data may have gone bad; null where nobody knows."""

    start: datetime
    end: datetime
    n: int | None
    undetected_h: float | None
    repair_h: float | None
    downtime_h: float | None
    downtime_h_low: float | None
    downtime_h_high: float | None
    cost: Amount


def totals_of(project: Project, downtime: Downtime, cost: Fraction | None, *, known: bool = True) -> DowntimeTotals:
    """Return figures as a model."""
    figures = {
        "undetected_h": downtime.undetected,
        "repair_h": downtime.repair,
        "downtime_h": downtime.downtime,
        "downtime_h_low": downtime.low,
        "downtime_h_high": downtime.high,
    }
    return DowntimeTotals(
        start=from_us(downtime.window.start_us),
        end=from_us(downtime.window.end_us),
        n=downtime.n if known else None,
        **{name: as_hours(value) if known else None for name, value in figures.items()},
        cost=Amount.of(project, cost if known else None),
    )


def as_hours(microseconds: int | Fraction) -> float:
    """Return a length of time in hours, exact up to floating point."""
    return float(hours(microseconds))


def not_there(code: str, message: str) -> Stop:
    """Return the error of something that a query names and that is not there."""
    return Stop(ExitCode.NOTHING_SELECTED, Problem(code, message))
