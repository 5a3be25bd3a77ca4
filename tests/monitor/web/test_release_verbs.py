"""Stewards decide on releases: under the name that was authenticated, and never for a table of their own."""

from starlette.testclient import TestClient

from store import ReleaseEvent, WebRole
from tests.monitor.web.site import Site

APPROVAL = {"remedy": "suppress", "note": "ticket 4711"}
ADDRESS = "/api/v1/releases/extract"


def _record(site: Site) -> list[ReleaseEvent]:
    with site.store.reading() as tx:
        return list(tx.release_events.matching("extract"))


def _approve(client: TestClient) -> tuple[int, str]:
    answer = client.post(f"{ADDRESS}/approve", json=APPROVAL)
    return answer.status_code, "" if answer.status_code == 200 else answer.json()["errors"][0]["code"]


def test_a_steward_approves_and_holds(site: Site) -> None:
    """Each decision is an event of the record, by the plain name, with how it was proved."""
    client = site.signed_in(WebRole.STEWARD, name="ann")
    assert _approve(client) == (200, "")
    assert client.get(f"{ADDRESS}").json()["standing"]["approved_with"] == "suppress"
    done = client.post("/releases/extract/hold", data={"note": "the contract has ended"})
    assert (done.status_code, done.headers["location"]) == (303, "/releases/extract#decide")
    approved, held = _record(site)
    assert (approved.actor, approved.body["signed_in_by"], approved.note) == ("ann", "password", "ticket 4711")
    assert (held.kind, held.actor) == ("held", "ann (password)")


def test_the_owner_of_the_table_cannot_approve(site: Site) -> None:
    """Neither by name, nor by the owners that a role acts for; nothing is recorded."""
    assert _approve(site.signed_in(WebRole.STEWARD, name="desk")) == (403, "release.own_table")
    assert _approve(site.signed_in(WebRole.STEWARD, name="ann", owners=("desk",))) == (403, "release.own_table")
    assert _record(site) == []


def test_what_cannot_be_is_refused(site: Site) -> None:
    """No such release: 404; no such remedy, no note, a field too many: 422; another role: 403."""
    client = site.signed_in(WebRole.STEWARD, name="ann")
    assert client.post("/api/v1/releases/nothing/hold", json={"note": "x"}).status_code == 404
    assert client.post(f"{ADDRESS}/approve", json={**APPROVAL, "remedy": "magic"}).status_code == 422
    assert client.post(f"{ADDRESS}/approve", json={"remedy": "suppress"}).status_code == 422
    assert client.post(f"{ADDRESS}/approve", json={**APPROVAL, "by": "bob"}).status_code == 422
    assert _approve(site.signed_in(WebRole.RESPONDER)) == (403, "access.role")
    assert _record(site) == []
