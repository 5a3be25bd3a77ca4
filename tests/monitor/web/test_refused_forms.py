"""Forms that are refused come back: filled, with the message at the field, in every page that has a form."""

import re
import sqlite3
from contextlib import closing

import pytest

from monitor.config.selector import select
from monitor.scan.run import run_checks
from store import WebRole
from tests.monitor.web.site import Site

_FORM = re.compile(r"<form [^>]*>.*?</form>", re.DOTALL)


def _form(page: str, action: str) -> str:
    (form, *_) = [form for form in _FORM.findall(page) if f'action="{action}"' in form]
    return form


@pytest.mark.parametrize(
    ("action", "sent", "field", "kept"),
    [
        ("/incidents/1/snooze", {"for": "soon & <never>"}, "for", 'value="soon &amp; &lt;never&gt;"'),
        ("/incidents/1/correct", {"occurred": "2026-99-01T00:00"}, "occurred", 'value="2026-99-01T00:00"'),
        ("/incidents/1/assign", {"assignee": "x" * 501}, "assignee", f'value="{"x" * 501}"'),
        ("/incidents/1/comment", {"text": "y\\1" * 5_000}, "text", "y\\1" * 5_000),
        ("/incidents", {"table": "ordrs", "title": "odd", "severity": "critical"}, "table", 'value="ordrs"'),
        ("/silences", {"table": "orders", "until": "x", "reason": "a move"}, "until", 'value="a move"'),
        ("/events", {"table": "orders", "kind": "deploy", "note": "n", "at": "x"}, "at", 'value="n"'),
    ],
)
def test_a_refused_form_comes_back(site: Site, action: str, sent: dict[str, str], field: str, kept: str) -> None:
    """What was sent stands in the form again, the message stands at its field, which has the focus."""
    site.incident()
    answer = site.signed_in().post(action, data=sent)
    assert answer.status_code in {409, 422}
    form = _form(answer.text, action)
    assert kept in form
    marked = re.search(
        rf'<(?:input|select|textarea) aria-invalid="true" aria-describedby="refused-{field}"[^>]*>', form
    )
    assert marked is not None
    assert " autofocus" in marked[0]
    assert f'name="{field}"' in marked[0]
    assert re.search(rf'<span class="refused" id="refused-{field}">[^<]+</span>', form)
    assert answer.text.count("aria-invalid") == 1


def test_choices_and_boxes_are_kept(site: Site) -> None:
    """A chosen option and a ticked box are those that were sent, and a section that hides the form is open."""
    number = site.incident()
    sent = {"resolution": "false-positive", "resolved": "x"}
    text = site.signed_in().post(f"/incidents/{number}/resolve", data=sent).text
    form = _form(text, f"/incidents/{number}/resolve")
    assert '<option value="false-positive" selected' in form
    assert form.count(" selected") == 1
    text = site.signed_in().post(f"/incidents/{number}/merge", data={"into": "x", "force": "true"}).text
    assert re.search(r'name="force" value="true" checked>', _form(text, f"/incidents/{number}/merge"))
    text = site.signed_in().post(f"/incidents/{number}/snooze", data={"for": "x"}).text
    assert '<details open class="more">' in text


def test_a_verb_that_is_not_possible_any_more_says_why(site: Site) -> None:
    """Where the page has no such form any more, the reason stands above it, and the page is as it is now."""
    number = site.incident()
    client = site.signed_in()
    assert client.post(f"/incidents/{number}/resolve", data={"resolution": "fixed"}).status_code == 303
    again = client.post(f"/incidents/{number}/ack")
    assert again.status_code == 409
    assert re.search(r'<main[^>]*><p class="refused" role="alert" tabindex="-1" autofocus', again.text)
    assert f'action="/incidents/{number}/reopen"' in again.text
    assert f'action="/incidents/{number}/ack"' not in again.text


def test_another_version_keeps_what_was_written(site: Site) -> None:
    """Who was overtaken sees the incident as it is now, with the own text in the form and the new version beneath."""
    number = site.incident()
    client = site.signed_in()
    version = client.get(f"/api/v1/incidents/{number}").json()["version"]
    client.post(f"/incidents/{number}/ack")
    sent = {"text": "my finding", "if_version": str(version)}
    answer = client.post(f"/incidents/{number}/comment", data=sent)
    assert answer.status_code == 409
    form = _form(answer.text, f"/incidents/{number}/comment")
    assert "my finding" in form
    assert f'name="if_version" value="{version}"' not in form
    assert 'role="alert"' in form


def test_rights_are_asked_before_anything_is_shown(site: Site) -> None:
    """Who may not act is refused without the page of the form; programs get JSON as before."""
    number = site.incident()
    answer = site.signed_in(WebRole.VIEWER).post(f"/incidents/{number}/snooze", data={"for": "x"})
    assert answer.status_code == 403
    assert "aria-invalid" not in answer.text
    headers = {"authorization": f"Bearer {site.token(WebRole.RESPONDER)}"}
    reply = site.client().post(f"/api/v1/incidents/{number}/snooze", json={"for": "x"}, headers=headers)
    assert reply.status_code == 422
    assert reply.json()["status"] == reply.status_code


def test_the_box_to_resolve_anyway_stands_only_where_a_check_still_fails(site: Site) -> None:
    """A refusal shows it with the reason; an incident that a person logged has none."""
    number = site.incident()
    client = site.signed_in()
    assert 'name="force"' not in _form(client.get(f"/incidents/{number}").text, f"/incidents/{number}/resolve")
    with closing(sqlite3.connect(site.project.loaded.path.parent / "shop.sqlite")) as shop, shop:
        shop.execute("INSERT INTO orders SELECT id, NULL, amount, loaded_at FROM orders")
    run_checks(site.project, select(["orders"], site.project.config), store=site.store)
    failing = next(item["id"] for item in client.get("/api/v1/incidents").json()["incidents"] if item["check_id"])
    form = _form(client.get(f"/incidents/{failing}").text, f"/incidents/{failing}/resolve")
    assert 'name="force"' in form
    refused = client.post(f"/incidents/{failing}/resolve", data={"resolution": "fixed"})
    assert (refused.status_code, 'id="refused-force"' in refused.text) == (409, True)
