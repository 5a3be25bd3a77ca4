"""One field finds tables, checks, incidents and owners by a part of their name."""

from collections.abc import Iterable
from datetime import datetime
from heapq import nsmallest
from typing import Annotated, Final, Literal

from annotated_types import MaxLen
from pydantic import BaseModel, ConfigDict, Field

from monitor.config.project import Project
from monitor.summaries.incident import IncidentSummary, english_title, summaries_of
from monitor.summaries.shapes import Moment, Shape
from store import IncidentFilter, ReadTransaction

FOUND: Final = 20
"""Results of each kind."""
_NEWEST: Final = 500
"""Incidents whose titles are searched."""


class SearchQuery(BaseModel):
    """A part of a name or a title, or the number of an incident."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    text: Annotated[str, MaxLen(200)] = ""


class SearchPage(Shape):
    """`tablewatch.search/1`: at most 20 of each kind, the shortest names first; incidents of the newest 500."""

    schema_: Literal["tablewatch.search/1"] = Field("tablewatch.search/1", alias="schema")
    as_of: Moment
    query: SearchQuery
    tables: tuple[str, ...]
    checks: tuple[str, ...]
    owners: tuple[str, ...]
    incidents: tuple[IncidentSummary, ...]


def search(project: Project, tx: ReadTransaction, query: SearchQuery, now: datetime) -> SearchPage:
    """Return what a text finds; nothing for no text."""
    text, config = query.text.strip().casefold(), project.config

    def found(names: Iterable[str]) -> tuple[str, ...]:
        matching = (name for name in names if text and text in name.casefold())
        return tuple(nsmallest(FOUND, matching, key=lambda name: (len(name), name)))

    owners = {owner for table in config.tables if (owner := config.owner_of(table)) is not None}
    newest = tx.incidents.page(IncidentFilter(), size=_NEWEST).incidents if text else ()
    number = text.removeprefix("#")
    exact = tx.incidents.get_many([int(number)]).values() if number.isdecimal() and len(number) < 19 else ()
    titled = [
        item
        for item in newest
        if text in english_title(item).casefold() or (item.assignee and text == item.assignee.casefold())
    ]
    return SearchPage(
        as_of=now,
        query=query,
        tables=found(table.name for table in config.tables),
        checks=found(table.check_id(check) for table in config.tables for check in table.checks),
        owners=found(owners),
        incidents=summaries_of(project, list({item.id: item for item in [*exact, *titled]}.values())[:FOUND], now),
    )
