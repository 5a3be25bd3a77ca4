"""The recipes of the pages on integrations, run from their text: without the other service, or against a fake of it."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import anyio
import pytest
import yaml

from docs.refresh import ROOT
from monitor.clock import SimulatedClock
from monitor.config import load
from monitor.config.project import Project
from monitor.integrations.openlineage_push import EventPush
from monitor.web.mcp_server import TOOLS
from store import WebRole
from tests.docs.recipes import blocks_of, commands_of, run_line, write_files
from tests.monitor.alerts.receivers import listening
from tests.monitor.channels.fakes import FakePagerDuty, FakeSlack
from tests.monitor.channels.following import following
from tests.monitor.commands.terminal import NOW, Terminal, open_terminal
from tests.monitor.integrations.contracts import write_contract
from tests.monitor.integrations.test_real_dbt import FILES as DBT_PROJECT
from tests.monitor.web.site import Site
from tests.needs import peer_program

PAGE: Final = "docs/integrations.md"
TICKETS: Final = "Pages, messages and tickets that follow an incident"
VARIABLES: Final = {
    "PAGERDUTY_KEY": FakePagerDuty.ROUTING_KEY,
    "SLACK_TOKEN": FakeSlack.TOKEN,
    "JIRA_TOKEN": "jira-secret",
    "SERVICENOW_PASSWORD": "now-secret",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_results_come_in_both_ways(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By the command, with an incident, and by the request of the page, which finds the run recorded."""
    write_files(folder, PAGE, "Results of other tools")
    command, request = commands_of(PAGE, "Results of other tools")
    taken = Terminal(folder, capsys)(*shlex.split(command)[1:])
    assert (taken.code, "2 results imported; 1 incident open" in taken.out) == (0, True), taken
    url, headers, body = _read_curl(request)
    project = Project(load(folder / "tablewatch.yaml"), SimulatedClock(NOW))
    with project.open_store() as store:
        site = Site(project, store, project.clock)
        token = site.token(WebRole.RESPONDER)
        headers = {name: value.replace("$TOKEN", token) for name, value in headers.items()}
        answer = site.client().post(url.partition(":8737")[2], headers=headers, content=Path(body).read_bytes())
    assert (answer.status_code, answer.json()["already_imported"]) == (200, True), answer.text


def _read_curl(line: str) -> tuple[str, dict[str, str], str]:
    """Return the address, the headers and the file of a request that curl is to send."""
    words = shlex.split(line)
    assert words[:2] == ["curl", "-s"]
    options = list(zip(words[2:-1:2], words[3:-1:2], strict=True))
    headers = dict(value.split(": ", 1) for option, value in options if option == "-H")
    (body,) = [value.removeprefix("@") for option, value in options if option == "-d"]
    return words[-1], headers, body


def test_an_assistant_finds_the_tools_of_the_page(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By the configuration of the page, in another folder; with a name, those that act, too."""
    from mcp.client import Client
    from mcp.client.stdio import StdioServerParameters

    open_terminal(folder, capsys)
    server = json.loads(write_files(folder, PAGE, "AI assistants (MCP)")["mcp.json"])["mcpServers"]["tablewatch"]
    assert server["command"] == "tablewatch"
    arguments = [str(folder) if word == "/srv/shop" else word for word in server["args"]]

    async def names(*more: str) -> set[str]:
        words = ["-m", "monitor", *arguments, *more]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        async with Client(StdioServerParameters(command=sys.executable, args=words, env=environment)) as client:
            return {tool.name for tool in (await client.list_tools()).tools}

    text = (ROOT / PAGE).read_text(encoding="utf-8").split("\n## AI assistants (MCP)\n")[1].split("\n## ")[0]
    listed = [re.findall(r"`(\w+)`", row) for row in re.findall(r"^\| (`.*?`) \|", text, re.MULTILINE)]
    reading, acting = {name for row in listed[:-1] for name in row}, set(listed[-1])
    assert reading | acting == set(TOOLS)
    assert anyio.run(names) == reading
    assert "--act-as mia" in text
    assert anyio.run(names, "--act-as", "mia") == reading | acting


def test_runs_are_exported_and_lineage_is_imported(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the order of the page."""
    terminal = open_terminal(folder, capsys)
    terminal("check")
    with terminal.at(NOW + timedelta(minutes=1)):
        for line in commands_of(PAGE, "OpenLineage"):
            done = terminal(*shlex.split(line, comments=True)[1:])
            assert done.code == 0, done.err
    assert "dataQualityAssertions" in (folder / "events.jsonl").read_text(encoding="utf-8")


def test_events_are_sent_to_the_address_of_the_page(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With exactly its settings, but for the port."""
    terminal = open_terminal(folder, capsys)
    terminal("check")
    (block,) = [block for block in blocks_of(PAGE, "OpenLineage") if block.kind == "yaml"]
    logins = []

    def take(handler: Any, request: Any) -> None:
        logins.append((request.path, request.headers.get("authorization")))
        handler.say(201)

    with listening(take) as receiver:
        text = block.text.replace(":5000", f":{receiver.port}")
        with (folder / "tablewatch.yaml").open("a", encoding="utf-8") as config:
            config.write(text)
        loaded = load(folder / "tablewatch.yaml", environment={"LINEAGE_TOKEN": "canary"})
        project = Project(loaded, SimulatedClock(NOW + timedelta(minutes=1)))
        with project.open_store() as store:
            assert EventPush(store, project.clock).step(project) == []
    assert set(logins) == {("/api/v1/lineage", "Bearer canary")}


def test_a_contract_is_imported_and_exported(folder: Path) -> None:
    """By the lines of the page, in a shell."""
    write_contract(folder)
    for line in commands_of(PAGE, "Data contracts (ODCS)"):
        done = run_line(line, folder)
        assert done.returncode == 0, done.stderr
    assert yaml.safe_load((folder / "exported.odcs.yaml").read_text(encoding="utf-8"))["kind"] == "DataContract"
    assert run_line("tablewatch config check", folder).returncode == 0


@pytest.mark.dbt
@pytest.mark.timeout(600)
def test_two_commands_turn_a_dbt_project_into_incidents(folder: Path) -> None:
    """By the lines of the page, in a shell; the tier has a price as the printed file shows."""
    program = peer_program("dbt") or ""
    for name, text in DBT_PROJECT.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    configure, after_each_run = commands_of(PAGE, "dbt")
    run_line("dbt build", folder, {"dbt": program})
    assert run_line(configure, folder, {"dbt": program}).returncode == 0
    config = folder / "tablewatch.yaml"
    config.write_text(re.sub("^# (cost:|  [ct])", r"\1", config.read_text(encoding="utf-8"), flags=re.MULTILINE))
    done = run_line(after_each_run, folder, {"dbt": program})
    assert (done.returncode, "2 incidents open" in done.stdout) == (0, True), done.stdout + done.stderr
    incidents = json.loads(run_line("tablewatch incident list --format json", folder).stdout)["incidents"]
    assert [item["cost"]["currency"] for item in incidents] == ["USD", "USD"]
    assert all(item["downtime_h"] > 0 and item["cost"]["amount"] is not None for item in incidents)


@pytest.mark.parametrize("kind", ["pagerduty", "slack", "jira", "servicenow"])
def test_an_incident_is_shown_by_each_channel_of_the_page(folder: Path, kind: str) -> None:
    """With exactly its settings, but for address and user: the fakes take what the services document."""
    (block,) = [block for block in blocks_of("docs/delivery.md", TICKETS) if block.kind == "yaml"]
    channels = yaml.safe_load(block.text)["alerts"]["channels"]
    (settings,) = [channel[kind] for channel in channels.values() if kind in channel]
    settings = {
        name: re.sub(r"\$\{(\w+)\}", lambda match: VARIABLES[match[1]], text) for name, text in settings.items()
    }
    at_the_fake = {name: text for name, text in settings.items() if name not in {"url", "user"}}
    with following(folder, kind, **at_the_fake) as (desk, _):
        desk.open()
        assert desk.step(0.1).sent == 1
        assert desk.item().item is not None


def test_the_channels_of_the_page_are_a_configuration(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It can be loaded as it stands, and an offline check finds nothing wrong with it."""
    (block,) = [block for block in blocks_of("docs/delivery.md", TICKETS) if block.kind == "yaml"]
    open_terminal(folder, capsys)
    with (folder / "tablewatch.yaml").open("a", encoding="utf-8") as config:
        config.write(block.text)
    channels = load(folder / "tablewatch.yaml", environment=VARIABLES).config.alerts.channels
    assert [channel.kind.name for channel in channels.values()] == ["pagerduty", "slack", "jira", "servicenow"]
    assert [channel.kind.problem(channel.settings) for channel in channels.values()] == [None] * 4


def test_service_levels_are_judged_as_the_page_says(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The contract of the page is loaded, and both its commands show it."""
    terminal = open_terminal(folder, capsys)
    config, commands, *_ = blocks_of("docs/contracts.md")
    with (folder / "tablewatch.yaml").open("a", encoding="utf-8") as file:
        file.write(config.text)
    terminal("check")
    for line in commands.text.splitlines():
        shown = terminal(*shlex.split(line, comments=True)[1:])
        assert (shown.code, "board" in shown.out) == (0, True), shown.err


def test_the_promises_of_many_tables_are_a_configuration(folder: Path) -> None:
    """The blocks of the page that promise by selectors, and alert on budgets, are loaded as they stand."""
    more = [block.text for block in blocks_of("docs/contracts.md") if block.kind == "yaml"][1:]
    start = "version: 1\nproject: p\nsources: {shop: {url: 'sqlite:///shop.sqlite', timezone: UTC}}\n"
    (folder / "tablewatch.yaml").write_text(start + "".join(more), encoding="utf-8")
    config = load(folder / "tablewatch.yaml").config
    assert (list(config.slo), config.alerts.error_budgets) == (["*", "tier:gold"], True)


@pytest.mark.promtool
def test_prometheus_takes_the_configuration_of_the_page(folder: Path) -> None:
    """With the rules of the examples beside it; it looks where a daemon listens by default."""
    promtool = "promtool"
    text = write_files(folder, "docs/daemon.md")["prometheus.yml"]
    shutil.copy(ROOT / "examples/prometheus/alerts.yaml", folder)
    done = subprocess.run([promtool, "check", "config", "prometheus.yml"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    from monitor.config import Daemon

    assert yaml.safe_load(text)["scrape_configs"][0]["static_configs"][0]["targets"] == [Daemon().metrics]
