"""`tablewatch import incidents`, again: tickets that say something else than when they were imported."""

from datetime import UTC, datetime
from typing import Any

import pytest

from incidents import ReportedIncident
from monitor.triage.create import ticket_fingerprint
from store import History, open_store
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
        "1 row: 0 imported; 1 was already imported\n"
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


def _facts(terminal: Terminal) -> Any:
    """Return an incident without its history."""
    history = {"alerts", "as_of", "events", "last_change", "version"}
    return {name: value for name, value in _show(terminal).items() if name not in history}


def _settled(terminal: Terminal, rows: str, *, header: str = HEADER) -> None:
    """Import a file once more, and once more: nothing is said to be new, and nothing is written."""
    before = _show(terminal)
    for _ in range(2):
        value = _import(terminal, rows, "--update", header=header)
        assert (value["applicable"], value["updated"]) == (0, 0)
        assert [one for row in value["differ"] for one in row["fields"] if one["new"] or one["stays"] is None] == []
    assert _show(terminal) == before


def test_what_was_put_right_here_stays(terminal: Terminal) -> None:
    """What a person said before its ticket did stays: it is listed once, with who said it, and then remembered."""
    _import(terminal, OPEN)
    terminal.json("incident", "correct", "1", "--occurred", "2026-11-11T07:00Z", "--by", "ann")
    terminal.json("incident", "resolve", "1", "--as", "expected", "--resolved", "2026-11-11T11:00Z", "--by", "bob")
    before = _facts(terminal)
    _settled(terminal, OPEN)
    value = _import(terminal, CLOSED, "--update")
    assert (value["applicable"], value["updated"]) == (0, 0)
    assert _stays(value) == {
        "occurred": "corrected here by ann (OS user m.mori)",
        "resolved": "corrected here by bob (OS user m.mori)",
        "resolution": "corrected here by bob (OS user m.mori)",
    }
    assert [one["field"] for one in value["differ"][0]["fields"] if one["new"]] == ["resolved", "resolution"]
    assert _facts(terminal) == before
    result = "ticket: resolution fixed, resolved Wed 2026-11-11 21:00, by m.mori (import)"
    assert result in terminal("incident", "show", "1").out
    _settled(terminal, CLOSED)
    said = terminal("import", "incidents", "tickets.csv").out
    assert said.endswith("1 differs as before; recorded incidents are not changed; --format json lists it\n")
    value = _import(terminal, CLOSED.replace("error", "critical"), "--update")
    assert (value["updated"], _show(terminal)["severity"], _show(terminal)["resolution"]) == (1, "critical", "expected")


def test_corrections_survive_the_same_file(terminal: Terminal) -> None:
    """What a person corrects after an import is not undone by importing that file again, however often."""
    _import(terminal, CLOSED)
    terminal.json("incident", "correct", "1", "--occurred", "2026-11-11T07:00Z", "--resolved", "2026-11-11T11:30Z")
    terminal.json("incident", "resolve", "1", "--as", "expected", "--cause", "a holiday")
    _settled(terminal, CLOSED)
    moved = CLOSED.replace("error", "critical")
    assert _import(terminal, moved, "--update")["updated"] == 1
    after = _show(terminal)
    assert (after["severity"], after["resolution"], after["cause"]) == ("critical", "expected", "a holiday")
    assert (after["occurred_at"], after["resolved_at"]) == ("2026-11-11T07:00:00+00:00", "2026-11-11T11:30:00+00:00")
    _settled(terminal, moved)


def test_an_import_that_changes_one_field_claims_no_other(terminal: Terminal) -> None:
    """A ticket's new cause is recorded with the end that a person corrected, and never claims that end."""
    _import(terminal, CLOSED)
    terminal.json("incident", "correct", "1", "--resolved", "2026-11-11T11:00Z", "--by", "ann")
    caused = CLOSED.replace("error,\n", "error,a job\n")
    value = _import(terminal, caused, "--update")
    assert (value["updated"], _stays(value)) == (
        1,
        {"resolved": "corrected here by ann (OS user m.mori)", "cause": None},
    )
    after = _show(terminal)
    assert (after["cause"], after["resolved_at"]) == ("a job", "2026-11-11T11:00:00+00:00")
    _settled(terminal, caused)
    value = _import(terminal, CLOSED.replace("error,\n", "error,a typo\n"), "--update")
    assert _stays(value) == {"resolved": "corrected here by ann (OS user m.mori)", "cause": None}
    assert _show(terminal)["resolved_at"] == "2026-11-11T11:00:00+00:00"


def test_what_a_ticket_says_otherwise_by_now_is_newer(terminal: Terminal) -> None:
    """A ticket that changed what it had said itself is followed, and whose word that replaces is said."""
    _import(terminal, CLOSED)
    terminal.json("incident", "correct", "1", "--resolved", "2026-11-11T11:00Z", "--by", "ann")
    later = CLOSED.replace("2026-11-11T12:00Z", "2026-11-11T13:00Z")
    said = terminal("import", "incidents", "tickets.csv").out
    assert "1 differs as before" in said
    value = _import(terminal, later, "--dry-run", "--update")
    assert [one["replaces"] for one in value["differ"][0]["fields"]] == ["ann (OS user m.mori)"]
    said = terminal("import", "incidents", "tickets.csv", "--update").out
    assert said == (
        "1 row: 0 imported; 1 was already imported\n"
        "1 differs; 1 updated\n"
        "  line 2, #1: resolved Wed 2026-11-11 20:00 -> Wed 2026-11-11 22:00, "
        "replacing the correction by ann (OS user m.mori)\n"
    )
    assert _show(terminal)["resolved_at"] == "2026-11-11T13:00:00+00:00"
    _settled(terminal, later)


def test_a_ticket_that_agrees_is_remembered(terminal: Terminal) -> None:
    """A ticket that says what a person had put right is in agreement; a later correction is not undone by it."""
    _import(terminal, CLOSED)
    terminal.json("incident", "correct", "1", "--resolved", "2026-11-11T11:00Z")
    agrees = CLOSED.replace("2026-11-11T12:00Z", "2026-11-11T11:00Z")
    assert _import(terminal, agrees, "--update")["differ"] == []
    terminal.json("incident", "correct", "1", "--resolved", "2026-11-11T11:30Z")
    _settled(terminal, agrees)


def test_reopening_takes_back_a_persons_word_aloud(terminal: Terminal) -> None:
    """A ticket that is open again reopens also what a person had judged since, and says whose word that was."""
    _import(terminal, CLOSED)
    terminal.json("incident", "resolve", "1", "--as", "expected", "--by", "bob")
    value = _import(terminal, OPEN, "--update")
    assert value["differ"][0]["fields"][0]["replaces"] == "bob (OS user m.mori)"
    assert _show(terminal)["state"] == "open"
    _settled(terminal, OPEN)


def test_what_was_merged_stays_merged(terminal: Terminal) -> None:
    """Whatever the ticket of a merged incident says, it stays merged, and its times stay as they are."""
    _import(terminal, OPEN + "T-2,orders,other,2026-11-11T08:00Z,2026-11-11T10:00Z,,,,\n")
    terminal.json("incident", "merge", "1", "2", "--by", "ann")
    before = _facts(terminal)
    other = "T-2,orders,other,2026-11-11T08:00Z,2026-11-11T10:00Z,,,,\n"
    for row in (OPEN, CLOSED, CLOSED.replace("T10:00Z", "T09:00Z").replace("error", "critical"), OPEN):
        value = _import(terminal, row + other, "--update")
        assert value["updated"] == 0
        assert {one["stays"] for found in value["differ"] for one in found["fields"]} == {"it was merged into #2"}
        assert _facts(terminal) == before
        _settled(terminal, row + other)


def test_what_was_ended_as_a_duplicate_stays_one(terminal: Terminal) -> None:
    """A person's duplicate is neither reopened nor ended otherwise by its ticket."""
    _import(terminal, CLOSED)
    terminal.json("incident", "resolve", "1", "--as", "duplicate", "--by", "ann")
    for row in (OPEN, CLOSED.replace("2026-11-11T12:00Z,fixed", "2026-11-11T13:00Z,no-action")):
        value = _import(terminal, row, "--update")
        assert (value["updated"], _stays(value)["resolved"]) == (
            0,
            "ann (OS user m.mori) resolved it here as a duplicate",
        )
        assert _show(terminal)["resolution"] == "duplicate"
        _settled(terminal, row)


def test_a_cause_without_an_end_says_nothing(terminal: Terminal) -> None:
    """How and why it ended is read with its end; a file that has no ends appends nothing, however often it comes."""
    header = "id,table,title,detected,cause\n"
    row = "T-1,orders,late,2026-11-11T10:00Z,a job\n"
    _import(terminal, CLOSED)
    _settled(terminal, row, header=header)
    assert (len(_show(terminal)["events"]), _show(terminal)["cause"]) == (2, None)
    _import(terminal, row.replace("T-1", "T-2"), header=header)
    _settled(terminal, row.replace("T-1", "T-2"), header=header)


def test_an_end_that_was_put_off_and_back(terminal: Terminal) -> None:
    """A ticket that was reopened and then says an earlier end was over then: what went on after it is taken back."""
    _import(terminal, CLOSED)
    _import(terminal, OPEN, "--update")
    early = CLOSED.replace("2026-11-11T12:00Z", "2026-11-11T11:00Z")
    assert _import(terminal, early, "--update")["updated"] == 1
    after = _show(terminal)
    assert (after["state"], after["downtime_h"], after["ttd_h"]) == ("resolved", 3.0, 2.0)
    assert (
        "corrected: occurred Wed 2026-11-11 20:00, detected Wed 2026-11-11 20:00 (episode 2)"
        in terminal("incident", "show", "1").out
    )
    assert _import(terminal, early)["differ"] == []
    _settled(terminal, early)
    earlier = CLOSED.replace("2026-11-11T12:00Z,fixed", "2026-11-11T10:30Z,no-action")
    assert _import(terminal, earlier, "--update")["updated"] == 1
    assert (_show(terminal)["resolution"], _show(terminal)["downtime_h"]) == ("no-action", 2.5)
    _settled(terminal, earlier)


def test_an_end_before_it_was_bad_again_here(terminal: Terminal) -> None:
    """A ticket that ended before a person saw that it is bad again does not end that: once it is said what to do."""
    _import(terminal, CLOSED)
    terminal.json("incident", "reopen", "1", "--occurred", "2026-11-11T14:00Z", "--detected", "2026-11-11T15:00Z")
    _settled(terminal, CLOSED)
    row = CLOSED.replace("2026-11-11T12:00Z", "2026-11-11T13:00Z").replace("error", "critical")
    value = _import(terminal, row, "--update")
    assert _stays(value)["resolved"] == (
        "the ticket was resolved 2026-11-11 22:00:00+09:00, before the incident recurred 2026-11-11 23:00:00+09:00; "
        "'incident correct 1 --episode 1 --resolved TIME' corrects an earlier end"
    )
    assert (value["updated"], _show(terminal)["severity"], _show(terminal)["state"]) == (1, "critical", "open")
    _settled(terminal, row)
    terminal.json("incident", "correct", "1", "--episode", "1", "--resolved", "2026-11-11T13:00Z")
    _settled(terminal, row)


def test_how_it_ended_waits_for_an_end(terminal: Terminal) -> None:
    """A ticket that only says otherwise how it ended changes nothing of what was reopened here."""
    _import(terminal, CLOSED)
    terminal.json("incident", "reopen", "1", "--occurred", "2026-11-11T14:00Z", "--detected", "2026-11-11T15:00Z")
    row = CLOSED.replace("fixed", "no-action")
    value = _import(terminal, row, "--update")
    assert (value["updated"], _stays(value)["resolution"]) == (0, "it is open here; resolve it with 'incident resolve'")
    _settled(terminal, row)


@pytest.mark.parametrize("key", ["T-1", ""])
def test_tickets_of_an_earlier_import_are_followed(terminal: Terminal, key: str) -> None:
    """Incidents that were imported when a key was one of a table, and imports signed like a person, are known again."""
    closed = CLOSED.replace("T-1", key)
    result = ReportedIncident(
        table="orders",
        title="late",
        occurred_at=datetime(2026, 11, 11, 8, tzinfo=UTC),
        detected_at=datetime(2026, 11, 11, 10, tzinfo=UTC),
        resolved_at=datetime(2026, 11, 11, 12, tzinfo=UTC),
    )
    known_by = ticket_fingerprint("", table="orders", title="late", detected_at=result.detected_at)
    result = result._replace(fingerprint=f"orders:import:{key}" if key else known_by)
    with open_store(f"sqlite:///{terminal.folder}/store.db") as store, store.writing() as tx:
        tx.incidents.add_histories([History(result.changes(NOW), NOW, "m.mori")])
    assert ("ticket        T-1\n" in terminal("incident", "show", "1").out) is bool(key)
    _settled(terminal, closed)
    assert len(_show(terminal)["events"]) == 2
    terminal.json("incident", "correct", "1", "--occurred", "2026-11-11T07:00Z", "--by", "m.mori")
    _settled(terminal, closed)
    later = closed.replace("2026-11-11T12:00Z", "2026-11-11T13:00Z")
    value = _import(terminal, later, "--update")
    assert (value["imported"], value["updated"]) == (0, 1)
    assert _stays(value) == {"occurred": "corrected here by m.mori", "resolved": None}
    _settled(terminal, later)


def test_what_no_event_changes_stays(terminal: Terminal) -> None:
    """A title and who noticed stay as they were recorded, which is said without the texts; the rest follows."""
    _import(terminal, OPEN)
    value = _import(terminal, CLOSED.replace("late", "secret words"), "--update", "--set", "found_by=check")
    assert _stays(value)["title"] == "the title of an incident cannot be changed"
    assert _stays(value)["found_by"] == "the source of detection of an incident cannot be changed"
    assert "secret words" not in str(value)
    after = _show(terminal)
    assert (after["title"], after["found_by"], after["state"]) == ("late", "person", "resolved")
    other = OPEN.replace("late", "other words")
    _import(terminal, other)
    said = terminal("import", "incidents", "tickets.csv").out
    assert "title stays: the title of an incident cannot be changed" in said
    assert "ticket: found_by check, changed title, by" in terminal("incident", "show", "1").out


def test_a_key_is_one_incident_whatever_its_table(terminal: Terminal) -> None:
    """A ticket whose table was put right is the same ticket: nothing of the row is applied, and what to do is said."""
    _import(terminal, OPEN)
    value = _import(terminal, CLOSED.replace("orders", "refunds"), "--update")
    assert (value["imported"], value["known"], value["updated"]) == (0, 1, 0)
    assert _fields(value) == {"table": ("orders", "refunds")}
    assert "'incident resolve 1 --as duplicate'" in str(_stays(value)["table"])
    assert _show(terminal)["state"] == "open"


def test_times_that_cannot_be_are_not_applied(terminal: Terminal) -> None:
    """Times of a ticket that cannot be here are named once; the rest of the row and of the import goes on."""
    _import(terminal, CLOSED)
    terminal.json("incident", "reopen", "1", "--occurred", "2026-11-11T14:00Z", "--detected", "2026-11-11T15:00Z")
    late = "T-1,orders,late,2026-11-11T13:00Z,2026-11-11T16:00Z,2026-11-11T17:00Z,fixed,critical,\n"
    other = "T-2,orders,other,,2026-11-12T10:00Z,,,,\n"
    value = _import(terminal, late + other, "--update")
    assert (value["imported"], value["updated"], _show(terminal)["severity"]) == (1, 1, "critical")
    assert "detected 2026-11-12 01:00:00+09:00 is after resolved 2026-11-11 21:00:00+09:00" in str(_stays(value))
    _settled(terminal, late + other)


def test_an_estimated_beginning_moves_with_detection(terminal: Terminal) -> None:
    """Without a beginning, it began when it was noticed, wherever that moves."""
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
    assert said.startswith("3 rows: 1 imported, #3 to #3; 2 were already imported\n2 differ; 1 updated\n  line 2, #1:")


@pytest.mark.parametrize(("column", "shown"), [("id", True), ("other", False)])
def test_the_ticket_is_shown(terminal: Terminal, column: str, shown: bool) -> None:
    """An incident that was imported from a ticket shows its key; one without a key has no such line."""
    _import(terminal, OPEN, header=HEADER.replace("id", column, 1))
    assert ("ticket        T-1\n" in terminal("incident", "show", "1").out) is shown
