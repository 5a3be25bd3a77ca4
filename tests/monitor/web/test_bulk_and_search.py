"""Verbs on several incidents at once, the search field, and comments that keep their lines."""

import re
from html import unescape

import pytest

from monitor.channels.jira import Jira, JiraKind
from monitor.reporting.render import markdown_html
from store import WebRole
from tests.monitor.web.site import Site


def _states(site: Site) -> dict[int, str]:
    shown = site.signed_in().get("/api/v1/incidents").json()["incidents"]
    return {item["id"]: item["state"] for item in shown}


def test_several_incidents_are_acknowledged_with_one_event_each(site: Site) -> None:
    """The list leads to one confirmation, which leads back to the list; what was not chosen stays."""
    first, second, third = (site.incident(f"fault {number}") for number in range(3))
    client = site.signed_in(WebRole.RESPONDER, name="bo")
    listed = client.get("/incidents?state=open").text
    assert listed.count('name="id"') == 3
    chosen = {"verb": "ack", "id": [first, second], "back": "/incidents?state=open"}
    page = client.get("/incidents/bulk", params=chosen).text
    assert re.findall(r'name="id" value="(\d+)" checked', page) == [str(first), str(second)]
    done = client.post("/incidents/bulk", data=chosen)
    assert (done.status_code, done.headers["location"]) == (303, "/incidents?state=open")
    assert _states(site) == {first: "acknowledged", second: "acknowledged", third: "open"}
    assert [actor for actor in site.actors(first) if actor.startswith("bo")] == ["bo (password)"]


@pytest.mark.parametrize(
    ("verb", "fields", "shown"),
    [
        ("assign", {"assignee": "mia"}, ("assignee", "mia")),
        ("resolve", {"resolution": "no-action", "cause": "a test"}, ("cause", "a test")),
    ],
)
def test_the_fields_of_a_verb_hold_for_all(
    site: Site, verb: str, fields: dict[str, str], shown: tuple[str, str]
) -> None:
    """Who repairs, or how they ended, is recorded of each."""
    numbers = [site.incident(f"fault {number}") for number in range(2)]
    assert site.signed_in().post("/incidents/bulk", data={"verb": verb, "id": numbers, **fields}).status_code == 303
    for number in numbers:
        assert site.signed_in().get(f"/api/v1/incidents/{number}").json()[shown[0]] == shown[1]


def test_nothing_is_done_where_one_of_them_refuses(site: Site) -> None:
    """A resolved one among them, a table of others, or a field that is wrong: the page comes back as it was sent."""
    open_one, over, other = site.incident("a"), site.incident("b"), site.incident("c", table="refunds")
    client = site.signed_in()
    client.post(f"/incidents/{over}/resolve", data={"resolution": "fixed"})
    answer = client.post("/incidents/bulk", data={"verb": "ack", "id": [open_one, over]})
    assert answer.status_code == 409
    assert f"#{over} is resolved" in answer.text
    owner = site.signed_in(WebRole.OWNER, owners=("desk",))
    assert owner.post("/incidents/bulk", data={"verb": "ack", "id": [open_one, other]}).status_code == 403
    wrong = client.post("/incidents/bulk", data={"verb": "snooze", "id": [open_one, other], "for": "soon"})
    assert wrong.status_code == 422
    assert 'value="soon"' in wrong.text
    assert wrong.text.count(" checked>") == 2
    assert 'id="refused-for"' in wrong.text
    assert _states(site) == {open_one: "open", over: "resolved", other: "open"}
    assert client.post("/incidents/bulk", data={"verb": "drop", "id": [open_one]}).status_code == 422
    assert client.post("/incidents/bulk", data={"verb": "ack"}).status_code == 422
    assert client.post("/incidents/bulk", data={"verb": "ack", "id": [99]}).status_code == 404
    assert site.signed_in(WebRole.VIEWER).get(f"/incidents/bulk?verb=ack&id={open_one}").status_code == 403
    back = client.post("/incidents/bulk", data={"verb": "ack", "id": [open_one], "back": "//evil.example"})
    assert back.headers["location"] == "/"


def test_one_field_finds_tables_checks_owners_and_incidents(site: Site) -> None:
    """By a part of a name or a title in any case, and by number; an empty text finds nothing."""
    number = site.incident("Amounts x100")
    client = site.signed_in(WebRole.VIEWER)
    found = client.get("/api/v1/search", params={"text": "ORDER"}).json()
    assert "orders" in found["tables"]
    assert "orders.not-null" in found["checks"]
    assert client.get("/api/v1/search", params={"text": "desk"}).json()["owners"] == ["desk"]
    for text in ("amounts", f"#{number}", str(number)):
        assert [item["id"] for item in client.get("/api/v1/search", params={"text": text}).json()["incidents"]] == [
            number
        ]
    nothing = client.get("/api/v1/search").json()
    assert not any(nothing[kind] for kind in ("tables", "checks", "owners", "incidents"))
    page = client.get("/search", params={"text": "<b>"}).text
    assert "<b>" not in page
    assert "Nothing was found" in page
    assert 'id="search"' in page


def test_a_comment_keeps_its_lines_and_links(site: Site) -> None:
    """Lines and Markdown of a comment are shown; addresses, incidents and people in it are links, and nothing runs."""
    number = site.incident()
    client = site.signed_in()
    address = "https://wiki.example/x?a=1&amp;b=2"
    lines = ("first line", f"see {unescape(address)}, #7 and @mia", "", "- **one**\x07", "- <script>two</script>", "")
    text = "\r\n".join(lines)
    assert client.post(f"/incidents/{number}/comment", data={"text": text}).status_code == 303
    stored = client.get(f"/api/v1/incidents/{number}").json()["events"][-1]["change"]["text"]
    assert stored.split("\n")[0] == "first line"
    assert "\r" not in stored
    assert "\x07" not in stored
    page = client.get(f"/incidents/{number}").text
    assert "first line<br" in page
    assert (
        '<a href="https://wiki.example/x?a=1&amp;b=2" rel="noreferrer">https://wiki.example/x?a=1&amp;b=2</a>,' in page
    )
    assert '<a href="/incidents/7" rel="noreferrer">#7</a>' in page
    assert '<a href="/search?text=mia" rel="noreferrer">@mia</a>' in page
    assert "<strong>one</strong>" in page
    assert "<script>two" not in page


def test_references_are_links_in_plain_text_only() -> None:
    """Code and the text of a link stay as they are; an address of mail or a part of a word is no person."""
    html = markdown_html("`#1 @a` [#2](https://x.example) a@b.example x#3 javascript:alert(1)", is_comment=True)
    assert re.findall(r'href="([^"]*)"', html) == ["https://x.example"]
    assert "<a" not in markdown_html("https://x.example #1 @mia")


def test_a_post_mortem_is_edited_and_recorded_as_an_event_of_its_own_kind(site: Site) -> None:
    """It begins with the draft, later with what was recorded last."""
    number = site.incident("late | <b>")
    client = site.signed_in(WebRole.RESPONDER)
    page = client.get(f"/incidents/{number}/post-mortem").text
    assert "## Impact" in page
    assert f'action="/incidents/{number}/comment"' in page
    assert "<b>" not in page
    assert site.signed_in(WebRole.VIEWER).get(f"/incidents/{number}/post-mortem").status_code == 403
    assert client.get("/incidents/99/post-mortem").status_code == 404
    for text in ("## Impact\n\nnone", "## Impact\n\nsome"):
        sent = {"text": text, "post_mortem": "true"}
        assert client.post(f"/incidents/{number}/comment", data=sent).status_code == 303
    assert "some</textarea>" in client.get(f"/incidents/{number}/post-mortem").text
    kinds = [event["kind"] for event in client.get(f"/api/v1/incidents/{number}").json()["events"]]
    assert kinds == ["opened", "post-mortem", "post-mortem"]


def test_keys_of_tickets_lead_to_the_configured_service() -> None:
    """Of the project of a Jira channel alone; another key, and a part of a word, stays text."""
    given = {"url": "https://acme.example/", "email": "a@example.org", "token": "t", "project": "ops"}
    settings = Jira.model_validate(given)
    html = markdown_html(
        "OPS-12, UTF-8 and X-OPS-12, `OPS-3`",
        is_comment=True,
        ticket_url=lambda key: JiraKind().ticket_url(settings, key),
    )
    assert re.findall(r'href="([^"]+)"', html) == ["https://acme.example/browse/OPS-12"]
