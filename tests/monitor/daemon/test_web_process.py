"""The web application beside a daemon: it runs while the daemon does, and is started again when it ends."""

import logging
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from monitor.alerts.operational import Operation
from monitor.clock import SimulatedClock
from monitor.config import load
from monitor.daemon.config_reload import changed_tables
from monitor.daemon.web_process import TableRefresh, WebProcess, web_command
from tests.monitor.daemon.running import until

COUNT = "import sys, pathlib; open(sys.argv[1], 'a').write('x')"


def _until_written(file: Path, number: int) -> None:
    until(lambda: file.exists() and len(file.read_text()) >= number, f"{number} starts")


def test_a_process_that_ends_is_started_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """With a line in the log that has its exit code."""
    file = tmp_path / "starts"
    with (
        caplog.at_level(logging.WARNING),
        WebProcess((sys.executable, "-c", f"{COUNT}; sys.exit(3)", str(file)), first_pause_s=0.0),
    ):
        _until_written(file, 3)
    assert caplog.messages[0] == "the web application ended (exit code 3); it starts again in 0 s"


@pytest.mark.parametrize("polite", [True, False], ids=["ends when told", "has to be killed"])
def test_it_is_ended_and_started_on_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, polite: bool
) -> None:
    """A restart is no failure; at the end of the block no process is left."""
    monkeypatch.setattr("monitor.daemon.web_process._PATIENCE_S", 60.0 if polite else 0.0)
    deaf = "" if polite else "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
    file = tmp_path / "starts"
    with WebProcess(
        (sys.executable, "-c", f"{deaf}{COUNT}; sys.stdout.flush(); import time; time.sleep(1e6)", str(file))
    ) as web:
        _until_written(file, 1)
        web.restart()
        _until_written(file, 2)
    assert caplog.messages == []
    assert file.read_text() == "xx"


def test_the_command_is_that_of_this_configuration(tmp_path: Path) -> None:
    """In JSON where the daemon logs JSON."""
    assert web_command(tmp_path, as_json=False)[1:6] == ("-m", "tablewatch", "-c", str(tmp_path), "serve")
    assert "json" in web_command(tmp_path, as_json=True)


def test_a_table_that_joins_is_in_the_file_and_announced_once(tmp_path: Path) -> None:
    """The command writes the file, the reload takes it over, and the operators hear of what joined and of what went."""
    for name in ("a", "b"):
        (tmp_path / f"{name}.csv").write_text("id\n1\n", encoding="utf-8")
    config = tmp_path / "tablewatch.yaml"
    text = f"version: 1\nproject: p\nsources: {{lake: {{files: '{tmp_path}/*.csv'}}}}\n"
    config.write_text(f"{text}tables: [{{match: '*', source: lake}}]\n", encoding="utf-8")
    refresh = TableRefresh(config)
    refresh()
    before = load(config)
    assert [table.name for table in before.config.tables] == ["a", "b"]
    (tmp_path / "a.csv").rename(tmp_path / "c.csv")
    refresh()
    after = load(config)
    clock = SimulatedClock(datetime(2026, 11, 20, tzinfo=UTC))
    events = [(event.operation, event.name) for event in changed_tables(before, after, clock)]
    assert events == [(Operation.PATTERN_JOINED, "c"), (Operation.PATTERN_GONE, "a")]
    assert list(changed_tables(after, load(config), clock)) == []
    assert [table.name for table in after.config.tables] == ["a", "b", "c"]


def test_a_source_that_is_away_is_logged_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Each look has the same warning, of which the log has one."""
    config = tmp_path / "tablewatch.yaml"
    text = "version: 1\nproject: p\nsources: {s: {url: 'sqlite:///gone.db'}}\ntables: [{match: '*', source: s}]\n"
    config.write_text(text, encoding="utf-8")
    refresh = TableRefresh(config)
    with caplog.at_level(logging.WARNING):
        refresh()
        refresh()
    assert [("gone.db" in line, "no table is known yet" in line) for line in caplog.messages] == [(True, True)]
    refresh.stop()
