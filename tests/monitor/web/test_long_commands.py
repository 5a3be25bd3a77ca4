"""Suggestions, the comparison of remedies and the diagnosis: a worker runs them, and pages show its answer."""

from typing import Any

import pytest

from monitor.terminal.problem import Problem
from monitor.workers import WorkerCalls
from store import WebRole
from tests.monitor.web.site import Site


@pytest.fixture
def web_section() -> str:
    """Return a section in which pages may change the configuration."""
    return "web: {changes: true}\n"


def test_a_suggestion_is_accepted_by_the_diff_and_declined_for_good(site: Site) -> None:
    """Its settings are a change of the configuration; that it was declined is an event of the table."""
    admin = site.signed_in()
    page = admin.post("/tables/orders/suggestions").text
    (first, *_) = admin.post("/api/v1/tables/orders/suggestions", json={}).json()["suggestions"]
    assert f"<h2>{first['id']}</h2>" in page
    change = {"table": "orders", "settings": first["settings"]}
    assert f"tables.orders.checks.{first['id']}" in admin.post("/configuration/changes/preview", data=change).text
    declined = {"table": "orders", "kind": "other", "note": f"declined: {first['id']}"}
    assert admin.post("/events", data=declined).status_code == 303
    again = admin.post("/tables/orders/suggestions").text
    assert again.index("Declined before") < again.index(f"<h2>{first['id']}</h2>")


def test_remedies_are_compared_from_the_page_of_a_release(site: Site) -> None:
    """The table of remedies is then on it, as after the command."""
    steward = site.signed_in(WebRole.STEWARD)
    assert "Compare now" in steward.get("/releases/extract/comparison").text
    assert steward.post("/releases/extract/compare").headers["location"] == "comparison"
    assert "suppress" in steward.get("/releases/extract/comparison").text
    assert steward.post("/releases/nothing/compare").status_code == 404


def test_findings_are_those_of_the_command(site: Site) -> None:
    """Each has its status; the folder of the configuration is not named."""
    answer = site.signed_in().get("/api/v1/doctor").json()
    assert (answer["schema"], {"store", "configuration"} <= {item["subject"] for item in answer["findings"]}) == (
        "tablewatch.doctor/1",
        True,
    )
    assert str(site.project.loaded.path.parent) + "/tablewatch" not in str(answer)


@pytest.mark.parametrize(
    ("outcome", "status", "words"),
    [
        (TimeoutError("overdue"), 503, "run 'tablewatch suggest orders'"),
        (ChildProcessError("killed"), 503, "ended without an answer"),
        ([Problem("release.own_table", "not one's own")], 403, "not one's own"),
    ],
)
def test_what_the_worker_does_not_answer(
    site: Site, monkeypatch: pytest.MonkeyPatch, outcome: Any, status: int, words: str
) -> None:
    """Too long, a crash, a refusal: a problem with what to do."""

    def call(*_: Any, **__: Any) -> Any:
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    monkeypatch.setattr(WorkerCalls, "call", call)
    done = site.signed_in().post("/api/v1/tables/orders/suggestions", json={})
    assert (done.status_code, words in done.text) == (status, True)
