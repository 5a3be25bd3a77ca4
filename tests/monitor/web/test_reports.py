"""The pages of reports: of all tables, or of those of a domain, an owner or a data product."""

import re
from datetime import timedelta
from html import unescape
from urllib.parse import quote

import pytest

from store import WebRole
from tests.monitor.web.site import Site


@pytest.mark.parametrize(
    ("scope", "title", "tables"),
    [
        ("domain:sales", "sales", 1),
        ("owner:crew", "owner crew", 1),
        ("product:selling", "data product All that is sold", 2),
    ],
)
def test_a_report_of_a_part_is_chosen_without_a_script(site: Site, scope: str, title: str, tables: int) -> None:
    """The list has a form; its links and the report keep the choice, and the report counts those tables alone."""
    site.incident(table="orders")
    client = site.signed_in(WebRole.VIEWER)
    everything = client.get("/reports").text
    assert f'<option value="{scope}">' in everything
    assert "?scope" not in everything
    listed = client.get("/reports", params={"scope": scope}).text
    assert f'<option value="{scope}" selected>' in listed
    link = re.search(r'href="(/reports/\d{4}-W\d\d\?scope=[^"]+)"', listed)
    assert link is not None
    page = client.get(link[1], headers={"accept-language": "en"})
    assert f"· {title}</h1>" in page.text
    assert f'<option value="{scope}" selected>' in page.text
    assert '<a href="/incidents">Incidents</a>' in page.text
    assert "As of " in page.text
    assert f'href="/reports?scope={quote(scope)}"' in page.text
    assert ("orders" in page.text.partition("</form>")[2]) is (tables == 2)


@pytest.mark.parametrize("path", ["/reports", "/reports/2026-W40"])
@pytest.mark.parametrize(
    ("scope", "status", "message"),
    [
        ("domain:sale", 404, "domain &#39;sale&#39; is not in the configuration"),
        ("domain:sale", 404, "did you mean &#39;sales&#39;?"),
        ("owner:", 400, "write domain:NAME, owner:NAME or product:NAME"),
        ("tier:gold", 400, "write domain:NAME, owner:NAME or product:NAME"),
        ("product:&lt;b&gt;", 404, "known: selling"),
    ],
)
def test_an_unknown_scope_is_refused_with_what_was_expected(
    site: Site, path: str, scope: str, status: int, message: str
) -> None:
    """What is no scope is a bad request, what is not configured is not there."""
    page = site.signed_in(WebRole.VIEWER).get(path, params={"scope": scope})
    assert page.status_code == status
    assert message in page.text


def test_figures_lead_to_the_incidents_behind_them(site: Site) -> None:
    """Of this period and the one before, by table and domain, and of a part; the mailed report has no link."""
    late = site.incident("orders are late", table="refunds")
    site.clock.advance(timedelta(hours=2))
    client = site.signed_in(WebRole.VIEWER)
    week = f"{site.clock.now():%G-W%V}"
    for address in (f"/reports/{week}", f"/reports/{week}?scope=product:selling"):
        page = client.get(address, headers={"accept-language": "en"}).text
        links = {unescape(link) for link in re.findall(r'href="(/incidents\?since=[^"]+)"', page)}
        assert links, page
        for link in links:
            assert f'href="/incidents/{late}"' in client.get(link).text, link
        assert ("table=orders&table=refunds" in "".join(links)) is ("scope" in address)
    assert "domain=sales" in client.get(f"/reports/{week}").text
