"""What published models share: frozen parts, moments, money and sentences, written as JSON in one way."""

from datetime import datetime
from fractions import Fraction
from typing import Annotated, TypeAlias

from pydantic import BaseModel, ConfigDict, InstanceOf, PlainSerializer, WithJsonSchema

from checks import Message
from incidents import hours
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


class Amount(Shape):
    """Money with its currency."""

    amount: Money
    currency: str

    @classmethod
    def of(cls, project: Project, amount: Fraction | None) -> "Amount":
        """Return an exact amount, rounded this once."""
        return cls(amount=project.currency.number(amount), currency=project.currency.code)


def as_hours(microseconds: int | Fraction) -> float:
    """Return a length of time in hours, exact up to floating point."""
    return float(hours(microseconds))
