"""The web application beside a daemon: it runs while the daemon does, and is started again when it ends."""

import logging
import sys
from pathlib import Path

import pytest

from monitor.daemon.web_process import WebProcess, web_command
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
