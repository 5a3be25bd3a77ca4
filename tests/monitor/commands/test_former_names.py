"""Former names of commands, and options in the environment: read until the next release, with a warning."""

import pytest

from tests.monitor.commands.terminal import Terminal


def test_an_option_in_the_environment_is_read_with_a_warning(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The warning names the option to write; `--config` and `--format` stay."""
    expected = terminal("downtime", "--by", "owner", "--format", "json")
    monkeypatch.setenv("TABLEWATCH_FORMAT", "json")
    monkeypatch.setenv("TABLEWATCH_DOWNTIME_BY", "owner")
    result = terminal("downtime")
    assert (expected.code, result.code) == (0, 0)
    assert result.out == expected.out
    assert result.err == f"warning: the next release does not read TABLEWATCH_DOWNTIME_BY; write --by\n{expected.err}"


@pytest.mark.parametrize(
    ("former", "present"),
    [
        ("risk suggest refunds", "privacy risk suggest refunds"),
        ("budget show", "privacy budget show"),
        ("web user list", "account user list"),
        ("report weekly", "report"),
        ("report weekly --week 2026-W40", "report --period 2026-W40"),
        ("report monthly --month=2026-10", "report --period 2026-10"),
        ("report quarterly --quarter current", "report --period current-quarter"),
    ],
)
def test_a_former_command_does_the_same_with_a_warning(terminal: Terminal, former: str, present: str) -> None:
    """Until the next release."""
    old, new = terminal(*former.split()), terminal(*present.split())
    assert (old.code, old.out) == (new.code, new.out)
    assert old.code == 0
    first, _, rest = old.err.partition("\n")
    assert first.startswith(f"warning: '{' '.join(former.split()[: 2 if former.startswith('report') else 1])}' is '")
    assert first.endswith("; the old name goes with the next release")
    assert rest == new.err
