"""`tablewatch import incidents`, again: tickets that say something else than when they were imported."""

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.monitor.commands.terminal import NOW, Terminal

HEADER = "id,table,title,occurred,detected,resolved,resolution,severity,cause\n"
OPEN = "T-1,orders,late,2026-11-11T08:00Z,2026-11-11T10:00Z,,,error,\n"
CLOSED = "T-1,orders,late,2026-11-11T08:00Z,2026-11-11T10:00Z,2026-11-11T12:00Z,fixed,error,\n"


def _import(terminal: Terminal, rows: str, *words: str, header: str = HEADER) -> Any:
    (terminal.folder / "tickets.csv").write_text(header + rows, encoding="utf-8")
    return terminal.json("import", "incidents", "tickets.csv", *words)


def _show(terminal: Terminal, number: int = 1) -> Any:
    return terminal.json("incident", "show", str(number))


def _fields(value: Any) -> dict[str, tuple[str | None, str | None]]:
    (found,) = value["differ"]
    return {one["field"]: (one["recorded"], one["told"]) for one in found["fields"]}


def _stays(value: Any) -> dict[str, str | None]:
    (found,) = value["differ"]
    return {one["field"]: one["stays"] for one in found["fields"]}


def test_a_ticket_that_was_closed_since_is_pointed_out(terminal: Terminal) -> None:
    """Without --update nothing changes, but each known ticket that says something else is listed, and what."""
    _import(terminal, OPEN)
    before = _show(terminal)
    value = _import(terminal, CLOSED)
    assert (value["imported"], value["known"], value["applicable"], value["updated"]) == (0, 1, 1, 0)
    assert (value["differ"][0]["line"], value["differ"][0]["id"]) == (2, 1)
    assert _fields(value) == {"resolved": (None, "2026-11-11T12:00:00+00:00"), "resolution": (None, "fixed")}
    assert terminal("import", "incidents", "tickets.csv").out == (
        "1 row: 0 imported; 1 was there already\n"
        "1 differs; --update applies it\n"
        "  line 2, #1: resolved none -> Wed 2026-11-11 21:00; resolution none -> fixed\n"
    )
    assert _show(terminal) == before


def test_incidents_follow_their_tickets(terminal: Terminal) -> None:
    """With --update a closed ticket ends its incident, by an event that says it was an import; once."""
    _import(terminal, OPEN)
    value = _import(terminal, CLOSED, "--update", "--by", "ann")
    assert (value["updated"], value["applicable"]) == (1, 1)
    after = _show(terminal)
    assert (after["state"], after["resolution"], after["ttr_h"]) == ("resolved", "fixed", 2.0)
    assert (after["events"][-1]["kind"], after["events"][-1]["actor"]) == ("resolved", "ann (import)")
    assert _import(terminal, CLOSED, "--update")["differ"] == []
    assert len(_show(terminal)["events"]) == 2


def test_a_dry_run_only_says_what_would_follow(terminal: Terminal) -> None:
    """--update in a dry run lists what would be updated and writes nothing."""
    _import(terminal, OPEN)
    assert _import(terminal, CLOSED, "--update", "--dry-run")["updated"] == 0
    assert (
        "1 differs; 1 would be updated" in terminal("import", "incidents", "tickets.csv", "--update", "--dry-run").out
    )
    assert _show(terminal)["state"] == "open"


def test_times_words_and_cause_follow(terminal: Terminal) -> None:
    """All times of an ended ticket may move at once; how it ended, its cause and its severity follow too."""
    _import(terminal, CLOSED)
    moved = "T-1,orders,late,2026-11-12T08:00Z,2026-11-12T10:00Z,2026-11-12T15:00Z,expected,critical,a job\n"
    value = _import(terminal, moved, "--update")
    assert value["updated"] == 1
    assert _fields(value)["cause"] == (None, None)
    after = _show(terminal)
    assert (after["occurred_at"], after["ttd_h"], after["ttr_h"]) == ("2026-11-12T08:00:00+00:00", 2.0, 5.0)
    assert (after["resolution"], after["cause"], after["severity"]) == ("expected", "a job", "critical")
    assert [event["kind"] for event in after["events"]] == ["opened", "resolved", "corrected", "resolved", "escalated"]
    assert _import(terminal, moved)["differ"] == []


def test_a_ticket_that_was_reopened_goes_on(terminal: Terminal) -> None:
    """A ticket that an import had closed and that is open again was bad all the time; it may be closed again."""
    _import(terminal, CLOSED)
    assert _fields(_import(terminal, OPEN, "--update"))["resolved"] == ("2026-11-11T12:00:00+00:00", None)
    after = _show(terminal)
    assert (after["state"], len(after["episodes"])) == ("open", 2)
    assert after["downtime_h"] == (NOW - datetime(2026, 11, 11, 8, tzinfo=UTC)).total_seconds() / 3600
    assert _import(terminal, OPEN, "--update")["differ"] == []
    later = CLOSED.replace("2026-11-11T12:00Z", "2026-11-11T14:00Z")
    _import(terminal, later, "--update")
    assert (_show(terminal)["state"], _show(terminal)["downtime_h"]) == ("resolved", 6.0)
    even_later = CLOSED.replace("2026-11-11T12:00Z", "2026-11-11T16:00Z")
    _import(terminal, even_later, "--update")
    assert _show(terminal)["downtime_h"] == 8.0
    assert _import(terminal, even_later)["differ"] == []


def test_a_file_without_ends_reopens_nothing(terminal: Terminal) -> None:
    """What a file has no column for is not compared: an end that it cannot tell of stays."""
    _import(terminal, CLOSED)
    value = _import(terminal, "T-1,orders,late,2026-11-11T10:00Z\n", "--update", header="id,table,title,detected\n")
    assert (value["known"], value["differ"]) == (1, [])


def test_what_was_put_right_here_stays(terminal: Terminal) -> None:
    """A person's word on an incident outranks its ticket: it stays, and who said it is named."""
    _import(terminal, OPEN)
    terminal.json("incident", "correct", "1", "--occurred", "2026-11-11T07:00Z", "--by", "ann")
    terminal.json("incident", "resolve", "1", "--as", "expected", "--resolved", "2026-11-11T11:00Z", "--by", "bob")
    before = _show(terminal)
    for row in (OPEN, CLOSED):
        value = _import(terminal, row, "--update")
        assert (value["applicable"], value["updated"]) == (0, 0)
        assert _stays(value)["occurred"] == "ann put it right here"
        assert _stays(value)["resolved"] == "bob put it right here"
    assert _show(terminal) == before
    said = terminal("import", "incidents", "tickets.csv").out
    assert "1 differs; what is recorded stays\n" in said
    value = _import(terminal, CLOSED.replace("error", "critical"), "--update")
    assert (value["updated"], _show(terminal)["severity"], _show(terminal)["resolution"]) == (1, "critical", "expected")


def test_what_no_event_changes_stays(terminal: Terminal) -> None:
    """A title and who noticed stay as they were recorded, which is said without the texts; the rest follows."""
    _import(terminal, OPEN)
    value = _import(terminal, CLOSED.replace("late", "secret words"), "--update", "--set", "found_by=check")
    assert _stays(value)["title"] == "an incident keeps the title it was opened with"
    assert _stays(value)["found_by"] == "an incident keeps who noticed it"
    assert "secret words" not in str(value)
    after = _show(terminal)
    assert (after["title"], after["found_by"], after["state"]) == ("late", "person", "resolved")
    said = terminal("import", "incidents", "tickets.csv", "--update").out
    assert "line 2, #1: title stays: an incident keeps the title it was opened with" in said


def test_a_key_is_one_incident_whatever_its_table(terminal: Terminal) -> None:
    """A ticket whose table was put right is the same ticket: nothing of the row is applied, and what to do is said."""
    _import(terminal, OPEN)
    value = _import(terminal, CLOSED.replace("orders", "refunds"), "--update")
    assert (value["imported"], value["known"], value["updated"]) == (0, 1, 0)
    assert _fields(value) == {"table": ("orders", "refunds")}
    assert "'incident resolve 1 --as duplicate'" in str(_stays(value)["table"])
    assert _show(terminal)["state"] == "open"


def test_times_that_cannot_be_are_not_applied(terminal: Terminal) -> None:
    """A ticket that ended before its incident was reopened here cannot end it; the rest of the import goes on."""
    _import(terminal, CLOSED)
    _import(terminal, OPEN, "--update")
    early = "T-1,orders,late,2026-11-11T08:00Z,2026-11-11T10:00Z,2026-11-11T11:00Z,fixed,error,\n"
    other = "T-2,orders,other,,2026-11-12T10:00Z,,,,\n"
    value = _import(terminal, early + other, "--update")
    assert (value["imported"], value["updated"]) == (1, 0)
    assert "detected 2026-11-11 21:00:00+09:00 is after resolved 2026-11-11 20:00:00+09:00" in str(_stays(value))


def test_an_estimated_beginning_moves_with_detection(terminal: Terminal) -> None:
    """Where nobody says when it began, it began when it was noticed, wherever that moves."""
    header = "id,table,title,detected\n"
    _import(terminal, "T-1,orders,late,2026-11-11T10:00Z\n", header=header)
    for detected in ("2026-11-11T14:00", "2026-11-11T09:00"):
        _import(terminal, f"T-1,orders,late,{detected}Z\n", "--update", header=header)
        assert (_show(terminal)["detected_at"], _show(terminal)["ttd_h"]) == (f"{detected}:00+00:00", 0.0)


def test_an_update_is_one_transaction_with_the_new_ones(terminal: Terminal) -> None:
    """New tickets and changed ones come in together; several differing rows are summed up."""
    _import(terminal, OPEN + "T-2,orders,a,,2026-11-12T10:00Z,,,,\n")
    rows = CLOSED + "T-2,orders,b,,2026-11-12T10:00Z,,,,\nT-3,orders,c,,2026-11-13T10:00Z,,,,\n"
    (terminal.folder / "tickets.csv").write_text(HEADER + rows, encoding="utf-8")
    said = terminal("import", "incidents", "tickets.csv", "--update").out
    assert said.startswith("3 rows: 1 imported, #3 to #3; 2 were there already\n2 differ; 1 updated\n  line 2, #1:")


@pytest.mark.parametrize(("column", "shown"), [("id", True), ("other", False)])
def test_the_ticket_is_shown(terminal: Terminal, column: str, shown: bool) -> None:
    """An incident that was imported from a ticket shows its key; one without a key has no such line."""
    _import(terminal, OPEN, header=HEADER.replace("id", column, 1))
    assert ("ticket        T-1\n" in terminal("incident", "show", "1").out) is shown
