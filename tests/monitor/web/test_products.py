"""The pages of data products say what the command says, and are there where products are configured."""

import pytest

from monitor.config import load
from monitor.config.project import Project
from store import WebRole
from tests.monitor.web.site import Site


def test_the_list_and_the_page_have_the_numbers_of_the_product(site: Site) -> None:
    """An open incident of a member makes the product down for as long; each table is listed with its own health."""
    number = site.incident(table="refunds")
    client = site.signed_in(WebRole.VIEWER)
    listed = client.get("/api/v1/products").json()
    (line,) = listed["products"]
    assert (listed["n"], line["product"], line["consumers"]) == (1, "selling", ["finance"])
    assert (line["downtime_h"], line["open_incidents"], line["verdict"]) == (1.0, [number], "unknown")
    page = client.get("/api/v1/products/selling").json()
    assert page["product"] == line
    assert [(item["table"], item["open_incidents"]) for item in page["members"]] == [
        ("refunds", [number]),
        ("orders", []),
    ]
    assert [item["id"] for item in page["incidents"]] == [number]
    assert line["health"] == page["members"][0]["health"]
    html = client.get("/products/selling").text
    for text in (
        "All that is sold",
        "finance",
        f'href="/incidents/{number}"',
        'href="/tables/refunds"',
        "Error budget",
    ):
        assert text.lower() in html.lower()


def test_products_are_linked_from_their_tables_and_in_the_navigation(site: Site) -> None:
    """Who reads of a table sees which products it is in."""
    client = site.signed_in(WebRole.VIEWER)
    html = client.get("/tables/orders").text
    assert html.count('href="/products/selling"') == html.count('href="/products"') == 1
    assert client.get("/products/nothing").status_code == 404


@pytest.mark.parametrize("path", ["/", "/tables/orders", "/products"])
def test_without_products_nothing_leads_to_them(site: Site, path: str) -> None:
    """The navigation has a page less; the list says that there are none."""
    config = site.project.loaded.path
    text = config.read_text(encoding="utf-8")
    before, _, after = text.partition("products:\n")
    config.write_text(before + after[after.index("releases:") :], encoding="utf-8")
    bare = Site(Project(load(config), site.clock), site.store, site.clock)
    html = bare.signed_in().get(path).text
    assert 'href="/products' not in html
    assert path != "/products" or "declares no data product" in html
