"""No check is no success: a command that runs none says so, with an exit code of its own."""

import pytest

from monitor.terminal.problem import ExitCode
from tests.monitor.commands.terminal import Terminal

_NONE = "version: 1\nproject: p\nsources: {shop: {url: 'sqlite:///shop.sqlite'}}\n"


@pytest.mark.parametrize("words", [["check"], ["check", "--no-store"], ["check", "orders"], ["run", "--once"]])
@pytest.mark.parametrize(
    "tables", ["[{name: orders, source: shop}, {name: refunds, source: shop, schedule: every 1h}]"]
)
def test_a_configuration_without_checks_is_no_success(terminal: Terminal, words: list[str], tables: str) -> None:
    """Neither for a pass over all, nor over one table, nor for cron."""
    (terminal.folder / "tablewatch.yaml").write_text(f"{_NONE}tables: {tables}\n", encoding="utf-8")
    (error,) = terminal.refused(*words, code=ExitCode.NOTHING_SELECTED)
    assert error["code"] == "check.no_checks"
    said = terminal(*words)
    assert (said.code, said.out) == (ExitCode.NOTHING_SELECTED, "")
    assert ("nothing to run" if words[0] == "run" else "so nothing was checked") in said.err


def test_no_configuration_is_an_error_of_use(terminal: Terminal) -> None:
    """For a pass and for the daemon alike."""
    (terminal.folder / "tablewatch.yaml").unlink()
    for words in (["check"], ["run"], ["run", "--once"]):
        (error,) = terminal.refused(*words, code=ExitCode.USAGE)
        assert error["code"] == "config.not_found"


def test_an_empty_configuration_is_no_success(terminal: Terminal) -> None:
    """Without any table."""
    (terminal.folder / "tablewatch.yaml").write_text(f"{_NONE}tables: []\n", encoding="utf-8")
    assert terminal("check").code == ExitCode.NOTHING_SELECTED
    assert terminal("run", "--once").code == ExitCode.NOTHING_SELECTED


@pytest.mark.parametrize("words", [["totals"], ["orders", "!type:*"], ["source:nowhere"], ["!*"]])
def test_words_that_leave_no_check_are_no_success(terminal: Terminal, words: list[str]) -> None:
    """Whether they choose a table without checks, or nothing."""
    terminal.refused("check", *words, code=ExitCode.NOTHING_SELECTED)


def test_a_table_without_checks_among_others_is_named(terminal: Terminal) -> None:
    """What was asked for and not checked is said; the others decide the exit code."""
    said = terminal("check", "refunds", "totals")
    assert said.code == ExitCode.OK
    assert "no checks to run are configured for totals" in said.err


def test_config_check_warns(terminal: Terminal) -> None:
    """Of the tables without checks, by name; it stays no error."""
    result = terminal.json("config", "check")
    assert [note["code"] for note in result["notes"]] == ["config.no_checks"]
    assert "totals has no checks" in result["notes"][0]["message"]
    (terminal.folder / "tablewatch.yaml").write_text(f"{_NONE}tables: [{{name: orders, source: shop}}]\n")
    assert "no table has a check" in terminal("config", "check").err
