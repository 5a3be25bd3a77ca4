"""Events over HTTP: a pipeline reports its deployment."""

from typing import Any

import pytest

from store import WebRole
from tests.monitor.web.site import Site

ADDRESS = "/api/v1/events"
BODY: dict[str, Any] = {"kind": "deploy", "note": "loader 2.3", "at": "2h ago", "table": "orders"}


def _events(site: Site) -> list[Any]:
    with site.store.reading() as tx:
        return tx.logged_events.between(None, None, most=99)


def test_a_pipeline_reports_its_deployment(site: Site) -> None:
    """What is recorded is returned with its number and who sent it; sent again, it is the same event."""
    client = site.signed_in(WebRole.RESPONDER)
    made = client.post(ADDRESS, json=BODY)
    assert made.status_code == 201
    (event,) = _events(site)
    shown = made.json()
    assert {**shown, **BODY, "at": ""} == {**shown, "at": ""}
    assert (shown["schema"], shown["id"]) == ("tablewatch.event/1", 1)
    assert shown["by"] == event.actor
    again = client.post(ADDRESS, json=BODY)
    assert (again.status_code, again.json()) == (200, shown)
    assert _events(site) == [event]


def test_a_person_reports_a_deployment_on_the_page_of_a_table(site: Site) -> None:
    """The form leads back to the page, which lists what happened to the table, its source or any, and nothing else."""
    client = site.signed_in(WebRole.RESPONDER)
    form = {"kind": "deploy", "note": "loader <2.3>", "at": "", "table": "orders"}
    assert 'action="/events"' in client.get("/tables/orders").text
    done = client.post("/events", data=form)
    assert (done.status_code, done.headers["location"]) == (303, "/tables/orders#events")
    for change in (
        {"table": "refunds"},
        {"table": "", "source": "shop", "note": "moved"},
        {"table": "", "note": "all"},
    ):
        client.post("/events", data={**form, **change})
    page = client.get("/api/v1/tables/orders").json()
    assert sorted(event["note"] for event in page["events"]) == ["all", "loader <2.3>", "moved"]
    assert "loader &lt;2.3&gt;" in client.get("/tables/orders").text
    assert 'action="/events"' not in site.signed_in(WebRole.VIEWER, name="eve").get("/tables/orders").text


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"kind": "removal"}, 422),
        ({"note": ""}, 422),
        ({"note": "x" * 501}, 422),
        ({"at": "2099-01-01T00:00Z"}, 422),
        ({"at": "soon"}, 422),
        ({"table": "orderz"}, 422),
        ({"source": "crm"}, 422),
        ({"table": None, "source": "nowhere"}, 422),
        ({"who": "mia"}, 422),
    ],
)
def test_what_is_no_event_is_refused(site: Site, change: dict[str, Any], status: int) -> None:
    """Nothing of it is recorded."""
    assert site.signed_in().post(ADDRESS, json={**BODY, **change}).status_code == status
    assert _events(site) == []


def test_who_may_record_an_event(site: Site) -> None:
    """A viewer may not; an owner may for own tables, and neither for those of others nor for all."""
    assert site.signed_in(WebRole.VIEWER, name="eve").post(ADDRESS, json=BODY).status_code == 403
    owner = site.signed_in(WebRole.OWNER, name="ola", owners=("crew",))
    statuses = [
        owner.post(ADDRESS, json={**BODY, **change}).status_code
        for change in ({"table": "refunds"}, {"table": "orders"}, {"table": None}, {"table": None, "source": "shop"})
    ]
    assert statuses == [201, 403, 403, 403]
