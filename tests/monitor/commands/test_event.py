"""`tablewatch event`: log deployments and other events."""

import pytest

from tests.monitor.commands.terminal import Terminal

WHAT = ("event", "add", "deploy", "--note", "loader 2.3")


def test_an_event_is_logged_listed_and_removed(terminal: Terminal) -> None:
    """An event has a number, a time, what it was about, a note and who logged it; removed, it is listed no more."""
    logged = terminal.json(*WHAT, "--at", "2026-11-20T17:30", "--table", "orders")
    assert logged == {
        "schema": "tablewatch.event/1",
        "id": 1,
        "kind": "deploy",
        "happened_at": "2026-11-20T08:30:00+00:00",
        "table": "orders",
        "source": None,
        "note": "loader 2.3",
        "job": None,
        "by": "m.mori",
        "recorded_at": "2026-11-20T09:00:00+00:00",
    }
    terminal.json("event", "add", "migration", "--note", "new disk", "--source", "shop", "--by", "s.sato")
    terminal.json("event", "add", "other", "--note", "a\u0007 holiday ", "--at", "2d ago")
    text = terminal("event", "list").out
    assert [word in text for word in ("orders", "source shop", "any table", "s.sato", "a holiday")] == [True] * 5
    listed = terminal.json("event", "list", "--since", "1d")
    assert (listed["schema"], [event["id"] for event in listed["events"]]) == ("tablewatch.events/1", [2, 1])
    assert terminal("event", "remove", "#1").err == "note: event 1 was removed\n"
    assert [event["id"] for event in terminal.json("event", "list")["events"]] == [2, 3]


def test_the_same_event_is_logged_once(terminal: Terminal) -> None:
    """A pipeline that is run again changes nothing, and the command names the event that was there."""
    terminal(*WHAT, "--at", "2026-11-20T17:30")
    again = terminal(*WHAT, "--at", "2026-11-20T17:30")
    assert "already logged as event 1" in again.err
    assert terminal("event", "list", "--limit", "1").err == ""
    assert len(terminal.json("event", "list")["events"]) == 1


def test_more_events_than_are_listed(terminal: Terminal) -> None:
    """A list that is cut says so."""
    for minute in range(3):
        terminal(*WHAT, "--at", f"2026-11-20T17:0{minute}")
    assert "there are more than 2" in terminal("event", "list", "--limit", "2").err
    assert terminal.json("event", "list", "--limit", "2")["more"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--table", "order"), "table 'order' is not in the configuration"),
        (("--source", "shp"), "source 'shp' is not in the configuration"),
        (("--table", "orders", "--source", "shop"), "of a table or of a source"),
        (("--at", "2026-11-20T18:01+09:00"), "its time is in the future"),
        (("--note", " "), "--note: expected a text that is not empty"),
        (("--note", "x" * 501), "--note: expected a text of at most 500 characters"),
    ],
)
def test_what_is_no_event(terminal: Terminal, words: tuple[str, ...], message: str) -> None:
    """An event is about something that is configured, has a short note, and has happened."""
    (error,) = terminal.refused(*(WHAT[:3] if "--note" in words else WHAT), *words)
    assert message in error["message"]
    assert terminal.json("event", "list")["events"] == []


def test_an_event_that_is_not_there(terminal: Terminal) -> None:
    """Nothing is removed, and the error says where to look."""
    (error,) = terminal.refused("event", "remove", "9", code=5)
    assert (error["code"], "tablewatch event list" in error["message"]) == ("event.not_found", True)
    assert terminal("event", "list").out == "no events\n"
