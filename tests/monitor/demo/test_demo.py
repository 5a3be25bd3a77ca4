"""The demo: what was planted in the data is what the engine finds, at the planned times."""

import csv
import io
import json
import re
import shlex
import shutil
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from rich.console import Console

from checks import Kind
from incidents import FoundBy, State
from incidents.causes import CauseKind, Likelihood
from monitor.cli import run
from monitor.clock import SimulatedClock
from monitor.commands.demo import _program
from monitor.config import load
from monitor.config.project import Project
from monitor.demo import FAULTS, NULLS, DemoError, LiveShop, build_demo, newest_start, tell
from monitor.releases.overview import ReleaseWord
from monitor.scan.results import targets_of
from monitor.scan.run import Engine
from monitor.summaries.causes import causes_of
from monitor.summaries.monitoring import DEMO_ENDED, show_monitoring
from monitor.terminal.output import Invocation
from store import IncidentFilter

NOW = datetime(2026, 11, 16, 0, 0, tzinfo=UTC)


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """Build the demo once."""
    return build_demo(tmp_path_factory.mktemp("demo") / "shop", now=NOW)


def test_every_planted_fault_is_found_and_nothing_else(demo):
    """There are as many incidents as faults, each fault has its own, and the rest is about the release."""
    assert all(incident is not None for _, incident in demo.found)
    at_risk = [incident for incident in demo.incidents if incident.kind is Kind.DISCLOSURE]
    assert len(demo.incidents) - len(at_risk) == len(FAULTS)
    assert {incident.table for incident in at_risk} == {"members"}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_times_are_those_of_the_fault_within_one_check_interval(demo, fault):
    """Occurrence, detection and resolution lie within one interval of the check from what happened to the data."""
    incident = dict(demo.found)[fault]
    episode = incident.last
    began = demo.start + fault.begins
    assert abs(episode.onset.at - began) <= fault.interval
    assert episode.onset.earliest <= episode.onset.at <= episode.onset.latest
    if fault.check_id is not None:
        assert timedelta() <= episode.detected_at - began <= fault.interval
    if fault.ends is None:
        assert incident.state is not State.RESOLVED
    else:
        assert timedelta() <= episode.resolved_at - (demo.start + fault.ends) <= fault.interval


def test_only_what_no_check_looks_at_was_found_by_a_person(demo):
    """The fault without a check is in the store because a person reported it; all others were found by checks."""
    for fault, incident in demo.found:
        assert incident.kind is not Kind.DISCLOSURE
        assert incident.found_by is (FoundBy.PERSON if fault.check_id is None else FoundBy.CHECK)


def test_what_is_stored_is_the_fold_of_what_was_recorded(demo):
    """Every incident of the demo is what its events say, with times in the order in which they were recorded."""
    with demo.project.open_store() as store:
        assert store.rebuild_check() == []
        with store.reading() as tx:
            for incident in demo.incidents:
                recorded = [event.recorded_at for event in tx.incidents.events(incident.id)]
                assert recorded == sorted(recorded)
                assert recorded[0] >= incident.episodes[0].detected_at


def test_the_deployment_is_the_first_candidate_for_what_followed_it(demo):
    """The team that deployed logged it; it comes first among what may have caused the NULLs."""
    incident = dict(demo.found)[NULLS]
    with demo.project.open_store() as store, store.reading() as tx:
        first, *_ = causes_of(demo.project, tx, incident).causes
    assert first.candidate.clue.kind is CauseKind.EVENT
    assert first.candidate.likelihood is not Likelihood.WEAK


def test_the_configuration_keeps_its_own_rules(demo, capsys):
    """`config test` passes, and the promise to the board is judged."""
    config = ("-c", str(demo.folder / "tablewatch.yaml"))
    assert run([*config, "config", "test"], Invocation()) == 0
    run([*config, "contract", "show"], Invocation())
    shown = capsys.readouterr().out
    assert "product:board-report" in shown
    assert "slo:orders" in shown


def test_the_story_names_faults_downtime_and_reports(demo):
    """The demo ends with a table of what was planted and found, the downtime, its cost and the reports."""
    story = tell(demo)
    console = Console(file=io.StringIO(), width=100, markup=False, highlight=False)
    story.draw(console)
    said = console.file.getvalue()
    assert all(fault.name in said for fault in FAULTS)
    assert "JPY" in said
    assert [report.name for report in story.reports] == ["2026-W46.en.html", "2026-W46.ja.html"]
    assert all(report.read_text(encoding="utf-8").rstrip().endswith("</html>") for report in story.reports)
    found = json.loads(json.dumps(story.as_json()))
    assert found["schema"] == "tablewatch.demo/1"
    assert found["downtime"]["n"] == len(FAULTS)


def test_one_line_leads_from_the_hold_to_a_file_that_is_proved(demo, capsys):
    """The line that the story ends with does what it says: the release is on hold before, and its file proved after."""
    story = tell(demo)
    assert story.held.word is ReleaseWord.HOLD
    console = Console(file=io.StringIO(), width=100, markup=False, highlight=False)
    story.draw(console, "tablewatch")
    line = next(
        splitline.strip() for splitline in console.file.getvalue().splitlines() if "release approve" in splitline
    )
    assert line == story.release_command()
    approve, export = (shlex.split(half) for half in line.split(" && "))
    assert [run(words[1:], Invocation()) for words in (approve, export)] == [0, 0]
    proved = re.search(r"verified: k (\d+)", capsys.readouterr().out)
    assert proved is not None
    assert int(proved[1]) >= 5
    with (demo.folder / "survey.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["member_id", "birth_year", "postcode", "sex", "spends"]
    assert not any("@" in cell for row in rows for cell in row)


def test_commands_are_told_as_this_shell_can_call_them(tmp_path, monkeypatch):
    """By its name if that leads to it, else by its place, else as a module of this Python."""
    program = tmp_path / "bin" / "tablewatch"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "argv", [str(program), "demo"])
    monkeypatch.setenv("PATH", str(tmp_path))
    assert _program() == str(program)
    monkeypatch.setenv("PATH", str(program.parent))
    assert _program() == "tablewatch"
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "__main__.py"), "demo"])
    assert _program() == f"{sys.executable} -m monitor"


def test_pages_of_the_finished_demo_say_when_its_data_ended(demo):
    """The bar that stands on every page has the moment, whatever is checked afterwards."""
    now = demo.end + timedelta(hours=3)
    with demo.project.open_store() as store, store.reading() as tx:
        shown = show_monitoring(demo.project, tx, now)
    assert shown.demo_ended_at == demo.end
    assert not shown.is_reliable


def test_the_live_demo_breaks_and_repairs_what_its_checks_find(demo, tmp_path):
    """Loads up to the present are made up for; then a late load, duplicates and NULLs are found and resolved."""
    folder = shutil.copytree(demo.folder, tmp_path / "live")
    clock = SimulatedClock(demo.end + timedelta(hours=30))
    live = LiveShop(replace(demo, folder=folder, shop=replace(demo.shop, folder=folder)), clock.now())
    project = Project(load(folder / "tablewatch.yaml"), clock)
    found = []
    with project.open_store() as store:
        engine = Engine(clock=clock, store=store, policy_of=project.policy_of, key=project.signature_key)
        for second in range(0, 14 * 60, 10):
            live.step(clock.now())
            if second % 60 == 0:
                engine.run(targets_of(project, ["orders"]))
            clock.advance(timedelta(seconds=10))
        with store.reading() as tx:
            found = [item for item in tx.incidents.matching(IncidentFilter()) if item.last.detected_at > demo.end]
            assert show_monitoring(project, tx, clock.now()).demo_ended_at is None
    assert {item.check_id for item in found} == {"orders.freshness", "orders.primary-key", "orders.not-null"}
    assert all(item.state is State.RESOLVED for item in found)


def test_a_live_demo_marks_its_end(demo, tmp_path):
    """When it is stopped, its data ended then."""
    folder = shutil.copytree(demo.folder, tmp_path / "live")
    clock = SimulatedClock(demo.end + timedelta(minutes=30))
    live = LiveShop(replace(demo, folder=folder, shop=replace(demo.shop, folder=folder)), clock.now())
    with live.going_on(clock):
        assert not (folder / DEMO_ENDED).exists()
    assert datetime.fromisoformat((folder / DEMO_ENDED).read_text(encoding="ascii")) == clock.now()
    with pytest.raises(DemoError, match="build the demo again"):
        LiveShop(replace(demo, folder=folder), clock.now())


def test_a_folder_with_something_else_in_it_is_left_alone(tmp_path):
    """The demo never replaces a folder that is not an earlier demo."""
    (tmp_path / "thesis.txt").write_text("years of work", encoding="utf-8")
    with pytest.raises(DemoError, match="contains no demo"):
        build_demo(tmp_path, now=NOW, replace=True)
    assert (tmp_path / "thesis.txt").exists()


@pytest.mark.parametrize("hour", range(0, 7 * 24, 5))
def test_the_demo_is_over_by_now(hour):
    """Whenever it is built, its six weeks have ended, on the newest Monday for which that is so."""
    now = NOW + timedelta(hours=hour)
    end = newest_start(now) + timedelta(weeks=6, hours=8)
    assert end <= now < end + timedelta(weeks=1)
    assert end.weekday() == 0
