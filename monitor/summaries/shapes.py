"""What published models share: frozen parts, moments, money and sentences, written as JSON in one way."""

from datetime import datetime
from fractions import Fraction
from typing import Annotated, Any, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, InstanceOf, PlainSerializer, WithJsonSchema

from checks import Message
from incidents import Downtime, Statistics, hours
from monitor.clock import iso
from monitor.config.project import Project
from monitor.triage.create import tidy

Moment: TypeAlias = Annotated[
    datetime,
    PlainSerializer(iso, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
"""A moment; JSON has it in UTC as `2026-11-20T09:00:00+00:00`."""
Money: TypeAlias = int | float | None
"""An amount in the project's currency: whole where that has no decimals, null where no rate is configured."""
Sentence: TypeAlias = Annotated[InstanceOf[Message], PlainSerializer(str, return_type=str)]
"""A message: pages show it in the reader's language, JSON has it in English."""
Title: TypeAlias = Annotated[InstanceOf[Message], PlainSerializer(lambda title: tidy(str(title)), return_type=str)]
"""The title of an incident, a `Sentence` on one line."""


class Shape(BaseModel):
    """A frozen part of a model."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    def plain(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return self.model_dump(mode="json", by_alias=True)


class Amount(Shape):
    """Money with its currency."""

    amount: Money
    currency: str

    @classmethod
    def of(cls, project: Project, amount: Fraction | None, **more: Any) -> Self:
        """Return an exact amount, rounded this once; `more`: the fields that a wider model adds."""
        return cls(amount=project.currency.number(amount), currency=project.currency.code, **more)


def as_hours(microseconds: int | Fraction) -> float:
    """Return a length of time in hours, exact up to floating point."""
    return float(hours(microseconds))


class CheckFinding(Shape):
    """What a check found: a status, the reason of unknown, and the message."""

    status: str
    reason: str | None
    message: Sentence


class TimeDistribution(Shape):
    """How long whole incidents took, in hours."""

    min: float
    mean: float
    median: float
    p90: float
    max: float

    @classmethod
    def of(cls, statistics: Statistics | None) -> Self | None:
        """Return statistics as a model; None without any incident."""
        if statistics is None:
            return None
        return cls(**{part: as_hours(getattr(statistics, part)) for part in cls.model_fields})


def or_nulls(times: TimeDistribution | None) -> dict[str, float | None]:
    """Return a distribution as JSON has it, of no incident with null at each key."""
    return dict.fromkeys(TimeDistribution.model_fields) if times is None else dict(times)


SpreadHours: TypeAlias = Annotated[
    TimeDistribution | None, PlainSerializer(or_nulls, return_type=dict[str, float | None])
]
"""A distribution of hours; of no incident JSON has all its keys with null."""


class DowntimeHours(Shape):
    """Downtime in hours, between `low` and `high` by when the data may have gone bad; null where it is unknown.

    `n` counts the incidents that it is of, `n_occurred` those that began in that time; in `table_hours` overlapping
    incidents of a table count once.
    """

    n: int | None
    n_occurred: int | None
    undetected_h: float | None
    repair_h: float | None
    downtime_h: float | None
    downtime_h_low: float | None
    downtime_h_high: float | None
    table_hours: float | None

    @classmethod
    def of(cls, downtime: Downtime, *, is_known: bool = True, **more: Any) -> Self:
        """Return figures as a model; `more`: the fields that a wider model adds."""
        if not is_known:
            return cls(**dict.fromkeys(DowntimeHours.model_fields), **more)
        return cls(
            n=downtime.n,
            n_occurred=downtime.n_occurred,
            undetected_h=as_hours(downtime.undetected),
            repair_h=as_hours(downtime.repair),
            downtime_h=as_hours(downtime.downtime),
            downtime_h_low=as_hours(downtime.low),
            downtime_h_high=as_hours(downtime.high),
            table_hours=as_hours(downtime.table_time),
            **more,
        )


class DowntimeGroup(DowntimeHours):
    """The downtime of one table, owner, day ...; `key` is null where there is none."""

    key: str | None
    cost: Money
