"""Verbs over HTTP: recorded under the authenticated name, on the state that was seen, on one's own tables only."""

import re
from datetime import timedelta

import pytest

from store import WebRole
from tests.monitor.web.site import Site


def test_a_form_does_what_the_command_does(site: Site) -> None:
    """Acknowledge and resolve on the page; the events name who was signed in and how."""
    number = site.incident()
    client = site.signed_in(WebRole.RESPONDER)
    page = client.get(f"/incidents/{number}").text
    assert f'action="/incidents/{number}/ack"' in page
    done = client.post(f"/incidents/{number}/ack", data={"if_version": "1"})
    assert (done.status_code, done.headers["location"]) == (303, f"/incidents/{number}#actions")
    body = {"if_version": "2", "resolution": "fixed", "cause": "the unit", "resolved": "", "force": "true"}
    assert client.post(f"/incidents/{number}/resolve", data=body).status_code == 303
    assert site.actors(number) == ["test", "mia (password)", "mia (password)"]
    shown = client.get(f"/api/v1/incidents/{number}").json()
    assert (shown["state"], shown["resolution"], shown["cause"]) == ("resolved", "fixed", "the unit")
    assert f'action="/incidents/{number}/reopen"' in client.get(f"/incidents/{number}").text


def test_a_change_of_another_version_is_refused(site: Site) -> None:
    """Two people decide on one state: the second sees what is possible now, and nothing of theirs is written."""
    number = site.incident()
    client = site.signed_in()
    path = f"/api/v1/incidents/{number}"
    version = client.get(path).json()["version"]
    first = client.post(f"{path}/ack", json={"if_version": version})
    assert (first.status_code, first.json()["version"]) == (200, version + 1)
    second = client.post(f"{path}/resolve", json={"if_version": version, "resolution": "fixed"})
    assert second.status_code == 409
    refused = second.json()
    assert refused["errors"][0]["code"] == "incident.changed"
    assert (refused["status"], refused["state"], refused["version"]) == (409, "acknowledged", version + 1)
    assert "resolve" in refused["available"]
    page = client.post(f"/incidents/{number}/comment", data={"if_version": str(version), "text": "late"})
    assert page.status_code == 409
    offered = {name for name in refused["available"] if f'action="/incidents/{number}/{name}"' in page.text}
    assert offered == set(refused["available"])  # the page itself, with the form of each verb that is possible now
    assert len(site.actors(number)) == version + 1


def test_a_verb_that_the_state_does_not_allow_is_a_conflict(site: Site) -> None:
    """What is possible instead is in the answer."""
    number = site.incident()
    done = site.signed_in().post(f"/api/v1/incidents/{number}/reopen", json={})
    assert (done.status_code, done.json()["errors"][0]["code"]) == (409, "incident.not_allowed")
    assert "ack" in done.json()["available"]


@pytest.mark.parametrize(
    ("verb", "body", "status"),
    [
        ("snooze", {}, 422),
        ("snooze", {"for": "2h", "until": "2026-11-21T00:00Z"}, 422),
        ("snooze", {"for": "soon"}, 422),
        ("snooze", {"until": "2020-01-01T00:00Z"}, 422),
        ("resolve", {"resolution": "gone"}, 422),
        ("resolve", {"resolution": "fixed", "resolved": "2099-01-01T00:00Z"}, 422),
        ("correct", {"occurred": "yesterday"}, 422),
        ("comment", {"text": " \n "}, 422),
        ("assign", {"assignee": "x" * 501}, 422),
        ("merge", {"into": 999}, 404),
        ("merge", {"into": -1}, 422),
        ("root", {"cause": 10**30}, 422),
    ],
)
def test_what_cannot_be_is_refused_and_not_recorded(
    site: Site, verb: str, body: dict[str, object], status: int
) -> None:
    """Each refusal has the one shape of errors."""
    number = site.incident()
    done = site.signed_in().post(f"/api/v1/incidents/{number}/{verb}", json=body)
    assert done.status_code == status
    assert done.headers["content-type"] == "application/problem+json"
    assert {"type", "title", "status", "detail", "errors"} <= set(done.json())
    assert {"code", "message"} <= set(done.json()["errors"][0]) <= {"code", "message", "field", "hint"}
    assert site.actors(number) == ["test"]


def test_an_incident_that_is_not_there_is_not_found(site: Site) -> None:
    """Also one with a number that no database holds."""
    client = site.signed_in()
    assert client.post("/api/v1/incidents/999/ack").status_code == 404
    assert client.get("/incidents/999").status_code == 404
    assert client.get(f"/incidents/{10**30}").status_code in {404, 422}


def test_an_owner_acts_on_their_own_tables(site: Site) -> None:
    """By owner and by domain; others' incidents can be read."""
    mine, other = site.incident(table="orders"), site.incident(table="refunds")
    by_owner = site.signed_in(WebRole.OWNER, owners=("desk",))
    by_domain = site.signed_in(WebRole.OWNER, domains=("sales",))
    nobody = site.signed_in(WebRole.OWNER)
    for client, expected in ((by_owner, (303, 403)), (by_domain, (403, 303)), (nobody, (403, 403))):
        got = tuple(
            client.post(f"/incidents/{number}/comment", data={"text": "x"}).status_code for number in (mine, other)
        )
        assert got == expected
        assert client.get(f"/incidents/{other}").status_code == 200
    form = {"table": "refunds", "title": "wrong"}
    assert by_owner.post("/incidents", data=form).status_code == 403
    assert by_domain.post("/incidents", data=form).status_code == 303


def test_an_incident_is_logged_by_hand_once(site: Site) -> None:
    """The form of five fields; the same again is the same incident."""
    client = site.signed_in()
    form = {
        "table": "orders",
        "title": "amounts x100",
        "occurred": "3h ago",
        "detected": "1h ago",
        "severity": "critical",
    }
    first, again = (client.post("/incidents", data=form) for _ in range(2))
    assert first.headers["location"] == again.headers["location"]
    shown = client.get(f"/api/v1{first.headers['location']}").json()
    assert (shown["severity"], shown["ttd_h"], shown["found_by"]) == ("critical", 2.0, "person")
    assert shown["events"][0]["actor"] == "mia (password)"
    problem = client.post("/api/v1/incidents", json={"table": "ordrs", "title": "x"})
    assert (problem.status_code, problem.json()["errors"][0]["hint"]) == (422, "did you mean 'orders'?")


def test_tokens_end_by_time_and_by_hand(site: Site) -> None:
    """An expired or revoked token identifies no user; its use is noted by the day."""
    number = site.incident()
    path = f"/api/v1/incidents/{number}/comment"
    client = site.client(authorization=f"Bearer {site.token(WebRole.OWNER, owners=('desk',))}")
    assert client.post(path, json={"text": "one"}).status_code == 200
    used_at = site.clock.now()
    site.clock.advance(timedelta(hours=2))
    assert client.post(path, json={"text": "two"}).status_code == 200
    with site.store.reading() as tx:
        assert tx.accounts.tokens()[0].used_at == used_at
    with site.store.writing() as tx:
        tx.accounts.revoke_token("ci", site.clock.now())
    assert client.post(path, json={"text": "three"}).status_code == 401
    short = site.client(authorization=f"Bearer {site.token(WebRole.VIEWER, 'short', life=timedelta(hours=1))}")
    assert short.get("/api/v1/incidents").status_code == 200
    site.clock.advance(timedelta(hours=1))
    assert short.get("/api/v1/incidents").status_code == 401


def test_pages_speak_the_readers_language(site: Site) -> None:
    """By Accept-Language, else as the project does."""
    client = site.signed_in()
    assert "インシデント" in client.get("/incidents", headers={"accept-language": "ja-JP,en;q=0.5"}).text
    assert '<html lang="en">' in client.get("/incidents", headers={"accept-language": "fr, en-GB;q=0.3"}).text


def test_what_others_wrote_is_text(site: Site) -> None:
    """Titles, names and comments cannot become markup."""
    attack = "<script>alert(1)</script>"
    number = site.incident(f"late {attack}")
    client = site.signed_in()
    assert client.post(f"/incidents/{number}/comment", data={"text": attack}).status_code == 303
    for path in ("/", "/incidents", f"/incidents/{number}"):
        text = client.get(path).text
        assert attack not in text
        assert "&lt;script&gt;" in text


def test_a_badge_shows_health(site: Site) -> None:
    """The name is escaped, a table that is not configured has none."""
    client = site.signed_in(WebRole.VIEWER)
    done = client.get("/badge/orders.svg")
    assert done.headers["content-type"] == "image/svg+xml"
    assert "orders: not-yet-checked" in done.text
    assert client.get("/badge/nothing.svg").status_code == 404


def test_what_can_be_forced_says_how(site: Site) -> None:
    """A page has the form again and names its box; programs read which field to send."""
    one = site.incident("orders are late")
    other = site.incident("refunds are late")
    client = site.signed_in()
    client.post(f"/incidents/{other}/resolve", data={"resolution": "fixed"})
    page = client.post(f"/incidents/{one}/merge", data={"into": str(other)})
    assert page.status_code == 409
    assert "tick the box that begins with" in page.text
    assert "--force" not in page.text
    assert f'action="/incidents/{one}/merge"' in page.text
    done = client.post(f"/api/v1/incidents/{one}/merge", json={"into": other}).json()
    assert (done["incident"], done["errors"][0]["hint"]) == (
        one,
        "tick the box that begins with 'even if'; programs send 'force': true",
    )
    assert client.post(f"/incidents/{one}/merge", data={"into": str(other), "force": "true"}).status_code == 303


class TestListedCauses:
    """Where the configuration lists causes, the form offers them; else it takes any text."""

    @pytest.fixture
    def web_section(self) -> str:
        """Return a list of two."""
        return "incidents: {causes: [late upstream, Code change]}\n"

    def test_one_of_the_list_is_chosen(self, site: Site) -> None:
        """Another is refused."""
        number = site.incident()
        client = site.signed_in()
        page = client.get(f"/incidents/{number}").text
        options = page.split('<select name="cause">')[1].split("</select>")[0]
        assert re.findall('value="([^"]*)"', options) == ["", "late upstream", "Code change", "other"]
        refused = client.post(f"/incidents/{number}/resolve", data={"resolution": "fixed", "cause": "the unit"})
        assert refused.status_code == 422
        done = client.post(f"/incidents/{number}/resolve", data={"resolution": "fixed", "cause": "Code change"})
        assert done.status_code == 303
        assert client.get(f"/api/v1/incidents/{number}").json()["cause"] == "Code change"
