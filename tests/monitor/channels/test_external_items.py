"""An incident names what it is in the services that show it: on the terminal, in JSON and on its page."""

import pytest

from monitor.reporting.terminal_views.incident import incident_lines
from monitor.summaries.incident import IncidentSheet
from monitor.triage.incident_editor import read_incident_detail
from monitor.verbs.incident import IncidentNumber
from monitor.web.views.incidents import show_incident
from store import WebRole
from tests.monitor.alerts.made import at
from tests.monitor.channels.following import SETTINGS, following
from tests.monitor.web.site import Site

STATUSES = {"jira": "new", "servicenow": "new", "slack": None, "pagerduty": None}
ADDRESSES = {
    "jira": "{url}/browse/{item}",
    "servicenow": "{url}/incident.do?sys_id={item}",
    "slack": None,
    "pagerduty": None,
}


def _json(desk):
    with desk.store.reading() as tx:
        return IncidentSheet.read(desk.project, read_incident_detail(tx, 1), at(1)).model_dump(mode="json")


def _told(desk):
    with desk.store.reading() as tx:
        return "\n".join(line.plain for line in incident_lines(desk.project, read_incident_detail(tx, 1)))


@pytest.mark.parametrize("kind", list(SETTINGS))
def test_an_incident_names_its_item_in_a_service(tmp_path, kind):
    """Service, its id, its status if it is a ticket, and where the settings tell it, the address; no secret."""
    with following(tmp_path, kind) as (desk, _):
        desk.open()
        assert _json(desk)["external_items"] == []
        desk.step(0.1)
        item, settings = desk.item().item, desk.project.config.alerts.channels["desk"].settings
        address = ADDRESSES[kind] and ADDRESSES[kind].format(url=getattr(settings, "url", ""), item=item)
        (line,) = _json(desk)["external_items"]
        assert line == {"channel": "desk", "service": kind, "item": item, "status": STATUSES[kind], "url": address}
        text = _told(desk)
        (shown,) = [words.split() for words in text.splitlines() if words.startswith(kind)]
        status = [f"({STATUSES[kind]})"] if STATUSES[kind] else []
        assert shown == [kind, item, *status, *([address] if address else [])]
        secrets = [str(value) for name, value in SETTINGS[kind]("").items() if name in {"token", "password"}]
        assert not [secret for secret in secrets if secret in text]
        with desk.store.reading() as tx:
            page = show_incident(desk.project, tx, IncidentNumber(id=1), at(1))
        assert [item.model_dump() for item in page.external_items] == [line]


def test_a_ticket_whose_answer_was_lost_is_not_confirmed(tmp_path):
    """Neither id nor status is known, and neither is made up."""
    with following(tmp_path, "jira") as (desk, fake):
        fake.faults.append("lost")
        desk.open()
        desk.step(0.1)
        (line,) = _json(desk)["external_items"]
        assert (line["item"], line["status"], line["url"]) == (None, None, None)
        assert "not confirmed yet" in _told(desk)


def test_an_item_of_a_channel_that_leads_elsewhere_has_no_address(tmp_path):
    """The channel's address is not that of the ticket any more."""
    with following(tmp_path, "jira") as (desk, _):
        desk.open()
        desk.step(0.1)
        item = desk.item().item
    with following(tmp_path, "jira") as (desk, _):  # the same store, and a site on another port
        (line,) = _json(desk)["external_items"]
        assert (line["item"], line["url"]) == (item, None)


def test_the_page_links_to_the_ticket(tmp_path):
    """In the reader's language."""
    with following(tmp_path, "jira") as (desk, _):
        desk.open()
        desk.step(0.1)
        address = _json(desk)["external_items"][0]["url"]
        client = Site(desk.project, desk.store, desk.project.clock).signed_in(WebRole.VIEWER)
        for language, words in (("en", "Tickets and messages"), ("ja", "チケットとメッセージ")):
            page = client.get("/incidents/1", headers={"accept-language": language}).text
            assert words in page
            assert f'<a href="{address}" rel="noreferrer">{desk.item().item}</a>' in page
