"""What the tests of commands may use."""

from pathlib import Path

import pytest

from tests.monitor.commands.terminal import Terminal, open_terminal


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Terminal:
    """Return a terminal in a folder with a small shop; the clock stands at `terminal.NOW`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOGNAME", "m.mori")  # the actor by default
    return open_terminal(tmp_path, capsys)
