"""The tools of an assistant, asked by the protocol's own client, in this process and over standard input."""

import json
import os
import subprocess
import sys
from typing import Any

import anyio
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp_types import CallToolResult

from monitor.web.mcp_server import TOOLS, Assistant, make_server
from tests.monitor.web.site import Site

READING = {name for name, tool in TOOLS.items() if not tool.changes}


def _ask(assistant: Assistant, tool: str, /, **arguments: Any) -> CallToolResult:
    async def ask() -> CallToolResult:
        async with Client(make_server(assistant)) as client:
            return await client.call_tool(tool, arguments)

    return anyio.run(ask)


def _names(assistant: Assistant) -> set[str]:
    async def names() -> set[str]:
        async with Client(make_server(assistant)) as client:
            return {tool.name for tool in (await client.list_tools()).tools}

    return anyio.run(names)


def _calls(site: Site, number: int) -> dict[str, dict[str, Any]]:
    check = site.project.config.tables[0].checks[0]
    return {
        "status": {},
        "incidents": {"state": ["open"]},
        "incident": {"id": number},
        "table": {"name": "orders"},
        "downtime": {"by": "table"},
        "what_if": {"repair": 20},
        "release": {"name": "extract"},
        "why_not_notified": {"incident": number},
        "explain_check": {"id": f"orders.{check.name}"},
    }


def test_reading_tools_answer_with_the_models_of_the_pages(site: Site) -> None:
    """Each of the nine has structured content of a published schema, and a text that says it is data."""
    number = site.incident("amounts in sen")
    calls = _calls(site, number)
    assert calls.keys() == READING
    for name, arguments in calls.items():
        result = _ask(Assistant(site.project, site.store), name, **arguments)
        assert not result.is_error, (name, result.content)
        assert result.structured_content["schema"].startswith("tablewatch.")
        text = result.content[0].text  # type: ignore[union-attr]  # a text
        assert text.startswith("Data of Tablewatch")
        assert json.loads(text.partition("\n")[2]) == result.structured_content


def test_nothing_changes_unless_whoever_starts_it_says_so(site: Site) -> None:
    """Without a name the three verbs are neither offered nor done."""
    number = site.incident()
    assistant = Assistant(site.project, site.store)
    assert _names(assistant) == READING
    result = _ask(assistant, "acknowledge_incident", id=number)
    assert result.is_error
    assert result.structured_content["errors"][0]["code"] == "tool.unknown"
    assert site.actors(number) == ["test"]


def test_changes_are_recorded_under_the_name_and_the_way(site: Site) -> None:
    """An incident is logged, acknowledged and commented on."""
    assistant = Assistant(site.project, site.store, "mia")
    assert _names(assistant) == set(TOOLS)
    opened = _ask(assistant, "open_incident", table="orders", title="late", detected="2h ago").structured_content
    number = opened["id"]
    assert not _ask(assistant, "acknowledge_incident", id=number).is_error
    assert not _ask(assistant, "comment_on_incident", id=number, text="reloading").is_error
    assert set(site.actors(number)) == {"mia (mcp)"}
    assert _ask(assistant, "acknowledge_incident", id=number).structured_content["errors"][0]["message"]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("incident", {"id": 99}),
        ("incident", {"id": "x"}),
        ("incident", {"id": 10**30}),
        ("table", {"name": "nowhere"}),
        ("table", {}),
        ("explain_check", {"id": "nowhere"}),
        ("release", {"name": "nowhere"}),
        ("downtime", {"start": "2026-11-20", "end": "2026-11-01"}),
        ("downtime", {"rows": True}),
        ("open_incident", {"table": "nowhere", "title": "x"}),
        ("open_incident", {"table": "orders", "title": "x", "detected": "some day"}),
        ("open_incident", {"table": "orders", "title": " "}),
        ("comment_on_incident", {"id": 99, "text": "x"}),
        ("comment_on_incident", {"id": 1, "text": " \n"}),
        ("drop_table", {}),
    ],
)
def test_what_cannot_be_is_told_in_the_error_shape(site: Site, name: str, arguments: dict[str, Any]) -> None:
    """The assistant sees what was wrong, and can ask again."""
    result = _ask(Assistant(site.project, site.store, "mia"), name, **arguments)
    assert result.is_error
    assert result.structured_content["ok"] is False
    assert result.structured_content["errors"][0]["message"]


def test_control_characters_of_others_are_shown_as_escapes(site: Site) -> None:
    """A title cannot move the cursor of the reader's terminal."""
    number = site.incident("late\x1b[2J\u202eevil")
    result = _ask(Assistant(site.project, site.store), "incident", id=number)
    shown = json.dumps(result.structured_content, ensure_ascii=False)
    assert "evil" in shown
    assert not {"\x1b", "\u202e"} & set(shown)


def test_it_is_spoken_over_standard_input_and_output(site: Site) -> None:
    """The command answers the client's handshake and a call, and ends with its input."""
    folder = str(site.project.loaded.path.parent)
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "monitor", "-c", folder, "mcp"], env=dict(os.environ)
    )

    async def ask() -> CallToolResult:
        async with Client(command) as client:
            return await client.call_tool("status", {})

    assert anyio.run(ask).structured_content["schema"] == "tablewatch.overview/1"
    ended = subprocess.run([command.command, *command.args], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    assert (ended.returncode, ended.stdout) == (0, b"")
