"""`tablewatch silence`: mute alerts for tables."""

from datetime import timedelta

import pytest

from tests.monitor.commands.terminal import NOW, Terminal
from tests.monitor.commands.test_alert import report, tell, with_alerts

ALERTS = """
alerts:
  channels: {crew: {apprise: "json://localhost:9/"}}
  routes: [{to: [crew]}]
"""
WHY = ("--reason", "moving house")


def test_a_silence_begins_shows_and_ends(terminal: Terminal) -> None:
    """A silence has a number, says of what, until when, why and its author; it ends by itself or by hand."""
    made = terminal.json("silence", "add", "--table", "orders", "--for", "4h", *WHY)
    assert made == {
        "schema": "tablewatch.silence/1",
        "id": 1,
        "scope": "table",
        "name": "orders",
        "starts_at": "2026-11-20T09:00:00+00:00",
        "until": "2026-11-20T13:00:00+00:00",
        "ended_at": None,
        "active": True,
        "reason": "moving house",
        "by": "m.mori",
    }
    terminal.json("silence", "add", "--domain", "sales", "--until", "2026-11-20T20:00", "--by", "s.sato", *WHY)
    terminal.json("silence", "add", "--all", "--for", "30m", *WHY)
    said = terminal("silence", "list").out
    assert [word in said for word in ("table orders", "domain sales", "all", "s.sato")] == [True] * 4
    assert terminal.json("silence", "end", "#1")["active"] is False
    with terminal.at(NOW + timedelta(hours=1)):
        listed = terminal.json("silence", "list")
        assert [one["id"] for one in listed["silences"]] == [2]
        assert [one["id"] for one in terminal.json("silence", "list", "--ended")["silences"]] == [3, 2, 1]
    with terminal.at(NOW + timedelta(days=2)):
        assert terminal("silence", "list").out == "no silences\n"


def test_an_end_lets_what_waits_be_told(terminal: Terminal) -> None:
    """Ending a silence early notifies at once of what lasts."""
    with_alerts(terminal, ALERTS)
    terminal.json("silence", "add", "--all", "--for", "9h", *WHY)
    report(terminal, "orders")
    tell(terminal)
    (held,) = terminal.json("alert", "log")["decisions"]
    assert held["channels"][0]["hold"] == "silence #1: moving house"
    terminal.json("silence", "end", "1")
    tell(terminal)
    (result,) = terminal.json("alert", "log")["decisions"]
    assert (result["channels"][0]["action"], result["channels"][0]["hold"]) == ("told", "silence #1: moving house")
    assert "first; held before: silence #1: moving house" in " ".join(terminal("alert", "log").out.split())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--for", "4h"), "use one of --table, --domain and --all"),
        (("--table", "orders", "--all", "--for", "4h"), "use one of --table, --domain and --all"),
        (("--table", "order", "--for", "4h"), "table 'order' is not in the configuration"),
        (("--domain", "sale", "--for", "4h"), "domain 'sale' is not in the configuration"),
        (("--all",), "use either --for or --until"),
        (("--all", "--for", "4h", "--until", "2026-12-01"), "use either --for or --until"),
        (("--all", "--until", "2026-11-20T10:00+09:00"), "a silence must end in the future"),
        (("--all", "--for", "500d"), "a silence lasts at most one year"),
        (("--all", "--for", "4h", "--reason", " "), "--reason: expected a text that is not empty"),
    ],
)
def test_what_makes_no_silence(terminal: Terminal, words: tuple[str, ...], message: str) -> None:
    """A silence is about something that is there, has a reason and an end that is near."""
    (error,) = terminal.refused("silence", "add", *(() if "--reason" in words else WHY), *words)
    assert message in error["message"]
    assert terminal.json("silence", "list")["silences"] == []


def test_a_silence_that_is_not_there(terminal: Terminal) -> None:
    """A number that was never given is reported, with exit code 5."""
    (error,) = terminal.refused("silence", "end", "9", code=5)
    assert error["code"] == "silence.not_found"
