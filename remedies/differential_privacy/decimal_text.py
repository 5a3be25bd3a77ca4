"""A privacy loss as a person writes it in a configuration: a decimal of at most nine places, kept as it is."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, TypeAlias

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

from remedies.differential_privacy.epsilon import decimal_of, nano


def _read(said: object) -> object:
    """Read a loss; what is none is refused with the reason."""
    return decimal_of(nano(said, name="a privacy loss")) if isinstance(said, str | int | float | Decimal) else said


WrittenLoss: TypeAlias = Annotated[
    Decimal,
    BeforeValidator(_read),
    PlainSerializer("{:f}".format, return_type=str),
    WithJsonSchema({"anyOf": [{"type": "number"}, {"type": "string"}]}),
]
