"""Consumers see whether data may be used at an address of their own, without signing in and without names."""

import re
from datetime import timedelta

from monitor.config.selector import select
from monitor.scan.run import run_checks
from monitor.web.status_pages import MOST_STATUS_READS
from store import WebRole
from tests.monitor.web.site import Site


def _address(site: Site, **scope: str) -> str:
    done = site.signed_in().post("/api/v1/status-pages", json=scope or {"table": "orders"})
    assert done.status_code == 201, done.text
    path: str = done.json()["path"]
    return path


def _look(site: Site, tables: tuple[str, ...] = ("orders",)) -> None:
    run_checks(site.project, select(list(tables), site.project.config), store=site.store)


def test_a_stranger_sees_that_data_may_be_used(site: Site) -> None:
    """The page says it in plain words, is not indexed, and has a badge that other sites may embed."""
    _look(site)
    path = _address(site)
    page = site.client().get(path)
    assert page.status_code == 200
    assert "The data may be used." in page.text
    assert page.headers["x-robots-tag"] == "noindex, nofollow"
    assert page.headers["referrer-policy"] == "no-referrer"
    badge = site.client(**{"sec-fetch-site": "cross-site"}).get(f"{path}/badge.svg")
    assert badge.headers["content-type"] == "image/svg+xml"
    assert badge.headers["cross-origin-resource-policy"] == "cross-origin"
    assert ">may be used<" in badge.text


def test_a_stranger_is_told_since_when_data_is_wrong(site: Site) -> None:
    """An open incident says since when, and neither its title, its number nor a person is named."""
    site.incident("salaries of ann doubled")
    client = site.client()
    client.headers["accept-language"] = "ja"
    for page in (site.client().get(_address(site)), client.get(_address(site, product="selling"))):
        assert "2026-11-20 17:00" in page.text
        for word in ("salaries", "desk", "crew", "not-null", "customer", "mia", "#1", "/incidents"):
            assert word not in page.text.partition("</style>")[2], word
    assert "Do not use the data: it has been wrong since 2026-11-20 17:00." in site.client().get(_address(site)).text


def test_what_was_never_checked_is_not_good(site: Site) -> None:
    """A table without a result, and a product one of whose tables has no check, are not said to be usable."""
    assert "is not known" in site.client().get(_address(site)).text
    _look(site)
    assert "Not all of this data is monitored" in site.client().get(_address(site, product="selling")).text


def test_a_check_that_is_overdue_makes_it_unknown(site: Site) -> None:
    """No run for two days: the page says since when."""
    _look(site)
    path = _address(site)
    site.clock.advance(timedelta(days=2))
    assert re.search(r"has not been known since 2026-11-\d\d \d\d:\d\d\.", site.client().get(path).text)


def test_a_replaced_or_revoked_address_is_gone(site: Site) -> None:
    """It is the same answer as for one that never was; the new one works; the store has no secret part."""
    first, client = _address(site), site.signed_in()
    second = client.post("/api/v1/status-pages/1/rotate", json={}).json()["path"]
    stranger = site.client()
    answers = [stranger.get(path) for path in (first, f"{first}/badge.svg", "/status/never")]
    assert [answer.status_code for answer in answers] == [404, 404, 404]
    assert stranger.get(second).status_code == 200
    assert second.removeprefix("/status/") not in client.get("/api/v1/status-pages").text
    assert client.post("/status-pages/2/revoke").headers["location"] == "/tables/orders#status-pages"
    assert stranger.get(second).status_code == 404
    assert client.post("/api/v1/status-pages/9/revoke", json={}).status_code == 404


def test_the_form_shows_the_address_once(site: Site) -> None:
    """The page that makes it shows it; the page of the table shows only that there is one, and who made it."""
    client = site.signed_in()
    made = client.post("/status-pages", data={"table": "orders"})
    path = re.search(r'href="(/status/[\w-]{43})"', made.text)
    assert path
    assert site.client().get(path[1]).status_code == 200
    page = client.get("/tables/orders")
    assert path[1] not in page.text
    assert 'action="/status-pages/1/rotate"' in page.text


def test_only_who_may_act_on_its_tables_gives_an_address(site: Site) -> None:
    """A viewer may not; an owner may for own tables, and for a product only if all its tables are."""
    assert site.signed_in(WebRole.VIEWER).post("/status-pages", data={"table": "orders"}).status_code == 403
    owner = site.signed_in(WebRole.OWNER, owners=("crew",))
    for scope, status in (({"table": "refunds"}, 201), ({"table": "orders"}, 403), ({"product": "selling"}, 403)):
        assert owner.post("/api/v1/status-pages", json=scope).status_code == status
    assert site.signed_in().post("/api/v1/status-pages", json={}).status_code == 422
    _address(site)
    assert owner.post("/api/v1/status-pages/2/rotate", json={}).status_code == 403


def test_requests_are_limited_by_client(site: Site) -> None:
    """One client has so many a minute; another one is still answered."""
    path, client = _address(site), site.client(peer="203.0.113.9")
    answers = [client.get(f"{path}/badge.svg").status_code for _ in range(MOST_STATUS_READS + 1)]
    assert answers == [200] * MOST_STATUS_READS + [429]
