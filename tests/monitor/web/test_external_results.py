"""Results of other tools over HTTP: recorded once, for tables of the caller, in the shape of the command."""

from typing import Any

import pytest

from monitor.clock import SimulatedClock
from store import WebRole
from tests.monitor.integrations.test_results import run_of
from tests.monitor.web.site import Site

CHECKS = """
      - {type: external, origin: other, id: totals}
"""


def _body(site: Site, *results: Any, **about: Any) -> dict[str, Any]:
    run = run_of(*results, at=site.clock.now(), **about)
    body: dict[str, Any] = run.model_dump(mode="json", by_alias=True)
    return body


@pytest.fixture
def site(site: Site) -> Site:
    """Return the application over a shop with a check that another tool evaluates."""
    path = site.project.loaded.path
    path.write_text(path.read_text().replace("    checks:\n", f"    checks:{CHECKS}", 1), encoding="utf-8")
    assert isinstance(site.clock, SimulatedClock)
    return Site(site.project.reload(), site.store, site.clock)


def test_a_run_is_recorded_once(site: Site) -> None:
    """Its failing result is an incident; sent again, it changes nothing."""
    client = site.signed_in(WebRole.RESPONDER)
    body = _body(site, ("totals", "fail", 3), ("nothing", "pass"))
    first, again = (client.post("/api/v1/results", json=body) for _ in range(2))
    assert first.status_code == again.status_code == 200
    assert [item["incident"] for item in first.json()["results"]] == [1]
    assert [item["name"] for item in first.json()["not_taken"]] == ["nothing"]
    assert (again.json()["already_imported"], again.json()["results"]) == (True, [])
    page = client.get("/api/v1/incidents/1").json()
    assert page["table"] == "orders"


def test_who_may_act_on_other_tables_only_records_nothing(site: Site) -> None:
    """Nor does a viewer."""
    body = _body(site, ("totals", "fail"))
    other = site.signed_in(WebRole.OWNER, name="kim", owners=("crew",))
    assert other.post("/api/v1/results", json=body).status_code == 403
    assert site.signed_in(WebRole.VIEWER, name="eve").post("/api/v1/results", json=body).status_code == 403
    assert site.signed_in().get("/api/v1/incidents").json()["incidents"] == []


@pytest.mark.parametrize("change", [{"origin": "elsewhere"}, {"results": []}, {"ended_at": "2999-01-01T00:00:00Z"}])
def test_what_cannot_be_recorded_is_refused(site: Site, change: dict[str, Any]) -> None:
    """A tool of an unknown kind, no results, a run that ends in the future: 422 and the reason."""
    answer = site.signed_in().post("/api/v1/results", json=_body(site, ("totals", "fail")) | change)
    assert answer.status_code == 422
    assert answer.json()["status"] == answer.status_code
    assert answer.json()["errors"][0]["message"]


@pytest.mark.parametrize(
    "moment", ["9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00", "1969-12-31T23:59:59Z", 1e300]
)
def test_a_time_that_no_clock_shows_is_refused(site: Site, moment: object) -> None:
    """It is an error of the caller, not a bug, and nothing is recorded."""
    body = {**_body(site, ("totals", "fail")), "started_at": moment, "ended_at": moment}
    answer = site.signed_in(WebRole.RESPONDER).post("/api/v1/results", json=body)
    assert answer.status_code == 422
    assert site.signed_in().get("/api/v1/incidents/1").status_code == 404
