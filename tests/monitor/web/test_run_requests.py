"""Checks run on request: the table is due in the schedule, and no slot is lost."""

from dataclasses import replace
from datetime import timedelta

import pytest

from monitor.daemon.timetable import Timetable
from store import Scheduled, WebRole
from tests.monitor.web.site import Site


def _scheduled(site: Site, table: str = "orders") -> Scheduled:
    with site.store.reading() as tx:
        row = tx.schedule.get(table)
    assert row is not None
    return row


@pytest.mark.parametrize(
    ("address", "body"),
    [("/api/v1/runs", {"tables": ["orders", "orders"]}), ("/api/v1/tables/orders/loaded", None)],
)
@pytest.mark.parametrize("schedule", ["every 1h", "cron: 0 * * * *"])
def test_a_table_is_due_at_once(site: Site, schedule: str, address: str, body: dict[str, list[str]] | None) -> None:
    """The slot is the moment of the request; the one after it is that of the schedule."""
    site.schedule("orders", "refunds", every=schedule)
    asked = site.signed_in(WebRole.RESPONDER).post(address, json=body)
    assert asked.status_code == 202
    now = site.clock.now()
    row = _scheduled(site)
    assert (row.next_slot, row.due_at) == (now, now)
    assert [line["table"] for line in asked.json()["tables"]] == ["orders"]
    assert _scheduled(site, "refunds").due_at > now
    delayed = replace(Timetable.of_row(row), delay=timedelta(minutes=3))
    for timetable in (Timetable.of_row(row), delayed):
        decision = timetable.claim(row, now)
        assert (decision.slot, decision.skip) == (now, None)
        assert now < decision.next_slot <= now + timedelta(hours=1)


def test_a_table_that_is_due_already_keeps_its_slot(site: Site) -> None:
    """It would be lost, with no record that it was skipped."""
    site.schedule("orders", due_in=-timedelta(minutes=5))
    before = _scheduled(site)
    assert site.signed_in().post("/api/v1/runs", json={"tables": ["orders"]}).status_code == 202
    assert _scheduled(site) == before


def test_the_page_has_a_button_where_a_daemon_has_scheduled_the_table(site: Site) -> None:
    """It leads back to the page; without a schedule, or for a viewer, there is none."""
    client = site.signed_in(WebRole.RESPONDER)
    button = "/tables/orders/run"
    assert button not in client.get("/tables/orders").text
    site.schedule("orders")
    assert button in client.get("/tables/orders").text
    assert button not in site.signed_in(WebRole.VIEWER, name="eve").get("/tables/orders").text
    done = client.post(button)
    assert (done.status_code, done.headers["location"]) == (303, "/tables/orders#does")
    assert _scheduled(site).due_at == site.clock.now()


def test_what_cannot_run_is_refused_and_nothing_is_changed(site: Site) -> None:
    """No such table: 404; no schedule: 409; a table of others: 403; no table, too many or a field too many: 422."""
    site.schedule("orders")
    before = _scheduled(site)
    client = site.signed_in()
    for body, status in (
        ({"tables": ["orders", "nothing"]}, 404),
        ({"tables": ["orders", "refunds"]}, 409),
        ({"tables": []}, 422),
        ({"tables": ["orders"] * 101}, 422),
        ({"tables": ["orders"], "at": "now"}, 422),
    ):
        assert client.post("/api/v1/runs", json=body).status_code == status, body
    owner = site.signed_in(WebRole.OWNER, name="bob", owners=("crew",))
    assert owner.post("/api/v1/tables/orders/loaded", json={}).json()["errors"][0]["code"] == "access.table"
    assert site.signed_in(WebRole.VIEWER, name="eve").post("/tables/orders/run").status_code == 403
    assert _scheduled(site) == before
