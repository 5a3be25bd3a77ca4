"""Silences as they are published: by the command, the API and the page of alerts."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, Self

from pydantic import Field

from monitor.summaries.shapes import Moment, Shape
from store import Scope, Silence


class SilenceLine(Shape):
    """A silence: its scope, time, reason and author. `name`: of the table or domain."""

    id: int
    scope: Scope
    name: str | None
    starts_at: Moment
    until: Moment
    ended_at: Moment | None
    active: bool
    reason: str
    by: str

    @classmethod
    def of(cls, silence: Silence, now: datetime) -> Self:
        """Return a silence as it is at a moment."""
        return cls(
            id=silence.id,
            scope=silence.scope,
            name=silence.name,
            starts_at=silence.starts_at,
            until=silence.until,
            ended_at=silence.ended_at,
            active=silence.starts_at <= now < (silence.ended_at or silence.until),
            reason=silence.reason,
            by=silence.by,
        )


class SilencePage(SilenceLine):
    """`tablewatch.silence/1`: one silence."""

    schema_: Literal["tablewatch.silence/1"] = Field("tablewatch.silence/1", alias="schema")


class SilenceListPage(Shape):
    """`tablewatch.silences/1`: silences, newest first."""

    schema_: Literal["tablewatch.silences/1"] = Field("tablewatch.silences/1", alias="schema")
    silences: tuple[SilenceLine, ...]

    @classmethod
    def of(cls, silences: Sequence[Silence], now: datetime) -> Self:
        """Return silences as they are at a moment."""
        return cls(silences=tuple(SilenceLine.of(silence, now) for silence in silences))
