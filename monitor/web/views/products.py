"""Data products: a list with health, downtime and promises, and everything about one with its tables."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from incidents import Window
from monitor.config.project import Project
from monitor.summaries.catalogue import RECENT
from monitor.summaries.health import states_of
from monitor.summaries.incident import IncidentSummary, summaries_of
from monitor.summaries.products import ProductLine, product_states
from monitor.summaries.shapes import Moment, Shape
from monitor.summaries.status_address import StatusAddressLine
from monitor.verbs.verb import Query
from monitor.web.views.shapes import LARGEST_PAGE, Name, NameListPage, NameListQuery, not_there, page_of_names
from monitor.web.views.tables import RecentTable, downtime_of
from store import ReadTransaction, StatusScope


class ProductQuery(Query):
    """The name of a data product, in the path."""

    name: Name


class ProductListPage(NameListPage):
    """`tablewatch.products-page/2`: data products by name, in the last 28 days; `n` counts all."""

    schema_: Literal["tablewatch.products-page/2"] = Field("tablewatch.products-page/2", alias="schema")
    query: NameListQuery
    products: tuple[ProductLine, ...]


class ProductPage(Shape):
    """`tablewatch.product-page/2`: a data product; `members` and `incidents` are at most 100, the worst first."""

    schema_: Literal["tablewatch.product-page/2"] = Field("tablewatch.product-page/2", alias="schema")
    as_of: Moment
    product: ProductLine
    members: tuple[RecentTable, ...]
    incidents: tuple[IncidentSummary, ...]
    status_addresses: tuple[StatusAddressLine, ...]


def list_products(project: Project, tx: ReadTransaction, query: NameListQuery, now: datetime) -> ProductListPage:
    """Return a page of the data products."""
    page = page_of_names(list(project.config.products), query.cursor, query.size)
    states = product_states(project, tx, page.names, Window.of(now - RECENT, now), as_of=now)
    return ProductListPage(
        as_of=now,
        query=query,
        n=len(project.config.products),
        products=tuple(ProductLine.of(state) for state in states),
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
        product=ProductLine.of(product),
        members=tuple(RecentTable.of(state, recent=recent[state.table.name]) for state in worst),
        incidents=tuple(summaries_of(project, product.incidents[:LARGEST_PAGE], now)),
        status_addresses=tuple(map(StatusAddressLine.of, tx.status_addresses.valid(StatusScope.PRODUCT, query.name))),
    )
