"""Data products: a list with health, downtime and promises, and everything about one with its tables."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from incidents import LevelVerdict, Window
from monitor.config.project import Project
from monitor.summaries.catalogue import RECENT
from monitor.summaries.health import TableHealth, states_of
from monitor.summaries.incident import IncidentSummary, summaries_of
from monitor.summaries.products import product_states
from monitor.summaries.shapes import Moment, Shape
from monitor.web.views.shapes import LARGEST_PAGE, ContractLine, Name, NameCursorText, Size, not_there, page_of_names
from monitor.web.views.tables import TableLine, downtime_of, line_of
from store import ReadTransaction


class ProductListQuery(BaseModel):
    """Which part of the list to show."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    cursor: NameCursorText | None = None
    size: Size = 50


class ProductQuery(BaseModel):
    """The name of a data product, in the path."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Name


class PortsPart(Shape):
    """The tables outside that feed a product, and its tables that feed tables outside."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


class ProductLine(Shape):
    """A data product as `product list --format json` has it: times in hours, downtime null where not observed."""

    product: str
    title: str | None
    owner: str | None
    description: str | None
    consumers: tuple[str, ...]
    tables: tuple[str, ...]
    ports: PortsPart
    health: TableHealth
    open_incidents: tuple[int, ...]
    start: Moment = Field(alias="from")
    to: Moment
    downtime_h: float | None
    downtime_h_low: float | None
    downtime_h_high: float | None
    promises: ContractLine | None
    verdict: LevelVerdict | None


class ProductListPage(Shape):
    """`tablewatch.products-page/2`: data products by name, in the last 28 days; `n` counts all."""

    schema_: Literal["tablewatch.products-page/2"] = Field("tablewatch.products-page/2", alias="schema")
    as_of: Moment
    query: ProductListQuery
    n: int
    products: tuple[ProductLine, ...]
    previous: str | None
    following: str | None


class ProductPage(Shape):
    """`tablewatch.product-page/2`: a data product; `members` and `incidents` are at most 100, the worst first."""

    schema_: Literal["tablewatch.product-page/2"] = Field("tablewatch.product-page/2", alias="schema")
    as_of: Moment
    product: ProductLine
    members: tuple[TableLine, ...]
    incidents: tuple[IncidentSummary, ...]


def list_products(project: Project, tx: ReadTransaction, query: ProductListQuery, now: datetime) -> ProductListPage:
    """Return a page of the data products."""
    page = page_of_names(list(project.config.products), query.cursor, query.size)
    states = product_states(project, tx, page.names, Window.of(now - RECENT, now), as_of=now)
    return ProductListPage(
        as_of=now,
        query=query,
        n=len(project.config.products),
        products=tuple(ProductLine.model_validate(state.as_json()) for state in states),
        previous=page.previous,
        following=page.following,
    )


def show_product(project: Project, tx: ReadTransaction, query: ProductQuery, now: datetime) -> ProductPage:
    """Return a data product.

    Raises:
        Stop: it is not configured.
    """
    if query.name not in project.config.products:
        raise not_there("product.unknown", "there is no such data product in the configuration")
    window = Window.of(now - RECENT, now)
    (product,) = product_states(project, tx, [query.name], window, as_of=now)
    tables = [table for name in product.tables if (table := project.config.table(name)) is not None]
    worst = sorted(states_of(project, tx, tables), key=lambda state: state.health.rank)[:LARGEST_PAGE]
    recent = downtime_of(project, tx, [state.table.name for state in worst], window)
    return ProductPage(
        as_of=now,
        product=ProductLine.model_validate(product.as_json()),
        members=tuple(line_of(state, recent[state.table.name]) for state in worst),
        incidents=tuple(summaries_of(project, product.incidents[:LARGEST_PAGE], now)),
    )
