"""Who is recorded as having done something: the name that was typed, and the user of the machine beside it."""

import getpass

import pytest

from monitor.commands._options import actor, os_account
from monitor.terminal.problem import Stop


def test_a_typed_name_stands_beside_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where they are the same, or no name was typed, there is one."""
    monkeypatch.setattr(getpass, "getuser", lambda: "mori")
    assert [actor(text) for text in (None, "mori", " ann  lee ")] == ["mori", "mori", "ann lee (OS user mori)"]
    assert [os_account(name) for name in ("mori", "ann")] == [None, "OS user mori"]
    with pytest.raises(Stop):
        actor("  ")


def test_a_machine_may_know_no_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """A container whose user has no name."""

    def nobody() -> str:
        raise KeyError(1001)

    monkeypatch.setattr(getpass, "getuser", nobody)
    assert [actor(None), actor("ann")] == ["somebody", "ann"]
