"""`tablewatch store copy`: a store moves to PostgreSQL, and the project goes on there."""

import pytest

from monitor.terminal.problem import ExitCode
from tests.monitor.commands.terminal import Terminal
from tests.store.test_copy import place  # noqa: F401 - a fixture


@pytest.mark.postgres
def test_a_project_goes_on_at_the_new_place(
    terminal: Terminal,
    place: str,  # noqa: F811 - the fixture
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its incidents and class counts are there under the old key; users of the old file see where it went."""
    monkeypatch.setenv("XDG_STATE_HOME", str(terminal.folder / "states"))
    terminal.sql("INSERT INTO orders VALUES (3, NULL)")
    terminal("check")
    assert terminal.json("status")["open_incidents"] == 1
    copied = terminal.json("store", "copy", place)
    assert (copied["schema"], copied["rows_before"], copied["ledger_anchor"]) == ("tablewatch.store-copied/1", 0, None)
    assert copied["rows"] > 3
    refused = terminal("status")
    assert (refused.code, "set storage.url to that" in refused.err) == (ExitCode.NOT_EVALUATED, True)
    assert "throwaway" not in refused.err
    config = terminal.folder / "tablewatch.yaml"
    config.write_text(config.read_text().replace("sqlite:///store.db", place))
    assert terminal.json("status")["open_incidents"] == 1


def test_a_url_or_cancel_is_needed(terminal: Terminal) -> None:
    """Neither, or both, is an error of use; without a copy there is nothing to cancel."""
    terminal("check")
    for words in ((), ("postgresql://localhost/x", "--cancel")):
        refused = terminal("store", "copy", *words)
        assert (refused.code, "or --cancel" in refused.err) == (ExitCode.USAGE, True)
    nothing = terminal("store", "copy", "--cancel")
    assert (nothing.code, "nothing to cancel" in nothing.err) == (ExitCode.NOT_EVALUATED, True)
