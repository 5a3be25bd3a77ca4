"""The table of verbs: its commands, addresses, forms and tools follow from it, and do the same."""

import inspect
from datetime import timedelta

import click
import pytest
import typer.main

from monitor.cli import load_command
from monitor.verbs import account, channel, event, incident, release, silence
from monitor.web.mcp_server import TOOLS
from monitor.web.routes import routes
from store import Scope, WebRole
from tests.monitor.web.site import Site

GROUPS = {
    "incident": (incident.OPEN, *incident.VERBS),
    "release": release.VERBS,
    "event": (event.ADD, event.REMOVE),
    "silence": (silence.ADD, silence.END),
    "alert": channel.VERBS,
    "account user": account.OF_USERS,
    "account token": account.OF_TOKENS,
    "account session": (account.END_SESSION,),
}
VERBS = [(group, verb) for group, verbs in GROUPS.items() for verb in verbs]


@pytest.mark.parametrize(("group", "verb"), VERBS, ids=lambda item: item if isinstance(item, str) else item.name)
def test_a_verb_is_a_command_and_an_address(group, verb):
    """A field of a verb is an argument or option of its command, described, and a field of its form and its JSON."""
    command, *groups = [group.split()[0], *group.split()[1:], verb.name]
    command = typer.main.get_command(load_command(command))
    for name in groups:
        command = command.get_command(click.Context(click.Command("x")), name)
    fields = {**verb.target.model_fields, **verb.body.model_fields}
    of_programs = {"if_version", "present"} | ({"password"} if verb is account.PASSWORD else set())
    assert len(command.params) >= len(set(fields) - of_programs)
    assert all(parameter.help for parameter in command.params if parameter.name != "help")
    assert f"Example: tablewatch {group} {verb.name} {verb.example}" in " ".join(command.help.split())
    ours = [
        route for route in routes() if route.method == "POST" and route.body is verb.body and route.query is verb.target
    ]
    own = [route for route in ours if route.summary == verb.summary]
    assert sorted(route.is_api for route in own) == [False, True]
    assert {route.access for route in own} == {verb.access}


def test_the_tools_of_assistants_are_verbs():
    """A tool that changes something is a verb with the name of a tool."""
    named = {verb.tool for _, verb in VERBS if verb.tool is not None}
    assert {name for name, tool in TOOLS.items() if tool.changes} == named


def test_no_entry_is_without_an_act():
    """Each entry takes on whose behalf it acts, its target and its body."""
    for _, verb in VERBS:
        assert len(inspect.signature(verb.act).parameters) == 3


def test_a_silence_over_http(site: Site):
    """It is recorded under the name that was signed in, listed on the page of alerts, and ended there."""
    client = site.signed_in(WebRole.RESPONDER)
    made = client.post("/api/v1/silences", json={"table": "orders", "for": "2h", "reason": "the loader moves"})
    assert made.status_code == 201
    assert (made.json()["by"], made.json()["active"]) == ("mia (password)", True)
    assert client.get("/api/v1/silences").json()["silences"] == [
        {key: value for key, value in made.json().items() if key != "schema"}
    ]
    assert "the loader moves" in client.get("/alerts").text
    number = made.json()["id"]
    assert client.post(f"/silences/{number}/end").headers["location"] == "/alerts#silences"
    assert "the loader moves" not in client.get("/alerts").text
    assert client.post("/api/v1/silences/999/end").status_code == 404


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"table": "ordrs", "for": "2h", "reason": "x"}, 422),
        ({"domain": "nowhere", "for": "2h", "reason": "x"}, 422),
        ({"table": "orders", "all": True, "for": "2h", "reason": "x"}, 422),
        ({"for": "2h", "reason": "x"}, 422),
        ({"table": "orders", "reason": "x"}, 422),
        ({"table": "orders", "for": "2h", "reason": " "}, 422),
        ({"table": "orders", "for": "500d", "reason": "x"}, 422),
    ],
)
def test_what_makes_no_silence_over_http(site: Site, body: dict[str, object], status: int):
    """Each refusal is what the command refuses, and nothing is recorded."""
    client = site.signed_in()
    assert client.post("/api/v1/silences", json=body).status_code == status
    assert client.get("/api/v1/silences").json()["silences"] == []


def test_an_owner_silences_their_own_tables(site: Site):
    """Not those of others, not a domain with one of theirs and others', not all tables; nor do they end others'."""
    owner = site.signed_in(WebRole.OWNER, owners=("desk",))
    post = {"for": "2h", "reason": "x"}
    codes = [
        owner.post("/api/v1/silences", json={**post, **scope}).status_code
        for scope in ({"table": "orders"}, {"table": "refunds"}, {"domain": "sales"}, {"all": True})
    ]
    assert codes == [201, 403, 403, 403]
    other = site.signed_in().post("/api/v1/silences", json={**post, "all": True}).json()["id"]
    assert owner.post(f"/api/v1/silences/{other}/end").status_code == 403
    site.clock.advance(timedelta(hours=3))
    assert owner.get("/api/v1/silences").json()["silences"] == []


def test_an_owner_removes_events_of_their_own_tables(site: Site):
    """Neither those of others, nor one about all tables; what is refused stays."""
    owner, admin = site.signed_in(WebRole.OWNER, owners=("desk",)), site.signed_in()
    made = [
        admin.post("/api/v1/events", json={"kind": "deploy", "note": "v2", **scope}).json()["id"]
        for scope in ({"table": "orders"}, {"table": "refunds"}, {})
    ]
    assert [owner.post(f"/api/v1/events/{number}/remove").status_code for number in made] == [200, 403, 403]
    assert [admin.post(f"/api/v1/events/{number}/remove").status_code for number in made] == [404, 200, 200]


def test_an_owner_ends_no_silence_of_a_table_that_left(site: Site):
    """A table that is not configured has no owner."""
    now = site.clock.now()
    with site.store.writing() as tx:
        silence = tx.silences.add(
            scope=Scope.TABLE, name="gone", starts_at=now, until=now + timedelta(hours=1), reason="x", by="mia"
        )
    assert site.signed_in(WebRole.OWNER, owners=("desk",)).post(f"/silences/{silence.id}/end").status_code == 403
    assert site.signed_in().post(f"/silences/{silence.id}/end").status_code == 303
